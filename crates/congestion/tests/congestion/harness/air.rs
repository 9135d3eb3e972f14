//! A channel of which the bottleneck is the access point's queue, as Cupid's receivers measure it: the
//! rule of the crate `cupid` on what each flow received.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{Rate, Rng, Seed, Time};
use airlane_congestion::{Grant, Signal};
use airlane_cupid::{Air as Measured, RateRule, RuleKind, RuleOptions, left_share};
use rand::RngExt;

use super::Reports;

const EVERY: Duration = Duration::from_millis(40);
/// Reports that are measured over: 80 ms.
const WINDOW: usize = 2;
/// Reports within which a flow counts after it received something: a second.
const MEMORY: usize = 25;

/// What the receivers know of the channel.
#[derive(Clone, Copy, Debug)]
pub struct Air {
    /// Payload that the whole air carries.
    pub rate: Rate,
    /// Which form of the rule.
    pub kind: RuleKind,
    /// The share of reports that is lost.
    pub loss: f64,
    /// No reports come from then on, and again from the second time on.
    pub silent: (Time, Time),
}

impl Air {
    /// One whose reports all arrive.
    pub fn new(rate: Rate, kind: RuleKind) -> Self {
        Self { rate, kind, loss: 0.0, silent: (Time::FAR_FUTURE, Time::FAR_FUTURE) }
    }

    /// The reports of the receiver of flow `own`.
    pub fn reports(self, own: usize, seed: Seed) -> Reports {
        let options = RuleOptions { kind: self.kind, ..RuleOptions::default() };
        let mut rule = RateRule::new(options);
        let mut rng: Rng = seed.split("reports").index(own as u64).rng();
        let mut history: VecDeque<Vec<u64>> = VecDeque::new();
        let tell = Box::new(move |now: Time, received: &[u64]| {
            history.push_front(received.to_vec());
            history.truncate(MEMORY + 1);
            let ago = |n: usize, i: usize| history.get(n).map_or(0, |then| then[i]);
            let span = EVERY * WINDOW as u32;
            let share = |i: usize| {
                let bytes = received[i] - ago(WINDOW, i);
                Rate::of(bytes, span).as_f64() / self.rate.as_f64()
            };
            let is_active = |i: usize| received[i] > ago(MEMORY, i);
            let flows = 0..received.len();
            let others: Vec<f64> =
                flows.clone().filter(|&i| i != own && is_active(i)).map(share).collect();
            let stations = others.len() as u32 + 1;
            // Random backoff makes the measurement differ by about this.
            let noise = rng.random_range(-0.01..0.01);
            let air = Measured {
                utilisation: flows.map(share).sum::<f64>() + noise,
                stations,
                delta: self.rate,
                goodput: self.rate.scale(share(own)),
                left: Some(left_share(options.eta, stations, &others)),
                reserved: 0.0,
                own: None,
            };
            let rate = rule.update(&air);
            let is_lost =
                rng.random::<f64>() < self.loss || (self.silent.0..self.silent.1).contains(&now);
            let grant = Grant {
                rate,
                interval: EVERY,
                has_room: rule.has_room(&air),
                is_full: air.utilisation >= airlane_cupid::FULL,
                is_isolated: rule.is_isolated(),
            };
            (!is_lost).then_some(Signal::Grant(grant))
        });
        Reports { every: EVERY, tell }
    }
}
