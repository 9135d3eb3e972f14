//! Requests of HTTP/2 whose heads are whole, and what follows is not as it should be.

use airlane_http_client::Speak;
use airlane_origin_daemon::serve::Server;
use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::common::*;
use crate::faults::ask::{ask, tls};
use crate::faults::impatient;

/// Types of frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
/// Flags of frames.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// The code of an error of a stream for what is malformed (RFC 9113, section 8.1.1).
const PROTOCOL_ERROR: [u8; 4] = [0, 0, 0, 1];
/// Fields as HPACK has them: `:method: POST`, `:scheme: https`, `:path: /`, `content-length: 1`.
const POST: &[u8] = b"\x83\x87\x84\x0f\x0d\x011";

/// A connection of HTTP/2, frame by frame.
struct Frames(TlsStream<TcpStream>);

impl Frames {
    async fn open(server: &Server) -> Self {
        let mut frames = Self(tls(server, b"h2").await);
        frames.0.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        frames.send(SETTINGS, 0, 0, b"").await;
        frames
    }

    async fn send(&mut self, kind: u8, flags: u8, stream: u8, payload: &[u8]) {
        let head = [0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream];
        self.0.write_all(&[&head, payload].concat()).await.unwrap();
        self.0.flush().await.unwrap();
    }

    /// The next frame of a kind out of these: its kind and payload.
    async fn next(&mut self, of: &[u8]) -> (u8, Vec<u8>) {
        loop {
            let mut head = [0; 9];
            self.0.read_exact(&mut head).await.unwrap();
            let len = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; len as usize];
            self.0.read_exact(&mut payload).await.unwrap();
            if of.contains(&head[3]) {
                return (head[3], payload);
            }
        }
    }
}

#[test]
fn a_request_that_turns_out_to_be_malformed_is_refused_and_not_answered() {
    run(async {
        let folder = Scratch::new();
        let server = Server::start(request(&folder.0)).await.unwrap();
        for (kind, payload, what) in [
            (DATA, &b"four"[..], "content of another length"),
            (HEADERS, b"\x83", "a pseudo-header field among the trailers"),
        ] {
            let mut frames = Frames::open(&server).await;
            frames.send(HEADERS, END_HEADERS, 1, POST).await;
            // Until the server has had time to answer what it has of the request.
            for _ in 0..100 {
                frames.send(PING, 0, 0, b"12345678").await;
                if frames.next(&[PING, HEADERS]).await.0 == HEADERS {
                    panic!("{what}: it is answered");
                }
            }
            frames.send(kind, END_HEADERS | END_STREAM, 1, payload).await;
            let refused = frames.next(&[HEADERS, RST_STREAM]).await;
            assert_eq!(refused, (RST_STREAM, PROTOCOL_ERROR.to_vec()), "{what}");
        }
        server.stop().await;
    });
}

#[test]
fn a_request_without_an_end_is_answered_all_the_same() {
    run(async {
        let folder = Scratch::new();
        let server = Server::start(impatient(&folder.0)).await.unwrap();
        let mut frames = Frames::open(&server).await;
        frames.send(HEADERS, END_HEADERS, 1, POST).await;
        frames.next(&[HEADERS]).await;
        // As is one that goes on for longer than anybody reads.
        let long = http::Request::post(url(&server, "/").to_string());
        let long = long.body(Bytes::from(vec![0; 1 << 20])).unwrap();
        let (status, ..) = ask(&server, Speak::Tcp, long).await;
        assert_eq!(status, 405);
        server.stop().await;
    });
}
