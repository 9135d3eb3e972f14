//! The virtual half: order, faults and sockets as a role sees them.

use std::collections::{BTreeSet, VecDeque};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Dscp, Ecn, Packet, Rate, Seed, Time};
use airlane_net::{Dumbbell, Limit, PieConfig, QueueSpec};
use airlane_runtime::virtual_time::{Fabric, World, WorldError};
use airlane_runtime::{Datagram, Received, RuntimeExt, RuntimeHandle, UdpSocket};
use bytes::BytesMut;
use parking_lot::Mutex;

/// Delivers everything after one millisecond.
#[derive(Default)]
struct Ideal(VecDeque<(Time, Box<Packet>)>);

impl Fabric for Ideal {
    fn send(&mut self, now: Time, packet: Box<Packet>) {
        self.0.push_back((now + Duration::from_millis(1), packet));
    }
    fn next_event(&self) -> Option<Time> {
        self.0.front().map(|(at, _)| *at)
    }
    fn poll(&mut self, now: Time) -> Option<Box<Packet>> {
        (self.0.front()?.0 <= now).then(|| self.0.pop_front().map(|(_, p)| p))?
    }
}

fn world() -> World<Ideal> {
    World::new(Seed(7), Ideal::default())
}

async fn send(socket: &dyn UdpSocket, dst: SocketAddr, payload: &[u8]) {
    send_as(socket, dst, Dscp::DEFAULT, payload).await;
}

async fn send_as(socket: &dyn UdpSocket, dst: SocketAddr, dscp: Dscp, payload: &[u8]) {
    let datagram = Datagram { dst, src: None, ecn: Ecn::Ect0, dscp, payload, segment: None };
    poll_fn(|cx| socket.poll_send(cx, &datagram)).await.unwrap();
}

async fn recv(socket: &dyn UdpSocket) -> (Received, BytesMut) {
    let mut r = poll_fn(|cx| socket.poll_recv(cx)).await.unwrap();
    let payload = std::mem::take(&mut r.payload);
    (r, payload)
}

fn bind(host: &RuntimeHandle, port: u16) -> Box<dyn UdpSocket> {
    host.bind_udp(SocketAddr::from(([0, 0, 0, 0], port))).unwrap()
}

#[test]
fn a_datagram_arrives_with_its_addresses_its_ecn_and_its_dscp_after_the_delay() {
    let mut w = world();
    let (a, b) = (w.host("a", [10, 0, 0, 1].into()), w.host("b", [10, 0, 0, 2].into()));
    let clock = b.clone();
    let (r, body, at) = w
        .run(async move {
            let (from, to) = (bind(&a, 0), bind(&b, 9));
            send_as(&*from, to.local_addr(), Dscp::AF41, b"hello").await;
            let (r, body) = recv(&*to).await;
            assert_eq!(r.src, from.local_addr());
            (r, body, clock.now())
        })
        .unwrap();
    assert_eq!((&body[..], at), (&b"hello"[..], Time::from_millis(1)));
    assert_eq!((r.ecn, r.dscp), (Ecn::Ect0, Some(Dscp::AF41)));
}

