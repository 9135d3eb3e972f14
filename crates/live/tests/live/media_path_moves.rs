//! A media path whose ways change, in virtual time: other ports, other addresses, forged ones, narrower
//! ways.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Packet, Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig};
use airlane_live::media_path::{MediaPaths, PathConfig, PathFault};
use airlane_messages::{Event, ReceiveLimits, SendOptions};
use airlane_octopus::Marking;
use airlane_quic::{Cipher, Endpoint, PacketConfig, Timers, TransportConfig};
use airlane_runtime::virtual_time::{Fabric, World};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use parking_lot::Mutex;

const SERVER: [u8; 4] = [10, 0, 0, 1];
const CLIENT: [u8; 4] = [10, 0, 0, 2];
const LISTEN: ([u8; 4], u16) = (SERVER, 443);
/// The address of somebody who has nothing to do with it: what is sent from there is forged.
const VICTIM: ([u8; 4], u16) = ([10, 0, 0, 66], 4_000);
const DELAY: Duration = Duration::from_millis(15);

/// Where a packet of the client seems to come from at a time; `None`: nothing passes.
type Seems = fn(SocketAddr, Time) -> Option<SocketAddr>;

/// UDP payload bytes by address, from it and to it.
type Counted = Arc<Mutex<BTreeMap<SocketAddr, (u64, u64)>>>;

/// A way of 15 ms with a NAT in it. What is sent to an address that the client does not have is
/// counted and lost.
struct Way {
    /// Of packets of the media path, and of QUIC's.
    media: Seems,
    quic: Seems,
    /// The largest UDP payload that passes at a time.
    passes: fn(Time) -> usize,
    client: SocketAddr,
    counted: Counted,
    under_way: BTreeMap<(Time, u64), Box<Packet>>,
    next: u64,
}

impl Fabric for Way {
    fn send(&mut self, now: Time, mut packet: Box<Packet>) {
        let is_media = packet.payload.first().is_some_and(|first| (4..=15).contains(first));
        let seems = if is_media { self.media } else { self.quic };
        let bytes = packet.payload.len();
        if packet.src.ip() == IpAddr::from(CLIENT) {
            self.client = packet.src;
            let Some(src) = seems(packet.src, now) else { return };
            packet.src = src;
            if is_media {
                self.counted.lock().entry(src).or_default().0 += bytes as u64;
            }
        } else {
            if is_media {
                self.counted.lock().entry(packet.dst).or_default().1 += bytes as u64;
            }
            let victim = SocketAddr::from(VICTIM);
            let seems = seems(self.client, now);
            let is_forged = seems == Some(victim);
            let reaches = packet.dst != victim
                && (seems == Some(packet.dst) || (is_forged && packet.dst == self.client));
            if !reaches || bytes > (self.passes)(now) {
                return;
            }
            packet.dst = self.client;
        }
        self.next += 1;
        self.under_way.insert((now + DELAY, self.next), packet);
    }

    fn next_event(&self) -> Option<Time> {
        self.under_way.keys().next().map(|(at, _)| *at)
    }

    fn poll(&mut self, now: Time) -> Option<Box<Packet>> {
        let first = self.under_way.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }
}

fn stays(at: SocketAddr, _: Time) -> Option<SocketAddr> {
    Some(at)
}

fn as_all(_: Time) -> usize {
    65_507
}

fn config(keep_alive_interval: Option<Duration>) -> PathConfig {
    PathConfig {
        payload_bytes: 1200,
        max_payload_bytes: Some(1452),
        keep_alive_interval,
        controller: ControllerConfig::new(Algorithm::Bbr),
        send: SendOptions::default(),
        receive: ReceiveLimits::default(),
    }
}

fn transport() -> TransportConfig {
    TransportConfig {
        packets: PacketConfig { payload_bytes: 1200, ..PacketConfig::default() },
        timers: Timers {
            idle_timeout: Some(Duration::from_secs(10)),
            keep_alive: Some(Duration::from_secs(3)),
            ..Timers::default()
        },
        ..TransportConfig::laboratory(Cipher::Null, ControllerConfig::new(Algorithm::Reno))
    }
}

/// What came of 10 s.
struct Seen {
    /// When messages came, of which 50 a second were sent.
    came: Vec<Time>,
    counted: BTreeMap<SocketAddr, (u64, u64)>,
    payload_bytes: u64,
    fault: Option<PathFault>,
}

/// Watches for 10 s over a way.
fn watch(media: Seems, quic: Seems, passes: fn(Time) -> usize) -> Seen {
    let counted = Counted::default();
    let client = SocketAddr::from((CLIENT, 0));
    let (under_way, next) = (BTreeMap::new(), 0);
    let way = Way { media, quic, passes, client, counted: counted.clone(), under_way, next };
    let mut world = World::new(Seed(1), way);
    world.end_at(Time::from_millis(60_000));
    let server = world.host("server", SERVER.into());
    let client = world.host("client", CLIENT.into());
    let ended = world.run(async move {
        let listening = Endpoint::server(&server, LISTEN.into(), transport()).unwrap();
        let (told, fault) = tokio::sync::oneshot::channel();
        server.spawn("server", async move {
            let _ = told.send(serve(listening).await);
        });
        let came = receive(&client).await;
        (came, fault.await.unwrap())
    });
    let (came, (fault, payload_bytes)) = ended.unwrap();
    let counted = counted.lock().clone();
    Seen { came, counted, payload_bytes, fault }
}

