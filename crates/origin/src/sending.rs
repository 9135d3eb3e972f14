//! How an answer leaves: piece by piece, within limits.

use std::ops::Range;
use std::time::Duration;

use airlane_quic::RequestBounds;
use airlane_runtime::RuntimeHandle;

use super::delivery::Delivery;
use crate::http::{Answer, Exchange, Piece, RequestRate, within};
use crate::store::Object;

/// Bytes of a body to hand over at once, or more where the send buffer has space.
const PIECE_BYTES: u64 = 65_536;

/// The limits that an origin sets clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest that a client may take to accept a piece of an answer, or to send a whole post;
    /// `None`: no limit.
    pub stalled: Option<Duration>,
    /// Time for which a client may take nothing of a piece over HTTP/3 before it is taken back, so
    /// that it takes no memory, and read again when there is room; `None`: for ever.
    pub reclaim_timeout: Option<Duration>,
    /// Bytes that a post may have.
    pub post_bytes: usize,
    /// Bounds on a request over HTTP/3.
    pub request: RequestBounds,
    /// Maximum rate of requests on a connection over HTTP/3; `None`: at any rate.
    pub rate: Option<RequestRate>,
    /// A connection over HTTP/3 on which nothing was asked for by then is closed; `None`: never.
    pub first_request: Option<Duration>,
    /// A connection over HTTP/3 without an answer for so long is closed; `None`: never.
    pub idle: Option<Duration>,
    /// The largest piece of a body to hand over at once, in bytes, 64 KiB at least. A piece is as
    /// large as the connection's send buffer has space for, so that fast connections are locked
    /// less often.
    pub piece_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let request = RequestBounds { bytes: 131_072, ..RequestBounds::NONE };
        Self {
            stalled: None,
            reclaim_timeout: None,
            post_bytes: 65_536,
            request,
            rate: None,
            first_request: None,
            idle: None,
            piece_bytes: PIECE_BYTES,
        }
    }
}

/// Sends an answer. How many bytes of its body were handed over, and whether it is whole.
pub(super) async fn send<E: Exchange>(
    runtime: &RuntimeHandle,
    limits: &Limits,
    exchange: &mut E,
    answer: Answer,
    object: Option<&Object>,
    delivery: Option<&Delivery>,
) -> (u64, bool) {
    let Answer { head, body } = answer;
    let mut sent = 0;
    let whole = async {
        let stalled = limits.stalled;
        timely(within(runtime, stalled, exchange.respond(head)).await)?;
        if let (Some(object), Some(body)) = (object, body) {
            let mut at = body.start;
            while at < body.end {
                timely(within(runtime, stalled, exchange.room()).await)?;
                let most = exchange.free_bytes().min(limits.piece_bytes).max(PIECE_BYTES);
                let range: Range<u64> = at..body.end.min(at + most);
                let piece = object.source.read(range).await.map_err(|e| e.to_string())?;
                let len = piece.len() as u64;
                if len == 0 {
                    return Err("the object ended early".to_owned());
                }
                // Counted first: a part of it may be acknowledged before the rest is taken.
                if let Some(delivery) = delivery {
                    delivery.on_body_handed_over(len);
                }
                let source = &*object.source;
                let piece =
                    Piece { bytes: piece, at, source, reclaim_timeout: limits.reclaim_timeout };
                timely(within(runtime, stalled, exchange.send(piece)).await)?;
                if let Some(delivery) = delivery {
                    delivery.on_taken(at..at + len);
                }
                at += len;
                sent += len;
            }
        }
        timely(within(runtime, stalled, exchange.finish()).await)
    }
    .await;
    if let Err(e) = &whole {
        tracing::debug!("an answer was cut short: {e}");
    }
    (sent, whole.is_ok())
}

/// The result of an action; `None` means that it took too long.
fn timely<T, E: std::fmt::Display>(result: Option<Result<T, E>>) -> Result<T, String> {
    result.ok_or_else(|| "the client takes nothing".to_owned())?.map_err(|e| e.to_string())
}