#[test]
fn every_dscp_crosses_a_queue_that_marks_and_the_answer_has_its_own() {
    let rtt = Duration::from_millis(20);
    let mut net = Dumbbell::new(Rate::from_mbps(1.0), rtt, 1.0, 1);
    let pie = PieConfig { max_burst: Duration::ZERO, ecn: true, ..PieConfig::default() };
    net.downlink.queue = QueueSpec::Pie(Limit::Unlimited, pie);
    let net = net.build(Seed(3));
    let [a, b] = [net.servers[0], net.clients[0]].map(|host| net.network.addresses(host)[0]);
    let mut w = World::new(Seed(7), net.network);
    let (a, b) = (w.host("a", a), w.host("b", b));
    w.run(async move {
        let (from, to): (Arc<dyn UdpSocket>, _) = (bind(&a, 0).into(), bind(&b, 9));
        let (sender, clock, there) = (from.clone(), a.clone(), to.local_addr());
        a.spawn("send", async move {
            for dscp in (0..64).cycle().take(512).filter_map(Dscp::new) {
                // A tenth more than the link carries.
                send_as(&*sender, there, dscp, &[dscp.number(); 1_000]).await;
                clock.sleep(Duration::from_micros(7_500)).await;
            }
        });
        let (mut seen, mut marked) = (BTreeSet::new(), 0);
        for _ in 0..400 {
            let (r, body) = recv(&*to).await;
            assert_eq!(r.dscp, Dscp::new(body[0]));
            seen.extend(r.dscp);
            marked += u64::from(r.ecn == Ecn::Ce);
        }
        assert!(seen.len() == 64 && marked > 0, "{} {marked}", seen.len());
        send(&*to, from.local_addr(), b"back").await;
        assert_eq!(recv(&*from).await.0.dscp, Some(Dscp::DEFAULT));
    })
    .unwrap();
}

#[test]
fn sleepers_wake_in_the_order_of_time_then_of_arming() {
    let mut w = world();
    let host = w.host("a", [10, 0, 0, 1].into());
    let log = Arc::new(Mutex::new(Vec::new()));
    for (name, ms) in [("c", 30), ("a", 10), ("b", 10), ("d", 40)] {
        let (h, log) = (host.clone(), log.clone());
        host.spawn(name, async move {
            h.sleep(Duration::from_millis(ms)).await;
            log.lock().push((name, h.now()));
        });
    }
    let h = host.clone();
    w.run(async move { h.sleep(Duration::from_secs(1)).await }).unwrap();
    let at = Time::from_millis;
    assert_eq!(*log.lock(), [("a", at(10)), ("b", at(10)), ("c", at(30)), ("d", at(40))]);
}

#[test]
fn a_panic_names_the_task_the_time_and_the_seed() {
    let mut w = world();
    let host = w.host("a", [10, 0, 0, 1].into());
    let h = host.clone();
    host.spawn("doomed", async move {
        h.sleep(Duration::from_millis(5)).await;
        panic!("no way out");
    });
    let error = w.run(std::future::pending::<()>()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "task 'doomed' panicked at 0.005000000 s with seed 7: no way out"
    );
}

#[test]
fn a_world_in_which_nothing_can_happen_is_reported_with_who_waits() {
    let mut w = world();
    let host = w.host("a", [10, 0, 0, 1].into());
    host.spawn("waiter", std::future::pending());
    match w.run(std::future::pending::<()>()).unwrap_err() {
        WorldError::Stalled { waiting, seed: 7, .. } => assert_eq!(waiting, "main, waiter"),
        other => panic!("{other}"),
    }
}

#[test]
fn a_clock_that_stands_still_is_reported() {
    let mut w = world();
    let error = w
        .run(poll_fn::<(), _>(|cx| {
            cx.waker().wake_by_ref();
            std::task::Poll::Pending
        }))
        .unwrap_err();
    assert!(matches!(error, WorldError::Livelock { at: Time::ZERO, .. }), "{error}");
}

#[test]
fn a_world_ends_at_its_end_or_when_told_to() {
    let forever = |h: RuntimeHandle| async move {
        loop {
            h.sleep(Duration::from_secs(1)).await;
        }
    };
    let mut w = world();
    let host = w.host("a", [10, 0, 0, 1].into());
    w.end_at(Time::from_millis(2_500));
    let error = w.run::<()>(forever(host)).unwrap_err();
    assert!(matches!(error, WorldError::OutOfTime { .. }), "{error}");

    let mut w = world();
    let host = w.host("a", [10, 0, 0, 1].into());
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(true));
    w.stop_on(stop);
    let error = w.run::<()>(forever(host)).unwrap_err();
    assert!(matches!(error, WorldError::Stopped { .. }), "{error}");
}

