//! What clients see of a server that stops.

use std::time::Duration;

use airlane_base::Seed;
use airlane_origin_daemon::serve::{Server, ServerConfig};
use airlane_quic::H3Client;
use airlane_runtime::RuntimeExt;
use airlane_runtime::real_time::TokioRuntime;
use bytes::Bytes;
use http_body_util::Empty;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::common::*;
use crate::faults::ask::tls;
use crate::faults::stalled::taking;

/// Answers that have begun come whole, and requests that the server does not take any more are not
/// answered at all: a client may ask elsewhere what it knows was not looked at.
#[test]
fn a_server_that_stops_says_so_and_finishes_what_it_began() {
    const BYTES: u64 = 8 << 20;

    run(async {
        let folder = Scratch::new();
        let file = std::fs::File::create(folder.0.join("big.bin")).unwrap();
        file.set_len(BYTES).unwrap();
        let drain = Duration::from_secs(600);
        let server = Server::start(ServerConfig { drain, ..request(&folder.0) }).await.unwrap();
        let address = server.ready().addresses[0];
        let endpoint = taking(64 << 10);
        let connection = endpoint.connect(address, "localhost").await.unwrap();
        let h3 = H3Client::connect(connection).await.unwrap();
        let ask = |path: &str| {
            let request = http::Request::get(format!("https://{address}{path}"));
            h3.send_request(request.body(()).unwrap())
        };
        let mut body = ask("/big.bin").await.unwrap().into_body();
        let mut bytes = body.data().await.unwrap().unwrap().len() as u64;
        let client = async {
            // Until it hears of the stop it is answered as ever.
            let refusal = loop {
                match ask("/airlane/player").await {
                    Ok(answer) => assert_eq!(answer.status(), 200),
                    Err(e) => break e.to_string(),
                }
            };
            assert!(refusal.contains("closing"), "{refusal}");
            while let Some(piece) = body.data().await.unwrap() {
                bytes += piece.len() as u64;
            }
            assert_eq!(bytes, BYTES);
        };
        // It ends when all is delivered, not when its timeout does.
        let both = async { tokio::join!(server.stop(), client) };
        tokio::time::timeout(LIMIT, both).await.expect("it stops in time");
    });
}

/// Such an answer has left the origin, and waits in the connection.
#[test]
fn a_stop_waits_for_a_connection_over_tcp_that_has_not_sent_all() {
    const BYTES: usize = 60_000;

    run(async {
        let folder = Scratch::new();
        std::fs::write(folder.0.join("small.bin"), [7; BYTES]).unwrap();
        let drain = Duration::from_secs(3);
        let server = Server::start(ServerConfig { drain, ..request(&folder.0) }).await.unwrap();
        let at = url(&server, "/small.bin");
        let runtime = TokioRuntime::new(Seed(1));
        // The client lets the server send so much of an answer, until it reads.
        let mut http = http2::Builder::new(TokioExecutor::new());
        http.initial_stream_window_size(1024);
        let stream = TokioIo::new(tls(&server, b"h2").await);
        let (mut sender, connection) = http.handshake(stream).await.unwrap();
        runtime.spawn("client", async move { drop(connection.await) });
        let asked = http::Request::get(at.to_string()).body(Empty::<Bytes>::new()).unwrap();
        let answer = sender.send_request(asked).await.unwrap();
        assert_eq!(answer.status(), 200);
        let ended = "airlane_responses_total{carrier=\"h2\",status=\"200\"}";
        until(&server, ended, |n| n == 1.0).await;
        let began = runtime.now();
        server.stop().await;
        assert!(runtime.now() - began >= drain, "it waited {:?}", runtime.now() - began);
        drop(answer);
    });
}
