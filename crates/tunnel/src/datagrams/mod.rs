//! Datagrams over a stream of the tunnel: SOCKS5's UDP ASSOCIATE.
//!
//! They share a stream, in order. One that would come too late is dropped before it is sent: the
//! oldest first, as a router's queue would not, since what is late is of no use to a call.

mod associate;
mod frame;
mod queue;
mod relay;
mod socket;

pub(crate) use associate::associate;
pub use frame::DatagramFrame;
pub(crate) use relay::{SOCKETS, Sockets, relay};

use std::sync::atomic::{AtomicU64, Ordering};

use airlane_multipath::{MultipathError, MultipathStream};
use bytes::{Bytes, BytesMut};

use self::queue::Queue;

/// Bytes of datagrams in a stream that have not arrived: 80 Mbit/s over 100 ms.
const UNDER_WAY_BYTES: u64 = 1 << 20;

/// Datagrams of all associations.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Into streams.
    pub(crate) into: AtomicU64,
    /// Out of streams.
    pub(crate) out: AtomicU64,
    /// Dropped because they were late or too many.
    pub(crate) dropped: AtomicU64,
    /// Not passed on as the rules do not allow it, or nobody had asked for them.
    pub(crate) refused: AtomicU64,
}

fn count(of: &AtomicU64) {
    of.fetch_add(1, Ordering::Relaxed);
}

/// Sends what is put into the queue.
async fn send(
    stream: &MultipathStream,
    queue: &Queue,
    counts: &Counts,
) -> Result<(), MultipathError> {
    loop {
        stream.writable_within(UNDER_WAY_BYTES).await?;
        let frame = queue.next().await;
        count(&counts.into);
        stream.write(frame).await?;
    }
}

/// The datagrams that come on a stream.
struct Incoming<'a> {
    stream: &'a MultipathStream,
    /// Bytes that arrived and were not taken.
    buffer: BytesMut,
}

impl<'a> Incoming<'a> {
    /// Those behind `came`.
    fn new(stream: &'a MultipathStream, came: Vec<Bytes>) -> Self {
        Self { stream, buffer: came.iter().flatten().copied().collect() }
    }

    /// The next; none when the other end has ended its half.
    async fn next(&mut self) -> Result<Option<DatagramFrame>, MultipathError> {
        loop {
            let frame = DatagramFrame::decode(&mut self.buffer)
                .map_err(|()| MultipathError::Protocol("a datagram that is none"))?;
            if frame.is_some() {
                return Ok(frame);
            }
            let pieces = self.stream.read().await?;
            if pieces.is_empty() {
                return Ok(None);
            }
            for piece in pieces {
                self.buffer.extend_from_slice(&piece);
            }
        }
    }
}
