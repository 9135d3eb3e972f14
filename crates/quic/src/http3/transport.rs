//! What h3 asks of a QUIC connection, by ours.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use noq_proto::VarInt;
use parking_lot::Mutex;

use super::control_frames::{ControlFault, ControlFrames};
use super::message::{Malformed, MessageKind, MessageReader};
use super::priorities::Priorities;
use crate::connection::Connection;
use crate::error::QuicError;
use crate::stream::{RecvStream, SendStream};

/// A connection as h3 sees it, which also opens its streams.
#[derive(Clone)]
pub(super) struct H3Connection {
    connection: Connection,
    /// Bytes that the peer may send on one stream in both directions: h3 keeps a frame until it is
    /// whole, however long it says that it is.
    max_bytes: u64,
    priorities: Arc<Mutex<Priorities>>,
}

impl H3Connection {
    pub(super) fn new(connection: Connection, max_bytes: u64) -> Self {
        Self { connection, max_bytes, priorities: Arc::default() }
    }

    /// The priorities of the requests.
    pub(super) fn priorities(&self) -> &Arc<Mutex<Priorities>> {
        &self.priorities
    }
}

impl quic::Connection<Bytes> for H3Connection {
    type RecvStream = H3Recv;
    type OpenStreams = Self;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<H3Recv, ConnectionErrorIncoming>> {
        let recv = ready!(self.connection.poll_accept_uni(cx)).map_err(connection_error)?;
        // Control streams live as long as the connection: there is no total for them.
        let mut recv = H3Recv::new(recv, u64::MAX);
        recv.control = Some(Control { of: self.clone(), frames: ControlFrames::default() });
        Poll::Ready(Ok(recv))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<H3Bidi, ConnectionErrorIncoming>> {
        let most = self.max_bytes;
        let both = self.connection.poll_accept_bi(cx);
        let bidi = |streams| H3Bidi::new(streams, most, MessageKind::Request);
        both.map(|r| r.map(bidi).map_err(connection_error))
    }

    fn opener(&self) -> Self {
        self.clone()
    }
}

impl quic::OpenStreams<Bytes> for H3Connection {
    type BidiStream = H3Bidi;
    type SendStream = H3Send;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<H3Bidi, StreamErrorIncoming>> {
        let most = self.max_bytes;
        let both = self.connection.poll_open_bi(cx);
        // Of an answer all is taken that comes; of a request what the server wants of it, piece by
        // piece.
        let bidi = |(send, recv): (_, RecvStream)| {
            H3Bidi::new((send, recv.taking_all()), most, MessageKind::Response)
        };
        both.map(|r| r.map(bidi).map_err(stream_error))
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<H3Send, StreamErrorIncoming>> {
        self.connection.poll_open_uni(cx).map(|r| r.map(H3Send::new).map_err(stream_error))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close_with(varint(code.value()), Bytes::copy_from_slice(reason));
    }
}

/// A stream in both directions.
pub(super) struct H3Bidi {
    send: H3Send,
    recv: H3Recv,
    /// Checks what comes.
    message: MessageReader,
    /// The head of our own message is still to be sent.
    is_silent: bool,
    kind: MessageKind,
}

impl H3Bidi {
    /// One on which messages of this kind come.
    fn new((send, recv): (SendStream, RecvStream), max_bytes: u64, kind: MessageKind) -> Self {
        let (send, recv) = (H3Send::new(send), H3Recv::new(recv, max_bytes));
        Self { send, recv, message: MessageReader::new(kind), is_silent: true, kind }
    }

