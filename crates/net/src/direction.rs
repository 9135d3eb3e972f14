//! The direction of packets.

use std::fmt;

use serde::Serialize;

/// Direction in which packets cross an access, or a link between two machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Direction {
    /// From the core to the hosts on the access; from a server to its clients.
    Down,
    /// From the hosts on the access to the core; from clients to their server.
    Up,
}

impl Direction {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Down, Self::Up];

    /// The name in tables and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
