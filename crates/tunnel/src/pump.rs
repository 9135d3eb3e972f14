//! Between a TCP connection of an application and a stream of the tunnel.

use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_multipath::{MultipathError, MultipathStream};
use bytes::{Buf, Bytes, BytesMut};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::descriptors::is_out_of_descriptors;
use super::request::Reply;

/// Bytes that are read at once at most, and at first.
const MAX_BYTES: usize = 128 << 10;
const MIN_BYTES: usize = 2 << 10;
/// Bytes that are taken off a stream at once at most: what an application does not take stays there,
/// where it counts as its memory.
const MAX_TAKEN_BYTES: usize = 256 << 10;
/// Pieces that one call of the system takes at most.
const SLICES: usize = 32;
/// After so long without a word the application's machine is asked whether it is there.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// Bytes that have passed.
#[derive(Debug, Default)]
pub(crate) struct ByteCounts {
    /// From applications into streams.
    pub(crate) into: AtomicU64,
    /// Out of streams to applications.
    pub(crate) out: AtomicU64,
}

/// Reason why a connection did not end in order.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PumpError {
    #[error("the application's connection: {0}")]
    Application(#[from] io::Error),
    #[error("{0}")]
    Stream(#[from] MultipathError),
    #[error("{0}")]
    Refused(Reply),
}

impl PumpError {
    /// True if there were no descriptors left.
    pub(crate) fn is_out_of_descriptors(&self) -> bool {
        matches!(self, Self::Application(e) if is_out_of_descriptors(e))
    }
}

/// Reads the other end's reply on a stream that this end opened, and returns the bytes behind it.
///
/// # Errors
/// If the stream fails, or the reply is a refusal.
pub(crate) async fn reply(stream: &MultipathStream) -> Result<Vec<Bytes>, PumpError> {
    let mut pieces = stream.read().await?;
    let first = pieces.first_mut().ok_or(PumpError::Refused(Reply::Failed))?;
    match first.try_get_u8().map_or(Reply::Failed, Reply::of) {
        Reply::Done => Ok(pieces),
        other => Err(PumpError::Refused(other)),
    }
}

/// Bytes that each direction begins with.
pub(crate) struct InitialBytes {
    /// Bytes that the application has sent already.
    pub(crate) said: Bytes,
    /// Bytes that came for it already; `None` if the other end's reply has not come yet.
    pub(crate) came: Option<Vec<Bytes>>,
}

/// Passes bytes on in both directions until both have ended. One direction may end long before the
/// other.
///
/// # Errors
/// If either fails: then both are given up, and both ends' applications are told so.
pub(crate) async fn pump(
    mut connection: TcpStream,
    stream: MultipathStream,
    beginning: InitialBytes,
    passed: &ByteCounts,
) -> Result<(), PumpError> {
    // An application's small writes are keystrokes, say.
    connection.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE);
    SockRef::from(&connection).set_tcp_keepalive(&keepalive)?;
    let (from, to) = connection.split();
    let InitialBytes { said, came } = beginning;
    let both = async {
        tokio::try_join!(send(&from, said, &stream, passed), receive(to, came, &stream, passed))?;
        stream.over().await.map_err(PumpError::from)
    };
    let ended = tokio::select! {
        biased;
        // Also while the application takes nothing: it must keep nothing of a stream that is given up.
        e = stream.failed() => Err(e.into()),
        // Also while nothing is read of it, as the stream has no room.
        e = broken(&from) => Err(e.into()),
        ended = both => ended,
    };
    if ended.is_err() {
        // The application must not take what it has for the whole.
        let _ = SockRef::from(&connection).set_linger(Some(Duration::ZERO));
    }
    ended
}

/// Waits until a connection has failed: the application has reset it, say.
async fn broken(connection: &ReadHalf<'_>) -> io::Error {
    if let Err(e) = connection.ready(Interest::ERROR).await {
        return e;
    }
    match connection.as_ref().take_error() {
        Ok(Some(e)) | Err(e) => e,
        // Somebody else has heard of it.
        Ok(None) => std::future::pending().await,
    }
}

async fn send(
    from: &ReadHalf<'_>,
    said: Bytes,
    stream: &MultipathStream,
    passed: &ByteCounts,
) -> Result<(), PumpError> {
    if !said.is_empty() {
        passed.into.fetch_add(said.len() as u64, Ordering::Relaxed);
        stream.write(said).await?;
    }
    let mut buffer = BytesMut::new();
    let mut most = MIN_BYTES;
    loop {
        // Memory only when there is something for it: most connections are silent.
        from.readable().await?;
        if buffer.capacity() == 0 {
            buffer.reserve(most);
        }
        let room = buffer.capacity();
        match from.try_read_buf(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                passed.into.fetch_add(read as u64, Ordering::Relaxed);
                if read == room {
                    most = (2 * most).min(MAX_BYTES);
                } else if read < most / 8 {
                    most = (most / 2).max(MIN_BYTES);
                }
                stream.write(buffer.split().freeze()).await?;
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e.into()),
        }
    }
    stream.finish();
    Ok(())
}

async fn receive(
    mut to: WriteHalf<'_>,
    came: Option<Vec<Bytes>>,
    stream: &MultipathStream,
    passed: &ByteCounts,
) -> Result<(), PumpError> {
    let came = match came {
        Some(came) => came,
        None => reply(stream).await?,
    };
    write(&mut to, came, passed).await?;
    loop {
        let pieces = stream.read_within(MAX_TAKEN_BYTES).await?;
        if pieces.is_empty() {
            return match to.shutdown().await {
                // It has ended its own side already, and both are now.
                Err(e) if e.kind() == io::ErrorKind::NotConnected => Ok(()),
                ended => Ok(ended?),
            };
        }
        write(&mut to, pieces, passed).await?;
    }
}

async fn write(to: &mut WriteHalf<'_>, pieces: Vec<Bytes>, passed: &ByteCounts) -> io::Result<()> {
    let mut pieces: std::collections::VecDeque<Bytes> =
        pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
    while !pieces.is_empty() {
        let mut slices = [IoSlice::new(&[]); SLICES];
        for (slice, piece) in slices.iter_mut().zip(&pieces) {
            *slice = IoSlice::new(piece);
        }
        let mut written = to.write_vectored(&slices[..pieces.len().min(SLICES)]).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        passed.out.fetch_add(written as u64, Ordering::Relaxed);
        while let Some(first) = pieces.front_mut() {
            if written < first.len() {
                first.advance(written);
                break;
            }
            written -= first.len();
            pieces.pop_front();
        }
    }
    Ok(())
}
