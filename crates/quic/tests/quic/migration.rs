//! Clients whose address changes under their connections.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::*;
use airlane_base::{Packet, Rate, Seed, Time};
use airlane_congestion::{Ack, Algorithm, Bbr, Controller, Loss, Marked, Sent};
use airlane_quic::{Cipher, ControllerFactory, TransportConfig};
use airlane_runtime::virtual_time::{Fabric, World};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use parking_lot::Mutex;

/// What the servers see of the client at a time; `None`: nothing, and nothing comes to it.
type Seems = fn(SocketAddr, Time) -> Option<SocketAddr>;

/// A NAT in front of the client. What is sent to an address that it no longer has is lost.
struct Nat {
    link: Link,
    seems: Seems,
    client: SocketAddr,
    /// Bytes that are sent to such an address, UDP payloads.
    astray: Arc<AtomicUsize>,
    /// UDP payload bytes that seemed to come from [`VICTIM`], and that went there.
    victim: Arc<Mutex<(u64, u64)>>,
}

/// Where somebody is who has nothing to do with it: what is sent there is lost.
const VICTIM: ([u8; 4], u16) = ([10, 0, 0, 66], 4_000);

impl Fabric for Nat {
    fn send(&mut self, now: Time, mut packet: Box<Packet>) {
        if packet.src.ip() == IpAddr::from(CLIENT_IP) {
            self.client = packet.src;
            let Some(src) = (self.seems)(packet.src, now) else { return };
            packet.src = src;
            if src == VICTIM.into() {
                self.victim.lock().0 += packet.payload.len() as u64;
            }
        } else {
            if packet.dst == VICTIM.into() {
                self.victim.lock().1 += packet.payload.len() as u64;
                return;
            }
            if (self.seems)(self.client, now) != Some(packet.dst) {
                self.astray.fetch_add(packet.payload.len(), Ordering::Relaxed);
                return;
            }
            packet.dst = self.client;
        }
        self.link.send(now, packet);
    }

    fn next_event(&self) -> Option<Time> {
        self.link.next_event()
    }

    fn poll(&mut self, now: Time) -> Option<Box<Packet>> {
        self.link.poll(now)
    }
}

/// A server and a client behind a NAT, 10 Mbit/s and 20 ms.
fn behind(seems: Seems) -> (World<Nat>, RuntimeHandle, RuntimeHandle) {
    counting(seems, Arc::default())
}

/// The same, with what seemed to come from the victim and went there counted.
fn counting(
    seems: Seems,
    victim: Arc<Mutex<(u64, u64)>>,
) -> (World<Nat>, RuntimeHandle, RuntimeHandle) {
    let link = Link::new(Rate::from_mbps(10.0), Duration::from_millis(10), 40_000).0;
    let (client, astray) = ((CLIENT_IP, 0).into(), Arc::default());
    let mut world = World::new(Seed(1), Nat { link, seems, client, astray, victim });
    world.end_at(Time::from_millis(60_000));
    let server = world.host("server", SERVER_IP.into());
    let client = world.host("client", CLIENT_IP.into());
    (world, server, client)
}

const MOVED: u16 = 1_000;

fn other_port(at: SocketAddr) -> SocketAddr {
    SocketAddr::new(at.ip(), at.port() - MOVED)
}

fn stays(at: SocketAddr, _: Time) -> Option<SocketAddr> {
    Some(at)
}

/// Another port from 1.5 s on.
fn rebinds(at: SocketAddr, now: Time) -> Option<SocketAddr> {
    Some(if now < Time::from_millis(1_500) { at } else { other_port(at) })
}

