//! Connections and their streams.

use std::fmt;
use std::net::SocketAddr;

use airlane_runtime::RuntimeHandle;
use bytes::Bytes;
use noq_proto::{PathId, VarInt};

use crate::control::{ControlHandle, ControlStats};
use crate::crypto::Negotiated;
use crate::error::QuicError;

/// A connection. Clones are handles to the same one; it is closed when the last handle and the
/// last of its streams are dropped.
#[derive(Clone)]
pub struct Connection {
    inner: noq::Connection,
    control: ControlHandle,
    runtime: RuntimeHandle,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("remote", &self.remote_addr()).finish_non_exhaustive()
    }
}

/// What a connection has sent and received.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionStats {
    /// The sending side as its congestion controller sees it.
    pub control: ControlStats,
    /// Datagrams sent, the handshake's and bare acknowledgements included.
    pub datagrams_sent: u64,
    /// Their bytes of UDP payload.
    pub bytes_sent: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Their bytes of UDP payload.
    pub bytes_received: u64,
    /// ACK frames sent.
    pub acks_sent: u64,
    /// ACK frames received.
    pub acks_received: u64,
}

impl Connection {
    pub(crate) fn new(
        inner: noq::Connection,
        control: ControlHandle,
        runtime: RuntimeHandle,
    ) -> Self {
        control.shared().attach(&inner);
        Self { inner, control, runtime }
    }

    pub(crate) fn noq(&self) -> &noq::Connection {
        &self.inner
    }

    /// The runtime that it runs on.
    pub fn runtime(&self) -> &RuntimeHandle {
        &self.runtime
    }

    /// Opens a stream in both directions; waits while the peer allows no more. The peer hears of
    /// it with the first bytes.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn open_bi(&self) -> Result<(SendStream, RecvStream), QuicError> {
        let (send, recv) = self.inner.open_bi().await?;
        Ok((SendStream(send), RecvStream(recv)))
    }

    /// Opens a stream that only this side sends on; waits while the peer allows no more.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn open_uni(&self) -> Result<SendStream, QuicError> {
        Ok(SendStream(self.inner.open_uni().await?))
    }

    /// The next stream in both directions that the peer opens.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn accept_bi(&self) -> Result<(SendStream, RecvStream), QuicError> {
        let (send, recv) = self.inner.accept_bi().await?;
        Ok((SendStream(send), RecvStream(recv)))
    }

    /// The next stream that the peer opens to send on.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn accept_uni(&self) -> Result<RecvStream, QuicError> {
        Ok(RecvStream(self.inner.accept_uni().await?))
    }

    /// The congestion controller.
    pub fn control(&self) -> &ControlHandle {
        &self.control
    }

    /// Counts as of now.
    pub fn stats(&self) -> ConnectionStats {
        // noq asks the controller for its window to fill a field that is not used here.
        let s = self.control.shared().without_data(|| self.inner.stats());
        ConnectionStats {
            control: self.control.stats(),
            datagrams_sent: s.udp_tx.datagrams,
            bytes_sent: s.udp_tx.bytes,
            datagrams_received: s.udp_rx.datagrams,
            bytes_received: s.udp_rx.bytes,
            acks_sent: s.frame_tx.acks,
            acks_received: s.frame_rx.acks,
        }
    }

    /// The application protocol that both sides chose.
    pub fn alpn(&self) -> Option<Vec<u8>> {
        self.negotiated().protocol
    }

    /// The name that the client asked for, where this side is the server.
    pub fn server_name(&self) -> Option<String> {
        self.negotiated().server_name
    }

    fn negotiated(&self) -> Negotiated {
        self.inner.handshake_data().map(Negotiated::of).unwrap_or_default()
    }

    /// The peer's address. It changes when the peer migrates.
    pub fn remote_addr(&self) -> Option<SocketAddr> {
        self.inner.path(PathId::ZERO).and_then(|p| p.remote_address().ok())
    }

    /// Closes the connection at once: what is not delivered is lost.
    pub fn close(&self, code: u32, reason: &str) {
        self.inner.close(VarInt::from_u32(code), reason.as_bytes());
    }

    /// Waits until the connection ends, and tells why it did.
    pub async fn closed(&self) -> QuicError {
        self.inner.closed().await.into()
    }
}

