//! Memory of Linux's sending end, which follows from the congestion windows of its subflows.
//!
//! A subflow's socket has room for two windows (`tcp_sndbuf_expand`), reckoned in packets with all
//! that the kernel keeps of each. The stream's socket holds what was written until the data
//! acknowledgement, and has what its subflows' sockets have: since 6.7 their sum
//! (`__mptcp_sync_sndbuf`), before that the largest (`mptcp_propagate_sndbuf`). So a stream of one
//! fast and one slow subflow has memory for two round trips of the fast one, though what it sent
//! on the slow one holds all of that for longer.

use crate::path::Path;
use crate::scheduler::linux::BURST;

/// Number of congestion windows that a socket has room for.
const WINDOWS: u64 = 2;
/// Bytes of a socket's send buffer at most (`tcp_wmem[2]`, the default).
const MAX_SOCKET_BYTES: u64 = 4 << 20;
/// Bytes that the stream's socket has beyond its subflows' (`tcp_wmem[0]`).
const OWN_BYTES: u64 = 4096;

/// Memory of a stream's sending end, as a kernel gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelMemory {
    /// Bytes that the kernel reckons for each packet: payload, headers and bookkeeping, the first two
    /// rounded up to a power of two.
    pub packet_bytes: u64,
    /// Share of its subflows' memory that the stream has.
    pub share: MemoryShare,
}

/// Share of its subflows' memory that a stream has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryShare {
    /// The sum over its subflows: Linux 6.7 and later.
    Sum,
    /// That of the subflow that has most: Linux until 6.6.
    Largest,
}

impl KernelMemory {
    /// Bytes of a packet with 1448 bytes of payload in the kernels of distributions, whose headers
    /// leave room for those of wireless interfaces and tunnels: 4096 and 256.
    pub const PACKET_BYTES: u64 = 4352;

    /// Bytes of a subflow's send buffer, sent and not, that has grown for this window.
    pub(crate) fn socket_bytes(&self, cwnd: u64, mss: u64) -> u64 {
        let packets = cwnd / mss.max(1);
        let grown = packets.saturating_mul(WINDOWS * self.packet_bytes);
        grown.clamp(BURST, MAX_SOCKET_BYTES)
    }

    /// Bytes of the stream's send buffer, acknowledged to the stream or not.
    pub(crate) fn stream_bytes<'a>(&self, paths: impl Iterator<Item = &'a Path>) -> u64 {
        let sockets = paths.map(|path| path.socket_bytes);
        let bytes = match self.share {
            MemoryShare::Sum => OWN_BYTES + sockets.sum::<u64>(),
            MemoryShare::Largest => sockets.max().unwrap_or_default(),
        };
        bytes.max(BURST)
    }
}
