//! When the frame rate goes down and up.

use airlane_base::Rate;

/// Constants of the adaptation; the defaults are those of the authors' code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptationConfig {
    /// Ticks in a row with an empty queue that are one signal that the queue is empty.
    pub empty_ticks: u32,
    /// Signals of congestion that start-up bears.
    pub startup_signals: u32,
    /// Signals of an empty queue before it probes.
    pub steady_signals: u32,
    /// Factor by which the rate of a probe grows from one tick to the next.
    pub probe_pace: f64,
    /// Probes at the next level's rate, without congestion, after which it goes up.
    pub probes: u32,
    /// Weight of the newest sample of the delivery rate.
    pub gain: f64,
    /// The share of the delivery rate that a level may take when it goes down.
    pub margin: f64,
}

impl Default for AdaptationConfig {
    fn default() -> Self {
        Self {
            empty_ticks: 20,
            startup_signals: 3,
            steady_signals: 3,
            probe_pace: 1.05,
            probes: 3,
            gain: 0.5,
            margin: 0.9,
        }
    }
}

/// State of the rate adaptation (section 4.2 of AWStream).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    /// It goes up by a level with every signal of an empty queue.
    Startup,
    /// It went down, and waits for the queue to empty.
    Degrade,
    /// It stays.
    Steady,
    /// It sends more than its frames, to find out whether the path carries the next level.
    Probe {
        /// The rate of frames and padding together.
        rate: Rate,
        /// Ticks at the next level's rate so far.
        done: u32,
    },
}

/// Observation of the sender's queue over a tick of 100 ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tick {
    /// Bytes that wait in it.
    pub waiting: u64,
    /// The rate at which bytes were delivered.
    pub delivered: Rate,
}

/// The state machine.
#[derive(Clone, Debug)]
pub struct Adaptation {
    config: AdaptationConfig,
    /// The rates of the levels, rising.
    levels: Vec<Rate>,
    level: usize,
    state: State,
    rate: Option<f64>,
    before: u64,
    empty: u32,
    empty_signals: u32,
    congested: u32,
}

impl Adaptation {
    /// At the lowest of `levels`, rates that rise, of which there is at least one.
    pub fn new(config: AdaptationConfig, levels: Vec<Rate>) -> Self {
        Self {
            config,
            levels,
            level: 0,
            state: State::Startup,
            rate: None,
            before: 0,
            empty: 0,
            empty_signals: 0,
            congested: 0,
        }
    }

    /// The level, from 0.
    pub fn level(&self) -> usize {
        self.level
    }

    /// State of the adaptation.
    pub fn state(&self) -> State {
        self.state
    }

    /// A tick has passed. The rate of padding that is to be sent until the next, beside the frames.
    pub fn tick(&mut self, tick: Tick) -> Rate {
        let sample = tick.delivered.as_f64();
        let gain = self.config.gain;
        self.rate = Some(self.rate.map_or(sample, |rate| rate + gain * (sample - rate)));
        let congested = tick.waiting > self.before && tick.waiting > 0;
        self.before = tick.waiting;
        self.empty = if tick.waiting == 0 { self.empty + 1 } else { 0 };
        let emptied = self.empty >= self.config.empty_ticks;
        if emptied {
            self.empty = 0;
        }
        self.congested = if congested { self.congested + 1 } else { 0 };
        match self.state {
            State::Startup if self.congested > self.config.startup_signals => self.degrade(),
            State::Startup if emptied => {
                self.go_up();
                if self.level + 1 == self.levels.len() {
                    self.state = State::Steady;
                }
            }
            State::Startup => {}
            _ if congested && tick.waiting > self.tolerated() => self.degrade(),
            State::Degrade if emptied => self.rest(),
            State::Steady if emptied => {
                self.empty_signals += 1;
                if self.empty_signals > self.config.steady_signals && self.next().is_some() {
                    let rate = self.levels[self.level];
                    self.state = State::Probe { rate, done: 0 };
                }
            }
            State::Probe { rate, done } => return self.probe(rate, done),
            State::Degrade | State::Steady => {}
        }
        Rate::ZERO
    }

    /// A frame that is on its way is no congestion: so much may wait.
    fn tolerated(&self) -> u64 {
        // A fifth of a second of the level.
        self.levels[self.level].bps() / 8 / 5
    }

