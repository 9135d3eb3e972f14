//! What a server sends to an address that has not shown that it receives there: at most three times
//! what came from it (RFC 9000, section 8.1).
//!
//! noq begins a datagram as long as a single byte may be sent, and so goes beyond that by as much as a
//! datagram holds. Here nothing is built for which there may be no room.

/// Ratio of the bytes that may be sent to the bytes received (RFC 9000, section 8.1).
const FACTOR: u64 = 3;
/// Bytes of a datagram that asks for an answer in a handshake (RFC 9000, section 14.1): where there is
/// room for fewer, what waits had better wait on.
const DATAGRAM_BYTES: u64 = 1200;

/// Bytes either way, UDP payloads, until the client's address is validated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unvalidated {
    received: u64,
    sent: u64,
}

impl Unvalidated {
    /// A client whose first datagram has so many bytes.
    pub(super) fn new(received: u64) -> Self {
        Self { received, sent: 0 }
    }

    pub(super) fn on_received(&mut self, bytes: u64) {
        self.received = self.received.saturating_add(bytes);
    }

    /// True if another datagram may be built.
    pub(super) fn has_room(&self) -> bool {
        self.left() >= DATAGRAM_BYTES
    }

    /// True if a datagram of so many bytes may be sent, which then counts.
    pub(super) fn take(&mut self, bytes: u64) -> bool {
        let fits = bytes <= self.left();
        self.sent += if fits { bytes } else { 0 };
        fits
    }

    fn left(&self) -> u64 {
        self.received.saturating_mul(FACTOR).saturating_sub(self.sent)
    }
}
