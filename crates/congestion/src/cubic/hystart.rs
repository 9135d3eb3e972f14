//! HyStart++ (RFC 9406): slow start that ends when the round-trip time rises.

use std::time::Duration;

/// Bounds of the rise that ends slow start (section 4.3).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// The rise as a part of the round-trip time.
const MIN_RTT_DIVISOR: u32 = 8;
/// Samples of a round before it is judged.
const N_RTT_SAMPLE: u32 = 8;
/// Conservative slow start grows this much slower.
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// Rounds of conservative slow start before congestion avoidance.
const CSS_ROUNDS: u32 = 5;

/// Conservative slow start: is the rise still there?
#[derive(Clone, Copy, Debug)]
struct Conservative {
    baseline: Duration,
    rounds: u32,
}

/// Reaction of slow start to an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Growth {
    /// Grow by this share of the acknowledged bytes.
    Share(f64),
    /// Leave slow start.
    Done,
}

/// The state of HyStart++ during the first slow start. As packets are paced, growth per
/// acknowledgement has no limit (L is infinite, section 4.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HyStart {
    last_round_min: Option<Duration>,
    this_round_min: Option<Duration>,
    samples: u32,
    conservative: Option<Conservative>,
}

impl HyStart {
    /// An acknowledgement with a round-trip time; `new_round` if a round starts with it.
    pub fn on_ack(&mut self, rtt: Duration, new_round: bool) -> Growth {
        if new_round {
            if let Some(css) = &mut self.conservative {
                css.rounds += 1;
                if css.rounds >= CSS_ROUNDS {
                    return Growth::Done;
                }
            }
            self.last_round_min = self.this_round_min.take();
            self.samples = 0;
        }
        let min = self.this_round_min.map_or(rtt, |m| m.min(rtt));
        self.this_round_min = Some(min);
        self.samples += 1;
        if self.samples >= N_RTT_SAMPLE {
            match self.conservative {
                None => {
                    if let Some(last) = self.last_round_min {
                        let rise = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                        if min >= last + rise {
                            self.conservative = Some(Conservative { baseline: min, rounds: 0 });
                        }
                    }
                }
                // The rise went away: it was not a queue.
                Some(css) if min < css.baseline => self.conservative = None,
                Some(_) => {}
            }
        }
        Growth::Share(if self.conservative.is_some() { 1.0 / CSS_GROWTH_DIVISOR } else { 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(h: &mut HyStart, ms: u64) -> Growth {
        let mut last = h.on_ack(Duration::from_millis(ms), true);
        for _ in 1..10 {
            if last == Growth::Done {
                return last;
            }
            last = h.on_ack(Duration::from_millis(ms), false);
        }
        last
    }

    #[test]
    fn a_rise_that_stays_ends_slow_start_after_five_rounds() {
        let mut h = HyStart::default();
        assert_eq!(round(&mut h, 20), Growth::Share(1.0));
        assert_eq!(round(&mut h, 23), Growth::Share(1.0));
        for _ in 0..5 {
            assert_eq!(round(&mut h, 28), Growth::Share(0.25));
        }
        assert_eq!(round(&mut h, 28), Growth::Done);
    }

    #[test]
    fn a_rise_that_goes_away_resumes_slow_start() {
        let mut h = HyStart::default();
        round(&mut h, 20);
        assert_eq!(round(&mut h, 30), Growth::Share(0.25));
        assert_eq!(round(&mut h, 21), Growth::Share(1.0));
    }
}
