//! Handshakes that nobody ends.

use std::collections::BTreeSet;
use std::time::Duration;

use airlane_base::Seed;
use airlane_origin_daemon::serve::{Server, ServerConfig, Timeouts};
use airlane_runtime::real_time::TokioRuntime;
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::common::*;
use crate::faults::stalled::pinging;

/// Handshakes of clients that were not asked to prove their address (docs/guide/serve.md).
const UNPROVEN: f64 = 64.0;
/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(4);

/// The destination id of a long header, which a client's first packet has.
fn destination(datagram: &[u8]) -> Option<Vec<u8>> {
    let len = usize::from(*datagram.get(5)?);
    (datagram[0] & 0x80 != 0).then(|| datagram.get(6..6 + len).map(<[u8]>::to_vec))?
}

#[test]
fn ten_thousand_half_open_handshakes_keep_nobody_out() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 2, true);
        let timeouts = Timeouts { handshake: HANDSHAKE, ..Timeouts::default() };
        let asked = ServerConfig { timeouts, ..request(&folder.0) };
        let server = Server::start(asked).await.unwrap();
        let address = server.ready().addresses[0];
        let any = "127.0.0.1:0";
        // First packets are real: caught on their way to a socket that never answers.
        let lure = UdpSocket::bind(any).await.unwrap();
        let to = lure.local_addr().unwrap();
        let clients: Vec<_> = (0..10).map(|_| pinging()).collect();
        let mut ports = Vec::new();
        for _ in 0..20 {
            ports.push(UdpSocket::bind(any).await.unwrap());
        }
        let mut seen = BTreeSet::new();
        let (mut datagram, mut answer) = (vec![0; 2048], vec![0; 2048]);
        let (mut retries, mut under_way) = (0, 0_f64);
        let clock = TokioRuntime::new(Seed(1));
        let began = clock.now();
        for i in 0..10_000 {
            let dial = clients[i % clients.len()].connect(to, "localhost");
            let catch = async {
                loop {
                    let n = lure.recv(&mut datagram).await.unwrap();
                    if destination(&datagram[..n]).is_some_and(|id| seen.insert(id)) {
                        return n;
                    }
                }
            };
            let n = tokio::select! {
                n = catch => n,
                _ = dial => panic!("nobody answers there"),
            };
            let port = &ports[i % ports.len()];
            port.send_to(&datagram[..n], address).await.unwrap();
            let got = timeout(LIMIT, port.recv(&mut answer)).await;
            let len = got.expect("every client hears something").unwrap();
            // A long header of type 3 (RFC 9000, section 17.2.5).
            retries += u32::from(len > 0 && answer[0] & 0xf0 == 0xf0);
            if i % 1000 == 999 {
                let now = figure(&server, "airlane_handshakes").await;
                assert!(now <= UNPROVEN, "{now} handshakes after {i}");
                under_way = under_way.max(now);
            }
        }
        // The other answers are of handshakes that were under way: so many again whenever the last have had
        // their time, and of each three datagrams at most (RFC 9000, section 8.1).
        let generations = 1.0 + (clock.now() - began).as_secs_f64() / HANDSHAKE.as_secs_f64();
        let (others, most) = (10_000.0 - f64::from(retries), 3.0 * UNPROVEN * generations.ceil());
        assert!(others <= most, "{others} were not asked to prove their address, {most} may be");
        assert!(under_way > 0.0, "none was under way");
        for speak in VERSIONS {
            let result = play_one(players(&server, "film", speak)).await;
            assert_eq!(result.failure, None, "{speak:?}");
        }
        until(&server, "airlane_handshakes", |n| n == 0.0).await;
        server.stop().await;
    });
}

#[test]
fn handshakes_over_quic_that_are_kept_alive_end_too() {
    run(async {
        let folder = Scratch::new();
        let timeouts = Timeouts { handshake: Duration::from_secs(1), ..Timeouts::default() };
        let asked = ServerConfig { timeouts, ..request(&folder.0) };
        let server = Server::start(asked).await.unwrap();
        let address = server.ready().addresses[0];
        // The client hears nothing, and so sends its first packet again and again.
        let deaf = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let front = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let client = pinging();
        let dial = client.connect(front.local_addr().unwrap(), "localhost");
        let relay = async {
            let mut datagram = vec![0; 2048];
            loop {
                let n = front.recv(&mut datagram).await.unwrap();
                deaf.send_to(&datagram[..n], address).await.unwrap();
            }
        };
        let seen = async {
            until(&server, "airlane_handshakes", |n| n == 1.0).await;
            until(&server, "airlane_handshakes", |n| n == 0.0).await;
        };
        tokio::select! {
            () = seen => {}
            () = relay => {}
            _ = dial => panic!("nobody answers"),
        }
        server.stop().await;
    });
}
