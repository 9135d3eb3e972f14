//! The server's side.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Buf, Bytes};
use h3::error::Code;
use http::{Request, Response};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::body::BodyWriter;
use super::h3_error;
use super::priorities::Priorities;
use super::transport::{H3Bidi, H3Connection, varint};
use crate::config::MAX_STREAMS;
use crate::connection::Connection;
use crate::control::ControlHandle;
use crate::error::QuicError;
use crate::fair::SendOrder;
use crate::priority::Priority;

/// Serves HTTP/3 on one connection.
pub struct H3Server {
    h3: h3::server::Connection<H3Connection, Bytes>,
    connection: Connection,
    priorities: Arc<Mutex<Priorities>>,
    /// Boxed: a channel has room for 32 in advance.
    resolved: mpsc::UnboundedReceiver<Box<Exchange>>,
    resolver: mpsc::UnboundedSender<Box<Exchange>>,
    head_timeout: Option<Duration>,
}

/// Bounds of one request of a client.
#[derive(Clone, Copy, Debug)]
pub struct RequestBounds {
    /// Bytes of a request, head and body together: one with more is stopped.
    pub bytes: u64,
    /// Bytes of its header fields as RFC 9114, section 4.2.2, counts them: names, values and 32 for
    /// each. One with more is answered 431.
    pub head_bytes: u64,
    /// Maximum time in which the head of a request must arrive; `None`: no limit.
    pub head_timeout: Option<Duration>,
}

impl RequestBounds {
    /// Whatever comes.
    pub const NONE: Self = Self { bytes: u64::MAX, head_bytes: MAX_VARINT, head_timeout: None };
}

/// The largest number that settings can carry (RFC 9000, section 16).
const MAX_VARINT: u64 = (1 << 62) - 1;

type Exchange = (Request<()>, Responder);

impl fmt::Debug for H3Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("H3Server").field(&self.connection).finish()
    }
}

impl H3Server {
    /// Opens the control streams on a fresh connection.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn new(connection: Connection) -> Result<Self, QuicError> {
        Self::bounded(connection, RequestBounds::NONE).await
    }

    /// The same, with bounds on each request.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn bounded(connection: Connection, bounds: RequestBounds) -> Result<Self, QuicError> {
        let transport = H3Connection::new(connection.clone(), bounds.bytes);
        let priorities = transport.priorities().clone();
        let mut builder = h3::server::builder();
        // Reserved frames and settings exercise other people's parsers and cost bytes at random.
        builder.send_grease(false);
        builder.max_field_section_size(bounds.head_bytes);
        let h3 = builder.build(transport).await.map_err(h3_error)?;
        let (resolver, resolved) = mpsc::unbounded_channel();
        let head_timeout = bounds.head_timeout;
        Ok(Self { h3, connection, priorities, resolved, resolver, head_timeout })
    }

    /// The congestion controller of the connection.
    pub fn control(&self) -> &ControlHandle {
        self.connection.control()
    }

    /// The connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Tells the client that no further requests are taken on this connection (GOAWAY, RFC 9114,
    /// section 5.2). Those that it sent before it hears of that are still to be
    /// [accepted](Self::accept); others it may make elsewhere.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn go_away(&mut self) -> Result<(), QuicError> {
        // As many may be on their way as the client may have open.
        self.h3.shutdown(MAX_STREAMS as usize).await.map_err(h3_error)
    }

    /// The next request with its means to respond; `None` when the client has closed the
    /// connection. Call it again at once, and respond in a task of its own: while nobody waits
    /// here nothing reads the client's control stream, and other requests wait.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn accept(&mut self) -> Result<Option<(Request<()>, Responder)>, QuicError> {
        loop {
            tokio::select! {
                biased;
                Some(exchange) = self.resolved.recv() => return Ok(Some(*exchange)),
                next = self.h3.accept() => match next {
                    Ok(Some(request)) => {
                        // Its head may still be on the way: the next one must not wait for it.
                        let resolver = self.resolver.clone();
                        let late = late(self.connection.runtime(), self.head_timeout);
                        let (connection, priorities) =
                            (self.connection.clone(), self.priorities.clone());
                        self.connection.runtime().spawn("h3 request", async move {
                            let resolved = tokio::select! {
                                biased;
                                resolved = request.resolve_request() => resolved,
                                () = late => return,
                            };
                            match resolved {
                                Ok((head, stream)) => {
                                    connection.mark_active();
                                    let asked = head.headers().get("priority");
                                    let asked = asked.map(|v| Priority::parse(v.as_bytes()));
                                    let asked = asked.unwrap_or_default();
                                    let responder =
                                        Responder::new(stream, connection, priorities, asked);
                                    drop(resolver.send(Box::new((head, responder))));
                                }
                                Err(e) => tracing::debug!("a request was not understood: {e}"),
                            }
                        });
                    }
                    Ok(None) => return Ok(None),
                    Err(e) if e.is_h3_no_error() => return Ok(None),
                    Err(e) => return Err(h3_error(e)),
                },
            }
        }
    }
}

/// Ready when `head_timeout` is over.
fn late(
    runtime: &RuntimeHandle,
    head_timeout: Option<Duration>,
) -> impl Future<Output = ()> + use<> {
    let runtime = runtime.clone();
    async move {
        match head_timeout {
            Some(head_timeout) => runtime.sleep(head_timeout).await,
            None => std::future::pending().await,
        }
    }
}

