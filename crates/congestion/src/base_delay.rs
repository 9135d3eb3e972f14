//! Base delay of a path: the least delay of the last minutes (RFC 6817, section 2.4.2).

use std::collections::VecDeque;

use airlane_base::Time;

/// Minutes whose least delay is the base delay (BASE_HISTORY).
const BASE_MINUTES: usize = 10;

/// History of delays, by minutes.
#[derive(Clone, Debug)]
pub(crate) struct BaseDelay {
    /// The least delay of each of the last minutes, seconds, with the number of the minute.
    minutes: VecDeque<(u64, f64)>,
}

impl Default for BaseDelay {
    fn default() -> Self {
        Self { minutes: VecDeque::with_capacity(BASE_MINUTES + 1) }
    }
}

impl BaseDelay {
    /// Takes a delay in seconds, and returns the base delay, which is at most that.
    pub fn update(&mut self, now: Time, delay: f64) -> f64 {
        let minute = now.as_secs_f64() as u64 / 60;
        match self.minutes.back_mut() {
            Some((last, least)) if *last == minute => *least = least.min(delay),
            _ => self.minutes.push_back((minute, delay)),
        }
        while self.minutes.len() > BASE_MINUTES {
            self.minutes.pop_front();
        }
        self.minutes.iter().map(|(_, least)| *least).fold(f64::INFINITY, f64::min)
    }

    /// Forgets all delays.
    pub fn reset(&mut self) {
        self.minutes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_delay_is_forgotten_after_ten_minutes_or_by_a_reset() {
        let mut base = BaseDelay::default();
        assert_eq!(base.update(Time::from_secs_f64(1.0), 0.02), 0.02);
        assert_eq!(base.update(Time::from_secs_f64(30.0), 0.05), 0.02);
        for minute in 1..10 {
            assert_eq!(base.update(Time::from_secs_f64(60.0 * f64::from(minute)), 0.05), 0.02);
        }
        assert_eq!(base.update(Time::from_secs_f64(600.0), 0.06), 0.05);
        base.reset();
        assert_eq!(base.update(Time::from_secs_f64(601.0), 0.08), 0.08);
    }
}
