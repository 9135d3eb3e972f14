//! What a line is made of: two reliable, ordered streams of bytes each way.

use std::any::Any;

use airlane_quic::{Connection, ControlHandle, PublicKey, QuicError, SendStream};
use airlane_runtime::BoxFuture as StaticFuture;
use bytes::{Buf, Bytes, BytesMut};

use super::pair::{Half, LineNonce, PAIRING_BYTES, PeerId, Role, paired, pairing};
use crate::multipath::control::ControlReader;
use crate::multipath::error::MultipathError;
use crate::multipath::hello::StreamId;
use crate::multipath::lane::{LaneReceiver, LaneSender};

/// The name of a line's lanes (`docs/wire/multipath.md`): a connection has one line.
const LANE: StreamId = *b"airlane trunk\0\0\0";

/// A boxed future that borrows.
pub type ChannelFuture<'a, T> =
    std::pin::Pin<Box<dyn Future<Output = Result<T, MultipathError>> + Send + 'a>>;

/// A future that stands alone.
pub type LineFuture = StaticFuture<Result<Channels, MultipathError>>;

/// The sending end of a channel.
pub trait ChannelSender: Send {
    /// Appends `pieces`, one behind the other; waits while the connection takes no more.
    fn write(&mut self, pieces: Vec<Bytes>) -> ChannelFuture<'_, ()>;
}

/// The receiving end of a channel.
pub trait ChannelReceiver: Send {
    /// Appends what has come, a byte at least, to `into`; an error at the end.
    fn read<'a>(&'a mut self, into: &'a mut BytesMut) -> ChannelFuture<'a, ()>;
}

/// Both ends of a channel, as one end of a line has them.
pub struct Channel {
    /// What is sent.
    pub sender: Box<dyn ChannelSender>,
    /// What comes.
    pub receiver: Box<dyn ChannelReceiver>,
    /// The congestion control of its connection, where that is ours.
    pub control: Option<ControlHandle>,
}

/// The two channels of a line. What is in one never waits for what was written to the other.
pub struct Channels {
    /// Whom the line is from.
    pub peer: PeerId,
    /// For what must not wait: acknowledgements and streams that have little to send.
    pub express: Channel,
    /// For everything else.
    pub bulk: Channel,
    /// Dropped, it closes the connections.
    pub guard: Box<dyn Any + Send>,
}

impl std::fmt::Debug for Channels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channels").finish_non_exhaustive()
    }
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
