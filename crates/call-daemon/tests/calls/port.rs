//! The port of a server on this machine: pages, signalling and media come to it over TCP.

use std::net::SocketAddr;

use airlane_base::Seed;
use airlane_call_daemon::client::{CallTarget, join};
use airlane_call_daemon::{CallServer, CallServerConfig, Transport};
use airlane_runtime::real_time::TokioRuntime;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::silent_client;

fn run<F: Future<Output = ()>>(test: impl FnOnce(CallServer) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let config = CallServerConfig::new(vec!["127.0.0.1:0".parse().unwrap()]);
        let server = CallServer::start(CallServerConfig { data_folder: None, ..config });
        test(server.await.unwrap()).await;
    });
}

/// All that a server says to these first bytes, until it closes the connection.
async fn answer(at: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut said = String::new();
    // It may close it with a reset.
    let _ = stream.read_to_string(&mut said).await;
    said
}

#[test]
fn one_port_takes_https_and_media_over_tcp() {
    run(|server| async move {
        let at = server.ready().addresses[0];
        assert_eq!(at, server.ready().media);
        let runtime = TokioRuntime::new(Seed(1));
        for transport in [Transport::Tcp, Transport::Udp] {
            let target = CallTarget {
                url: format!("https://{at}/room").parse().unwrap(),
                trust: airlane_certificate::trust(true),
                transport,
            };
            let never = std::future::pending();
            // It ends once packets can come and go.
            let joined =
                join(&runtime, &target, silent_client(), Some(Duration::ZERO), never).await;
            let summary = joined.unwrap();
            assert_eq!(summary.failure, None);
            assert!(summary.connected_after_s.is_some());
        }
        server.stop().await;
    });
}

#[test]
fn what_is_neither_tls_nor_a_frame_of_a_session_gets_no_media() {
    run(|server| async move {
        let at = server.ready().addresses[0];
        let request = format!("GET /room HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\n\r\n");
        let redirected = answer(at, request.as_bytes()).await;
        assert!(redirected.starts_with("HTTP/1.1 308"), "{redirected}");
        // A frame of no session, one that is too long, and first bytes of nothing.
        for bytes in [&[0, 4, 1, 2, 3, 4][..], &[0x08, 0, 0, 1], &[0xff; 100]] {
            let said = answer(at, bytes).await;
            assert!(said.is_empty() || said.starts_with("HTTP/1.1 400"), "{said}");
        }
        server.stop().await;
    });
}
