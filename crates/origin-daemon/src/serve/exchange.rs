//! A request over TCP with the means to answer it, and the answer as hyper takes it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use airlane_origin::http::{Exchange, Piece};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// Pieces of a body that wait for the connection.
const PIECES: usize = 2;

/// The client gave up, or the answer did.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the exchange was cut short")]
pub(super) struct ExchangeCut;

/// A request over TCP with the means to answer it.
pub(super) struct TcpExchange {
    incoming: Incoming,
    state: State,
    /// Told if the answer never becomes whole though the client has not given it up.
    cut: Arc<Notify>,
    /// One permit for each piece that the client has not taken, of all its address' answers.
    room: Arc<Semaphore>,
    /// For the next piece.
    permit: Option<OwnedSemaphorePermit>,
}

/// A piece, and the permit for it, until it has left.
struct QueuedPiece {
    piece: Bytes,
    _permit: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for QueuedPiece {
    fn as_ref(&self) -> &[u8] {
        &self.piece
    }
}

enum State {
    /// Nothing of the answer has left. It does with a second piece of the body, or its end: one that is
    /// short takes no channel.
    Held { to: oneshot::Sender<Response<Pieces>>, head: Option<Response<()>>, first: Option<Bytes> },
    /// Pieces follow.
    Sending(mpsc::Sender<Result<Bytes, ExchangeCut>>),
    /// The answer is whole, or nobody wants it.
    Ended,
}

impl TcpExchange {
    /// With the answer to come: its head and a body that follows. Pieces of the body take permits of
    /// `room`.
    pub(super) fn new(
        incoming: Incoming,
        cut: Arc<Notify>,
        room: Arc<Semaphore>,
    ) -> (Self, oneshot::Receiver<Response<Pieces>>) {
        let (to, answered) = oneshot::channel();
        let state = State::Held { to, head: None, first: None };
        (Self { incoming, state, cut, room, permit: None }, answered)
    }

    /// Lets what is held leave. Pieces follow.
    fn begin_sending(&mut self) -> Result<(), ExchangeCut> {
        let (pieces, rest) = mpsc::channel(PIECES);
        self.release(Some(rest))?;
        self.state = State::Sending(pieces);
        Ok(())
    }

    /// Lets what is held leave, with `rest` behind it.
    fn release(
        &mut self,
        rest: Option<mpsc::Receiver<Result<Bytes, ExchangeCut>>>,
    ) -> Result<(), ExchangeCut> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Held { to, head: Some(head), first } => {
                to.send(head.map(|()| Pieces { first, rest })).map_err(|_| ExchangeCut)
            }
            State::Held { .. } | State::Sending(_) | State::Ended => Err(ExchangeCut),
        }
    }
}

impl Exchange for TcpExchange {
    type Error = ExchangeCut;

    async fn receive(&mut self) -> Result<Option<Bytes>, ExchangeCut> {
        while let Some(frame) = self.incoming.frame().await {
            if let Ok(data) = frame.map_err(|_| ExchangeCut)?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    async fn respond(&mut self, answer: Response<()>) -> Result<(), ExchangeCut> {
        match &mut self.state {
            State::Held { head: head @ None, .. } => *head = Some(answer),
            _ => return Err(ExchangeCut),
        }
        Ok(())
    }

    async fn room(&mut self) -> Result<(), ExchangeCut> {
        let permit = match self.room.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                // The first piece is held until a second one comes. If every answer of the address
                // held one while it waits for a permit, no permit would ever come back.
                if let State::Held { first: Some(_), .. } = &self.state {
                    self.begin_sending()?;
                }
                self.room.clone().acquire_owned().await.map_err(|_| ExchangeCut)?
            }
        };
        self.permit = Some(permit);
        Ok(())
    }

    async fn send(&mut self, piece: Piece<'_>) -> Result<(), ExchangeCut> {
        let piece =
            Bytes::from_owner(QueuedPiece { piece: piece.bytes, _permit: self.permit.take() });
        if let State::Held { head: Some(_), first: first @ None, .. } = &mut self.state {
            *first = Some(piece);
            return Ok(());
        }
        if matches!(self.state, State::Held { .. }) {
            self.begin_sending()?;
        }
        match &self.state {
            State::Sending(pieces) => pieces.send(Ok(piece)).await.map_err(|_| ExchangeCut),
            State::Held { .. } | State::Ended => Err(ExchangeCut),
        }
    }

    async fn finish(&mut self) -> Result<(), ExchangeCut> {
        match &self.state {
            State::Held { .. } => self.release(None),
            State::Sending(_) | State::Ended => {
                self.state = State::Ended;
                Ok(())
            }
        }
    }
}

impl Drop for TcpExchange {
    fn drop(&mut self) {
        // Whoever is asked for the next piece learns that there is none: the client must not take a part
        // for the whole. With the channel full, the end of it says the same where a length was
        // announced. Where nobody has an answer yet, that there is none says as much.
        if let State::Sending(pieces) = std::mem::replace(&mut self.state, State::Ended) {
            let is_wanted = !pieces.is_closed();
            drop(pieces.try_send(Err(ExchangeCut)));
            if is_wanted {
                self.cut.notify_one();
            }
        }
    }
}

/// An answer that is being made. If whoever waits for it goes away it is still made to its end, so that it
/// is counted and logged.
pub(super) struct PendingAnswer {
    future: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    runtime: RuntimeHandle,
}

impl PendingAnswer {
    pub(super) fn new(
        runtime: RuntimeHandle,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        Self { future: Some(Box::pin(future)), runtime }
    }

    /// Makes it until its head is there, and the rest in a task of its own. What is short needs none.
    pub(super) async fn until(
        mut self,
        mut head: oneshot::Receiver<Response<Pieces>>,
    ) -> Result<Response<Pieces>, oneshot::error::RecvError> {
        if let Some(future) = &mut self.future {
            tokio::select! {
                biased;
                () = future => self.future = None,
                head = &mut head => return head,
            }
        }
        head.await
    }
}

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        if let Some(rest) = self.future.take() {
            self.runtime.spawn("origin response", rest);
        }
    }
}

/// The body of an answer, as the origin hands it over.
#[derive(Default)]
pub(super) struct Pieces {
    first: Option<Bytes>,
    rest: Option<mpsc::Receiver<Result<Bytes, ExchangeCut>>>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = ExchangeCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ExchangeCut>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        match &mut self.rest {
            Some(pieces) => pieces.poll_recv(cx).map(|p| p.map(|p| p.map(Frame::data))),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.rest.as_ref().is_none_or(|p| p.is_closed() && p.is_empty())
    }
}