#[test]
fn a_transfer_goes_on_when_a_nat_gives_the_client_another_port() {
    let took = |seems| {
        let (mut world, server, client) = behind(seems);
        let bytes = 4_000_000;
        world
            .run(async move {
                let (_s, _c, to_server, to_client) =
                    pair(&server, &client, SERVER_ADDR.into(), config(Algorithm::Cubic))
                        .await
                        .unwrap();
                let start = client.now();
                let before = to_client.remote_addr().unwrap();
                let sender = to_client.clone();
                server.spawn("send", async move { send_bulk(sender, bytes).await.unwrap() });
                assert_eq!(recv_bulk(&to_server).await.unwrap(), bytes);
                let moved = to_client.remote_addr().unwrap() == other_port(before);
                let stats = to_client.control().stats();
                let known = stats.acked_packets + stats.lost_packets + stats.abandoned_packets;
                assert!(stats.sent_packets - known <= stats.in_flight / 1_000, "{stats:?}");
                (client.now() - start, moved)
            })
            .unwrap()
    };
    let (stays, moved) = took(stays);
    assert!(!moved);
    let (moves, moved) = took(rebinds);
    assert!(moved);
    // What is on the way is lost; the client's next acknowledgement tells the server where it is.
    assert!(moves < stays + Duration::from_millis(400), "{moves:?} instead of {stays:?}");
}

/// Each packet from another port from 500 ms on.
fn forges(at: SocketAddr, now: Time) -> Option<SocketAddr> {
    let other = (now.as_nanos() / 1_000_000 % 1_000) as u16;
    Some(match now < Time::from_millis(500) {
        true => at,
        false => SocketAddr::new(at.ip(), at.port() - other),
    })
}

/// A client that forges the address of every packet has little sent there: noq alone answers each short
/// packet with 1200 bytes.
#[test]
fn a_client_that_forges_addresses_turns_little_on_them() {
    let link = Link::new(Rate::from_mbps(10.0), Duration::from_millis(10), 40_000).0;
    let astray = Arc::new(AtomicUsize::new(0));
    let client = (CLIENT_IP, 0).into();
    let nat = Nat { link, seems: forges, client, astray: astray.clone(), victim: Arc::default() };
    let mut world = World::new(Seed(1), nat);
    let server = world.host("server", SERVER_IP.into());
    let client = world.host("client", CLIENT_IP.into());
    world
        .run(async move {
            let config = config(Algorithm::Cubic);
            let ends = pair(&server, &client, SERVER_ADDR.into(), config).await.unwrap();
            let mut stream = ends.2.open_uni().await.unwrap();
            client.sleep(Duration::from_millis(500)).await;
            for _ in 0..200 {
                client.sleep(Duration::from_millis(10)).await;
                stream.write_all(Bytes::from_static(b"x")).await.unwrap();
            }
        })
        .unwrap();
    let astray = astray.load(Ordering::Relaxed);
    assert!((1..50_000).contains(&astray), "{astray} bytes");
}

/// BBR, and when each of the rounds began that it counts by delivered bytes.
#[derive(Clone, Debug)]
struct Rounds {
    bbr: Bbr,
    next: u64,
    began: Arc<Mutex<Vec<Time>>>,
}

impl Controller for Rounds {
    fn on_sent(&mut self, sent: &Sent) {
        self.bbr.on_sent(sent);
    }
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(sample) = ack.sample.filter(|s| s.prior_delivered >= self.next) {
            self.next = sample.delivered;
            self.began.lock().push(ack.now);
        }
        self.bbr.on_ack(ack);
    }
    fn on_loss(&mut self, loss: &Loss) {
        self.bbr.on_loss(loss);
    }
    fn on_marked(&mut self, marked: &Marked) {
        self.bbr.on_marked(marked);
    }
    fn window(&self) -> u64 {
        self.bbr.window()
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.bbr.pacing_rate()
    }
    fn name(&self) -> &'static str {
        "rounds"
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn takes_samples(&self) -> bool {
        true
    }
    fn follows_sending(&self) -> bool {
        true
    }
}

#[test]
fn rounds_go_on_when_a_nat_gives_the_client_another_port() {
    let began = Arc::new(Mutex::new(Vec::new()));
    let told = began.clone();
    let factory = ControllerFactory::new(move |new| {
        let bbr = Bbr::new(new.now, new.payload_bytes, new.seed);
        Box::new(Rounds { bbr, next: 0, began: told.clone() })
    });
    let (mut world, server, client) = behind(rebinds);
    world
        .run(async move {
            let config = TransportConfig::laboratory(Cipher::Null, factory);
            let (_s, _c, to_server, to_client) =
                pair(&server, &client, SERVER_ADDR.into(), config).await.unwrap();
            server.spawn("send", async move { send_bulk(to_client, 3_000_000).await.unwrap() });
            assert_eq!(recv_bulk(&to_server).await.unwrap(), 3_000_000);
        })
        .unwrap();
    let began = began.lock();
    // The acknowledgements of a round trip are lost, and one more passes before the new path has
    // delivered anything; then it is a round per round trip again.
    let (from, to) = (Time::from_millis(1_650), Time::from_millis(2_150));
    let rounds = began.iter().filter(|at| (from..to).contains(at)).count();
    assert!((10..=25).contains(&rounds), "{rounds} rounds in 500 ms: {began:?}");
}

