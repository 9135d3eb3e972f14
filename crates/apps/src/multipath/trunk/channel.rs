//! What a line is made of: two reliable, ordered streams of bytes each way.

use std::any::Any;

use airlane_quic::{Connection, ControlHandle, QuicError, SendStream};
use airlane_runtime::BoxFuture as StaticFuture;
use bytes::{Bytes, BytesMut};

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
}

/// The two channels of a line. What is in one never waits for what was written to the other.
pub struct Channels {
    /// For what must not wait: acknowledgements and streams that have little to send.
    pub express: Channel,
    /// For everything else.
    pub bulk: Channel,
    /// The congestion control of both, where it is ours.
    pub control: Option<ControlHandle>,
    /// Dropped, it closes the connection.
    pub guard: Box<dyn Any + Send>,
}

impl std::fmt::Debug for Channels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channels").finish_non_exhaustive()
    }
}

/// A line over QUIC for the end that opens it: the express channel is its first bidirectional
/// stream, the bulk channel a lane each way.
///
/// # Errors
/// If the connection is lost.
pub async fn open_quic(connection: Connection) -> Result<Channels, MultipathError> {
    let (to, from) = connection.open_bi().await?;
    quic(connection, (to, ControlReader::new(from)))
}

/// The same for the end that accepts it.
///
/// # Errors
/// If the connection is lost.
pub async fn accept_quic(connection: Connection) -> Result<Channels, MultipathError> {
    let (to, from) = connection.accept_bi().await?;
    quic(connection, (to, ControlReader::new(from)))
}

fn quic(
    connection: Connection,
    (to, from): (SendStream, ControlReader),
) -> Result<Channels, MultipathError> {
    to.set_priority(i32::MAX)?;
    let express = Channel { sender: Box::new(to), receiver: Box::new(from) };
    let bulk = Channel {
        sender: Box::new(LaneSender::new(connection.clone(), LANE)),
        receiver: Box::new(LaneReceiver::new(connection.clone(), LANE)),
    };
    let control = Some(connection.control().clone());
    Ok(Channels { express, bulk, control, guard: Box::new(Closing(connection)) })
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
            self.more().await?;
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
