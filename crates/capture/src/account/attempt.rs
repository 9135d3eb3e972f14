//! Attempts to send, and their airtime.

use std::ops::AddAssign;
use std::time::Duration;

use airlane_wifi::FrameExchange;

/// MPDUs above this many bytes make a station an active one.
const ACTIVE_BYTES: u64 = 200;

/// Airtime by parts, and by how it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Airtime {
    /// Durations of what was heard.
    pub heard: Duration,
    /// Announced, but not heard: the duration fields of RTS, CTS and data, or the place between two
    /// frames that were heard, say how long it was.
    pub announced: Duration,
    /// Answered, but not heard: what an acknowledgement acknowledges, at the sender's last rate.
    pub answered: Duration,
    /// Gaps inside of attempts, and waiting for answers that were not heard.
    pub gaps: Duration,
    /// Nominal cost of contending.
    pub contention: Duration,
}

impl Airtime {
    /// Airtime without contention: the time in which the air was not free.
    pub fn without_contention(&self) -> Duration {
        self.heard + self.announced + self.answered + self.gaps
    }

    /// Airtime with contention, which is what is charged.
    pub fn with_contention(&self) -> Duration {
        self.without_contention() + self.contention
    }

    /// Airtime that was not heard.
    pub fn inferred(&self) -> Duration {
        self.announced + self.answered
    }
}

impl AddAssign for Airtime {
    fn add_assign(&mut self, other: Self) {
        self.heard += other.heard;
        self.announced += other.announced;
        self.answered += other.answered;
        self.gaps += other.gaps;
        self.contention += other.contention;
    }
}

/// An attempt to send.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The frame exchange, as far as it was heard.
    pub exchange: &'a FrameExchange,
    /// Airtime of the exchange.
    pub air: Airtime,
    /// Airtime of the PPDU, heard or inferred.
    pub ppdu: Duration,
    /// True if the PPDU was data, or is taken for it.
    pub is_data: bool,
    /// Bytes that were not heard: from the inferred air and the sender's last rate.
    pub inferred_bytes: u64,
    /// True if an answer was expected and none was heard.
    pub is_unanswered: bool,
}

impl Attempt<'_> {
    /// True if there was an MPDU of data of more than 200 bytes.
    pub fn is_active(&self) -> bool {
        let max_bytes = u64::from(self.exchange.ppdu.as_ref().map_or(0, |ppdu| ppdu.max_bytes));
        self.is_data && max_bytes.max(self.inferred_bytes) > ACTIVE_BYTES
    }
}
