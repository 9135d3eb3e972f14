//! Clients that begin and never end what they say.

use std::time::Duration;

use airlane_http_client::Speak;
use airlane_origin_daemon::serve::{Server, ServerConfig, Timeouts};
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{interval, timeout};

use crate::common::*;
use crate::faults::ask::{tls, to_the_end};
use crate::faults::impatient;
use crate::faults::stalled::pinging;

/// What opens a connection of HTTP/2 (RFC 9113, section 3.4), with empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
/// Acknowledges the server's settings.
const SETTINGS_ACK: &[u8] = b"\x00\x00\x00\x04\x01\x00\x00\x00\x00";
/// Fields of stream 1 that are to go on: ":method: GET" without the flag that ends them.
const HALF_A_HEAD: &[u8] = b"\x00\x00\x01\x01\x01\x00\x00\x00\x01\x82";

/// A frame of HTTP/3 with header fields that is to have 16384 bytes (RFC 9114, section 7.2.2).
const LONG_HEAD: &[u8] = b"\x01\x80\x00\x40\x00";

/// Connections over HTTP/3.
const OPEN: &str = "airlane_connections_open{carrier=\"h3\"}";

/// Sends `first`, then `again` for as long as it is taken; the server must end it.
async fn drip(stream: impl AsyncRead + AsyncWrite + Unpin, first: &[u8], again: &[u8]) {
    let (mut read, mut write) = tokio::io::split(stream);
    let sending = async {
        if write.write_all(first).await.is_err() {
            return;
        }
        let mut ticks = interval(Duration::from_millis(100));
        while !again.is_empty() && write.write_all(again).await.is_ok() {
            let _ = write.flush().await;
            ticks.tick().await;
        }
        std::future::pending().await
    };
    tokio::select! {
        _ = to_the_end(&mut read) => {}
        () = sending => {}
    }
}

#[test]
fn slow_clients_over_tcp_are_left() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 4, true);
        let server = Server::start(impatient(&folder.0)).await.unwrap();
        let plain = || async { TcpStream::connect(server.ready().addresses[0]).await.unwrap() };
        let half_h2 = [PREFACE, SETTINGS_ACK, HALF_A_HEAD].concat();
        let beside = async {
            for speak in VERSIONS {
                let result = play_one(players(&server, "film", speak)).await;
                assert_eq!(result.failure, None, "{speak:?}");
            }
        };
        tokio::join!(
            beside,
            // Nothing at all; a handshake that is never whole; plain HTTP a letter at a time.
            async { drip(plain().await, b"", b"").await },
            async { drip(plain().await, b"\x16\x03\x01\x02\x00\x01\x00\x01", b"\x00").await },
            async { drip(plain().await, b"GET / HTTP/1.1\r\nx-long: ", b"a").await },
            // The same behind a handshake.
            async { drip(tls(&server, b"http/1.1").await, b"", b"").await },
            async { drip(tls(&server, b"http/1.1").await, b"GET / HTT", b"").await },
            async {
                drip(tls(&server, b"http/1.1").await, b"GET / HTTP/1.1\r\nx-long: ", b"a").await;
            },
            // A post that never ends.
            async {
                let post =
                    b"POST /airlane/cmcd HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n";
                drip(tls(&server, b"http/1.1").await, post, b"a").await;
            },
            // No preface, half of one, nothing after it, half of a request, pings alone.
            async { drip(tls(&server, b"h2").await, b"", b"").await },
            async { drip(tls(&server, b"h2").await, &PREFACE[..9], b"").await },
            async { drip(tls(&server, b"h2").await, PREFACE, b"").await },
            async { drip(tls(&server, b"h2").await, &half_h2, b"").await },
            async {
                let ping = b"\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678";
                let first = [PREFACE, SETTINGS_ACK].concat();
                drip(tls(&server, b"h2").await, &first, ping).await;
            },
        );
        for carrier in ["h2", "http/1.1"] {
            let open = format!("airlane_connections_open{{carrier=\"{carrier}\"}}");
            until(&server, &open, |n| n == 0.0).await;
        }
        server.stop().await;
    });
}

#[test]
fn slow_clients_over_quic_are_left() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 4, true);
        let timeouts = Timeouts { head: Duration::from_secs(1), ..Timeouts::default() };
        let asked = ServerConfig { timeouts, ..request(&folder.0) };
        let server = Server::start(asked).await.unwrap();
        let endpoint = pinging();
        let connection = endpoint.connect(server.ready().addresses[0], "localhost").await.unwrap();
        let (mut send, mut recv) = connection.open_bi().await.unwrap();
        send.write_all(Bytes::from_static(LONG_HEAD)).await.unwrap();
        let sending = async {
            let mut ticks = interval(Duration::from_millis(100));
            while send.write_all(Bytes::from_static(b"\x00")).await.is_ok() {
                ticks.tick().await;
            }
            std::future::pending::<()>().await;
        };
        let ended = async {
            let end = timeout(LIMIT, recv.read_chunk(100)).await;
            assert!(!matches!(end.expect("the server waits for ever"), Ok(Some(_))));
        };
        tokio::select! {
            () = sending => {}
            () = ended => {}
        }
        assert_eq!(figure(&server, OPEN).await, 1.0, "the rest goes on");
        server.stop().await;

        // And who goes on like this is not kept for it.
        let server = Server::start(impatient(&folder.0)).await.unwrap();
        let connection = endpoint.connect(server.ready().addresses[0], "localhost").await.unwrap();
        let trickle = async {
            let mut ticks = interval(Duration::from_millis(300));
            let mut begun = Vec::new();
            while let Ok((mut send, recv)) = connection.open_bi().await {
                if send.write_all(Bytes::from_static(LONG_HEAD)).await.is_err() {
                    break;
                }
                begun.push((send, recv));
                ticks.tick().await;
            }
        };
        let beside = play_one(players(&server, "film", Speak::Http3));
        let left = timeout(LIMIT, trickle);
        let (left, beside) = tokio::join!(left, beside);
        left.expect("the connection is kept");
        assert_eq!(beside.failure, None);
        until(&server, OPEN, |n| n == 0.0).await;
        server.stop().await;
    });
}
