//! Whom a server lets in: address validation, and bounds on handshakes and connections.

use std::net::SocketAddr;
use std::time::Duration;

use crate::common::*;
use airlane_base::{Dscp, Ecn, Rate};
use airlane_congestion::Algorithm;
use airlane_quic::{Admission, Endpoint, Places, QuicError, TransportConfig};
use airlane_runtime::{Datagram, RuntimeExt};

fn setting(admission: Admission) -> (Net, TransportConfig) {
    let link = Link::new(Rate::from_mbps(10.0), Duration::from_millis(10), 40_000);
    (net(1, link), TransportConfig { admission, ..config(Algorithm::Cubic) })
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
fn one_address_has_its_own_places_at_all_endpoints_together() {
    let (mut net, plain) = setting(Admission::ALL);
    let places = Places::new(100, 5);
    let config = TransportConfig { places: Some(places.clone()), ..plain.clone() };
    let (server, client) = (net.server.clone(), net.client.clone());
    let other = net.world.host("other", [10, 0, 0, 3].into());
    net.world
        .run(async move {
            let (here, there) = (SERVER_ADDR.into(), SocketAddr::new(SERVER_ADDR.0.into(), 444));
            let _first = Endpoint::server(&server, here, config.clone()).unwrap();
            let _second = Endpoint::server(&server, there, config).unwrap();
            let any: SocketAddr = ([0, 0, 0, 0], 0).into();
            let caller = Endpoint::client(&client, any, plain.clone()).unwrap();
            let beside = Endpoint::client(&other, any, plain).unwrap();
            let mut held = Vec::new();
            for at in [here, there, here, there, here] {
                held.push(caller.connect(at, "x").await.unwrap());
            }
            assert!(places.crowded(CLIENT_IP.into()));
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
            // One real first packet, caught on its way to nobody, sent from a thousand ports.
            let nobody = client.bind_udp(any).unwrap();
            let lure = SocketAddr::new(CLIENT_IP.into(), nobody.local_addr().port());
            let caller = Endpoint::client(&client, any, config).unwrap();
            client.spawn("in vain", {
                let config = config_of();
                let client = client.clone();
                async move {
                    let caller = Endpoint::client(&client, any, config).unwrap();
                    drop(caller.connect(lure, "x").await);
                }
            });
            let initial = std::future::poll_fn(|cx| nobody.poll_recv(cx)).await.unwrap().payload;
            for i in 0..1000u32 {
                let mut forged = initial.clone();
                // Another destination id makes it another connection.
                forged[6..10].copy_from_slice(&i.to_be_bytes());
                let socket = client.bind_udp(any).unwrap();
                let dst = SERVER_ADDR.into();
                let datagram = Datagram {
                    dst,
                    src: None,
                    ecn: Ecn::NotEct,
                    dscp: Dscp::DEFAULT,
                    payload: &forged,
                    segment: None,
                };
                std::future::poll_fn(|cx| socket.poll_send(cx, &datagram)).await.unwrap();
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
