//! The client's side.

use std::fmt;
use std::future::poll_fn;

use airlane_runtime::RuntimeExt;
use bytes::{Buf, Bytes};
use http::{Request, Response};

use super::h3_error;
use super::transport::{H3Bidi, H3Connection};
use crate::connection::Connection;
use crate::control::ControlHandle;
use crate::error::QuicError;

/// Sends requests on one connection, any number at a time. Clones share the connection; it is
/// closed when the last of them is dropped.
#[derive(Clone)]
pub struct H3Client {
    requests: h3::client::SendRequest<H3Connection, Bytes>,
    connection: Connection,
}

impl fmt::Debug for H3Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("H3Client").field(&self.connection).finish()
    }
}

impl H3Client {
    /// Opens the control streams on a fresh connection.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn connect(connection: Connection) -> Result<Self, QuicError> {
        let transport = H3Connection::new(connection.clone(), u64::MAX);
        let mut builder = h3::client::builder();
        builder.send_grease(false);
        let (mut h3, requests) = builder.build::<_, _, Bytes>(transport).await.map_err(h3_error)?;
        connection.runtime().spawn("h3 client", async move {
            let end = poll_fn(|cx| h3.poll_close(cx)).await;
            if !end.is_h3_no_error() {
                tracing::debug!("an HTTP/3 connection ended: {end}");
            }
        });
        Ok(Self { requests, connection })
    }

    /// The congestion controller of the connection.
    pub fn control(&self) -> &ControlHandle {
        self.connection.control()
    }

    /// The connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Sends a request without a body and waits for the head of its response. The URI needs
    /// scheme and authority.
    ///
    /// # Errors
    /// If the server ends the stream or the connection is lost.
    pub async fn send_request(&self, request: Request<()>) -> Result<Response<Body>, QuicError> {
        self.send_with_body(request, Bytes::new()).await
    }

    /// Sends a request with a body and waits for the head of its response.
    ///
    /// # Errors
    /// If the server ends the stream or the connection is lost.
    pub async fn send_with_body(
        &self,
        request: Request<()>,
        body: Bytes,
    ) -> Result<Response<Body>, QuicError> {
        let mut stream = self.requests.clone().send_request(request).await.map_err(h3_error)?;
        if !body.is_empty() {
            stream.send_data(body).await.map_err(h3_error)?;
        }
        stream.finish().await.map_err(h3_error)?;
        loop {
            // Interim responses are of no use here (RFC 9110, section 15.2).
            let response = stream.recv_response().await.map_err(h3_error)?;
            if !response.status().is_informational() {
                return Ok(response.map(|()| Body { stream }));
            }
        }
    }
}

/// The body of a response, as it arrives. Dropped before its end it tells the server to stop.
pub struct Body {
    stream: h3::client::RequestStream<H3Bidi, Bytes>,
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Body").field(&self.stream.id()).finish()
    }
}

impl Body {
    /// The next piece; `None` after the last. Pieces are what packets brought.
    ///
    /// # Errors
    /// If the server ends the stream early or the connection is lost.
    pub async fn data(&mut self) -> Result<Option<Bytes>, QuicError> {
        let data = self.stream.recv_data().await.map_err(h3_error)?;
        Ok(data.map(|mut d| d.copy_to_bytes(d.remaining())))
    }

    /// All that is left, but no more than `max` bytes.
    ///
    /// # Errors
    /// As [`data`](Self::data), or if more comes.
    pub async fn collect(&mut self, max: usize) -> Result<Vec<u8>, QuicError> {
        let mut all = Vec::new();
        while let Some(piece) = self.data().await? {
            if all.len() + piece.len() > max {
                return Err(QuicError::Http(format!("a body of more than {max} bytes")));
            }
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }
}
