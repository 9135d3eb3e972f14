//! Malformed messages over HTTP/3 (RFC 9114, section 4.1.2): stream errors, in both directions.

use std::time::Duration;

use crate::common::*;
use airlane_base::Rate;
use airlane_congestion::Algorithm;
use airlane_quic::{Connection, Endpoint, H3Client, H3Server, QuicError};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use http::{Request, Response};

/// H3_MESSAGE_ERROR (RFC 9114, section 8.1).
const MESSAGE_ERROR: u64 = 0x10e;

/// A frame of at most 16383 bytes.
fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = 0x4000 | u16::try_from(payload.len()).unwrap();
    [&[kind][..], &length.to_be_bytes(), payload].concat()
}

/// A HEADERS frame whose fields are literals, short ones (RFC 9204, section 4.5.6).
fn headers(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = vec![0, 0];
    for (name, value) in fields {
        match name.len() {
            short @ 0..7 => section.push(0x20 | short as u8),
            long => section.extend([0x27, (long - 7) as u8]),
        }
        section.extend_from_slice(name.as_bytes());
        section.push(value.len() as u8);
        section.extend_from_slice(value.as_bytes());
    }
    frame(1, &section)
}

const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "https"), (":authority", "lab.airlane"), (":path", "/a")];

fn get_with(fields: &[(&str, &str)]) -> Vec<u8> {
    headers(&[&GET, fields].concat())
}

fn setting() -> Net {
    net(1, Link::new(Rate::from_mbps(10.0), Duration::from_millis(10), 40_000))
}

/// Answers every request that is well-formed.
async fn serve(runtime: RuntimeHandle, endpoint: Endpoint) {
    while let Some(connection) = endpoint.accept().await {
        let rt = runtime.clone();
        runtime.spawn("connection", async move {
            let mut server = H3Server::new(connection).await.unwrap();
            while let Ok(Some((_, mut responder))) = server.accept().await {
                rt.spawn("respond", async move {
                    if responder.discard_body(1 << 16).await.is_ok() {
                        responder.send_response(Response::new(())).await.unwrap();
                        responder.finish().await.unwrap();
                    }
                });
            }
        });
    }
}

/// Sends bytes as a request: how the stream of the answer ends.
async fn ask(connection: &Connection, pieces: &[Vec<u8>]) -> Result<usize, QuicError> {
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    for piece in pieces {
        if send.write_all(piece.clone().into()).await.is_err() {
            break;
        }
        connection.runtime().sleep(Duration::from_millis(5)).await;
    }
    drop(send.finish());
    recv.read_to_end(10_000).await.map(|answer| answer.len())
}

#[test]
fn malformed_requests_are_errors_of_their_streams() {
    let mut net = setting();
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let config = config(Algorithm::Cubic);
            let server = Endpoint::server(&s, SERVER_ADDR.into(), config.clone()).unwrap();
            s.spawn("serve", serve(s.clone(), server));
            let caller = Endpoint::client(&c, ([0, 0, 0, 0], 0).into(), config).unwrap();
            let connection = caller.connect(SERVER_ADDR.into(), "lab.airlane").await.unwrap();
            // A control stream with no settings.
            let mut control = connection.open_uni().await.unwrap();
            control.write_all(Bytes::from_static(&[0, 4, 0])).await.unwrap();

            let good = [
                vec![get_with(&[("range", "bytes=0-1"), ("te", "trailers")])],
                vec![get_with(&[("content-length", "3")]), frame(0, b"abc")],
                vec![get_with(&[]), frame(0, b"abc"), headers(&[("x", "y")])],
            ];
            let post = [&[(":method", "POST")], &GET[1..], &[("content-length", "5")]].concat();
            let malformed = [
                vec![get_with(&[("connection", "close")])],
                vec![get_with(&[("keep-alive", "5")])],
                vec![get_with(&[("proxy-connection", "x")])],
                vec![get_with(&[("transfer-encoding", "chunked")])],
                vec![get_with(&[("upgrade", "h2c")])],
                vec![get_with(&[("te", "gzip")])],
                vec![get_with(&[("Range", "bytes=0-1")])],
                vec![get_with(&[("range", "bytes=0-1"), (":path", "/x")])],
                vec![get_with(&[(":path", "/x")])],
                vec![get_with(&[(":status", "200")])],
                vec![get_with(&[(":foo", "/x")])],
                vec![get_with(&[("host", "elsewhere")])],
                vec![get_with(&[("host", "lab.airlane"), ("host", "lab.airlane")])],
                vec![headers(&GET[..3])],
                vec![headers(&[GET[0], GET[1], GET[2], (":path", "")])],
                vec![headers(&[(":method", "CONNECT"), GET[1], GET[2], GET[3]])],
                vec![get_with(&[("content-length", "5")])],
                vec![get_with(&[("content-length", "5"), ("content-length", "7")])],
                vec![headers(&post), frame(0, b"123456")],
                vec![headers(&post), frame(0, b"1234")],
                vec![headers(&post), frame(0, b"1234"), headers(&[("x", "y")])],
                vec![headers(&post), frame(0, b"12345"), headers(&[(":path", "/")])],
                vec![headers(&post), frame(0, b"12345"), headers(&[("connection", "close")])],
            ];
            for pieces in &good {
                assert!(ask(&connection, pieces).await.is_ok(), "{pieces:?}");
            }
            for pieces in &malformed {
                let shown = String::from_utf8_lossy(&pieces.concat()).into_owned();
                let end = ask(&connection, pieces).await;
                assert_eq!(end, Err(QuicError::StreamEnded { code: MESSAGE_ERROR }), "{shown}");
                // In one piece, too.
                let end = ask(&connection, &[pieces.concat()]).await;
                assert_eq!(end, Err(QuicError::StreamEnded { code: MESSAGE_ERROR }), "{shown}");
            }
            assert!(ask(&connection, &good[0]).await.is_ok(), "the connection goes on");
        })
        .unwrap();
}

