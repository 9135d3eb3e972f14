//! Players on a link that divides itself in proportion to weights: no packets, no loss, no queue.

use std::sync::Arc;
use std::time::Duration;

use airlane_abr::{Abr, PlayerModel, TitleModel};
use airlane_base::{Rng, Seed, Time};
use airlane_minerva::{Config, Minerva, Normalisation, Progress, Request, Update, ValueFunction};
use rand::RngExt;

/// How far the link is from ideal.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Bits of bodies per second.
    pub capacity_bps: f64,
    /// Shares go with the weight to this power.
    pub exponent: f64,
    /// Deviation of the logarithm of each flow's share, drawn anew every half second.
    pub noise: f64,
    /// Seconds after which a share has followed 63 % of a change of weight.
    pub lag_s: f64,
}

impl Link {
    /// Exact and at once; 3.5 % of the link are headers.
    pub fn ideal(link_mbps: f64) -> Self {
        Self { capacity_bps: link_mbps * 1e6 * 0.965, exponent: 1.0, noise: 0.0, lag_s: 0.0 }
    }

    /// 7 % lost capacity, 20 % noise, a lag of 2 s and shares that go with `w^0.82`.
    pub fn imperfect(link_mbps: f64) -> Self {
        let ideal = Self::ideal(link_mbps);
        Self { capacity_bps: ideal.capacity_bps * 0.93, exponent: 0.82, noise: 0.2, lag_s: 2.0 }
    }
}

/// A viewer to be.
pub struct Viewer {
    pub setting: Arc<TitleModel>,
    pub start_s: f64,
    /// The weight of a flow without Minerva, throughout.
    pub weight: f64,
    /// The normalisation of a Minerva flow.
    pub minerva: Option<(Arc<Normalisation>, Config)>,
    /// Its value function; the player's algorithm simulated on demand if there is none.
    pub value: Option<Arc<dyn ValueFunction>>,
}

/// What became of a viewer.
pub struct Outcome {
    pub player: PlayerModel,
    pub bytes: f64,
    pub updates: Vec<Update>,
}

struct Flow {
    player: PlayerModel,
    plain_weight: f64,
    minerva: Option<Minerva>,
    left_bits: f64,
    acked_bits: f64,
    busy_s: f64,
    share: f64,
    noise: f64,
    requested: Time,
    updates: Vec<Update>,
}

const RTT: Duration = Duration::from_millis(20);

impl Flow {
    fn progress(&self) -> Progress {
        Progress {
            acked_bytes: (self.acked_bits / 8.0).round() as u64,
            busy: Duration::from_secs_f64(self.busy_s),
            min_rtt: RTT,
        }
    }

    fn weight(&self) -> f64 {
        self.minerva.as_ref().map_or(self.plain_weight, Minerva::weight)
    }

    fn request(&mut self, now: Time, abr: &dyn Abr) {
        let (Some(chunk), Some(rung)) = (self.player.next_chunk(), self.player.choose(abr, now))
        else {
            return;
        };
        let request = Request {
            chunk,
            rung,
            buffer: self.player.buffer(now),
            stalled: self.player.stalled(now),
            after_seek: false,
        };
        let progress = self.progress();
        if let Some(m) = &mut self.minerva {
            m.on_request(now, request, progress);
        }
        self.player.on_request(now, rung);
        self.left_bits = self.player.setting().bits(chunk)[rung];
        self.requested = now;
    }
}

/// Runs the viewers for `length_s` seconds with `abr` in every player.
pub fn run(
    link: Link,
    viewers: Vec<Viewer>,
    abr: &Arc<dyn Abr>,
    length_s: f64,
    seed: Seed,
) -> Vec<Outcome> {
    let mut rng = seed.rng();
    let mut flows: Vec<Flow> = viewers
        .into_iter()
        .map(|v| Flow {
            player: PlayerModel::new(v.setting.clone(), Time::from_secs_f64(v.start_s)),
            plain_weight: v.weight,
            minerva: v.minerva.map(|(f, c)| match v.value {
                Some(value) => Minerva::with_value(v.setting, value, f, c),
                None => Minerva::new(v.setting, abr.clone(), f, c),
            }),
            left_bits: 0.0,
            acked_bits: 0.0,
            busy_s: 0.0,
            share: v.weight,
            noise: 1.0,
            requested: Time::ZERO,
            updates: Vec::new(),
        })
        .collect();
    let end = Time::from_secs_f64(length_s);
    let tick = if link.noise > 0.0 || link.lag_s > 0.0 { 0.1_f64 } else { 10.0 };
    let mut now = Time::ZERO;
    let mut noise_at = Time::ZERO;
    while now < end {
        if link.noise > 0.0 && now >= noise_at {
            flows.iter_mut().for_each(|f| f.noise = (link.noise * normal(&mut rng)).exp());
            noise_at = now + Duration::from_millis(500);
        }
        for f in &mut flows {
            if f.player.next_request_at().is_some_and(|t| t <= now) {
                f.request(now, &**abr);
            }
            if let Some(m) = &mut f.minerva
                && m.next_event().is_some_and(|t| t <= now)
            {
                let progress = Progress {
                    acked_bytes: (f.acked_bits / 8.0).round() as u64,
                    busy: Duration::from_secs_f64(f.busy_s),
                    min_rtt: RTT,
                };
                f.updates.extend(m.poll(now, progress));
            }
        }
        let active = |f: &Flow| f.left_bits > 0.0;
        let pull = |f: &Flow| f.share.powf(link.exponent) * f.noise;
        if link.lag_s == 0.0 {
            flows.iter_mut().for_each(|f| f.share = f.weight());
        }
        let total: f64 = flows.iter().filter(|f| active(f)).map(pull).sum();
        let mut dt = tick.min((end - now).as_secs_f64());
        let rates: Vec<f64> = flows
            .iter()
            .map(|f| if active(f) { link.capacity_bps * pull(f) / total } else { 0.0 })
            .collect();
        for (f, rate) in flows.iter().zip(&rates) {
            if active(f) {
                dt = dt.min(f.left_bits / rate);
            }
            for t in [f.player.next_request_at(), f.minerva.as_ref().and_then(Minerva::next_event)]
                .into_iter()
                .flatten()
            {
                dt = dt.min((t - now).as_secs_f64());
            }
        }
        let step = Duration::from_secs_f64(dt).max(Duration::from_nanos(1));
        let dt = step.as_secs_f64();
        now += step;
        for (f, rate) in flows.iter_mut().zip(&rates) {
            if link.lag_s > 0.0 {
                f.share += (f.weight() - f.share) * (1.0 - (-dt / link.lag_s).exp());
            }
            if f.left_bits > 0.0 {
                let bits = (rate * dt).min(f.left_bits);
                f.acked_bits += bits;
                f.busy_s += dt;
                f.left_bits -= bits;
                // Nanoseconds leave a few bits.
                if f.left_bits < 64.0 {
                    f.acked_bits += f.left_bits;
                    f.left_bits = 0.0;
                    if let Some((chunk, rung, at)) = f.player.pending() {
                        let bytes = f.player.setting().video().size_bytes(rung, chunk);
                        f.player.on_chunk(now, bytes, now - at);
                    }
                }
            }
        }
    }
    flows
        .into_iter()
        .map(|f| Outcome { player: f.player, bytes: f.acked_bits / 8.0, updates: f.updates })
        .collect()
}

/// A standard normal deviate (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    let (a, b): (f64, f64) = (rng.random_range(f64::MIN_POSITIVE..1.0), rng.random_range(0.0..1.0));
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}