/// The sending half of a stream. Dropped without [`finish`](Self::finish) it is finished too, with
/// what was written so far.
#[derive(Debug)]
pub struct SendStream(noq::SendStream);

impl SendStream {
    /// Writes all of `data` without copying it; waits while the send window is full.
    ///
    /// # Errors
    /// If the peer does not want it or the connection is lost.
    pub async fn write_all(&mut self, data: Bytes) -> Result<(), QuicError> {
        Ok(self.0.write_chunk(data).await?)
    }

    /// Tells the peer that no more follows. What was written is still delivered.
    ///
    /// # Errors
    /// If it was finished or reset before.
    pub fn finish(&mut self) -> Result<(), QuicError> {
        self.0.finish().map_err(|_| QuicError::StreamClosed)
    }

    /// Waits until the peer has acknowledged everything, after [`finish`](Self::finish).
    ///
    /// # Errors
    /// If the peer does not want it or the connection is lost.
    pub async fn delivered(&mut self) -> Result<(), QuicError> {
        match self.0.stopped().await {
            Ok(None) => Ok(()),
            Ok(Some(code)) => Err(QuicError::StreamEnded { code: code.into_inner() }),
            Err(noq::StoppedError::ConnectionLost(e)) => Err(e.into()),
            Err(noq::StoppedError::ZeroRttRejected) => Err(QuicError::StreamClosed),
        }
    }

    /// Gives up what is not delivered.
    ///
    /// # Errors
    /// If it was reset, or finished and delivered, before.
    pub fn reset(&mut self, code: u32) -> Result<(), QuicError> {
        self.0.reset(VarInt::from_u32(code)).map_err(|_| QuicError::StreamClosed)
    }

    /// Streams of a higher priority go first; 0 at first.
    ///
    /// # Errors
    /// If the stream is closed.
    pub fn set_priority(&self, priority: i32) -> Result<(), QuicError> {
        self.0.set_priority(priority).map_err(|_| QuicError::StreamClosed)
    }

    /// Its number in the connection (RFC 9000, section 2.1).
    pub fn id(&self) -> u64 {
        VarInt::from(self.0.id()).into_inner()
    }
}

/// The receiving half of a stream. Dropped before its end it tells the peer to stop.
#[derive(Debug)]
pub struct RecvStream(noq::RecvStream);

impl RecvStream {
    /// The next bytes in order, at most `max`, as they came; `None` after the last.
    ///
    /// # Errors
    /// If the peer resets the stream or the connection is lost.
    pub async fn read_chunk(&mut self, max: usize) -> Result<Option<Bytes>, QuicError> {
        Ok(self.0.read_chunk(max).await?)
    }

    /// Everything up to the end, but no more than `max` bytes.
    ///
    /// # Errors
    /// If more comes, the peer resets the stream or the connection is lost.
    pub async fn read_to_end(&mut self, max: usize) -> Result<Vec<u8>, QuicError> {
        let mut all = Vec::new();
        while let Some(chunk) = self.read_chunk(max.saturating_sub(all.len()).max(1)).await? {
            if all.len() + chunk.len() > max {
                return Err(QuicError::Config(format!("more than {max} bytes on one stream")));
            }
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }

    /// Tells the peer that nothing more is wanted.
    ///
    /// # Errors
    /// If the stream is closed.
    pub fn stop(&mut self, code: u32) -> Result<(), QuicError> {
        self.0.stop(VarInt::from_u32(code)).map_err(|_| QuicError::StreamClosed)
    }

    /// Its number in the connection (RFC 9000, section 2.1).
    pub fn id(&self) -> u64 {
        VarInt::from(self.0.id()).into_inner()
    }
}
