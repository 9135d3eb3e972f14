//! Several endpoints at one address.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use airlane_base::Seed;
use airlane_congestion::Algorithm;
use airlane_quic::{Connection, Endpoint};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;

use crate::common::*;

const LOOPBACK: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

/// Sends back what comes on each stream. Counts the connections.
async fn echo(endpoint: Endpoint, connections: Arc<AtomicUsize>) {
    while let Some(connection) = endpoint.accept().await {
        connections.fetch_add(1, Ordering::Relaxed);
        connection.runtime().clone().spawn("echo", async move {
            while let Ok((mut send, mut recv)) = connection.accept_bi().await {
                let Ok(asked) = recv.read_to_end(100_000).await else { return };
                if send.write_all(asked.into()).await.is_err() {
                    return;
                }
                drop(send.finish());
            }
        });
    }
}

async fn ask(connection: &Connection, text: &[u8]) -> Vec<u8> {
    let (mut send, mut recv) = connection.open_bi().await.unwrap();
    send.write_all(Bytes::copy_from_slice(text)).await.unwrap();
    send.finish().unwrap();
    recv.read_to_end(100_000).await.unwrap()
}

/// Passes datagrams on between a client and a server, and changes its port to the server with every
/// `ROUND` of them from the client, as a NAT may.
async fn changing_ports(runtime: RuntimeHandle, server: SocketAddr, inside: UdpSocket) {
    const ROUND: usize = 5;
    let inside = Arc::new(inside);
    let mut client = None;
    let mut buffer = vec![0; 65_536];
    let (mut outside, mut passed) = (None::<Arc<UdpSocket>>, 0);
    loop {
        let (len, from) = inside.recv_from(&mut buffer).await.unwrap();
        client = client.or(Some(from));
        if passed % ROUND == 0 {
            let new = Arc::new(UdpSocket::bind(SocketAddr::from(LOOPBACK)).await.unwrap());
            new.connect(server).await.unwrap();
            let (inside, new_too) = (inside.clone(), new.clone());
            runtime.spawn("way back", async move {
                let mut buffer = vec![0; 65_536];
                while let Ok(len) = new_too.recv(&mut buffer).await {
                    inside.send_to(&buffer[..len], from).await.unwrap();
                }
            });
            outside = Some(new);
        }
        passed += 1;
        let _ = outside.as_ref().unwrap().send(&buffer[..len]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_spread_over_endpoints_and_found_wherever_their_packets_come() {
    let runtime = TokioRuntime::new(Seed(1));
    let config = deployed(Algorithm::Cubic);
    let endpoints = Endpoint::servers(&runtime, LOOPBACK.into(), &config, 3).unwrap();
    assert_eq!(endpoints.len(), if cfg!(target_os = "linux") { 3 } else { 1 });
    let at = endpoints[0].local_addr();
    assert!(endpoints.iter().all(|e| e.local_addr() == at));
    let in_use = Endpoint::servers(&runtime, at, &config, 3);
    assert!(in_use.is_err(), "its own user's other programs find it in use");
    let counts: Vec<Arc<AtomicUsize>> = endpoints.iter().map(|_| Arc::default()).collect();
    for (endpoint, count) in endpoints.into_iter().zip(&counts) {
        runtime.spawn("server", echo(endpoint, count.clone()));
    }

    // One socket with many connections, whose packets the system may join; and many sockets.
    let one = Endpoint::client(&runtime, LOOPBACK.into(), config.clone()).unwrap();
    let (mut asking, mut own_sockets) = (JoinSet::new(), Vec::new());
    for n in 0..40_u8 {
        let own = Endpoint::client(&runtime, LOOPBACK.into(), config.clone()).unwrap();
        for caller in [&one, &own] {
            let connection = caller.connect(at, "localhost").await.unwrap();
            asking.spawn(async move {
                for len in [10, 100, 60_000] {
                    let text = vec![n; len];
                    assert_eq!(ask(&connection, &text).await, text);
                }
            });
        }
        own_sockets.push(own);
    }
    while let Some(asked) = asking.join_next().await {
        asked.unwrap();
    }

    // One whose port changes all the time.
    let inside = UdpSocket::bind(SocketAddr::from(LOOPBACK)).await.unwrap();
    let nat = inside.local_addr().unwrap();
    runtime.spawn("nat", changing_ports(runtime.clone(), at, inside));
    let connection = one.connect(nat, "localhost").await.unwrap();
    for n in 0..60_u8 {
        let asked =
            tokio::time::timeout(Duration::from_secs(60), ask(&connection, &[n; 500])).await;
        assert_eq!(asked.expect("an answer"), [n; 500]);
    }
    let counts: Vec<_> = counts.iter().map(|c| c.load(Ordering::Relaxed)).collect();
    assert_eq!(counts.iter().sum::<usize>(), 81);
    // By chance all 40 sockets are one endpoint's once in 10^18 times.
    assert!(cfg!(not(target_os = "linux")) || counts.iter().filter(|n| **n > 0).count() > 1);
}
