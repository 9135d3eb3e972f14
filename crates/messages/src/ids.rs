//! Numbers of a session.

/// Numbers by which both ends know a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    /// Number of this end: packets that come have it.
    pub local: u32,
    /// Number of the peer: packets that are sent have it.
    pub remote: u32,
}
