//! Requests as no well-behaved client sends them.

use std::sync::Arc;

use airlane_http_client::Speak;
use airlane_origin_daemon::serve::Server;
use airlane_quic::{H3Client, Trust};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::common::LIMIT;
use crate::faults::stalled::pinging;

/// Bytes on a connection of TLS that speaks `alpn`.
pub async fn tls(server: &Server, alpn: &[u8]) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(server.ready().addresses[0]).await.unwrap();
    let config = Trust::Anyone.client_config(&[alpn.to_vec()]).unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
}

/// Reads to the end, however the server makes one.
pub async fn to_the_end(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    let reading = async {
        while let Ok(n @ 1..) = stream.read(&mut buffer).await {
            all.extend_from_slice(&buffer[..n]);
        }
    };
    let ended = tokio::time::timeout(LIMIT, reading).await;
    ended.expect("the server keeps the connection");
    all
}

/// The status of the answer to bytes that pretend to be a request of HTTP/1.1.
pub async fn raw(server: &Server, request: &[u8]) -> u16 {
    let mut stream = tls(server, b"http/1.1").await;
    // Who sends too much may find the connection closed before all is sent.
    let _ = stream.write_all(request).await;
    let mut head = vec![0; 12];
    let read = tokio::time::timeout(LIMIT, stream.read_exact(&mut head)).await;
    read.expect("an answer comes").expect("an answer comes before the end");
    let head = String::from_utf8(head).unwrap();
    head.split_once(' ').unwrap().1.parse().unwrap()
}

/// The answer to a request with a body: its status, its length and its fields.
pub async fn ask(
    server: &Server,
    speak: Speak,
    request: Request<Bytes>,
) -> (StatusCode, usize, http::HeaderMap) {
    let (head, body) = request.into_parts();
    if speak == Speak::Http3 {
        let endpoint = pinging();
        let connection = endpoint.connect(server.ready().addresses[0], "localhost").await.unwrap();
        let h3 = H3Client::connect(connection).await.unwrap();
        let mut answer = h3.send_with_body(Request::from_parts(head, ()), body).await.unwrap();
        let got = answer.body_mut().collect(1 << 20).await.unwrap();
        return (answer.status(), got.len(), answer.headers().clone());
    }
    let mut request = Request::from_parts(head, Full::new(body));
    if speak == Speak::Http1 {
        request.headers_mut().insert(http::header::HOST, http::HeaderValue::from_static("x"));
    }
    let alpn: &[u8] = if speak == Speak::Http1 { b"http/1.1" } else { b"h2" };
    let stream = TokioIo::new(tls(server, alpn).await);
    let answer = if speak == Speak::Http1 {
        let (mut sender, connection) = http1::handshake(stream).await.unwrap();
        beside(connection, async move { whole(sender.send_request(request).await).await }).await
    } else {
        let (mut sender, connection) =
            http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        beside(connection, async move { whole(sender.send_request(request).await).await }).await
    };
    let (head, body) = answer.into_parts();
    (head.status, body.len(), head.headers)
}

/// What `asking` gives while `connection` works; both end when it has dropped what it asks with.
async fn beside<T>(connection: impl Future, asking: impl Future<Output = T>) -> T {
    tokio::join!(asking, connection).0
}

async fn whole(
    answer: hyper::Result<http::Response<hyper::body::Incoming>>,
) -> http::Response<Bytes> {
    let (head, body) = answer.unwrap().into_parts();
    http::Response::from_parts(head, body.collect().await.unwrap().to_bytes())
}