#[test]
fn a_port_is_taken_once_and_free_again_after() {
    let mut w = world();
    let host = w.host("a", [10, 0, 0, 1].into());
    let first = bind(&host, 53);
    let again = host.bind_udp(SocketAddr::from(([0, 0, 0, 0], 53)));
    assert_eq!(again.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    let foreign = host.bind_udp(SocketAddr::from(([10, 9, 9, 9], 0)));
    assert_eq!(foreign.unwrap_err().kind(), std::io::ErrorKind::AddrNotAvailable);
    drop(first);
    bind(&host, 53);
}

#[test]
fn a_host_with_two_addresses_binds_a_socket_to_each_and_hears_when_datagrams_came() {
    let mut w = world();
    let ips = [[10, 0, 0, 2].into(), [10, 0, 0, 3].into()];
    let (a, b) = (w.host("a", [10, 0, 0, 1].into()), w.host_with("b", &ips));
    w.run(async move {
        let from = bind(&a, 0);
        let both = ips.map(|ip| b.bind_udp(SocketAddr::new(ip, 9)).unwrap());
        assert_eq!(bind(&b, 10).local_addr().ip(), ips[0], "unspecified: the first");
        let foreign = b.bind_udp(SocketAddr::from(([10, 0, 0, 1], 9)));
        assert_eq!(foreign.unwrap_err().kind(), std::io::ErrorKind::AddrNotAvailable);
        for socket in &both {
            send(&*from, socket.local_addr(), b"to you").await;
        }
        // Nobody asks for half a second, and they arrived after a millisecond all the same.
        b.sleep(Duration::from_millis(500)).await;
        for (socket, ip) in both.iter().zip(ips) {
            let (r, _) = recv(&**socket).await;
            assert_eq!((r.dst_ip, r.at), (ip, Time::from_millis(1)));
            // What is sent comes from the socket's own address.
            send(&**socket, r.src, b"back").await;
            assert_eq!(recv(&*from).await.0.src.ip(), ip);
        }
    })
    .unwrap();
}

#[test]
#[should_panic(expected = "two hosts have the address 10.0.0.2")]
fn an_address_belongs_to_one_host() {
    let mut w = world();
    w.host("a", [10, 0, 0, 2].into());
    w.host_with("b", &[[10, 0, 0, 1].into(), [10, 0, 0, 2].into()]);
}

/// A sender that waits for room has little more than the limit in front of the link, and one that does not has all.
#[test]
fn who_waits_for_room_keeps_the_queue_short() {
    let longest = |max_ip_bytes: Option<u64>| {
        let rtt = Duration::from_millis(20);
        let mut net = Dumbbell::new(Rate::from_mbps(1.0), rtt, 1.0, 1).build(Seed(3));
        let [a, b] = [net.clients[0], net.servers[0]].map(|host| net.network.addresses(host)[0]);
        if let Some(max) = max_ip_bytes {
            assert!(net.network.limit_backlog(a, b, max));
        }
        let mut w = World::new(Seed(7), net.network);
        let (a, b) = (w.host("a", a), w.host("b", b));
        let delays = w.run(async move {
            let (from, to) = (bind(&a, 0), bind(&b, 9));
            let there = to.local_addr();
            let clock = a.clone();
            a.spawn("send", async move {
                for _ in 0..100 {
                    poll_fn(|cx| from.poll_send_ready(cx, there.ip())).await;
                    let mut payload = [0; 1000];
                    payload[..8].copy_from_slice(&clock.now().as_nanos().to_be_bytes());
                    send(&*from, there, &payload).await;
                }
                std::future::pending::<()>().await;
            });
            let mut delays = Vec::new();
            for _ in 0..100 {
                let (received, payload) = recv(&*to).await;
                let sent = u64::from_be_bytes(payload[..8].try_into().unwrap());
                delays.push(received.at - Time::from_nanos(sent));
            }
            delays
        });
        delays.unwrap().into_iter().max().unwrap()
    };
    // The uplink carries 10 Mbit/s, 0.8 ms for a packet.
    assert!(longest(None) > Duration::from_millis(80), "{:?}", longest(None));
    assert!(longest(Some(3000)) < Duration::from_millis(15), "{:?}", longest(Some(3000)));
}
