//! One attempt to send, and what it cost the air.

use std::ops::AddAssign;
use std::time::Duration;

use airlane_base::Time;
use airlane_wifi::{Address, Vector};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// When its first symbol was in the air.
    pub at: Time,
    /// What it cost.
    pub air: Air,
    /// Who sent; `None` if that is not known.
    pub sender: Option<Address>,
    /// To whom.
    pub receiver: Option<Address>,
    /// How the PPDU was sent, if it was heard.
    pub vector: Option<Vector>,
    /// How long the PPDU was in the air, heard or inferred.
    pub ppdu: Duration,
    /// Whether the PPDU was data (or what is taken for it).
    pub is_data: bool,
    /// MPDUs of it that were heard.
    pub frames: u32,
    /// Of these, sent again.
    pub retries: u32,
    /// Bytes of these.
    pub bytes: u64,
    /// Bytes that were not heard: from the inferred air and the sender's last rate.
    pub inferred_bytes: u64,
    /// Whether there was an MPDU of more than 200 bytes.
    pub is_active: bool,
    /// Whether an answer was expected and none was heard.
    pub is_unanswered: bool,
}
