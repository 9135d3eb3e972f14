//! One request with the means to answer it.

use std::fmt::Display;
use std::future::Future;

use airlane_quic::{QuicError, Responder};
use bytes::Bytes;
use http::Response;

use super::piece::Piece;

/// One request with the means to answer it. Dropped before [`finish`](Self::finish) it breaks off,
/// so that the client does not take a part for the whole.
pub trait Exchange: Send {
    /// Reason why it cannot go on: the client gave up, or the connection is lost.
    type Error: Display + Send;

    /// The next piece of the request's body; `None` after the last.
    fn receive(&mut self) -> impl Future<Output = Result<Option<Bytes>, Self::Error>> + Send;
    /// Sends the head of the answer, once.
    fn respond(
        &mut self,
        head: Response<()>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;
    /// Waits until there is room for another piece of the body, where there is a bound beside that of the
    /// send buffer.
    fn room(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        std::future::ready(Ok(()))
    }
    /// Sends a piece of the body; waits until the send buffer has space for it.
    fn send(&mut self, piece: Piece<'_>) -> impl Future<Output = Result<(), Self::Error>> + Send;
    /// About how many bytes of the body it takes at once; 0 if unknown.
    fn free_bytes(&self) -> u64 {
        0
    }
    /// Puts the answer into a group of those on its connection that has a weight among the others; with
    /// `first` before all of them. Does nothing where answers have no order.
    fn join_group(&self, group: u64, first: bool) {
        let _ = (group, first);
    }
    /// Ends the answer. What was sent is still delivered.
    fn finish(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

impl Exchange for Responder {
    type Error = QuicError;

    fn receive(&mut self) -> impl Future<Output = Result<Option<Bytes>, QuicError>> + Send {
        self.recv_data()
    }

    fn respond(
        &mut self,
        head: Response<()>,
    ) -> impl Future<Output = Result<(), QuicError>> + Send {
        self.send_response(head)
    }

    fn send(&mut self, piece: Piece<'_>) -> impl Future<Output = Result<(), QuicError>> + Send {
        piece.send(self)
    }

    fn free_bytes(&self) -> u64 {
        Self::free_bytes(self)
    }

    fn join_group(&self, group: u64, first: bool) {
        Self::join_group(self, group, first);
    }

    fn finish(&mut self) -> impl Future<Output = Result<(), QuicError>> + Send {
        Self::finish(self)
    }
}
