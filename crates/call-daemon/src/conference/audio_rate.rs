//! Rate that audio takes of a downlink.

use std::time::Duration;

use airlane_base::Time;

/// Rate that is kept for audio at least, bit/s: somebody may begin to speak.
const MIN_BPS: f64 = 40e3;
/// Time constant of the mean.
const TIME_CONSTANT: Duration = Duration::from_secs(1);

/// Mean rate of the audio that was forwarded of late. Silences are not sent (`usedtx`), so the number of people does
/// not tell it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AudioRate {
    bps: f64,
    last: Option<(Time, u64)>,
}

impl AudioRate {
    /// Takes the count of all bytes forwarded up to now.
    pub(super) fn sample(&mut self, now: Time, bytes: u64) {
        let Some((at, before)) = self.last.replace((now, bytes)) else { return };
        let time_s = now.since(at).as_secs_f64();
        if time_s > 0.0 {
            let bps = bytes.saturating_sub(before) as f64 * 8.0 / time_s;
            let weight = 1.0 - (-time_s / TIME_CONSTANT.as_secs_f64()).exp();
            self.bps += (bps - self.bps) * weight;
        }
    }

    /// Rate to keep for audio, bit/s.
    pub(super) fn bps(&self) -> f64 {
        self.bps.max(MIN_BPS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_follows_what_is_forwarded_and_keeps_room_for_one_voice() {
        let mut rate = AudioRate::default();
        for n in 0..=50 {
            rate.sample(Time::from_millis(100 * n), 1250 * n);
        }
        assert!((rate.bps() - 100e3).abs() < 2e3, "{}", rate.bps());
        for n in 51..=100 {
            rate.sample(Time::from_millis(100 * n), 1250 * 50);
        }
        assert_eq!(rate.bps(), MIN_BPS);
    }
}
