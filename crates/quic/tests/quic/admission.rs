//! Whom a server lets in: address validation, and bounds on handshakes and connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::common::*;
use airlane_base::{Dscp, Ecn, Rate, Seed};
use airlane_congestion::Algorithm;
use airlane_quic::{
    Admission, Cipher, ConnectionLimiter, Endpoint, Identity, QuicError, Tls, TransportConfig,
    Trust,
};
use airlane_runtime::{Datagram, RuntimeExt, RuntimeHandle, UdpSocket};
use futures_util::FutureExt;

fn setting(admission: Admission) -> (Net, TransportConfig) {
    let link = Link::new(Rate::from_mbps(10.0), Duration::from_millis(10), 40_000);
    let mut config = config(Algorithm::Cubic);
    config.accept.admission = admission;
    (net(1, link), config)
}

/// How long a handshake takes.
fn handshake(admission: Admission) -> Duration {
    let (mut net, config) = setting(admission);
    let (server, client) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let _server = Endpoint::server(&server, SERVER_ADDR.into(), config.clone()).unwrap();
            let caller = Endpoint::client(&client, ([0, 0, 0, 0], 0).into(), config).unwrap();
            let began = client.now();
            let connection = caller.connect(SERVER_ADDR.into(), "x").await.unwrap();
            let took = client.now() - began;
            connection.close(0, "");
            took
        })
        .unwrap()
}

#[test]
fn address_validation_costs_a_round_trip() {
    let plain = handshake(Admission::ALL);
    let validated = handshake(Admission { validate_from: 0, ..Admission::ALL });
    let more = validated - plain;
    assert!((15..30).contains(&more.as_millis()), "{plain:?}, {validated:?}");
}

#[test]
fn connections_beyond_the_bound_are_turned_away_and_room_is_given_again() {
    let (mut net, config) = setting(Admission { connections: 2, ..Admission::ALL });
    let (server, client) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let listening = Endpoint::server(&server, SERVER_ADDR.into(), config.clone()).unwrap();
            let caller = Endpoint::client(&client, ([0, 0, 0, 0], 0).into(), config).unwrap();
            let call = || caller.connect(SERVER_ADDR.into(), "x");
            let (first, _second) = (call().await.unwrap(), call().await.unwrap());
            let (_a, _b) = (listening.accept().await, listening.accept().await);
            assert!(matches!(
                call().await,
                Err(QuicError::ClosedByPeer { .. } | QuicError::Transport(_))
            ));
            first.close(0, "");
            client.sleep(Duration::from_secs(2)).await;
            call().await.unwrap();
        })
        .unwrap();
}

#[test]
fn one_address_has_its_own_limit_at_all_endpoints_together() {
    let (mut net, plain) = setting(Admission::ALL);
    let limiter = ConnectionLimiter::new(100, 5);
    let mut config = plain.clone();
    config.accept.connection_limiter = Some(limiter.clone());
    let (server, client) = (net.server.clone(), net.client.clone());
    let other = net.world.host("other", [10, 0, 0, 3].into());
    net.world
        .run(async move {
            let (here, there) = (SERVER_ADDR.into(), SocketAddr::new(SERVER_ADDR.0.into(), 444));
            for at in [here, there] {
                let listening = Endpoint::server(&server, at, config.clone()).unwrap();
                server.spawn("serve", serve_at_once(listening));
            }
            let any: SocketAddr = ([0, 0, 0, 0], 0).into();
            let caller = Endpoint::client(&client, any, plain.clone()).unwrap();
            let beside = Endpoint::client(&other, any, plain).unwrap();
            let mut held = Vec::new();
            for at in [here, there, here, there, here] {
                held.push(caller.connect(at, "x").await.unwrap());
            }
            client.sleep(Duration::from_millis(50)).await;
            assert!(limiter.is_crowded(CLIENT_IP.into()));
            for at in [here, there] {
                let refused = caller.connect(at, "x").await;
                assert!(matches!(
                    refused,
                    Err(QuicError::ClosedByPeer { .. } | QuicError::Transport(_))
                ));
                held.push(beside.connect(at, "x").await.unwrap());
            }
            held.clear();
            client.sleep(Duration::from_secs(2)).await;
            caller.connect(here, "x").await.unwrap();
        })
        .unwrap();
}

