//! A call over one emulated link, and what came of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_net::link::{RateProfile, Supply};
use airlane_net::network::{Fate, Hop, Observer, Record};
use airlane_net::queue::{Limit, QueueSpec};
use airlane_net::{Access, Impairment, LinkAccess, SendJitter, Topology, Way};
use airlane_runtime::RuntimeExt;
use airlane_runtime::virtual_time::World;
use airlane_webrtc::{
    Ask, CallConfig, Delivered, Delivery, Frame, FrameSource, ReceiverReport, SenderReport, pair,
    receive, send,
};
use parking_lot::Mutex;

/// A call, and the link that it runs over.
#[derive(Clone, Debug)]
pub struct Scene {
    pub config: CallConfig,
    /// From when on the link carries how much.
    pub steps: Vec<(Duration, Rate)>,
    pub rtt: Duration,
    pub loss: f64,
    pub queue: Limit,
    pub jitter: SendJitter,
    pub seed: Seed,
    pub lasts: Duration,
}

impl Scene {
    /// Over a constant link of 6 Mbit/s and 60 ms with room for 100 packets.
    pub fn new() -> Self {
        Self {
            config: CallConfig::new(Rate::from_mbps(15.0)),
            steps: vec![(Duration::ZERO, Rate::from_mbps(6.0))],
            rtt: Duration::from_millis(60),
            loss: 0.0,
            queue: Limit::Packets(100),
            jitter: SendJitter::Services(1.0),
            seed: Seed(1),
            lasts: Duration::from_secs(30),
        }
    }

    pub fn step(mut self, at_s: u64, mbps: f64) -> Self {
        self.steps.push((Duration::from_secs(at_s), Rate::from_mbps(mbps)));
        self
    }

    pub fn lasting(mut self, secs: u64) -> Self {
        self.lasts = Duration::from_secs(secs);
        self
    }
}

/// What came of it.
pub struct Outcome {
    pub frames: Vec<Delivered>,
    pub sent: SenderReport,
    pub received: ReceiverReport,
    /// Time and IP bytes of each datagram that a host sent, and of each that came to the receiver.
    pub packets: Vec<(Time, u64)>,
    pub arrivals: Vec<(Time, u64)>,
    pub hash: u64,
}

impl Outcome {
    /// The rate of IP bytes that came in an interval of whole seconds.
    pub fn arrived(&self, from_s: u64, to_s: u64) -> f64 {
        let (from, to) = (Time::from_millis(from_s * 1_000), Time::from_millis(to_s * 1_000));
        let inside = self.arrivals.iter().filter(|(at, _)| (from..to).contains(at));
        let bytes: u64 = inside.map(|(_, bytes)| bytes).sum();
        Rate::of(bytes, to - from).mbps()
    }

    /// The rate of frames' bytes that could be decoded in it.
    pub fn decoded(&self, from_s: u64, to_s: u64) -> f64 {
        let (from, to) = (Time::from_millis(from_s * 1_000), Time::from_millis(to_s * 1_000));
        let inside = self.frames.iter().filter(|f| (from..to).contains(&f.at));
        Rate::of(inside.map(|f| f.data.len() as u64).sum(), to - from).mbps()
    }

    /// The share of frames that could be decoded.
    pub fn share(&self) -> f64 {
        self.frames.len() as f64 / self.sent.frames as f64
    }

    /// The target at a time.
    pub fn target(&self, ms: u64) -> f64 {
        let until = self.sent.targets.iter().take_while(|(at, _)| *at <= Time::from_millis(ms));
        until.last().map_or(0.0, |(_, rate)| rate.mbps())
    }
}

/// What a frame of a time and a size holds.
pub fn content(captured: Time, bytes: usize) -> Vec<u8> {
    let salt = captured.as_nanos() / 1_000_000;
    (0..bytes as u64).map(|i| ((i * 31) ^ (salt * 7) ^ (i >> 8)) as u8).collect()
}

/// A camera of 30 frames a second whose encoder meets every target up to 15 Mbit/s.
pub struct Camera {
    pub number: u32,
    pub start: Time,
    pub end: Time,
}

