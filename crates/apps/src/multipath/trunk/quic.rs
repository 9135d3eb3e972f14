//! Lines over QUIC: two connections each, one per channel, which congestion control treats alone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_base::Seed;
use airlane_quic::{Connection, Endpoint, PublicKey, QuicError, SendStream};
use airlane_runtime::RuntimeExt;
use bytes::{Buf, Bytes, BytesMut};
use rand::RngExt;

use super::channel::{Channel, ChannelFuture, ChannelReceiver, ChannelSender, Channels};
use super::dialer::Connect;
use super::pair::{Half, LineNonce, PAIRING_BYTES, Pairs, Role, paired, pairing};
use crate::multipath::control::ControlReader;
use crate::multipath::error::MultipathError;
use crate::multipath::lane::{LaneName, LaneReceiver, LaneSender};

/// The name of a line's lanes (`docs/wire/tunnel.md`): a connection has one.
const LANE: LaneName = *b"airlane trunk\0\0\0";

/// Accepts the connections of `endpoint` until it is closed. Each has `timeout` to say which channel of
/// which line it carries; `connected` sees it then. `opened` gets each line whose connections are there.
pub async fn accept_quic_lines(
    endpoint: Arc<Endpoint>,
    timeout: Duration,
    connected: impl Fn(&Connection, Role) + Send + Sync + 'static,
    opened: impl Fn(Channels) + Send + Sync + 'static,
) {
    let runtime = endpoint.runtime().clone();
    let pairs = Pairs::new(runtime.clone());
    let notify = Arc::new((connected, opened));
    while let Some(connection) = endpoint.accept().await {
        let (notify, pairs, timeout) = (notify.clone(), pairs.clone(), runtime.sleep(timeout));
        runtime.spawn("tunnel line", async move {
            let (connected, opened) = &*notify;
            let half = tokio::select! {
                biased;
                half = accept_quic(connection.clone()) => half,
                () = timeout => return,
            };
            let Ok(half) = half else { return };
            connected(&connection, half.role);
            if let Some(channels) = pairs.join(half) {
                opened(channels);
            }
        });
    }
}

/// The connector of a radio over QUIC, from `endpoint` to `server`, whose name is `name` for TLS. The
/// nonces of its lines are drawn from `seed`.
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
            let (express, bulk) = tokio::try_join!(connection(), connection())?;
            open_quic(nonce, express, bulk).await
        })
    })
}

/// A line over QUIC, two connections to the same server, for the end that opens it. Each has a
/// congestion window of its own, so that what must not wait does not wait for that of the bulk
/// transfers.
///
/// # Errors
/// If a connection is lost.
pub async fn open_quic(
    nonce: LineNonce,
    express: Connection,
    bulk: Connection,
) -> Result<Channels, MultipathError> {
    let open = async |connection: Connection, role: Role| {
        let (mut to, from) = connection.open_bi().await?;
        to.write_all(pairing(nonce, role)).await?;
        Ok::<Half, MultipathError>(half(connection, (to, ControlReader::new(from)), nonce, role))
    };
    let halves = (open(express, Role::Express).await?, open(bulk, Role::Bulk).await?);
    Channels::of(halves.0, halves.1).ok_or(MultipathError::Ended)
}

/// One of a line's connections, for the end that accepts it. [`Pairs`](super::Pairs) finds the other.
///
/// # Errors
/// If the connection is lost, or does not say which it is.
pub async fn accept_quic(connection: Connection) -> Result<Half, MultipathError> {
    let (to, from) = connection.accept_bi().await?;
    let mut from = ControlReader::new(from);
    let mut pairing = [0; PAIRING_BYTES];
    from.exactly(PAIRING_BYTES).await?.copy_to_slice(&mut pairing);
    let (nonce, role) = paired(&pairing)?;
    Ok(half(connection, (to, from), nonce, role))
}

fn half(
    connection: Connection,
    (to, from): (SendStream, ControlReader),
    nonce: LineNonce,
    role: Role,
) -> Half {
    let closing = Closing(connection.clone());
    let key = connection.peer_public_key();
    let peer = key.as_ref().and_then(PublicKey::as_ed25519).copied().unwrap_or_default();
    let control = Some(connection.control().clone());
    match role {
        Role::Express => {
            let channel = Channel { sender: Box::new(to), receiver: Box::new(from), control };
            Half { peer, nonce, role, channel, guard: Box::new(closing) }
        }
        Role::Bulk => {
            let channel = Channel {
                sender: Box::new(LaneSender::new(connection.clone(), LANE)),
                receiver: Box::new(LaneReceiver::new(connection, LANE)),
                control,
            };
            // The stream that said so stays open: one that is dropped is reset.
            Half { peer, nonce, role, channel, guard: Box::new((closing, to, from)) }
        }
    }
}

/// Closes the connection at once.
struct Closing(Connection);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close(0, "the line ended");
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

impl ChannelReceiver for ControlReader {
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

impl ChannelSender for LaneSender {
    fn write(&mut self, pieces: Vec<Bytes>) -> ChannelFuture<'_, ()> {
        Box::pin(async move {
            for piece in pieces {
                let written: Result<(), QuicError> = LaneSender::write(self, piece).await;
                written?;
            }
            Ok(())
        })
    }
}

impl ChannelReceiver for LaneReceiver {
    fn read<'a>(&'a mut self, into: &'a mut BytesMut) -> ChannelFuture<'a, ()> {
        Box::pin(async move {
            let piece = LaneReceiver::read(self).await?;
            into.extend_from_slice(&piece);
            Ok(())
        })
    }
}
