//! A world of two hosts, and what every test sends through it.

use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Dscp, Ecn, Fnv64, Packet, Rate, Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig};
use airlane_quic::{
    Cipher, Connection, ControlStats, Endpoint, Identity, QuicError, Tls, TransportConfig, Trust,
};
use airlane_runtime::virtual_time::{Fabric, World};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use parking_lot::Mutex;

/// What passed the network.
#[derive(Debug, Default)]
pub struct Seen {
    pub hash: Fnv64,
    pub packets: u64,
    pub dropped: u64,
    /// Packets that allowed marks when they were sent, and those that were marked.
    pub markable: u64,
    pub marked: u64,
    /// The DSCPs of packets either way.
    pub dscps: BTreeSet<Dscp>,
    /// Packets towards the server: mostly acknowledgements.
    pub up_packets: u64,
    /// UDP payload that arrived at the client, bytes.
    pub down_bytes: u64,
    /// UDP payload sizes with the first byte of each packet, towards the client.
    pub down: Vec<(u8, usize)>,
    /// Arrival times and IP bytes, towards the client.
    pub down_times: Vec<(Time, u32)>,
    /// UDP payloads, towards the client.
    pub payloads: Vec<Vec<u8>>,
    pub keep: bool,
}

/// One link each way between hosts 10.0.0.1 (the server) and 10.0.0.2: rate down, delay both.
pub struct Link {
    rate: Rate,
    delay: Duration,
    queue_bytes: u64,
    free_at: Time,
    lose_every: u64,
    /// From when on larger UDP payloads do not pass towards the client.
    narrow: (Time, usize),
    /// Every so many packets towards the client that allow it are marked.
    mark_every: u64,
    /// Nothing that allows marks comes out as it went in.
    clears_ecn: bool,
    /// What would arrive either way within this time arrives at its end.
    held: (Time, Time),
    in_transit: VecDeque<(Time, Box<Packet>)>,
    up: VecDeque<(Time, Box<Packet>)>,
    seen: Arc<Mutex<Seen>>,
}

impl Link {
    pub fn new(rate: Rate, delay: Duration, queue_bytes: u64) -> (Self, Arc<Mutex<Seen>>) {
        let seen = Arc::new(Mutex::new(Seen { hash: Fnv64::new(), ..Seen::default() }));
        let link = Self {
            rate,
            delay,
            queue_bytes,
            free_at: Time::ZERO,
            lose_every: u64::MAX,
            narrow: (Time::FAR_FUTURE, 0),
            mark_every: u64::MAX,
            clears_ecn: false,
            held: (Time::ZERO, Time::ZERO),
            in_transit: VecDeque::new(),
            up: VecDeque::new(),
            seen: seen.clone(),
        };
        (link, seen)
    }

    pub fn losing_every(mut self, n: u64) -> Self {
        self.lose_every = n;
        self
    }

    pub fn marking_every(mut self, n: u64) -> Self {
        self.mark_every = n;
        self
    }

    pub fn clearing_ecn(mut self) -> Self {
        self.clears_ecn = true;
        self
    }

    pub fn holding(mut self, from: Time, until: Time) -> Self {
        self.held = (from, until);
        self
    }

    /// When what would arrive at this time does.
    fn arrival(&self, at: Time) -> Time {
        if (self.held.0..self.held.1).contains(&at) { self.held.1 } else { at }
    }

    pub fn passing_at_most(mut self, payload_bytes: usize, from: Time) -> Self {
        self.narrow = (from, payload_bytes);
        self
    }
}

impl Fabric for Link {
    fn send(&mut self, now: Time, mut packet: Box<Packet>) {
        let mut seen = self.seen.lock();
        if packet.ecn != Ecn::NotEct {
            seen.markable += 1;
            if self.clears_ecn {
                packet.ecn = Ecn::NotEct;
            } else if packet.dst.ip() == std::net::IpAddr::from(CLIENT_IP)
                && seen.markable.is_multiple_of(self.mark_every)
            {
                packet.ecn = Ecn::Ce;
                seen.marked += 1;
            }
        }
        seen.packets += 1;
        seen.dscps.insert(packet.dscp);
        seen.hash.write_u64(now.as_nanos());
        seen.hash.write_u64(packet.payload.len() as u64);
        seen.hash.write_u64(packet.src.port().into());
        if packet.dst.ip() == std::net::IpAddr::from(CLIENT_IP) {
            if now >= self.narrow.0 && packet.payload.len() > self.narrow.1 {
                seen.dropped += 1;
                return;
            }
            let backlog = self.rate.bytes_in(self.free_at - now);
            if backlog + u64::from(packet.ip_bytes()) > self.queue_bytes
                || seen.packets.is_multiple_of(self.lose_every)
            {
                seen.dropped += 1;
                return;
            }
            self.free_at = self.free_at.max(now) + self.rate.time_for(packet.ip_bytes().into());
            let arrival = self.arrival(self.free_at + self.delay);
            self.in_transit.push_back((arrival, packet));
        } else {
            seen.up_packets += 1;
            let arrival = self.arrival(now + self.delay);
            self.up.push_back((arrival, packet));
        }
    }