impl FrameSource for Camera {
    fn next_at(&self) -> Option<Time> {
        let at = self.start + Duration::from_nanos(u64::from(self.number) * 1_000_000_000 / 30);
        (at < self.end).then_some(at)
    }

    fn frame(&mut self, ask: &Ask) -> Option<Frame> {
        let captured = self.next_at()?;
        let bytes = ask.target.min(Rate::from_mbps(15.0)).bytes_in(Duration::from_secs(1)) / 30;
        let data = content(captured, bytes as usize).into();
        self.number += 1;
        Some(Frame { data, key: ask.key, captured })
    }
}

/// Times and IP bytes.
type Seen = Vec<(Time, u64)>;

/// Keeps what hosts sent, and what came to the receiver's.
struct Packets {
    seen: Arc<Mutex<(Seen, Seen)>>,
    receiver: SocketAddr,
}

impl Observer for Packets {
    fn record(&mut self, record: &Record<'_>) {
        if !matches!(record.hop, Hop::Host(_)) {
            return;
        }
        let line = (record.at, u64::from(record.packet.ip_bytes()));
        match record.fate {
            Fate::Sent => self.seen.lock().0.push(line),
            Fate::Delivered if record.packet.dst == self.receiver => self.seen.lock().1.push(line),
            _ => {}
        }
    }
}

pub fn run(scene: &Scene) -> Outcome {
    let mut topology = Topology::new(scene.jitter, scene.seed);
    let queue = QueueSpec::DropTail(scene.queue);
    let profile = RateProfile::new(&scene.steps, None).unwrap();
    let mut link = LinkAccess {
        down: Way::new(Supply::Profile(Arc::new(profile)), queue.clone()),
        up: Way::new(Rate::from_mbps(100.0), queue),
    };
    if scene.loss > 0.0 {
        link.down.impairments.push(Impairment::Bernoulli(scene.loss));
    }
    let seed = scene.seed.split("link");
    let at = topology.add_access("link", &Access::Link(link), None, seed);
    let server = topology.add_server();
    let client = topology.add_client(&[at]);
    topology.connect(server, &client, scene.rtt);
    let mut network = topology.finish();
    let from = SocketAddr::new(network.addresses(server)[0], 5_000);
    let to = SocketAddr::new(client.addresses[0].1, 5_001);
    let seen = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    network.observe(Packets { seen: seen.clone(), receiver: to });
    let mut world = World::new(scene.seed, network);
    let server = world.host("server", from.ip());
    let client = world.host("client", to.ip());
    let lasts = scene.lasts;
    let (sender, receiver) =
        pair(&scene.config, scene.seed.split("call"), Time::ZERO, from, to).unwrap();
    let (sent, received) = (sender.stats(), receiver.stats());
    let frames = Arc::new(Mutex::new(Vec::new()));
    let sink = frames.clone();
    let ended = world.run(async move {
        let clock = server.clone();
        let end = Time::ZERO + lasts;
        let (here, there) = (server.bind_udp(from).unwrap(), client.bind_udp(to).unwrap());
        server.clone().spawn("sender", async move {
            let camera = Camera { number: 0, start: Time::ZERO, end };
            send(sender, &server, here, camera).await.unwrap();
        });
        client.clone().spawn("receiver", async move {
            let ended = receive(receiver, &client, there, |frame| sink.lock().push(frame)).await;
            panic!("the receiver ended: {ended:?}");
        });
        clock.sleep_until(end).await;
    });
    ended.unwrap();
    let hash = world.network().packet_hash();
    let frames = std::mem::take(&mut *frames.lock());
    let (packets, arrivals) = std::mem::take(&mut *seen.lock());
    let outcome =
        Outcome { frames, sent: sent.read(), received: received.read(), packets, arrivals, hash };
    for frame in &outcome.frames {
        assert!(
            frame.data == content(frame.captured, frame.data.len()),
            "frame {} is not what was sent",
            frame.number
        );
        assert!(frame.captured < frame.first_at && frame.first_at <= frame.last_at);
        assert!(frame.last_at <= frame.at);
    }
    if scene.config.delivery == Delivery::Decodable {
        assert!(outcome.frames.windows(2).all(|w| w[0].number < w[1].number), "out of order");
    }
    outcome
}
