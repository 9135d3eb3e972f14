//! The text of `iw dev DEVICE survey dump`.

use std::time::Duration;

use super::Reading;

/// Number of channels in a survey.
pub const MAX_SURVEYS: usize = 1_024;

/// Times of one channel since the interface came up, as far as the driver tells them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// MHz.
    pub frequency_mhz: u32,
    /// The channel that the interface uses.
    pub is_in_use: bool,
    /// Noise, dBm.
    pub noise_dbm: Option<i32>,
    /// Time that the radio listened to it.
    pub active: Option<Duration>,
    /// Part of it in which the channel was sensed busy.
    pub busy: Option<Duration>,
    /// Part of it in which the radio received.
    pub receive: Option<Duration>,
    /// Part of it in which the radio sent.
    pub transmit: Option<Duration>,
}

/// Error in such a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SurveyError {
    /// A value that cannot be read.
    #[error("line {line}: found \"{found}\"; expected {expected}")]
    Value {
        /// Counted from 1.
        line: usize,
        /// Text that was found, its first 60 characters.
        found: String,
        /// Value that was expected.
        expected: &'static str,
    },
    /// No channel.
    #[error("found no frequency; expected the output of iw dev DEVICE survey dump")]
    Empty,
    /// Too many.
    #[error("found more than {MAX_SURVEYS} channels")]
    Crowded,
}

impl Survey {
    /// Reads the text, all channels of it. Lines that are not known are left aside.
    ///
    /// # Errors
    /// [`SurveyError`] of a value that cannot be read, and of a text without a channel.
    pub fn parse(text: &str) -> Result<Vec<Self>, SurveyError> {
        let mut all: Vec<Self> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let Some((key, value)) = line.trim().split_once(':') else { continue };
            let value = value.trim();
            let wrong = |expected| SurveyError::Value {
                line: number + 1,
                found: value.chars().take(60).collect(),
                expected,
            };
            let mut words = value.split_whitespace();
            let (first, second, third) = (words.next(), words.next(), words.next());
            if key == "frequency" {
                let mhz = first.and_then(|word| word.parse().ok());
                let frequency_mhz = mhz.filter(|_| second == Some("MHz"));
                let frequency_mhz =
                    frequency_mhz.ok_or_else(|| wrong("a frequency, such as 5180 MHz"))?;
                if all.len() == MAX_SURVEYS {
                    return Err(SurveyError::Crowded);
                }
                let is_in_use = third == Some("[in");
                all.push(Self { frequency_mhz, is_in_use, ..Self::default() });
                continue;
            }
            let Some(survey) = all.last_mut() else { continue };
            if key == "noise" {
                let dbm =
                    first.and_then(|word| word.parse().ok()).filter(|_| second == Some("dBm"));
                survey.noise_dbm = Some(dbm.ok_or_else(|| wrong("a level, such as -95 dBm"))?);
                continue;
            }
            let field = match key {
                "channel active time" => &mut survey.active,
                "channel busy time" => &mut survey.busy,
                "channel receive time" => &mut survey.receive,
                "channel transmit time" => &mut survey.transmit,
                _ => continue,
            };
            let ms = first.and_then(|word| word.parse().ok()).filter(|_| second == Some("ms"));
            *field =
                Some(Duration::from_millis(ms.ok_or_else(|| wrong("a time, such as 340 ms"))?));
        }
        if all.is_empty() { Err(SurveyError::Empty) } else { Ok(all) }
    }

    /// Reading over the time since an earlier survey of the same channel. Counters that went back, as after
    /// the interface came up anew, count from zero.
    pub fn since(&self, earlier: &Self) -> Reading {
        let passed = |now: Option<Duration>, then: Option<Duration>| {
            now.map(|now| now.checked_sub(then.unwrap_or_default()).unwrap_or(now))
        };
        let active = passed(self.active, earlier.active).filter(|active| !active.is_zero());
        let busy = passed(self.busy, earlier.busy);
        let without_contention =
            active.zip(busy).map(|(active, busy)| busy.div_duration_f64(active).min(1.0));
        Reading { without_contention, ..Reading::default() }
    }
}
