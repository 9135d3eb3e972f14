//! A conference in virtual time: one server, and clients on accesses of their own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_call::wire::{ParticipantId, Track};
use airlane_call::{
    ChannelRecord, EncodedRecord, LayerTable, Media, ParticipantConfig, ParticipantEvent,
    ReceivedRecord, ServerConfig, Thinning, UplinkRoom, join, participant_transport, serve,
    server_transport,
};
use airlane_congestion::ControllerConfig;
use airlane_net::link::{RateProfile, Supply};
use airlane_net::queue::{Limit, QueueSpec};
use airlane_net::{Access, HalfDuplexAccess, HalfDuplexWay, LinkAccess, SendJitter, Topology, Way};
use airlane_quic::{Cipher, Endpoint, TransportConfig};
use airlane_runtime::RuntimeExt;
use airlane_runtime::virtual_time::World;
use parking_lot::Mutex;

/// A link of this rate in each direction.
pub fn link(mbps: f64) -> Access {
    let queue = QueueSpec::DropTail(Limit::Bytes((mbps * 1e6 / 8.0 * 0.1) as u64));
    let way = || Way::new(Rate::from_mbps(mbps), queue.clone());
    Access::Link(LinkAccess { down: way(), up: way() })
}

/// A half-duplex channel of this rate.
pub fn half_duplex(mbps: f64) -> Access {
    let queue = QueueSpec::DropTail(Limit::Bytes((mbps * 1e6 / 8.0 * 0.1) as u64));
    let way = || HalfDuplexWay::new(queue.clone());
    Access::HalfDuplex(Box::new(HalfDuplexAccess::new(Rate::from_mbps(mbps), way(), way())))
}

/// A half-duplex channel of these rates, each from its time on.
pub fn half_duplex_steps(steps: &[(Duration, f64)]) -> Access {
    let steps: Vec<_> = steps.iter().map(|(at, mbps)| (*at, Rate::from_mbps(*mbps))).collect();
    let supply = Supply::Profile(Arc::new(RateProfile::new(&steps, None).unwrap()));
    let way = || HalfDuplexWay::new(QueueSpec::DropTail(Limit::Bytes(150_000)));
    Access::HalfDuplex(Box::new(HalfDuplexAccess::new(supply, way(), way())))
}

/// Result of a call.
#[derive(Default)]
pub struct Outcome {
    /// Frames that each client showed.
    pub shown: Vec<Vec<ReceivedRecord>>,
    /// Number of frames of audio that each client received.
    pub audio: Vec<usize>,
    /// Frames that each client encoded.
    pub encoded: Vec<Vec<EncodedRecord>>,
    /// Number of each client in the call.
    pub ids: Vec<Option<ParticipantId>>,
    /// End of each client's call.
    pub ended: Vec<Option<String>>,
    /// Changes of the others' tracks that each client was told.
    pub sends: Vec<Vec<(Time, ParticipantId, Track, bool)>>,
    /// Channels as the server saw them.
    pub channels: Vec<ChannelRecord>,
}

impl Outcome {
    /// Mean rate of the media that a client received from `from` on, Mbit/s.
    pub fn received_mbps(&self, client: usize, from: Duration, end: Duration) -> f64 {
        let from_time = Time::ZERO + from;
        let shown = self.shown[client].iter().filter(|r| r.arrived >= from_time);
        let bytes: u64 = shown.map(|record| u64::from(record.header.payload_bytes)).sum();
        bytes as f64 * 8.0 / 1e6 / (end - from).as_secs_f64()
    }

    /// Mean rate of the media that a client encoded from `from` on, Mbit/s.
    pub fn sent_mbps(&self, client: usize, from: Duration, end: Duration) -> f64 {
        let from_time = Time::ZERO + from;
        let encoded = self.encoded[client].iter().filter(|record| record.at >= from_time);
        let bytes: u64 = encoded.map(|record| u64::from(record.bytes)).sum();
        bytes as f64 * 8.0 / 1e6 / (end - from).as_secs_f64()
    }

    /// Records of a client's channel.
    pub fn channel(&self, client: usize) -> Vec<ChannelRecord> {
        let of = |r: &&ChannelRecord| Some(r.participant) == self.ids[client];
        self.channels.iter().filter(of).copied().collect()
    }
}

pub fn transport() -> TransportConfig {
    TransportConfig::laboratory(Cipher::Null, ControllerConfig::Bbr)
}

/// Change of a client's usual settings.
pub type Setup = fn(&mut ParticipantConfig);

/// A client of a call.
pub struct Client {
    /// Its access.
    pub access: Access,
    /// Time at which it joins.
    pub start: Duration,
    /// Time at which it leaves, if that is before the end.
    pub stop: Option<Duration>,
    /// Settings of a participant that differ from the usual ones.
    pub setup: Setup,
    /// Transport of its video; `None`: its connection.
    pub media: Option<Media>,
    /// IP bytes in its uplink from which on its video waits; `None`: it does not.
    pub uplink_limit_bytes: Option<u64>,
}

impl From<Access> for Client {
    fn from(access: Access) -> Self {
        Self {
            access,
            start: Duration::ZERO,
            stop: None,
            setup: |_| {},
            media: None,
            uplink_limit_bytes: None,
        }
    }
}

