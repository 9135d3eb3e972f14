//! Bulk transfer: one side sends as fast as its controller lets it, the other checks every byte.
//!
//! The receiver opens a stream and asks for a number of bytes; zero means without end. The bytes
//! are those of [`Pattern`]. They come on streams that the sender opens one after the other, of a
//! megabyte each: what may be in flight is then bounded by no stream's window (see
//! [`airlane_quic::MAX_STREAM_WINDOW_BYTES`]), and a lost packet holds up its own stream alone.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use airlane_base::{Rate, Time};
use airlane_quic::{Connection, ControlHandle, Endpoint, QuicError, SendStream, TransportConfig};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;

use crate::error::TrafficError;
use airlane_base::Pattern;

/// Length of the request: one big-endian integer.
const REQUEST_BYTES: usize = 8;

/// Bytes of the body on each stream: below the window of a stream, so that it never binds.
const STREAM_BYTES: u64 = 1_000_000;

/// Streams that are handed over ahead of the acknowledgements: 12 000 packets. The send window
/// would bound them too, but it opens by a packet or two at a time, and streams that are filled in
/// such crumbs are slow to send from.
const STREAMS_AHEAD: usize = 16;

/// Bytes that a bulk sender should be allowed to hand over ahead of the acknowledgements
/// ([`airlane_quic::FlowControl::send_window_bytes`]): enough for all streams that it opens.
pub const SEND_WINDOW_BYTES: u64 = (STREAMS_AHEAD as u64 + 1) * STREAM_BYTES;

/// Streams that a bulk receiver should allow
/// ([`airlane_quic::FlowControl::max_streams`]): those ahead, and as many that are delivered but
/// not yet read to their end.
pub const MAX_STREAMS: u32 = 2 * STREAMS_AHEAD as u32;

/// Streams that a bulk sender should allow: requests, of which each receiver has one.
pub const MAX_REQUESTS: u32 = 4;

/// Bytes that a bulk receiver should allow on all streams
/// ([`airlane_quic::FlowControl::receive_window_bytes`]): the sender's, and as much again
/// behind a hole.
pub const RECEIVE_WINDOW_BYTES: u32 = 48 << 20;

/// `config` with the windows and streams that a sender of bulk data needs.
pub fn sender(mut config: TransportConfig) -> TransportConfig {
    config.flow.send_window_bytes = SEND_WINDOW_BYTES;
    config.flow.min_send_window_bytes = SEND_WINDOW_BYTES;
    config.flow.max_streams = MAX_REQUESTS;
    config
}

/// `config` with the windows and streams that a receiver of bulk data needs.
pub fn receiver(mut config: TransportConfig) -> TransportConfig {
    config.flow.receive_window_bytes = RECEIVE_WINDOW_BYTES;
    config.flow.max_streams = MAX_STREAMS;
    config
}

/// The name under which the pattern's start is found.
const BODY: &str = "bulk";

/// Size of the pieces that an application whose supply is limited hands over at once.
const LIMITED_PIECE_BYTES: u64 = 4_096;

/// Bytes that an endless transfer has: more than anybody waits for.
const ENDLESS: u64 = 1 << 60;

/// Rate at which the application has what is sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Supply {
    /// It has no more than this from a time on; else all of it at once.
    pub limit: Option<(Time, Rate)>,
}