/// Every connection asks for something.
async fn serve_at_once(endpoint: Endpoint) {
    let mut served = Vec::new();
    while let Some(connection) = endpoint.accept().await {
        connection.mark_active();
        served.push(connection);
    }
}

#[test]
fn idle_connections_give_way_to_others() {
    let (mut net, plain) = setting(Admission::ALL);
    let mut config = plain.clone();
    config.accept.connection_limiter = Some(ConnectionLimiter::new(4, 4));
    let (server, client) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let listening = Endpoint::server(&server, SERVER_ADDR.into(), config).unwrap();
            let any: SocketAddr = ([0, 0, 0, 0], 0).into();
            let caller = Endpoint::client(&client, any, plain).unwrap();
            let call = || caller.connect(SERVER_ADDR.into(), "x");
            let working = call().await.unwrap();
            let served = listening.accept().await.unwrap();
            served.mark_active();
            let mut silent = Vec::new();
            for _ in 0..9 {
                silent.push(call().await.unwrap());
            }
            client.sleep(Duration::from_millis(100)).await;
            let ends: Vec<_> = silent.iter().map(|c| c.closed().now_or_never()).collect();
            let (lost, kept) = ends.split_at(6);
            let by_peer =
                |e: &Option<_>| matches!(e, Some(QuicError::ClosedByPeer { code: 1, .. }));
            assert!(lost.iter().all(by_peer) && kept.iter().all(Option::is_none), "{ends:?}");
            assert!(working.closed().now_or_never().is_none());
            // One that has had what it asked for may have to go again.
            served.mark_idle();
            let others = [call().await.unwrap(), call().await.unwrap(), call().await.unwrap()];
            let last = call().await.unwrap();
            client.sleep(Duration::from_millis(100)).await;
            assert!(working.closed().now_or_never().is_some() && others.len() == 3);
            assert!(last.closed().now_or_never().is_none());
        })
        .unwrap();
}

