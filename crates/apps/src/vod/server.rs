//! The origin: serves the objects of a library over HTTP/3, on connections that last.

use std::future::pending;
use std::sync::Arc;

use airlane_quic::{Connection, Endpoint, H3Server, QuicError, Responder};
use airlane_runtime::RuntimeExt;
use http::{Method, Request, Response, StatusCode, header};

use super::OriginEvents;
use super::minerva::{Watched, Weigher};
use super::provider::Provider;
use crate::cmcd::Cmcd;
use crate::content::{Library, Object};

/// Most bytes of a body that are handed to HTTP/3 in one piece: each is copied there.
const PIECE_BYTES: u64 = 65_536;

/// Header fields that carry CMCD (CTA-5004, section 2.1).
const CMCD_FIELDS: [&str; 4] = ["cmcd-object", "cmcd-request", "cmcd-session", "cmcd-status"];

/// How the origin shares its links among viewers.
#[derive(Clone, Debug)]
pub enum Policy {
    /// Each connection as its controller stands.
    Plain,
    /// Weights follow the viewers' experience.
    Minerva(Arc<Provider>),
}

/// A server of titles.
#[derive(Clone)]
pub struct Origin {
    /// What it serves.
    pub library: Arc<Library>,
    /// How it shares.
    pub policy: Policy,
    /// Who is told.
    pub events: Arc<dyn OriginEvents>,
}

impl Origin {
    /// Serves every connection of `endpoint` until it is closed.
    pub async fn serve(self, endpoint: Endpoint) {
        while let Some(connection) = endpoint.accept().await {
            let origin = self.clone();
            endpoint.runtime().spawn("origin connection", async move {
                if let Err(e) = origin.converse(connection).await {
                    tracing::debug!("a connection ended: {e}");
                }
            });
        }
    }

    /// All requests of one connection.
    async fn converse(self, connection: Connection) -> Result<(), QuicError> {
        // A connection that was lost meanwhile has no address, and no requests either.
        let Some(peer) = connection.remote_addr() else { return Ok(()) };
        let runtime = connection.runtime().clone();
        self.events.connected(peer, connection.control());
        let weigher = match &self.policy {
            Policy::Plain => None,
            Policy::Minerva(p) => {
                let control = connection.control().clone();
                Some(Weigher::new(p.clone(), control, runtime.clone()))
            }
        };
        let mut server = H3Server::new(connection).await?;
        let weighing = async {
            match weigher.clone() {
                Some(w) => w.run(peer, self.events.clone()).await,
                None => pending().await,
            }
        };
        tokio::pin!(weighing);
        loop {
            let next = tokio::select! {
                biased;
                next = server.accept() => next?,
                () = &mut weighing => unreachable!("weights are set as long as the connection lives"),
            };
            let Some((request, responder)) = next else { return Ok(()) };
            let (origin, weigher, rt) = (self.clone(), weigher.clone(), runtime.clone());
            runtime.spawn("origin response", async move {
                let path = request.uri().path().to_owned();
                let object = origin.library.object(&path);
                let watched = weigher
                    .zip(object.as_ref())
                    .map(|(w, object)| w.on_request(object, &cmcd_of(&request)));
                let (status, bytes) = respond(&request, object, responder, watched.as_ref()).await;
                drop(watched);
                origin.events.responded(rt.now(), peer, &path, status.as_u16(), bytes);
            });
        }
    }
}

/// CMCD of a request, from its query or its header.
fn cmcd_of(request: &Request<()>) -> Cmcd {
    let query = request.uri().query().and_then(Cmcd::from_query);
    let mut cmcd = query.unwrap_or_default();
    for field in CMCD_FIELDS {
        if let Some(text) = request.headers().get(field).and_then(|v| v.to_str().ok()) {
            cmcd.read(text);
        }
    }
    cmcd
}

/// Responds; tells the status and the bytes of the body that were handed over.
async fn respond(
    request: &Request<()>,
    object: Option<Object>,
    mut responder: Responder,
    watched: Option<&Watched>,
) -> (StatusCode, u64) {
    let head = head_of(request, object.as_ref());
    let (status, range, response) = match head {
        Ok(h) => h,
        Err(e) => {
            tracing::debug!("no head for {}: {e}", request.uri());
            return (StatusCode::INTERNAL_SERVER_ERROR, 0);
        }
    };
    let mut sent = 0;
    let result: Result<(), QuicError> = async {
        responder.send_response(response).await?;
        if let (Some(object), Some(range)) = (object, range) {
            for piece in object.body.pieces(range, PIECE_BYTES) {
                let len = piece.len() as u64;
                // Counted first: a part of it may be acknowledged before the rest is taken.
                if let Some(watched) = watched {
                    watched.handed(len);
                }
                responder.send_data(piece).await?;
                sent += len;
            }
        }
        responder.finish().await
    }
    .await;
    if let Err(e) = result {
        tracing::debug!("a response was cut short: {e}");
    }
    (status, sent)
}