    fn next(&self) -> Option<Rate> {
        self.levels.get(self.level + 1).copied()
    }

    fn go_up(&mut self) {
        self.level = (self.level + 1).min(self.levels.len() - 1);
    }

    fn rest(&mut self) {
        self.state = State::Steady;
        self.empty_signals = 0;
    }

    /// Goes down to what the delivery rate carries, by one level at least.
    fn degrade(&mut self) {
        let most = self.rate.unwrap_or(0.0) * self.config.margin;
        let fits = self.levels.partition_point(|level| level.as_f64() <= most).saturating_sub(1);
        self.level = fits.min(self.level.saturating_sub(1));
        self.state = State::Degrade;
        self.congested = 0;
    }

    fn probe(&mut self, rate: Rate, done: u32) -> Rate {
        let Some(next) = self.next() else {
            self.rest();
            return Rate::ZERO;
        };
        let (rate, done) = if rate >= next {
            (next, done + 1)
        } else {
            (rate.scale(self.config.probe_pace).min(next), done)
        };
        if done > self.config.probes {
            self.go_up();
            self.rest();
            return Rate::ZERO;
        }
        self.state = State::Probe { rate, done };
        Rate::from_bps(rate.bps().saturating_sub(self.levels[self.level].bps()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbps(rates: &[f64]) -> Vec<Rate> {
        rates.iter().map(|rate| Rate::from_mbps(*rate)).collect()
    }

    /// Ticks with an empty queue and all of the level's rate delivered.
    fn calm(adaptation: &mut Adaptation, ticks: usize) -> Vec<usize> {
        let mut levels = Vec::new();
        for _ in 0..ticks {
            let delivered = adaptation.levels[adaptation.level()];
            adaptation.tick(Tick { waiting: 0, delivered });
            levels.push(adaptation.level());
        }
        levels
    }

    #[test]
    fn it_goes_up_every_two_seconds_at_first() {
        let mut adaptation = Adaptation::new(AdaptationConfig::default(), mbps(&[1.0, 2.0, 4.0]));
        let levels = calm(&mut adaptation, 60);
        assert_eq!((levels[18], levels[19], levels[38], levels[39]), (0, 1, 1, 2));
        assert_eq!(adaptation.state(), State::Steady);
    }

    #[test]
    fn a_queue_that_grows_takes_it_down_to_what_is_delivered() {
        let mut adaptation =
            Adaptation::new(AdaptationConfig::default(), mbps(&[1.0, 2.0, 4.0, 8.0]));
        calm(&mut adaptation, 80);
        assert_eq!(adaptation.level(), 3);
        for n in 1..6 {
            let delivered = Rate::from_mbps(2.5);
            adaptation.tick(Tick { waiting: 100_000 * n, delivered });
        }
        assert_eq!(adaptation.level(), 0);
        assert_eq!(adaptation.state(), State::Degrade);
        // Two seconds empty, and it rests; then more than three signals, and it probes.
        calm(&mut adaptation, 20);
        assert_eq!(adaptation.state(), State::Steady);
        calm(&mut adaptation, 79);
        assert_eq!(adaptation.state(), State::Steady);
        calm(&mut adaptation, 1);
        assert!(matches!(adaptation.state(), State::Probe { .. }));
        // From 1 to 2 Mbit/s by 5 % a tick, and three ticks there.
        calm(&mut adaptation, 20);
        assert_eq!((adaptation.level(), adaptation.state()), (1, State::Steady));
    }

    #[test]
    fn congestion_ends_a_probe() {
        let mut adaptation = Adaptation::new(AdaptationConfig::default(), mbps(&[1.0, 2.0, 4.0]));
        calm(&mut adaptation, 45);
        adaptation.level = 1;
        adaptation.state = State::Probe { rate: Rate::from_mbps(2.0), done: 0 };
        let padding = adaptation.tick(Tick { waiting: 0, delivered: Rate::from_mbps(2.0) });
        assert!(padding > Rate::ZERO && padding < Rate::from_mbps(0.2), "{padding:?}");
        adaptation.tick(Tick { waiting: 200_000, delivered: Rate::from_mbps(2.0) });
        assert_eq!((adaptation.level(), adaptation.state()), (0, State::Degrade));
    }
}