    /// Ends the stream both ways (RFC 9114, section 4.1.2). Others go on.
    fn refuse(&mut self, malformed: Malformed) -> StreamErrorIncoming {
        let code = Code::H3_MESSAGE_ERROR.value();
        quic::SendStream::reset(&mut self.send, code);
        quic::RecvStream::stop_sending(&mut self.recv, code);
        StreamErrorIncoming::Unknown(format!("a malformed message: {malformed}").into())
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
        let read = ready!(self.recv.poll_data(cx))?;
        let checked = match &read {
            Some(piece) => self.message.read(piece),
            None => self.message.end(),
        };
        Poll::Ready(checked.map(|()| read).map_err(|malformed| self.refuse(malformed)))
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
        self.send.send_data(data)?;
        if std::mem::take(&mut self.is_silent) && self.kind == MessageKind::Response {
            self.message.on_request_sent(&self.send.writing[0]);
        }
        Ok(())
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
pub(super) struct H3Recv {
    stream: RecvStream,
    /// Bytes that may still come.
    left: u64,
    /// Reads what comes beside h3, if the peer alone sends on the stream.
    control: Option<Control>,
}

impl H3Recv {
    fn new(stream: RecvStream, max_bytes: u64) -> Self {
        Self { stream, left: max_bytes, control: None }
    }
}

/// Reader of a control stream.
struct Control {
    of: H3Connection,
    frames: ControlFrames,
}

impl Control {
    /// Reads what came, and closes the connection where it breaks the rules.
    fn read(&mut self, bytes: &[u8]) -> Result<(), StreamErrorIncoming> {
        let H3Connection { connection, priorities, .. } = &self.of;
        let read = self.frames.read(bytes, |request, priority| {
            if priorities.lock().on_update(request, priority) {
                connection.prioritise(varint(request).into(), priority);
            }
        });
        read.map_err(|fault| {
            let (code, what) = match fault {
                ControlFault::TooLong => (Code::H3_EXCESSIVE_LOAD, "a frame is too long"),
                ControlFault::Malformed => (Code::H3_FRAME_ERROR, "a frame is malformed"),
                ControlFault::NoRequest => (Code::H3_ID_ERROR, "a priority of no request"),
            };
            connection.close_with(varint(code.value()), Bytes::from_static(what.as_bytes()));
            connection_stream_error(what)
        })
    }
}

fn connection_stream_error(what: &str) -> StreamErrorIncoming {
    let connection_error = ConnectionErrorIncoming::InternalError(what.to_owned());
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error }
}

impl quic::RecvStream for H3Recv {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let read = ready!(self.stream.poll_read(cx, usize::MAX).map_err(stream_error))?;
        let bytes = read.as_ref().map_or(0, |piece| piece.len() as u64);
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => {
                let code = Code::H3_EXCESSIVE_LOAD.value();
                self.stop_sending(code);
                return Poll::Ready(Err(StreamErrorIncoming::StreamTerminated {
                    error_code: code,
                }));
            }
        }
        if let (Some(control), Some(piece)) = (&mut self.control, &read) {
            control.read(piece)?;
        }
        Poll::Ready(Ok(read))
    }

    fn stop_sending(&mut self, error_code: u64) {
        // Fails on a stream that has ended already: nothing is left to stop.
        let _ = self.stream.stop_with(varint(error_code));
    }

    fn recv_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

/// The sending half, with what is left of the frame that is being written, unless the connection has
/// it.
pub(super) struct H3Send {
    stream: SendStream,
    writing: [Bytes; 2],
    done: bool,
}

impl H3Send {
    fn new(stream: SendStream) -> Self {
        Self { stream, writing: Default::default(), done: true }
    }
}

impl quic::SendStream<Bytes> for H3Send {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if !self.done {
            // Left with the connection as bodies are: behind those a frame that its task has to write
            // itself would never find room.
            ready!(self.stream.poll_leave(cx, &mut self.writing).map_err(stream_error))?;
            self.done = true;
        }
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if !self.done {
            return Err(StreamErrorIncoming::ConnectionErrorIncoming {
                connection_error: ConnectionErrorIncoming::InternalError(
                    "a frame was sent before the one before it was written".to_owned(),
                ),
            });
        }
        // h3 does not give its pieces away: this is the one copy, of heads and of requests' bodies.
        // Nobody waits for it as for one that is made while the connection is locked.
        let mut frame: WriteBuf<Bytes> = data.into();
        self.writing = [frame.copy_to_bytes(frame.remaining()), Bytes::new()];
        self.done = false;
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(self.poll_ready(cx))?;
        let finished = self.stream.finish();
        Poll::Ready(finished.map_err(|e| StreamErrorIncoming::Unknown(Box::new(e))))
    }

    fn reset(&mut self, reset_code: u64) {
        // Fails on a stream that was reset already.
        let _ = self.stream.reset_with(varint(reset_code));
    }

    fn send_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

pub(super) fn varint(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

fn stream_id(id: u64) -> StreamId {
    StreamId::try_from(id).expect("both are QUIC's 62 bits")
}

fn stream_error(e: QuicError) -> StreamErrorIncoming {
    match e {
        QuicError::StreamEnded { code } => {
            StreamErrorIncoming::StreamTerminated { error_code: code }
        }
        QuicError::StreamClosed => StreamErrorIncoming::Unknown(Box::new(e)),
        lost => StreamErrorIncoming::ConnectionErrorIncoming {
            connection_error: connection_error(lost),
        },
    }
}

fn connection_error(e: QuicError) -> ConnectionErrorIncoming {
    match e {
        QuicError::ClosedByPeer { code, .. } => {
            ConnectionErrorIncoming::ApplicationClose { error_code: code }
        }
        QuicError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}
