//! Subflows over QUIC: two connections each, one per channel, which congestion control treats alone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_base::Seed;
use airlane_quic::{Connection, Endpoint, PublicKey, QuicError, SendStream};
use airlane_runtime::RuntimeExt;
use bytes::{Buf, Bytes, BytesMut};
use rand::RngExt;

use crate::error::MultipathError;
use crate::subflow::buffered_reader::BufferedReader;
use crate::subflow::channel::Connect;
use crate::subflow::channel::{Channel, ChannelFuture, ChannelReceiver, ChannelSender, Channels};
use crate::subflow::chunked_stream::{ChunkedReceiver, ChunkedSender, ChunkedStreamName};
use crate::subflow::pairing::{
    ChannelKind, PAIRING_BYTES, PendingConnections, SubflowConnection, SubflowNonce, paired,
    pairing,
};

/// The name of the chunked streams of a bulk connection (`docs/reference/wire/multipath.md`): as of
/// version 2.
const DATA: ChunkedStreamName = *b"airlane trunk\0\0\0";

/// Accepts the connections of `endpoint` until it is closed. Each has `timeout` to say which channel of
/// which subflow it carries; `connected` sees it then. `opened` gets each subflow whose connections are there.
pub async fn accept_quic_subflows(
    endpoint: Arc<Endpoint>,
    timeout: Duration,
    connected: impl Fn(&Connection, ChannelKind) + Send + Sync + 'static,
    opened: impl Fn(Channels) + Send + Sync + 'static,
) {
    let runtime = endpoint.runtime().clone();
    let pending = PendingConnections::new(runtime.clone());
    let notify = Arc::new((connected, opened));
    while let Some(connection) = endpoint.accept().await {
        let (notify, pending, timeout) = (notify.clone(), pending.clone(), runtime.sleep(timeout));
        runtime.spawn("tunnel subflow", async move {
            let (connected, opened) = &*notify;
            let accepted = tokio::select! {
                biased;
                accepted = accept_quic(connection.clone()) => accepted,
                () = timeout => return,
            };
            let Ok(accepted) = accepted else { return };
            connected(&connection, accepted.kind);
            if let Some(channels) = pending.join(accepted) {
                opened(channels);
            }
        });
    }
}

/// The connector of an interface over QUIC, from `endpoint` to `server`, whose name is `name` for TLS. The
/// nonces of its subflows are drawn from `seed`.
pub fn connect_quic(
    endpoint: Arc<Endpoint>,
    server: SocketAddr,
    name: &str,
    seed: Seed,
) -> Connect {
    let (name, attempts): (Arc<str>, _) = (name.into(), AtomicU64::new(0));
    Box::new(move || {
        let (endpoint, name) = (endpoint.clone(), name.clone());
        let nonce = seed.index(attempts.fetch_add(1, Ordering::Relaxed)).rng().random();
        Box::pin(async move {
            let connection = || endpoint.connect(server, &name);
            let (low_latency, bulk) = tokio::try_join!(connection(), connection())?;
            open_quic(nonce, low_latency, bulk).await
        })
    })
}

/// A subflow over QUIC, two connections to the same server, for the end that opens it. Each has a
/// congestion window of its own, so that what must not wait does not wait for that of the bulk
/// transfers.
///
/// # Errors
/// If a connection is lost.
pub async fn open_quic(
    nonce: SubflowNonce,
    low_latency: Connection,
    bulk: Connection,
) -> Result<Channels, MultipathError> {
    let open = async |connection: Connection, kind: ChannelKind| {
        let (mut to, from) = connection.open_bi().await?;
        to.write_all(pairing(nonce, kind)).await?;
        Ok::<SubflowConnection, MultipathError>(subflow_connection(
            connection,
            (to, BufferedReader::new(from)),
            nonce,
            kind,
        ))
    };
    let halves =
        (open(low_latency, ChannelKind::LowLatency).await?, open(bulk, ChannelKind::Bulk).await?);
    Channels::of(halves.0, halves.1).ok_or(MultipathError::Ended)
}

/// One of a subflow's connections, for the end that accepts it. [`PendingConnections`](super::PendingConnections) finds the other.
///
/// # Errors
/// If the connection is lost, or does not say which it is.
pub async fn accept_quic(connection: Connection) -> Result<SubflowConnection, MultipathError> {
    let (to, from) = connection.accept_bi().await?;
    let mut from = BufferedReader::new(from);
    let mut pairing = [0; PAIRING_BYTES];
    from.exactly(PAIRING_BYTES).await?.copy_to_slice(&mut pairing);
    let (nonce, kind) = paired(&pairing)?;
    Ok(subflow_connection(connection, (to, from), nonce, kind))
}

fn subflow_connection(
    connection: Connection,
    (to, from): (SendStream, BufferedReader),
    nonce: SubflowNonce,
    kind: ChannelKind,
) -> SubflowConnection {
    let closing = ClosesConnection(connection.clone());
    let key = connection.peer_public_key();
    let peer = key.as_ref().and_then(PublicKey::as_ed25519).copied().unwrap_or_default();
    let control = Some(connection.control().clone());
    match kind {
        ChannelKind::LowLatency => {
            let channel = Channel { sender: Box::new(to), receiver: Box::new(from), control };
            SubflowConnection { peer, nonce, kind, channel, guard: Box::new(closing) }
        }
        ChannelKind::Bulk => {
            let channel = Channel {
                sender: Box::new(ChunkedSender::new(connection.clone(), DATA)),
                receiver: Box::new(ChunkedReceiver::new(connection, DATA)),
                control,
            };
            // The stream that said so stays open: one that is dropped is reset.
            SubflowConnection { peer, nonce, kind, channel, guard: Box::new((closing, to, from)) }
        }
    }
}

/// Closes the connection at once.
struct ClosesConnection(Connection);

impl Drop for ClosesConnection {
    fn drop(&mut self) {
        self.0.close(0, "the subflow ended");
    }
}

impl ChannelSender for SendStream {
    fn write(&mut self, pieces: Vec<Bytes>) -> ChannelFuture<'_, ()> {
        Box::pin(async move {
            for piece in pieces {
                self.write_all(piece).await?;
            }
            Ok(())
        })
    }
}

impl ChannelReceiver for BufferedReader {
    fn read<'a>(&'a mut self, into: &'a mut BytesMut) -> ChannelFuture<'a, ()> {
        Box::pin(async move {
            // What came behind the pairing is there already.
            if self.buffer().is_empty() {
                self.more().await?;
            }
            into.unsplit(self.buffer().split());
            Ok(())
        })
    }
}

impl ChannelSender for ChunkedSender {
    fn write(&mut self, pieces: Vec<Bytes>) -> ChannelFuture<'_, ()> {
        Box::pin(async move {
            for piece in pieces {
                let written: Result<(), QuicError> = ChunkedSender::write(self, piece).await;
                written?;
            }
            Ok(())
        })
    }
}

impl ChannelReceiver for ChunkedReceiver {
    fn read<'a>(&'a mut self, into: &'a mut BytesMut) -> ChannelFuture<'a, ()> {
        Box::pin(async move {
            let piece = ChunkedReceiver::read(self).await?;
            into.extend_from_slice(&piece);
            Ok(())
        })
    }
}