#[test]
fn malformed_answers_are_errors_of_their_streams() {
    let mut net = setting();
    let (s, c) = (net.server.clone(), net.client.clone());
    let ok = (":status", "200");
    let hints = headers(&[(":status", "103"), ("link", "</a>")]);
    let answers: Vec<(Vec<u8>, bool)> = vec![
        ([headers(&[ok, ("content-length", "3")]), frame(0, b"abc")].concat(), true),
        ([hints, headers(&[ok]), frame(0, b"abc")].concat(), true),
        ([headers(&[ok, ("content-length", "4")]), frame(0, b"abc")].concat(), false),
        ([headers(&[ok, ("content-length", "2")]), frame(0, b"abc")].concat(), false),
        ([headers(&[ok, ("connection", "close")]), frame(0, b"abc")].concat(), false),
        ([headers(&[ok, (":path", "/")]), frame(0, b"abc")].concat(), false),
        ([headers(&[ok, ok]), frame(0, b"abc")].concat(), false),
        ([headers(&[("x", "y"), ok]), frame(0, b"abc")].concat(), false),
        ([headers(&[ok, ("Etag", "y")]), frame(0, b"abc")].concat(), false),
        ([headers(&[ok]), frame(0, b"abc"), headers(&[ok])].concat(), false),
        ([headers(&[(":status", "304")]), frame(0, b"abc")].concat(), false),
    ];
    let sent = answers.clone();
    net.world
        .run(async move {
            let config = config(Algorithm::Cubic);
            let server = Endpoint::server(&s, SERVER_ADDR.into(), config.clone()).unwrap();
            let (told, mut ends) = tokio::sync::mpsc::unbounded_channel();
            s.spawn("serve", async move {
                let connection = server.accept().await.unwrap();
                let mut control = connection.open_uni().await.unwrap();
                control.write_all(Bytes::from_static(&[0, 4, 0])).await.unwrap();
                for (answer, _) in sent {
                    let (mut send, _recv) = connection.accept_bi().await.unwrap();
                    drop(send.write_all(answer.into()).await);
                    drop(send.finish());
                    drop(told.send(send.delivered().await));
                }
                connection.closed().await;
            });
            let caller = Endpoint::client(&c, ([0, 0, 0, 0], 0).into(), config).unwrap();
            let connection = caller.connect(SERVER_ADDR.into(), "lab.airlane").await.unwrap();
            let h3 = H3Client::connect(connection).await.unwrap();
            for (answer, is_good) in answers {
                let shown = String::from_utf8_lossy(&answer).into_owned();
                let request = Request::get("https://lab.airlane/").body(()).unwrap();
                let got = match h3.send_request(request).await {
                    Ok(response) => response.into_body().collect(1000).await,
                    Err(e) => Err(e),
                };
                if is_good {
                    assert_eq!(got.unwrap(), b"abc", "{shown}");
                } else {
                    let said = got.unwrap_err().to_string();
                    assert!(said.contains("malformed"), "{said}: {shown}");
                }
                drop(ends.recv().await);
            }
        })
        .unwrap();
}