/// Runs a call of these clients.
pub fn call(clients: Vec<Client>, server_config: ServerConfig, length: Duration) -> Outcome {
    call_with_restart(clients, server_config, None, length)
}

/// Runs a call of these clients, whose server is gone from one time to another and then knows nothing of what was.
/// Clients that lose it join again after 1 s, until they do.
pub fn call_with_restart(
    clients: Vec<Client>,
    server_config: ServerConfig,
    restart: Option<(Duration, Duration)>,
    length: Duration,
) -> Outcome {
    let mut topology = Topology::new(SendJitter::Services(1.0), Seed(3));
    let host = topology.add_server();
    let mut hosts = Vec::new();
    for (i, client) in clients.iter().enumerate() {
        let name = format!("home{i}");
        let at = topology.add_access(&name, &client.access, None, Seed(3).split(&name));
        let client = topology.add_client(&[at]);
        topology.connect(host, &client, Duration::from_millis(20));
        hosts.push(client);
    }
    let mut network = topology.finish();
    let address = SocketAddr::new(network.addresses(host)[0], 443);
    for (client, at) in clients.iter().zip(&hosts) {
        if let Some(bytes) = client.uplink_limit_bytes {
            assert!(network.limit_backlog(at.addresses[0].1, address.ip(), bytes));
        }
    }
    let mut world = World::new(Seed(3), network);
    let server = world.host("server", address.ip());
    let hosts: Vec<_> = hosts
        .iter()
        .enumerate()
        .map(|(i, client)| {
            let ips: Vec<_> = client.addresses.iter().map(|(_, ip)| *ip).collect();
            world.host_with(&format!("client{i}"), &ips)
        })
        .collect();
    let outcome = Arc::new(Mutex::new(Outcome {
        shown: vec![Vec::new(); clients.len()],
        audio: vec![0; clients.len()],
        encoded: vec![Vec::new(); clients.len()],
        sends: vec![Vec::new(); clients.len()],
        ids: vec![None; clients.len()],
        ended: vec![None; clients.len()],
        channels: Vec::new(),
    }));
    let has_layers = server_config.thinning != Thinning::Transcode;
    let listen = Endpoint::server(&server, address, server_transport(transport())).unwrap();
    let note = {
        let outcome = outcome.clone();
        Arc::new(move |record| outcome.lock().channels.push(record))
    };
    let (from, to) = restart.unwrap_or((length * 2, length * 2));
    let clock = server.clone();
    server.spawn("call server", async move {
        let released = listen.released();
        let first = serve(listen, server_config.clone(), note.clone());
        tokio::select! {
            () = first => {}
            () = clock.sleep_until(Time::ZERO + from) => {}
        }
        released.await;
        clock.sleep_until(Time::ZERO + to).await;
        let listen = Endpoint::server(&clock, address, server_transport(transport())).unwrap();
        serve(listen, server_config, note).await;
    });
    let end = Time::ZERO + length;
    for (i, (client, host)) in clients.iter().zip(&hosts).enumerate() {
        let (outcome, host) = (outcome.clone(), host.clone());
        let start = Time::ZERO + client.start;
        let end = client.stop.map_or(end, |stop| Time::ZERO + stop);
        let mut config = ParticipantConfig::new(format!("p{i}"));
        if has_layers {
            config.layers = LayerTable::new(&[0.06, 0.26, 1.0], 3).expect("layers");
        }
        config.media = client.media.clone();
        config.room = client.uplink_limit_bytes.map(|_| {
            let any = SocketAddr::new(std::net::Ipv4Addr::UNSPECIFIED.into(), 0);
            let socket = host.bind_udp(any).unwrap();
            UplinkRoom::new(move |cx| socket.poll_send_ready(cx, address.ip()))
        });
        (client.setup)(&mut config);
        let local = SocketAddr::new(std::net::Ipv4Addr::UNSPECIFIED.into(), 0);
        let clock = host.clone();
        clock.clone().spawn("participant", async move {
            clock.sleep_until(start).await;
            let endpoint =
                Endpoint::client(&host, local, participant_transport(transport())).unwrap();
            let note = {
                let outcome = outcome.clone();
                Arc::new(move |event| match event {
                    ParticipantEvent::Shown(record) => outcome.lock().shown[i].push(record),
                    ParticipantEvent::Welcome(id) => outcome.lock().ids[i] = Some(id),
                    ParticipantEvent::Encoded(record) => outcome.lock().encoded[i].push(record),
                    ParticipantEvent::Received(record) => {
                        let is_audio = record.header.track == Track::Audio;
                        outcome.lock().audio[i] += usize::from(is_audio);
                    }
                    ParticipantEvent::Sends { at, source, track, is_sent } => {
                        outcome.lock().sends[i].push((at, source, track, is_sent));
                    }
                })
            };
            let mut result = join(&endpoint, address, config.clone(), end, note.clone()).await;
            while restart.is_some() && result.is_err() && clock.now() < end {
                clock.sleep(Duration::from_secs(1)).await;
                result = join(&endpoint, address, config.clone(), end, note.clone()).await;
            }
            outcome.lock().ended[i] = result.err().map(|e| e.to_string());
        });
    }
    let clock = server.clone();
    world.run(async move { clock.sleep_until(end + Duration::from_millis(100)).await }).unwrap();
    drop(server);
    std::mem::take(&mut *outcome.lock())
}