    fn next_event(&self) -> Option<Time> {
        let at = |q: &VecDeque<(Time, Box<Packet>)>| q.front().map(|(at, _)| *at);
        at(&self.in_transit).into_iter().chain(at(&self.up)).min()
    }

    fn poll(&mut self, now: Time) -> Option<Box<Packet>> {
        for (q, down) in [(&mut self.in_transit, true), (&mut self.up, false)] {
            if q.front().is_some_and(|(at, _)| *at <= now)
                && let Some((at, packet)) = q.pop_front()
            {
                let mut seen = self.seen.lock();
                seen.down_bytes += if down { packet.payload.len() as u64 } else { 0 };
                if down && seen.keep {
                    seen.down.push((packet.payload[0], packet.payload.len()));
                    seen.down_times.push((at, packet.ip_bytes()));
                    seen.payloads.push(packet.payload.to_vec());
                }
                return Some(packet);
            }
        }
        None
    }
}

/// A folder of a test's own.
pub fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("airlane-quic-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

pub const SERVER_IP: [u8; 4] = [10, 0, 0, 1];
pub const CLIENT_IP: [u8; 4] = [10, 0, 0, 2];
pub const SERVER_ADDR: ([u8; 4], u16) = (SERVER_IP, 443);

pub fn config(algorithm: Algorithm) -> TransportConfig {
    controlled(ControllerConfig::new(algorithm))
}

pub fn controlled(controller: ControllerConfig) -> TransportConfig {
    TransportConfig::laboratory(Cipher::Null, controller)
}

pub fn sealed(cipher: Cipher, algorithm: Algorithm) -> TransportConfig {
    TransportConfig::laboratory(cipher, ControllerConfig::new(algorithm))
}

/// What faces a network: TLS with a certificate of its own, and any server is trusted.
pub fn deployed(algorithm: Algorithm) -> TransportConfig {
    let identity = Identity::generate(&["localhost"]).unwrap();
    let tls = Tls { identity: Some(identity.shown().unwrap()), trust: Trust::Anyone };
    TransportConfig::network(tls, ControllerConfig::new(algorithm))
}

pub struct Net {
    pub world: World<Link>,
    pub server: RuntimeHandle,
    pub client: RuntimeHandle,
    pub seen: Arc<Mutex<Seen>>,
}

pub fn net(seed: u64, link: (Link, Arc<Mutex<Seen>>)) -> Net {
    let mut world = World::new(Seed(seed), link.0);
    world.end_at(Time::from_millis(600_000));
    let server = world.host("server", SERVER_IP.into());
    let client = world.host("client", CLIENT_IP.into());
    Net { world, server, client, seen: link.1 }
}

/// Endpoints of both hosts and a connection between them: the client's end and the server's.
pub async fn pair(
    server: &RuntimeHandle,
    client: &RuntimeHandle,
    addr: SocketAddr,
    config: TransportConfig,
) -> Result<(Endpoint, Endpoint, Connection, Connection), QuicError> {
    let s = Endpoint::server(server, addr, config.clone())?;
    let local = SocketAddr::new(addr.ip(), 0);
    let local = if local.ip().is_loopback() { local } else { ([0, 0, 0, 0], 0).into() };
    let c = Endpoint::client(client, local, config)?;
    let to_server = c.connect(s.local_addr(), "lab.airlane").await?;
    let to_client = s.accept().await.expect("a connection");
    Ok((s, c, to_server, to_client))
}

/// Sends `total` bytes on one stream in pieces, and finishes it.
pub async fn send_bulk(connection: Connection, total: u64) -> Result<(), QuicError> {
    let mut stream = connection.open_uni().await?;
    let piece = Bytes::from_static(&[0x5a; 64 << 10]);
    let mut left = total;
    while left > 0 {
        let n = left.min(piece.len() as u64);
        stream.write_all(piece.slice(..n as usize)).await?;
        left -= n;
    }
    stream.finish()?;
    stream.delivered().await
}

/// Reads a stream to its end and tells how many bytes there were.
pub async fn recv_bulk(connection: &Connection) -> Result<u64, QuicError> {
    let mut stream = connection.accept_uni().await?;
    let mut total = 0;
    while let Some(chunk) = stream.read_chunk(usize::MAX).await? {
        assert!(chunk.first() == Some(&0x5a) && chunk.last() == Some(&0x5a));
        total += chunk.len() as u64;
    }
    Ok(total)
}

/// The whole of a transfer from server to client: its time, then the statistics of the sender.
pub async fn transfer(
    server: RuntimeHandle,
    client: RuntimeHandle,
    addr: SocketAddr,
    config: TransportConfig,
    bytes: u64,
) -> (Duration, ControlStats) {
    let (s, c, to_server, to_client) = pair(&server, &client, addr, config).await.unwrap();
    let start = client.now();
    let sender = to_client.clone();
    server.spawn("send", async move { send_bulk(sender, bytes).await.unwrap() });
    assert_eq!(recv_bulk(&to_server).await.unwrap(), bytes);
    let took = client.now() - start;
    client.sleep(Duration::from_millis(200)).await;
    let stats = to_client.control().stats();
    to_server.close(0, "done");
    c.wait_idle().await;
    drop(s);
    (took, stats)
}
