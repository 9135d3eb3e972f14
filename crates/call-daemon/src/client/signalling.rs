//! Offers over HTTP: the URL of a room, and the request that brings the answer.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::uri::Scheme;
use http::{Method, Request, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::joining::CallTarget;
use crate::error::CallError;
use crate::names::RoomName;

/// Time in which a server has to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// Bytes of an answer at most.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// URL of a room: `https://HOST[:PORT]/ROOM`, or with `http`, and `?token=TOKEN` of an invitation. With `/whep` behind the
/// room, that of receivers alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallUrl {
    is_tls: bool,
    host: String,
    port: u16,
    room: RoomName,
    is_whep: bool,
    /// Token of an invitation; empty without.
    token: String,
}

/// A text that is no room's URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the link of a room, such as https://localhost:4460/my-room")]
pub struct InvalidCallUrl;

impl FromStr for CallUrl {
    type Err = InvalidCallUrl;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri: Uri = text.parse().map_err(|_| InvalidCallUrl)?;
        let is_tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(InvalidCallUrl),
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or(InvalidCallUrl)?;
        let path = uri.path().trim_matches('/');
        let (room, is_whep) = match path.strip_suffix("/whep") {
            Some(room) => (room, true),
            None => (path, false),
        };
        let room = room.parse().map_err(|_| InvalidCallUrl)?;
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let arguments = uri.query().unwrap_or_default().split('&');
        let token = arguments.filter_map(|pair| pair.strip_prefix("token=")).next();
        let token = token.unwrap_or_default().to_owned();
        Ok(Self { is_tls, host, port, room, is_whep, token })
    }
}

impl CallUrl {
    /// True if it is that of receivers alone (WHEP).
    pub fn is_whep(&self) -> bool {
        self.is_whep
    }

    /// Host and port as the Host field has them.
    fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

/// Offer as the page sends it.
#[derive(Serialize)]
struct PageOffer<'a> {
    name: &'a str,
    sdp: &'a str,
}

/// Answer to the page.
#[derive(Deserialize)]
struct PageAnswer {
    sdp: String,
}

/// Sends an offer; the answer in SDP.
///
/// # Errors
/// If the server cannot be reached, refuses, or answers something else.
pub(super) async fn offer(target: &CallTarget, name: &str, sdp: &str) -> Result<String, CallError> {
    let authority = target.url.authority();
    let failed = |what: String| CallError::Peer(format!("{authority}: {what}"));
    let answered = timeout(ANSWER_TIMEOUT, exchange(target, name, sdp)).await;
    let answered = answered.map_err(|_| failed("it does not answer".to_owned()))?;
    let (status, body) = answered.map_err(&failed)?;
    if !status.is_success() {
        let reason = String::from_utf8_lossy(&body);
        return Err(failed(format!("it refuses: {} ({status})", reason.trim())));
    }
    if target.url.is_whep {
        let answer = String::from_utf8(body.to_vec());
        return answer.map_err(|e| failed(format!("the answer is no text ({e})")));
    }
    let answer: Result<PageAnswer, _> = serde_json::from_slice(&body);
    let is_it = "is this an airlane call serve?";
    Ok(answer.map_err(|e| failed(format!("the answer cannot be read ({e}); {is_it}")))?.sdp)
}

async fn exchange(
    target: &CallTarget,
    name: &str,
    sdp: &str,
) -> Result<(http::StatusCode, Bytes), String> {
    let CallTarget { url, trust, .. } = target;
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let stream = TcpStream::connect((url.host.as_str(), url.port)).await.map_err(|e| text(&e))?;
    let (resource, media_type, body) = match url.is_whep {
        true => ("whep", "application/sdp", sdp.as_bytes().to_vec()),
        false => {
            let body = serde_json::to_vec(&PageOffer { name, sdp }).map_err(|e| text(&e))?;
            ("join", "application/json", body)
        }
    };
    let path = format!("/{}/{resource}", url.room);
    let mut request = Request::builder().method(Method::POST).uri(path);
    if !url.token.is_empty() {
        request = request.header(header::AUTHORIZATION, format!("Bearer {}", url.token));
    }
    let request = request
        .header(header::HOST, url.authority())
        .header(header::CONTENT_TYPE, media_type)
        .header(header::CONNECTION, "close")
        .body(Full::new(Bytes::from(body)))
        .map_err(|e| text(&e))?;
    if !url.is_tls {
        return over(TokioIo::new(stream), request).await;
    }
    let config = trust.client_config(&[b"http/1.1".to_vec()]).map_err(|e| text(&e))?;
    let name = ServerName::try_from(url.host.clone()).map_err(|e| text(&e))?;
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    let stream = stream.map_err(|e| match e.to_string() {
        why if why.contains("UnknownIssuer") => {
            format!("{why}; --insecure trusts a certificate for development")
        }
        why => why,
    })?;
    over(TokioIo::new(stream), request).await
}

async fn over<I>(io: I, request: Request<Full<Bytes>>) -> Result<(http::StatusCode, Bytes), String>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let (mut sender, connection) = http1::handshake(io).await.map_err(|e| text(&e))?;
    let exchange = async {
        let answer = sender.send_request(request).await.map_err(|e| text(&e))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_ANSWER_BYTES).collect().await;
        Ok((status, body.map_err(|e| text(&e))?.to_bytes()))
    };
    let mut exchange = std::pin::pin!(exchange);
    tokio::select! {
        biased;
        answer = &mut exchange => answer,
        ended = connection => match ended {
            // What came last is still to be read.
            Ok(()) => exchange.await,
            Err(e) => Err(text(&e)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_of_a_room_is_read() {
        let url: CallUrl = "https://calls.example/team-1/".parse().unwrap();
        assert_eq!((url.is_tls, url.authority().as_str()), (true, "calls.example:443"));
        let url: CallUrl = "http://[::1]:4461/a".parse().unwrap();
        assert_eq!((url.is_tls, url.host.as_str(), url.port), (false, "::1", 4461));
        assert_eq!(url.authority(), "[::1]:4461");
        let url: CallUrl = "https://a/b?name=c&token=12.ab-_".parse().unwrap();
        assert_eq!((url.token.as_str(), url.is_whep()), ("12.ab-_", false));
        let url: CallUrl = "https://a/b/whep?token=1".parse().unwrap();
        assert_eq!((url.room.to_string().as_str(), url.is_whep()), ("b", true));
        for wrong in [
            "https://a/b/whip",
            "",
            "localhost:4460/a",
            "https://a",
            "ftp://a/b",
            "https://a/b/c",
            "/a",
        ] {
            assert_eq!(wrong.parse::<CallUrl>(), Err(InvalidCallUrl), "{wrong}");
        }
    }
}