/// Another port from 1 s on. Before the server can know that the client is there, one of its packets
/// comes from a third address, as if somebody had copied it; then nothing passes for 1.5 s.
fn is_imitated(at: SocketAddr, now: Time) -> Option<SocketAddr> {
    let ms = now.as_nanos() / 1_000_000;
    match ms {
        0..1_000 => Some(at),
        1_005..1_010 => Some(SocketAddr::from(([10, 0, 0, 9], 9_999))),
        1_010..2_500 => None,
        _ => Some(other_port(at)),
    }
}

#[test]
fn where_a_path_is_not_validated_the_controller_of_the_one_before_goes_on() {
    let (mut world, server, client) = behind(is_imitated);
    world
        .run(async move {
            let keep_alive = Some(Duration::from_millis(200));
            let mut config = config(Algorithm::Cubic);
            config.timers.keep_alive = keep_alive;
            let (_s, _c, to_server, to_client) =
                pair(&server, &client, SERVER_ADDR.into(), config).await.unwrap();
            let home = to_client.remote_addr().unwrap();
            let sender = to_client.clone();
            server.spawn("send", async move { send_bulk(sender, 4_000_000).await.unwrap() });
            let reader = to_server.clone();
            client.spawn("read", async move {
                assert_eq!(recv_bulk(&reader).await.unwrap(), 4_000_000);
            });
            let at = |ms| server.sleep_until(Time::from_millis(ms));
            at(999).await;
            let before = to_client.control().stats();
            assert!(before.rtt.is_some() && before.weight == 1.0);
            to_client.control().set_weight(2.0);
            at(1_100).await;
            // The server believes what it saw last: a fresh controller, which keeps the weight.
            assert_eq!(to_client.remote_addr().unwrap().ip(), IpAddr::from([10, 0, 0, 9]));
            let astray = to_client.control().stats();
            assert!(astray.rtt.is_none() && astray.weight == 2.0, "{astray:?}");
            at(2_490).await;
            // Nobody answered from there.
            assert_eq!(to_client.remote_addr(), Some(other_port(home)));
            let back = to_client.control().stats();
            assert_eq!(back.rtt.map(|r| r.min), before.rtt.map(|r| r.min), "{back:?}");
            assert!(back.ssthresh.is_some() && astray.ssthresh.is_none(), "{back:?} {astray:?}");
            assert_eq!(back.weight, 2.0);
            at(10_000).await;
            assert_eq!(to_client.control().stats().in_flight, 0);
        })
        .unwrap();
}

/// Every second packet of the client's comes from somebody else's address: 100 a second in its name.
fn flaps(at: SocketAddr, now: Time) -> Option<SocketAddr> {
    let is_forged = now.as_nanos() / 10_000_000 % 2 == 1 && now > Time::from_millis(500);
    Some(if is_forged { VICTIM.into() } else { at })
}

#[test]
fn a_client_that_moves_to_and_fro_does_not_have_others_flooded() {
    let victim = Arc::new(Mutex::new((0, 0)));
    let (mut world, server, client) = counting(flaps, victim.clone());
    world
        .run(async move {
            let mut config = config(Algorithm::Cubic);
            config.timers.keep_alive = Some(Duration::from_millis(5));
            config.timers.idle_timeout = Some(Duration::from_secs(60));
            let (_s, _c, _to_server, _to_client) =
                pair(&server, &client, SERVER_ADDR.into(), config).await.unwrap();
            client.sleep_until(Time::from_millis(20_000)).await;
        })
        .unwrap();
    let (came, went) = *victim.lock();
    // Six moves are free in 20 s, of two datagrams of 1200 bytes each.
    assert!(came > 10_000 && went <= 3 * came + 6 * 2_400, "{went} bytes for {came}");
    assert!(went < 4 * came, "{went} bytes for {came}");
}