/// Sends a message of 8000 bytes every 20 ms for 10 s: how the path ended, and how large its packets were.
async fn serve(endpoint: Endpoint) -> (Option<PathFault>, u64) {
    let runtime = endpoint.runtime().clone();
    let paths = MediaPaths::new(&endpoint, 10).unwrap();
    let connection = endpoint.accept().await.unwrap();
    let asked = paths.accept(&connection).await.unwrap();
    let path = asked.open(&config(None), Bytes::new()).await.unwrap();
    while runtime.now() < Time::from_millis(10_000) {
        path.send(1, Marking::default(), Bytes::from(vec![7; 8_000])).unwrap();
        runtime.sleep(Duration::from_millis(20)).await;
    }
    (path.fault(), path.look(|session, _| session.payload_bytes()))
}

async fn receive(client: &RuntimeHandle) -> Vec<Time> {
    let endpoint = Endpoint::client(client, (CLIENT, 0).into(), transport()).unwrap();
    let paths = MediaPaths::new(&endpoint, 1).unwrap();
    let connection = endpoint.connect(LISTEN.into(), "lab.airlane").await.unwrap();
    let keep_alive = Some(Duration::from_millis(250));
    let (path, _) = paths.connect(&connection, &config(keep_alive), Bytes::new()).await.unwrap();
    let mut came = Vec::new();
    let mut end = client.sleep_until(Time::from_millis(10_000));
    loop {
        tokio::select! {
            () = &mut end => return came,
            event = path.next_event() => match event {
                Some(Event::Message(message)) => came.push(message.at),
                Some(Event::Dropped { .. }) => {}
                None => return came,
            },
        }
    }
}

/// The longest time between two messages from one time on.
fn longest_gap(came: &[Time], from_ms: u64) -> Duration {
    let later = came.iter().position(|at| *at >= Time::from_millis(from_ms)).unwrap_or(0);
    let gaps = came[later.saturating_sub(1)..].windows(2).map(|w| w[1] - w[0]);
    gaps.max().expect("messages come")
}

#[test]
fn a_path_goes_on_when_a_nat_gives_its_client_another_port_or_address() {
    let port: Seems =
        |at, now| Some(if now < Time::from_millis(3_000) { at } else { (CLIENT, 9).into() });
    let address: Seems = |at, now| {
        Some(if now < Time::from_millis(3_000) { at } else { ([10, 0, 0, 99], 9).into() })
    };
    for seems in [port, address] {
        let seen = watch(seems, seems, as_all);
        assert!(longest_gap(&seen.came, 2_000) < Duration::from_millis(600));
        assert!(seen.came.iter().filter(|at| **at > Time::from_millis(5_000)).count() > 240);
        assert_eq!(seen.fault, None);
    }
}

#[test]
fn a_path_goes_on_within_a_second_when_its_way_returns() {
    // Nothing passes from 3 to 8 s, then the client has another port.
    let seems: Seems = |at, now| match now {
        now if now < Time::from_millis(3_000) => Some(at),
        now if now < Time::from_millis(8_000) => None,
        _ => Some((CLIENT, 9).into()),
    };
    let seen = watch(seems, seems, as_all);
    let back = seen.came.iter().find(|at| **at > Time::from_millis(8_000));
    assert!(back.is_some_and(|at| *at < Time::from_millis(8_700)), "{back:?}");
}

#[test]
fn a_client_cannot_have_its_packets_sent_to_an_address_that_proves_nothing() {
    // The client's packets of the media path come from there between 3 and 6 s, or QUIC's do, or all.
    let forged: Seems = |at, now| {
        let is_forged = (Time::from_millis(3_000)..Time::from_millis(6_000)).contains(&now);
        Some(if is_forged { VICTIM.into() } else { at })
    };
    for (media, quic) in [(forged, stays as Seems), (stays, forged), (forged, forged)] {
        let seen = watch(media, quic, as_all);
        let (from, to) = seen.counted.get(&VICTIM.into()).copied().unwrap_or_default();
        assert!(to <= 3 * from, "{to} bytes for {from}");
        assert_eq!(seen.fault, None);
        // It goes on where the client is.
        assert!(seen.came.iter().filter(|at| **at > Time::from_millis(7_000)).count() > 140);
    }
}

#[test]
fn packets_grow_to_what_the_way_takes_and_shrink_when_it_takes_less() {
    assert_eq!(watch(stays, stays, as_all).payload_bytes, 1452);
    assert!((1200..=1232).contains(&watch(stays, stays, |_| 1232).payload_bytes));
    let narrows =
        watch(stays, stays, |now| if now < Time::from_millis(4_000) { 1500 } else { 1300 });
    assert_eq!(narrows.payload_bytes, 1200);
    assert!(longest_gap(&narrows.came, 3_000) < Duration::from_millis(1_000));
}
