//! Clients of one address, and requests on one connection, beyond what they may be.

use std::time::Duration;

use airlane_base::Seed;
use airlane_daemon::serve::{ServeRequest, Server};
use airlane_runtime::real_time::TokioRuntime;

use crate::common::*;
use crate::faults::ask::{tls, to_the_end};
use crate::faults::stalled::pinging;

#[test]
fn an_address_has_its_own_connections_and_no_more() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 1, true);
        let asked = ServeRequest { connections_per_address: 4, ..request(&folder.0) };
        let server = Server::start(asked).await.unwrap();
        let address = server.ready().addresses[0];
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(tls(&server, b"http/1.1").await);
        }
        let mut fifth = tokio::net::TcpStream::connect(address).await.unwrap();
        assert!(to_the_end(&mut fifth).await.is_empty());
        // Over QUIC it has as many again.
        let endpoint = pinging();
        let mut beside = Vec::new();
        for _ in 0..4 {
            beside.push(endpoint.connect(address, "localhost").await.unwrap());
        }
        assert!(endpoint.connect(address, "localhost").await.is_err());
        drop((held, beside));
        // Once these are gone there is room again. `run` has an end for who waits in vain.
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        for speak in VERSIONS {
            let client = client(speak);
            while client.get_all(&url(&server, "/airlane/player"), None, MOST).await.is_err() {
                ticks.tick().await;
            }
        }
        server.stop().await;
    });
}

#[test]
fn requests_beyond_the_rate_wait() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 1, true);
        let asked = ServeRequest { requests_per_s: 1, ..request(&folder.0) };
        let server = Server::start(asked).await.unwrap();
        let at = url(&server, "/film/v0/init.mp4");
        let clock = TokioRuntime::new(Seed(1));
        for speak in VERSIONS {
            let client = client(speak);
            let began = clock.now();
            let mut took = Duration::ZERO;
            for n in 1..=7 {
                client.get_all(&at, None, MOST).await.unwrap();
                if n == 5 {
                    took = clock.now() - began;
                }
            }
            let whole = clock.now() - began;
            // Five at once; the others with a second between them, which passes while the first are asked
            // for too. With that between the first as well they would take longer than they may, which is
            // a hundred times what they take.
            assert!(took < Duration::from_secs(4), "{speak:?}: {took:?} for a burst");
            assert!(whole > Duration::from_millis(1_950), "{speak:?}: {whole:?} for all");
        }
        server.stop().await;
    });
}
