//! Bulk transfer: one side sends as fast as its controller lets it, the other checks every byte.
//!
//! The receiver opens a stream and asks for a number of bytes; zero means without end. The bytes
//! are those of [`Body`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use airlane_base::Time;
use airlane_quic::{Connection, ControlHandle, Endpoint};
use airlane_runtime::RuntimeExt;
use bytes::Bytes;

use crate::content::Body;
use crate::error::RoleError;

/// Length of the request: one big-endian integer.
const REQUEST_BYTES: usize = 8;

/// The name under which the pattern's start is found.
const BODY: &str = "bulk";

/// Bytes that an endless transfer has: more than anybody waits for.
const ENDLESS: u64 = 1 << 60;

/// Serves every connection of `endpoint` until it is closed. `connected` sees the controller of
/// each connection as it comes.
pub async fn serve(endpoint: Endpoint, connected: impl Fn(&Connection, &ControlHandle)) {
    while let Some(connection) = endpoint.accept().await {
        connected(&connection, connection.control());
        endpoint.runtime().spawn("bulk sender", async move {
            while let Ok((mut to, mut from)) = connection.accept_bi().await {
                let Ok(request) = from.read_to_end(REQUEST_BYTES).await else { return };
                let Ok(request) = <[u8; REQUEST_BYTES]>::try_from(request) else {
                    tracing::debug!("a bulk request of the wrong length");
                    return;
                };
                let wanted = match u64::from_be_bytes(request) {
                    0 => ENDLESS,
                    n => n,
                };
                for piece in Body::new(BODY, wanted).pieces(0..wanted) {
                    if to.write_all(piece).await.is_err() {
                        return;
                    }
                }
                if to.finish().is_err() {
                    return;
                }
            }
        });
    }
}

/// What a receiver has got so far; it can be read while the transfer runs.
#[derive(Debug, Default)]
pub struct Received {
    bytes: AtomicU64,
}

impl Received {
    /// Application bytes received in order and found right.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
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
) -> Result<u64, RoleError> {
    let connection =
        endpoint.connect(server, "bulk.airlane").await.map_err(RoleError::transport(server))?;
    let (mut to, mut from) = connection.open_bi().await.map_err(RoleError::transport(server))?;
    let request = Bytes::copy_from_slice(&bytes.to_be_bytes());
    to.write_all(request).await.map_err(RoleError::transport(server))?;
    to.finish().map_err(RoleError::transport(server))?;
    let body = Body::new(BODY, if bytes == 0 { ENDLESS } else { bytes });
    let mut end = endpoint.runtime().sleep_until(until.unwrap_or(Time::FAR_FUTURE));
    let mut got = 0;
    loop {
        let piece = tokio::select! {
            biased;
            () = &mut end => break,
            piece = from.read_chunk(usize::MAX) => piece.map_err(RoleError::transport(server))?,
        };
        let Some(piece) = piece else { break };
        if !body.matches(got, &piece) {
            let problem = format!("wrong bytes after {got}");
            return Err(RoleError::Answer { path: BODY.to_owned(), problem });
        }
        got += piece.len() as u64;
        received.bytes.store(got, Ordering::Relaxed);
    }
    connection.close(0, "done");
    Ok(got)
}
