//! Clients of one address, and requests on one connection, beyond what they may be.

use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::Seed;
use airlane_origin_daemon::serve::{Server, ServerConfig};
use airlane_quic::{Endpoint, H3Client};
use airlane_runtime::real_time::TokioRuntime;
use futures_util::FutureExt;
use http::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::common::*;
use crate::faults::ask::{tls, to_the_end};
use crate::faults::stalled::pinging;

#[test]
fn an_address_has_its_own_connections_and_no_more() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 1, true);
        let asked = ServerConfig { connections_per_address: 4, ..request(&folder.0) };
        let server = Server::start(asked).await.unwrap();
        let address = server.ready().addresses[0];
        let mut held = Vec::new();
        for _ in 0..4 {
            let mut stream = tls(&server, b"http/1.1").await;
            stream.write_all(b"HEAD /film/manifest.mpd HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
            stream.read_exact(&mut [0; 12]).await.unwrap();
            held.push(stream);
        }
        let mut fifth = tokio::net::TcpStream::connect(address).await.unwrap();
        assert!(to_the_end(&mut fifth).await.is_empty());
        // Over QUIC it has as many again.
        let endpoint = pinging();
        let mut beside = Vec::new();
        for _ in 0..4 {
            beside.push(asking(&endpoint, address).await);
        }
        assert!(endpoint.connect(address, "localhost").await.is_err());
        drop((held, beside));
        // Once these are gone there is room again. `run` has an end for who waits in vain.
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        for speak in VERSIONS {
            let client = client(speak);
            while client
                .get_all(&url(&server, "/airlane/player"), None, MAX_ANSWER_BYTES)
                .await
                .is_err()
            {
                ticks.tick().await;
            }
        }
        server.stop().await;
    });
}

/// A client of HTTP/3 that has been answered.
async fn asking(endpoint: &Endpoint, address: SocketAddr) -> H3Client {
    let connection = endpoint.connect(address, "localhost").await.unwrap();
    let client = H3Client::connect(connection).await.unwrap();
    let request = Request::head(format!("https://{address}/film/manifest.mpd")).body(()).unwrap();
    assert!(client.send_request(request).await.unwrap().status().is_success());
    client
}

/// Who asks for nothing keeps nobody out, be it from the same address, and loses nothing to others that
/// ask for nothing either but its place.
#[test]
fn silent_connections_give_way_and_working_ones_stay() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 1, true);
        let asked = ServerConfig { connections_per_address: 4, ..request(&folder.0) };
        let server = Server::start(asked).await.unwrap();
        let address = server.ready().addresses[0];
        let endpoint = pinging();
        let working = asking(&endpoint, address).await;
        let (mut over_quic, mut over_tcp, mut over_tls) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..9 {
            over_quic.push(endpoint.connect(address, "localhost").await.unwrap());
            over_tcp.push(tokio::net::TcpStream::connect(address).await.unwrap());
            over_tls.push(tls(&server, b"h2").await);
        }
        for speak in VERSIONS {
            let got = client(speak)
                .get_all(&url(&server, "/film/v0/init.mp4"), None, MAX_ANSWER_BYTES)
                .await;
            assert_eq!(got.unwrap().0, b"header", "{speak:?}");
        }
        assert!(over_quic[0].closed().now_or_never().is_some(), "the oldest is gone");
        let again = Request::head(format!("https://{address}/film/manifest.mpd")).body(()).unwrap();
        assert!(working.send_request(again).await.is_ok());

        // The operators' listener, which has 32 places, likewise.
        let admin = server.ready().admin[0];
        let mut silent = Vec::new();
        for _ in 0..40 {
            silent.push(tokio::net::TcpStream::connect(admin).await.unwrap());
        }
        // Operators get in.
        assert!(json(&server, "/airlane/sessions").await.is_object());
        server.stop().await;
    });
}

#[test]
fn requests_beyond_the_rate_wait() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 1, true);
        let asked = ServerConfig { requests_per_s: 1, ..request(&folder.0) };
        let server = Server::start(asked).await.unwrap();
        let at = url(&server, "/film/v0/init.mp4");
        let clock = TokioRuntime::new(Seed(1));
        for speak in VERSIONS {
            let client = client(speak);
            let began = clock.now();
            for _ in 0..8 {
                client.get_all(&at, None, MAX_ANSWER_BYTES).await.unwrap();
            }
            let took = clock.now() - began;
            // Five at once; the others with a second between them, which passes while the first are asked
            // for too.
            assert!(took > Duration::from_millis(1_950), "{speak:?}: {took:?}");
        }
        server.stop().await;
    });
}