type Head = (StatusCode, Option<std::ops::Range<u64>>, Response<()>);

/// Status, bytes to send and head.
fn head_of(request: &Request<()>, object: Option<&Object>) -> Result<Head, http::Error> {
    let plain = |status: StatusCode| {
        let head = Response::builder().status(status).header(header::CONTENT_LENGTH, 0);
        Ok((status, None, head.body(())?))
    };
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return plain(StatusCode::METHOD_NOT_ALLOWED);
    }
    let Some(object) = object else { return plain(StatusCode::NOT_FOUND) };
    let len = object.body.len();
    let range = request.headers().get(header::RANGE).and_then(|r| r.to_str().ok());
    let mut head = Response::builder()
        .header(header::CONTENT_TYPE, "video/iso.segment")
        .header(header::ACCEPT_RANGES, "bytes");
    let (status, bytes) = match range.map(|r| byte_range(r, len)) {
        None | Some(ByteRange::Ignored) => (StatusCode::OK, 0..len),
        Some(ByteRange::Part(part)) => {
            let field = format!("bytes {}-{}/{len}", part.start, part.end - 1);
            head = head.header(header::CONTENT_RANGE, field);
            (StatusCode::PARTIAL_CONTENT, part)
        }
        Some(ByteRange::Unsatisfiable) => {
            let head = head
                .status(StatusCode::RANGE_NOT_SATISFIABLE)
                .header(header::CONTENT_RANGE, format!("bytes */{len}"));
            return Ok((StatusCode::RANGE_NOT_SATISFIABLE, None, head.body(())?));
        }
    };
    let head = head.status(status).header(header::CONTENT_LENGTH, bytes.end - bytes.start);
    let body = (request.method() == Method::GET).then_some(bytes);
    Ok((status, body, head.body(())?))
}

#[derive(Debug, PartialEq, Eq)]
enum ByteRange {
    /// Not understood, or several ranges: the whole is a right answer (RFC 9110, section 14.2).
    Ignored,
    Part(std::ops::Range<u64>),
    Unsatisfiable,
}

/// One range of a `Range` field (RFC 9110, section 14.1.2) on a body of `len` bytes.
fn byte_range(field: &str, len: u64) -> ByteRange {
    let Some((first, last)) = field.strip_prefix("bytes=").and_then(|r| r.trim().split_once('-'))
    else {
        return ByteRange::Ignored;
    };
    let number = |s: &str| s.bytes().all(|b| b.is_ascii_digit()).then(|| s.parse::<u64>().ok());
    match (first, last) {
        ("", suffix) => match number(suffix).flatten() {
            Some(0) => ByteRange::Unsatisfiable,
            Some(n) => ByteRange::Part(len.saturating_sub(n)..len),
            None => ByteRange::Ignored,
        },
        (first, last) => {
            let (Some(Some(first)), Some(last)) = (number(first), number(last)) else {
                return ByteRange::Ignored;
            };
            // An empty end parses as nothing: up to the last byte.
            let last = if field.ends_with('-') { Some(u64::MAX) } else { last };
            match last {
                Some(last) if last < first => ByteRange::Ignored,
                _ if first >= len => ByteRange::Unsatisfiable,
                Some(last) => ByteRange::Part(first..last.saturating_add(1).min(len)),
                None => ByteRange::Ignored,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_rfc_9110() {
        let part = |r| ByteRange::Part(r);
        for (field, want) in [
            ("bytes=0-499", part(0..500)),
            ("bytes=500-", part(500..1000)),
            ("bytes=-300", part(700..1000)),
            ("bytes=-3000", part(0..1000)),
            ("bytes=990-2000", part(990..1000)),
            ("bytes=1000-", ByteRange::Unsatisfiable),
            ("bytes=-0", ByteRange::Unsatisfiable),
            ("bytes=5-4", ByteRange::Ignored),
            ("bytes=0-1,5-6", ByteRange::Ignored),
            ("bytes=x-1", ByteRange::Ignored),
            ("lines=0-1", ByteRange::Ignored),
            ("bytes=99999999999999999999-", ByteRange::Ignored),
        ] {
            assert_eq!(byte_range(field, 1000), want, "{field}");
        }
    }
}
