//! Memory of Linux's sending end, which follows from the congestion windows of its subflows.
//!
//! A subflow's socket has room for two windows (`tcp_sndbuf_expand`), reckoned in packets with all
//! that the kernel keeps of each. The stream's socket holds what was written until the data
//! acknowledgement, and has what its subflows' sockets have: since 6.7 their sum
//! (`__mptcp_sync_sndbuf`), before that the largest (`mptcp_propagate_sndbuf`). So a stream of one
//! fast and one slow subflow has memory for two round trips of the fast one, though what it sent
//! on the slow one holds all of that for longer.

use crate::SchedulerKind;
use crate::path::Path;
use crate::scheduler::linux::BURST;

/// Bytes that kernels of distributions reckon for a packet with 1448 bytes of payload: 4096 for
/// payload and headers, which leave room for those of wireless interfaces and tunnels, and 256 for
/// bookkeeping.
pub const KERNEL_PACKET_BYTES: u64 = 4352;

/// Number of congestion windows that a socket has room for.
const WINDOWS: u64 = 2;
/// Bytes of a socket's send buffer at most (`tcp_wmem[2]`, the default).
const MAX_SOCKET_BYTES: u64 = 4 << 20;
/// Bytes that the stream's socket has beyond its subflows' (`tcp_wmem[0]`).
const OWN_BYTES: u64 = 4096;

/// Bytes of a subflow's send buffer, sent and not, that has grown for this window; `packet_bytes` are
/// reckoned for each packet.
pub(crate) fn socket_bytes(cwnd: u64, mss: u64, packet_bytes: u64) -> u64 {
    let packets = cwnd / mss.max(1);
    let grown = packets.saturating_mul(packet_bytes).saturating_mul(WINDOWS);
    grown.clamp(BURST, MAX_SOCKET_BYTES)
}

/// Bytes of the stream's send buffer, acknowledged to the stream or not; `None` if `kind` is none of
/// Linux's.
pub(crate) fn stream_bytes<'a>(
    kind: SchedulerKind,
    paths: impl Iterator<Item = &'a Path>,
) -> Option<u64> {
    let sockets = paths.map(|path| path.socket_bytes);
    let bytes = match kind {
        SchedulerKind::Linux => OWN_BYTES + sockets.sum::<u64>(),
        SchedulerKind::Linux518 => sockets.max().unwrap_or_default(),
        _ => return None,
    };
    Some(bytes.max(BURST))
}
