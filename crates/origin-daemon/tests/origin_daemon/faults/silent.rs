//! Addresses at which nobody answers.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use airlane_base::Seed;
use airlane_http_client::{Speak, Url};
use airlane_origin_daemon::serve::Server;
use airlane_runtime::RuntimeExt;
use airlane_runtime::real_time::TokioRuntime;
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use crate::common::*;

/// Sockets at five addresses of this machine and one port: over QUIC none answers, over TCP only
/// the last one, which is the server at `there`.
struct Silent {
    addresses: Vec<SocketAddr>,
    _udp: Vec<UdpSocket>,
    _tcp: Vec<TcpListener>,
}

impl Silent {
    async fn before(there: SocketAddr) -> Self {
        // A port that one address has free may be taken at another.
        for _ in 0..16 {
            if let Ok(silent) = Self::at_one_port(there).await {
                return silent;
            }
        }
        panic!("no port is free at five addresses");
    }

    async fn at_one_port(there: SocketAddr) -> std::io::Result<Self> {
        let (mut addresses, mut udp, mut tcp) = (Vec::new(), Vec::new(), Vec::new());
        let mut port = 0;
        for last in 2..=6 {
            let ip = Ipv4Addr::new(127, 0, 0, last);
            let socket = UdpSocket::bind((ip, port)).await?;
            port = socket.local_addr()?.port();
            addresses.push(socket.local_addr()?);
            udp.push(socket);
            // The system completes connections that nobody accepts; TLS then waits.
            tcp.push(TcpListener::bind((ip, port)).await?);
        }
        let answering = tcp.pop().unwrap();
        let runtime = TokioRuntime::new(Seed(1));
        let beside = runtime.clone();
        runtime.spawn("forwarder", async move {
            while let Ok((mut client, _)) = answering.accept().await {
                let mut server = TcpStream::connect(there).await.unwrap();
                beside.spawn("forwarded", async move {
                    drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
                });
            }
        });
        Ok(Self { addresses, _udp: udp, _tcp: tcp })
    }
}

#[test]
fn five_addresses_that_do_not_answer_over_quic_do_not_keep_tcp_from_its_turn() {
    run(async {
        let folder = Scratch::new();
        let video = write_title(&folder.0, "film", 2, true);
        let server = Server::start(request(&folder.0)).await.unwrap();
        let silent = Silent::before(server.ready().addresses[0]).await;
        let port = silent.addresses[0].port();
        let client = client(Speak::Best).with_addresses("film.test", silent.addresses.clone());
        let at = Url::parse(&format!("https://film.test:{port}/film/v0/0.m4s")).unwrap();
        let getting = client.get_all(&at, None, MAX_ANSWER_BYTES);
        // Three seconds for QUIC at all of them, one for the four that are silent over TCP. Each of them
        // in turn would have all that a connection may take.
        let got = tokio::time::timeout(Duration::from_secs(60), getting).await;
        let (got, _) = got.expect("TCP has its turn in time").unwrap();
        assert_eq!(got.len() as u64, video.size_bytes(0, 0));
        assert_eq!(client.carrier(&at).await, Some("h2"));
        server.stop().await;
    });
}
