//! A report on the wire. `docs/reference/wire/cupid.md` has it bit by bit, with test vectors.

use std::time::Duration;

use airlane_base::{Rate, Time};

/// Bytes of a report.
pub const FEEDBACK_BYTES: usize = 10;
/// The version of the format.
pub const VERSION: u8 = 1;

/// The highest rate, kbit/s: 24 bits.
const MAX_KBPS: u32 = (1 << 24) - 1;
/// A silence after which any number is taken for the newest: its sender began anew.
const FORGET: Duration = Duration::from_secs(1);

const HAS_ROOM: u8 = 1;
const IS_ISOLATED: u8 = 2;

/// A report of a receiver to a sender, one per interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// Counts reports, and wraps.
    pub sequence: u16,
    /// The rate of UDP payload of this flow, whole kbit/s.
    pub rate: Rate,
    /// The share of the air in use, in 255ths.
    pub utilisation: u8,
    /// Stations that share the air; 255 is that many or more.
    pub stations: u8,
    /// Interval until the next report, ms; at least 1.
    pub interval_ms: u8,
    /// Part of the utilisation that was heard rather than inferred, in 255ths.
    pub confidence: u8,
    /// Utilisation is below what is aimed at: the air is not what holds the flow back.
    pub has_room: bool,
    /// The access point divides the air among stations by itself: the rate is what the receiver's own share
    /// carries, and a queue that stands is the flow's own.
    pub is_isolated: bool,
}

/// Error in a report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeedbackError {
    /// Fewer bytes than a report has.
    #[error("found {0} bytes; expected at least {FEEDBACK_BYTES}")]
    Truncated(usize),
    /// A version that is not known.
    #[error("found version {0}; expected {VERSION}")]
    Version(u8),
    /// An interval of zero.
    #[error("found an interval of 0 ms; expected 1 to 255")]
    Interval,
}

impl Feedback {
    /// The bytes. A rate above 16.7 Gbit/s is written as that, an interval of zero as 1 ms.
    pub fn encode(&self) -> [u8; FEEDBACK_BYTES] {
        let kbps = u32::try_from(self.rate.bps() / 1_000).unwrap_or(MAX_KBPS).min(MAX_KBPS);
        let [_, rate @ ..] = kbps.to_be_bytes();
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags = flag(self.has_room, HAS_ROOM) | flag(self.is_isolated, IS_ISOLATED);
        let [high, low] = self.sequence.to_be_bytes();
        [
            VERSION << 4 | flags,
            high,
            low,
            rate[0],
            rate[1],
            rate[2],
            self.utilisation,
            self.stations,
            self.interval_ms.max(1),
            self.confidence,
        ]
    }

    /// Reads a report. What follows it belongs to later versions and is left aside.
    ///
    /// # Errors
    /// [`FeedbackError`] of what is no report of this version.
    pub fn decode(bytes: &[u8]) -> Result<Self, FeedbackError> {
        let &[first, high, low, r0, r1, r2, utilisation, stations, interval_ms, confidence, ..] =
            bytes
        else {
            return Err(FeedbackError::Truncated(bytes.len()));
        };
        if first >> 4 != VERSION {
            return Err(FeedbackError::Version(first >> 4));
        }
        if interval_ms == 0 {
            return Err(FeedbackError::Interval);
        }
        Ok(Self {
            sequence: u16::from_be_bytes([high, low]),
            rate: Rate::from_bps(u64::from(u32::from_be_bytes([0, r0, r1, r2])) * 1_000),
            utilisation,
            stations,
            interval_ms,
            confidence,
            has_room: first & HAS_ROOM != 0,
            is_isolated: first & IS_ISOLATED != 0,
        })
    }

    /// True if all of the air is in use: at eta it is not.
    pub fn is_full(&self) -> bool {
        self.utilisation >= Self::part(crate::FULL)
    }

    /// The time until the next report.
    pub fn interval(&self) -> Duration {
        Duration::from_millis(self.interval_ms.into())
    }

    /// A share as the wire has it: 255ths, NaN as 0.
    pub fn part(share: f64) -> u8 {
        (share.clamp(0.0, 1.0) * 255.0).round() as u8
    }
}

/// Counts of the reports that came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InboxCounts {
    /// Taken.
    pub taken: u64,
    /// Never seen when a later one came: lost, or late.
    pub skipped: u64,
    /// Older than the newest, or the same again.
    pub stale: u64,
    /// Reports of no known version.
    pub refused: u64,
}

/// A sender's side: takes the newest report and leaves what comes late.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    newest: Option<(u16, Time)>,
    counts: InboxCounts,
}

impl Inbox {
    /// An inbox that has taken nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads what came. `Ok(None)` if it is older than what was taken before, by serial arithmetic (RFC
    /// 1982, of 16 bits); after a second without a report any is taken, as its receiver may have begun
    /// anew.
    ///
    /// # Errors
    /// As [`Feedback::decode`].
    pub fn take(&mut self, now: Time, bytes: &[u8]) -> Result<Option<Feedback>, FeedbackError> {
        let feedback = Feedback::decode(bytes).inspect_err(|_| self.counts.refused += 1)?;
        if let Some((newest, at)) = self.newest
            && now.since(at) < FORGET
        {
            let ahead = feedback.sequence.wrapping_sub(newest) as i16;
            if ahead <= 0 {
                self.counts.stale += 1;
                return Ok(None);
            }
            self.counts.skipped += u64::from(ahead.unsigned_abs()) - 1;
        }
        self.newest = Some((feedback.sequence, now));
        self.counts.taken += 1;
        Ok(Some(feedback))
    }

    /// Counts of the reports so far.
    pub fn counts(&self) -> InboxCounts {
        self.counts
    }
}
