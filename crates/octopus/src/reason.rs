//! The reasons for which packets are dropped.

/// Reason for which a packet of a message is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Reason {
    /// A newer message that drops it is whole in the queue (section 4.1, condition 1).
    Newer = 1,
    /// Its stream is served more slowly than its bitrate (condition 2).
    Bitrate = 2,
    /// The first packet of its message never came.
    Headless = 3,
    /// The queue was full, for it or for another packet of its message.
    Overflow = 4,
}
