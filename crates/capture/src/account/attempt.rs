//! One attempt to send, and what it cost the air.

use std::ops::AddAssign;
use std::time::Duration;

use airlane_wifi::FrameExchange;

/// MPDUs above this many bytes make a station an active one.
const ACTIVE_BYTES: u64 = 200;

/// What a share of the air is made of, and how it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Air {
    /// Heard: the durations of what came.
    pub heard: Duration,
    /// Not heard, but announced: the duration fields of RTS, CTS and data, or the place between two
    /// frames that were heard, say how long it was.
    pub announced: Duration,
    /// Not heard, but answered: what an acknowledgement acknowledges, at the sender's last rate.
    pub answered: Duration,
    /// The gaps inside of attempts, and waiting for answers that were not heard.
    pub gaps: Duration,
    /// What contending is charged with.
    pub contention: Duration,
}

impl Air {
    /// Without contention: the time in which the air was not free.
    pub fn bare(&self) -> Duration {
        self.heard + self.announced + self.answered + self.gaps
    }

    /// All of it: what is charged.
    pub fn charged(&self) -> Duration {
        self.bare() + self.contention
    }

    /// What was not heard.
    pub fn inferred(&self) -> Duration {
        self.announced + self.answered
    }
}

impl AddAssign for Air {
    fn add_assign(&mut self, other: Self) {
        self.heard += other.heard;
        self.announced += other.announced;
        self.answered += other.answered;
        self.gaps += other.gaps;
        self.contention += other.contention;
    }
}

/// Which way a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From an access point to a station.
    Down,
    /// From a station to an access point.
    Up,
    /// Neither, or that is not known: among stations or access points, or to everybody.
    Other,
}

/// One attempt to send.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// The frame exchange, as far as it was heard.
    pub exchange: FrameExchange,
    /// Airtime of the exchange.
    pub air: Air,
    /// Airtime of the PPDU, heard or inferred.
    pub ppdu: Duration,
    /// Whether the PPDU was data, or is taken for it.
    pub is_data: bool,
    /// Bytes that were not heard: from the inferred air and the sender's last rate.
    pub inferred_bytes: u64,
    /// Whether an answer was expected and none was heard.
    pub is_unanswered: bool,
}

impl Attempt {
    /// Whether there was an MPDU of data of more than 200 bytes.
    pub fn is_active(&self) -> bool {
        let max_bytes = u64::from(self.exchange.ppdu.map_or(0, |ppdu| ppdu.max_bytes));
        self.is_data && max_bytes.max(self.inferred_bytes) > ACTIVE_BYTES
    }
}