/// Serves every connection of `endpoint` until it is closed, each from a supply of its own. `connected`
/// sees the controller of each connection as it comes.
pub async fn serve(
    endpoint: Endpoint,
    supply: Supply,
    connected: impl Fn(&Connection, &ControlHandle),
) {
    while let Some(connection) = endpoint.accept().await {
        connected(&connection, connection.control());
        let runtime = endpoint.runtime().clone();
        endpoint.runtime().spawn("bulk sender", async move {
            while let Ok((_, mut from)) = connection.accept_bi().await {
                let Ok(request) = from.read_to_end(REQUEST_BYTES).await else { return };
                let Ok(request) = <[u8; REQUEST_BYTES]>::try_from(request) else {
                    tracing::debug!("a bulk request of the wrong length");
                    return;
                };
                let wanted = match u64::from_be_bytes(request) {
                    0 => ENDLESS,
                    n => n,
                };
                // An error says that the receiver is gone.
                if send(&connection, &runtime, supply, wanted).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// Sends a body of `wanted` bytes on streams in turn.
async fn send(
    connection: &Connection,
    runtime: &RuntimeHandle,
    supply: Supply,
    wanted: u64,
) -> Result<(), QuicError> {
    let body = Pattern::new(BODY, wanted);
    let most = if supply.limit.is_some() { LIMITED_PIECE_BYTES } else { STREAM_BYTES };
    let mut due = Time::ZERO;
    let (mut at, mut priority) = (0, i32::MAX);
    let mut ahead: VecDeque<SendStream> = VecDeque::with_capacity(STREAMS_AHEAD);
    while at < wanted {
        if ahead.len() == STREAMS_AHEAD
            && let Some(mut first) = ahead.pop_front()
        {
            first.delivered().await?;
        }
        let end = wanted.min(at + STREAM_BYTES);
        let mut stream = connection.open_uni().await?;
        // Earlier streams first, so that the body arrives in order but for what is lost.
        stream.set_priority(priority)?;
        priority = priority.saturating_sub(1);
        for piece in body.pieces(at..end, most) {
            if let Some((from, rate)) = supply.limit
                && runtime.now() >= from
            {
                runtime.sleep_until(due).await;
                due = due.max(from) + rate.time_for(piece.len() as u64);
            }
            stream.write_all(piece).await?;
        }
        stream.finish()?;
        ahead.push_back(stream);
        at = end;
    }
    Ok(())
}

/// Count of what a receiver has got so far; it can be read while the transfer runs.
#[derive(Debug, Default)]
pub struct Received {
    bytes: AtomicU64,
}

impl Received {
    /// Application bytes received, in the order of the body, and found right.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// So many more have come.
    pub fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Fetches `bytes` (zero: without end) from `server`, until they are there or `until` comes.
/// Returns the application bytes received.
///
/// # Errors
/// If the connection fails or a byte is not what it should be.
pub async fn fetch(
    endpoint: &Endpoint,
    server: std::net::SocketAddr,
    bytes: u64,
    until: Option<Time>,
    received: Arc<Received>,
) -> Result<u64, TrafficError> {
    let end = endpoint.runtime().sleep_until(until.unwrap_or(Time::FAR_FUTURE));
    tokio::pin!(end);
    let connection = tokio::select! {
        biased;
        () = &mut end => return Err(TrafficError::Unreachable(format!("{server} did not answer in time"))),
        connection = endpoint.connect(server, "bulk.airlane") => connection,
    };
    let connection = connection.map_err(TrafficError::transport(server))?;
    let (mut to, _) = connection.open_bi().await.map_err(TrafficError::transport(server))?;
    let request = Bytes::copy_from_slice(&bytes.to_be_bytes());
    to.write_all(request).await.map_err(TrafficError::transport(server))?;
    to.finish().map_err(TrafficError::transport(server))?;
    let body = Pattern::new(BODY, if bytes == 0 { ENDLESS } else { bytes });
    tokio::select! {
        biased;
        () = &mut end => {}
        result = receive(&connection, server, body, &received) => result?,
    }
    connection.close(0, "done");
    Ok(received.bytes())
}

/// Receives all of `body`.
async fn receive(
    connection: &Connection,
    server: std::net::SocketAddr,
    body: Pattern,
    received: &Received,
) -> Result<(), TrafficError> {
    let mut got = 0;
    while got < body.len() {
        // Streams are accepted in the order in which they were opened.
        let mut stream = connection.accept_uni().await.map_err(TrafficError::transport(server))?;
        while let Some(piece) =
            stream.read_chunk(usize::MAX).await.map_err(TrafficError::transport(server))?
        {
            if !body.matches(got, &piece) {
                let problem = format!("wrong bytes after {got}");
                return Err(TrafficError::Answer { path: BODY.to_owned(), problem });
            }
            got += piece.len() as u64;
            received.bytes.store(got, Ordering::Relaxed);
        }
    }
    Ok(())
}
