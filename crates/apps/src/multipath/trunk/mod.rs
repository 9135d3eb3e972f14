//! A trunk: any number of streams between two ends over the same radios.
//!
//! Each radio has one **line**, a pair of connections that all streams share, so that a new stream costs no
//! handshake. On a line a stream has a path of its own, which FBDT uses as any other.
//!
//! ```text
//! streams   1  2  3 ...      each a MultipathStream with FBDT's two halves
//!           |\/|\/|
//! lines     radio 0, radio 1, ...
//!           express channel: acknowledgements, streams with little under way
//!           bulk channel:    everything else, a turn of 64 KiB at most for each stream
//! ```
//!
//! A line consists of two [`Channels`], reliable streams of bytes, each over a connection of its own,
//! TCP or QUIC: in one that both shared, what must not wait would wait for the bulk transfers'
//! congestion window. `docs/wire/tunnel.md` has what is on them.

mod acceptor;
mod budget;
mod channel;
mod dialer;
mod ended;
mod frame;
mod hello;
mod line;
mod meter;
mod outbox;
mod pair;
mod pulse;
mod quic;
mod quota;
mod seen;
mod streams;
#[cfg(test)]
mod testing;

pub use acceptor::{Acceptor, Bounds, Opened, TrunkView};
pub use channel::{Channel, ChannelFuture, ChannelReceiver, ChannelSender, Channels, LineFuture};
pub use dialer::{Connect, RadioView, Trunk};
pub use frame::{Body, MAX_REQUEST_BYTES, Reason, TrunkFrame};
pub use hello::{TrunkHello, TrunkId};
pub use pair::{Half, LineNonce, Pairs, PeerId, Role};
pub use quic::{accept_quic, accept_quic_lines, connect_quic, open_quic};
pub use quota::{Quota, RadioTerms};

pub use airlane_fbdt::Preference;

use bytes::BytesMut;

use super::error::MultipathError;

/// Exactly so many bytes off the beginning of a channel; what came behind them stays in `buffer`.
async fn first(
    from: &mut dyn ChannelReceiver,
    buffer: &mut BytesMut,
    bytes: usize,
) -> Result<BytesMut, MultipathError> {
    while buffer.len() < bytes {
        from.read(buffer).await?;
    }
    Ok(buffer.split_to(bytes))
}