/// Responds to one request. Dropped before [`finish`](Self::finish) it resets the stream, so that
/// the client does not take a part for the whole.
pub struct Responder {
    stream: h3::server::RequestStream<H3Bidi, Bytes>,
    body: BodyWriter,
    priorities: Arc<Mutex<Priorities>>,
    /// The head of the response is written.
    begun: bool,
    finished: bool,
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.priorities.lock().on_end(self.id());
        if !self.finished {
            self.stream.stop_stream(Code::H3_INTERNAL_ERROR);
        }
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Responder").field(&self.stream.send_id()).finish()
    }
}

impl Responder {
    fn new(
        stream: h3::server::RequestStream<H3Bidi, Bytes>,
        connection: Connection,
        priorities: Arc<Mutex<Priorities>>,
        asked: Priority,
    ) -> Self {
        let id = varint(stream.send_id().into_inner()).into();
        let body = BodyWriter::new(connection, id);
        let responder = Self { stream, body, priorities, begun: false, finished: false };
        {
            // Held until the stream is in its place: no update comes in between.
            let mut priorities = responder.priorities.lock();
            let priority = priorities.on_request(responder.id(), asked);
            let order = SendOrder { priority, ..SendOrder::default() };
            responder.body.connection().place(id, order);
        }
        responder
    }

    /// The number of its stream.
    fn id(&self) -> u64 {
        self.stream.send_id().into_inner()
    }

    /// The connection that it leaves on.
    pub fn connection(&self) -> &Connection {
        self.body.connection()
    }

    /// Puts the response into a group of those on its connection, whose weight
    /// [`Connection::set_group_weight`] sets; within it the client's priorities decide (RFC 9218).
    /// With `first` it goes before the responses of all groups.
    pub fn join_group(&self, group: u64, first: bool) {
        let priorities = self.priorities.lock();
        let order = SendOrder { group, first, priority: priorities.of(self.id()) };
        self.body.connection().place(varint(self.id()).into(), order);
    }

    /// The next piece of the request's body; `None` after the last.
    ///
    /// # Errors
    /// If the client gives up or the connection is lost.
    pub async fn recv_data(&mut self) -> Result<Option<Bytes>, QuicError> {
        let data = self.stream.recv_data().await.map_err(h3_error)?;
        Ok(data.map(|mut d| d.copy_to_bytes(d.remaining())))
    }

    /// Waits for the end of a request whose body is of no use, so that one that is malformed in what
    /// follows its head is refused, not answered. After more than `most` bytes it waits no longer.
    ///
    /// # Errors
    /// As [`recv_data`](Self::recv_data), or if the request is malformed.
    pub async fn discard_body(&mut self, most: usize) -> Result<(), QuicError> {
        let mut bytes = 0;
        while bytes <= most
            && let Some(piece) = self.recv_data().await?
        {
            bytes += piece.len();
        }
        Ok(())
    }

    /// Sends the head of the response, once.
    ///
    /// # Errors
    /// If the client gives up or the connection is lost.
    pub async fn send_response(&mut self, head: Response<()>) -> Result<(), QuicError> {
        self.stream.send_response(head).await.map_err(h3_error)?;
        self.begun = true;
        Ok(())
    }

    /// Sends a piece of the body behind the head, without copying it; waits until the send window
    /// has [taken](Self::taken) it. It goes on also where nobody waits any more.
    ///
    /// # Errors
    /// If the client gives up or the connection is lost, or if the head or the piece before this
    /// one is not written.
    pub async fn send_data(&mut self, data: Bytes) -> Result<(), QuicError> {
        if !self.begun {
            return Err(QuicError::Http("a body was sent before its head".to_owned()));
        }
        self.body.begin(data)?;
        self.taken().await
    }

    /// Waits until the window has taken what is being sent, or until there may be room for what was
    /// [taken back](Self::take_back).
    ///
    /// # Errors
    /// If the client gives up or the connection is lost.
    pub async fn taken(&mut self) -> Result<(), QuicError> {
        poll_fn(|cx| self.body.poll(cx)).await
    }

    /// Bytes of what is being sent, its frame included, for which there was no room yet.
    pub fn waiting_bytes(&self) -> u64 {
        self.body.waiting()
    }

    /// Takes back what there was no room for yet of the piece that is being sent, so that it takes no
    /// memory. How many bytes of its end that is: they must be [sent again](Self::send_rest) before
    /// anything else.
    pub fn take_back(&mut self) -> u64 {
        self.body.take_back()
    }

    /// Sends the next bytes of those that were taken back, as [`send_data`](Self::send_data) does.
    ///
    /// # Errors
    /// If the client gives up or the connection is lost, or if these are more than were taken back.
    pub async fn send_rest(&mut self, data: Bytes) -> Result<(), QuicError> {
        self.body.go_on(data)?;
        self.taken().await
    }

    /// Half of the bytes that may wait or be in flight on the connection: with pieces of so many one
    /// waits while the other is on its way.
    pub fn free_bytes(&self) -> u64 {
        self.body.connection().send_window() / 2
    }

    /// Ends the response. It is still delivered when this returns.
    ///
    /// # Errors
    /// If the client gives up or the connection is lost.
    pub async fn finish(&mut self) -> Result<(), QuicError> {
        self.taken().await?;
        self.stream.finish().await.map_err(h3_error)?;
        self.finished = true;
        Ok(())
    }
}
