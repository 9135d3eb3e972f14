//! What h3 asks of a QUIC connection, by noq.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use noq_proto::{ConnectionError, VarInt};

/// A future that is polled across calls.
type Pending<T> = Option<Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send + Sync>>>;

/// Polls `pending`, starting it first if none runs.
fn poll_pending<T, F>(
    pending: &mut Pending<T>,
    cx: &mut Context<'_>,
    start: impl FnOnce() -> F,
) -> Poll<Result<T, ConnectionError>>
where
    F: Future<Output = Result<T, ConnectionError>> + Send + Sync + 'static,
{
    let future = pending.get_or_insert_with(|| Box::pin(start()));
    let result = ready!(future.as_mut().poll(cx));
    *pending = None;
    Poll::Ready(result)
}

type Bidi = (noq::SendStream, noq::RecvStream);

/// A connection as h3 sees it.
pub(super) struct H3Connection {
    opener: H3Opener,
    bidi: Pending<Bidi>,
    uni: Pending<noq::RecvStream>,
}

impl H3Connection {
    pub(super) fn new(connection: noq::Connection) -> Self {
        Self { opener: H3Opener::new(connection), bidi: None, uni: None }
    }
}

impl quic::Connection<Bytes> for H3Connection {
    type RecvStream = H3Recv;
    type OpenStreams = H3Opener;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<H3Recv, ConnectionErrorIncoming>> {
        let connection = &self.opener.connection;
        let accepted = poll_pending(&mut self.uni, cx, || {
            let connection = connection.clone();
            async move { connection.accept_uni().await }
        });
        accepted.map(|r| r.map(H3Recv::new).map_err(connection_error))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<H3Bidi, ConnectionErrorIncoming>> {
        let connection = &self.opener.connection;
        let accepted = poll_pending(&mut self.bidi, cx, || {
            let connection = connection.clone();
            async move { connection.accept_bi().await }
        });
        accepted.map(|r| r.map(H3Bidi::new).map_err(connection_error))
    }

    fn opener(&self) -> H3Opener {
        self.opener.clone()
    }
}

impl quic::OpenStreams<Bytes> for H3Connection {
    type BidiStream = H3Bidi;
    type SendStream = H3Send;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<H3Bidi, StreamErrorIncoming>> {
        self.opener.poll_open_bidi(cx)
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<H3Send, StreamErrorIncoming>> {
        self.opener.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.opener.close(code, reason);
    }
}

/// Opens streams.
pub(super) struct H3Opener {
    connection: noq::Connection,
    bidi: Pending<Bidi>,
    uni: Pending<noq::SendStream>,
}

impl H3Opener {
    fn new(connection: noq::Connection) -> Self {
        Self { connection, bidi: None, uni: None }
    }
}

impl Clone for H3Opener {
    /// A copy waits for streams of its own.
    fn clone(&self) -> Self {
        Self::new(self.connection.clone())
    }
}

impl quic::OpenStreams<Bytes> for H3Opener {
    type BidiStream = H3Bidi;
    type SendStream = H3Send;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<H3Bidi, StreamErrorIncoming>> {
        let connection = &self.connection;
        let opened = poll_pending(&mut self.bidi, cx, || {
            let connection = connection.clone();
            async move { connection.open_bi().await }
        });
        opened.map(|r| r.map(H3Bidi::new).map_err(lost))
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<H3Send, StreamErrorIncoming>> {
        let connection = &self.connection;
        let opened = poll_pending(&mut self.uni, cx, || {
            let connection = connection.clone();
            async move { connection.open_uni().await }
        });
        opened.map(|r| r.map(H3Send::new).map_err(lost))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(varint(code.value()), reason);
    }
}

/// A stream in both directions.
pub(super) struct H3Bidi {
    send: H3Send,
    recv: H3Recv,
}

impl H3Bidi {
    fn new((send, recv): Bidi) -> Self {
        Self { send: H3Send::new(send), recv: H3Recv::new(recv) }
    }
}

impl quic::BidiStream<Bytes> for H3Bidi {
    type SendStream = H3Send;
    type RecvStream = H3Recv;

    fn split(self) -> (H3Send, H3Recv) {
        (self.send, self.recv)
    }
}

impl quic::RecvStream for H3Bidi {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.recv.poll_data(cx)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.recv.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.recv.recv_id()
    }
}

impl quic::SendStream<Bytes> for H3Bidi {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }

    fn reset(&mut self, reset_code: u64) {
        self.send.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

/// The receiving half.
pub(super) struct H3Recv(noq::RecvStream);

impl H3Recv {
    fn new(stream: noq::RecvStream) -> Self {
        Self(stream)
    }
}

impl quic::RecvStream for H3Recv {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        // The waker is kept by the connection, not by this future: dropping it loses nothing.
        let read = ready!(pin!(self.0.read_chunk(usize::MAX)).poll(cx));
        Poll::Ready(read.map_err(|e| match e {
            noq::ReadError::Reset(code) => {
                StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
            }
            noq::ReadError::ConnectionLost(e) => lost(e),
            other => StreamErrorIncoming::Unknown(Box::new(other)),
        }))
    }

    fn stop_sending(&mut self, error_code: u64) {
        // Fails on a stream that has ended already: nothing is left to stop.
        let _ = self.0.stop(varint(error_code));
    }

    fn recv_id(&self) -> StreamId {
        stream_id(self.0.id())
    }
}

/// The sending half, with the frame that is being written.
pub(super) struct H3Send {
    stream: noq::SendStream,
    writing: Option<WriteBuf<Bytes>>,
}

impl H3Send {
    fn new(stream: noq::SendStream) -> Self {
        Self { stream, writing: None }
    }
}

impl quic::SendStream<Bytes> for H3Send {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if let Some(frame) = &mut self.writing {
            while frame.has_remaining() {
                let written = ready!(Pin::new(&mut self.stream).poll_write(cx, frame.chunk()));
                frame.advance(written.map_err(write_error)?);
            }
            self.writing = None;
        }
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.writing.is_some() {
            return Err(StreamErrorIncoming::ConnectionErrorIncoming {
                connection_error: ConnectionErrorIncoming::InternalError(
                    "a frame was sent before the one before it was written".to_owned(),
                ),
            });
        }
        self.writing = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(self.poll_ready(cx))?;
        let finished = self.stream.finish();
        Poll::Ready(finished.map_err(|e| StreamErrorIncoming::Unknown(Box::new(e))))
    }

    fn reset(&mut self, reset_code: u64) {
        // Fails on a stream that was reset already.
        let _ = self.stream.reset(varint(reset_code));
    }

    fn send_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

fn varint(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

fn stream_id(id: noq_proto::StreamId) -> StreamId {
    StreamId::try_from(VarInt::from(id).into_inner()).expect("both are QUIC's 62 bits")
}

fn lost(e: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: connection_error(e) }
}

fn write_error(e: noq::WriteError) -> StreamErrorIncoming {
    match e {
        noq::WriteError::Stopped(code) => {
            StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
        }
        noq::WriteError::ConnectionLost(e) => lost(e),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}

fn connection_error(e: ConnectionError) -> ConnectionErrorIncoming {
    match e {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}