/// Whoever forges an address turns at most three times its bytes on it (RFC 9000, section 8.1): the
/// close after the timeout counts, and a certificate that takes several datagrams.
#[test]
fn an_address_that_says_no_more_gets_three_times_what_came_from_it() {
    let names: Vec<String> = (0..100).map(|n| format!("a-rather-long-name-{n}.example")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let identity = Identity::from_seed(Seed(1), &names).unwrap().shown().unwrap();
    let tls = Tls { identity: Some(identity), trust: Trust::Anyone };
    for cipher in [Cipher::Null, Cipher::lab_tls().unwrap(), Cipher::Tls(Arc::new(tls))] {
        for payload_bytes in [1200, 1350] {
            let handshake_timeout = Some(Duration::from_secs(10));
            let (mut net, _) = setting(Admission::ALL);
            let admission = Admission { handshake_timeout, ..Admission::ALL };
            let cipher = cipher.clone();
            let mut config = sealed(cipher, Algorithm::Cubic);
            config.accept.admission = admission;
            config.packets.payload_bytes = payload_bytes;
            let (server, client) = (net.server.clone(), net.client.clone());
            let (got, sent) = net
                .world
                .run(async move {
                    let address = SERVER_ADDR.into();
                    let _server = Endpoint::server(&server, address, config.clone()).unwrap();
                    let (initial, _nobody) = first_datagram(&client, config).await;
                    let socket = client.bind_udp(([0, 0, 0, 0], 0).into()).unwrap();
                    send_to(&*socket, address, &initial).await;
                    let silence = client.sleep(Duration::from_secs(30));
                    tokio::pin!(silence);
                    let mut got = 0;
                    loop {
                        tokio::select! {
                            biased;
                            came = std::future::poll_fn(|cx| socket.poll_recv(cx)) => {
                                got += came.unwrap().payload.len();
                            }
                            () = &mut silence => return (got, initial.len()),
                        }
                    }
                })
                .unwrap();
            assert!(got > 1000 && got <= 3 * sent, "{got} for {sent}");
        }
    }
}

/// A handshake of several datagrams takes its time, and comes to its end.
#[test]
fn a_long_certificate_arrives_within_the_bound() {
    let names: Vec<String> = (0..200).map(|n| format!("a-rather-long-name-{n}.example")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let identity = Identity::from_seed(Seed(1), &names).unwrap().shown().unwrap();
    let tls = Arc::new(Tls { identity: Some(identity), trust: Trust::Anyone });
    for payload_bytes in [1200, 1350] {
        let (mut net, _) = setting(Admission::ALL);
        let mut config = sealed(Cipher::Tls(tls.clone()), Algorithm::Cubic);
        config.packets.payload_bytes = payload_bytes;
        let (server, client) = (net.server.clone(), net.client.clone());
        let took = net
            .world
            .run(async move {
                let address = SERVER_ADDR.into();
                let _server = Endpoint::server(&server, address, config.clone()).unwrap();
                let caller = Endpoint::client(&client, ([0, 0, 0, 0], 0).into(), config).unwrap();
                let began = client.now();
                caller.connect(address, "x").await.unwrap();
                client.now() - began
            })
            .unwrap();
        assert!(took < Duration::from_millis(500), "{took:?}");
    }
}

/// The first datagram of a client, caught on its way to a socket of nobody's, which gets those that
/// follow.
async fn first_datagram(
    client: &RuntimeHandle,
    config: TransportConfig,
) -> (Vec<u8>, Box<dyn UdpSocket>) {
    let any: SocketAddr = ([0, 0, 0, 0], 0).into();
    let nobody = client.bind_udp(any).unwrap();
    let lure = SocketAddr::new(CLIENT_IP.into(), nobody.local_addr().port());
    let handle = client.clone();
    client.spawn("in vain", async move {
        let caller = Endpoint::client(&handle, any, config).unwrap();
        drop(caller.connect(lure, "x").await);
    });
    let first = std::future::poll_fn(|cx| nobody.poll_recv(cx)).await.unwrap();
    (first.payload.to_vec(), nobody)
}

async fn send_to(socket: &dyn UdpSocket, dst: SocketAddr, payload: &[u8]) {
    let (src, ecn, dscp) = (None, Ecn::NotEct, Dscp::DEFAULT);
    let datagram = Datagram { dst, src, ecn, dscp, payload, segment: None };
    std::future::poll_fn(|cx| socket.poll_send(cx, &datagram)).await.unwrap();
}

/// Initial packets of clients that never go on are answered with a Retry, or not at all: the server
/// keeps nothing of them, and those who do go on get in.
#[test]
fn half_open_handshakes_keep_nobody_out() {
    let handshake_timeout = Some(Duration::from_secs(5));
    let admission =
        Admission { validate_from: 4, handshakes: 16, connections: 64, handshake_timeout };
    let (mut net, config) = setting(admission);
    let (server, client) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let listening = Endpoint::server(&server, SERVER_ADDR.into(), config.clone()).unwrap();
            let any: SocketAddr = ([0, 0, 0, 0], 0).into();
            let caller = Endpoint::client(&client, any, config).unwrap();
            // One real first packet, sent from a thousand ports.
            let (initial, _nobody) = first_datagram(&client, config_of()).await;
            for i in 0..1000u32 {
                let mut forged = initial.clone();
                // Another destination id makes it another connection.
                forged[6..10].copy_from_slice(&i.to_be_bytes());
                let socket = client.bind_udp(any).unwrap();
                send_to(&*socket, SERVER_ADDR.into(), &forged).await;
            }
            let connection = caller.connect(SERVER_ADDR.into(), "x").await.unwrap();
            assert!(listening.accept().await.is_some());
            assert!((1..=4).contains(&listening.handshakes()), "{}", listening.handshakes());
            connection.close(0, "");
            client.sleep(Duration::from_secs(10)).await;
            assert_eq!((listening.handshakes(), listening.connections()), (0, 0));
        })
        .unwrap();
}

fn config_of() -> TransportConfig {
    config(Algorithm::Cubic)
}
