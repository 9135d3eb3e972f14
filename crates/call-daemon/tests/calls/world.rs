//! A call in virtual time: the server's conference, and clients on accesses of their own.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_call_daemon::client::{ClientConfig, ClientOffer, ClientSummary, Clip, SendQueue};
use airlane_call_daemon::{CallLimits, CallStatus, ConferenceHandle, Refusal, Role, Transport};
use airlane_net::link::{RateProfile, Supply};
use airlane_net::queue::{Limit, OctopusConfig, QueueSpec};
use airlane_net::{Access, HalfDuplexAccess, HalfDuplexWay, LinkAccess, SendJitter, Topology, Way};
use airlane_runtime::virtual_time::World;
use airlane_runtime::{Datagram, RuntimeExt, RuntimeHandle};
use parking_lot::Mutex;

use crate::carrier::Carrier;
use crate::tcp_strangers::attribute;

/// Frames per second of all clips, and frames from one key frame to the next.
const FRAME_RATE: u32 = 25;
const KEY_FRAME_DISTANCE: u32 = 48;
/// Sizes of frames relative to those of the highest of three temporal layers.
const LAYER_WEIGHTS: [u32; 4] = [9, 4, 6, 4];
/// Packets that a cell's queue holds: as `airlane relay` has it.
const CELL_PACKETS: usize = 250;
/// Port of the server.
const PORT: u16 = 4460;

/// Links of these rates, towards the client and from it, Mbit/s.
pub fn link(down_mbps: f64, up_mbps: f64) -> Access {
    let way = |mbps: f64| {
        let queue = QueueSpec::DropTail(Limit::Bytes((mbps * 1e6 / 8.0 * 0.2) as u64));
        Way::new(Rate::from_mbps(mbps), queue)
    };
    Access::Link(LinkAccess { down: way(down_mbps), up: way(up_mbps) })
}

/// A half-duplex channel of these rates, Mbit/s, each from its time on.
pub fn half_duplex(steps: &[(Duration, f64)]) -> Access {
    let steps: Vec<_> = steps.iter().map(|(at, mbps)| (*at, Rate::from_mbps(*mbps))).collect();
    let supply = Supply::Profile(Arc::new(RateProfile::new(&steps, None).unwrap()));
    let way = || HalfDuplexWay::new(QueueSpec::DropTail(Limit::Bytes(50_000)));
    Access::HalfDuplex(Box::new(HalfDuplexAccess::new(supply, way(), way())))
}

/// The downlink of a cell of this capacity, with Octopus's queue, which takes marks of this extension for messages, with this
/// slack; and an uplink that is no bottleneck.
pub fn cell(down: Way, pdu_set_id: Option<u8>, pdu_set_slack: Duration) -> Access {
    let config = OctopusConfig { pdu_set_id, pdu_set_slack, ..OctopusConfig::default() };
    let queue = QueueSpec::Octopus(Limit::Packets(CELL_PACKETS), config);
    let up = Way::new(Rate::from_mbps(20.0), QueueSpec::DropTail(Limit::Packets(CELL_PACKETS)));
    Access::Link(LinkAccess { down: Way { queue, ..down }, up })
}

/// Video of VP8 of this bitrate in three temporal layers, as far as a payload needs to be like it.
pub fn layered_clip(kbps: u32) -> Arc<Clip> {
    let clip = made_clip(kbps, &LAYER_WEIGHTS);
    Arc::new(clip.with_temporal_layers(3).unwrap())
}

/// Video of VP8 of this bitrate, as far as a payload needs to be like it.
pub fn clip(kbps: u32) -> Arc<Clip> {
    Arc::new(made_clip(kbps, &[1]))
}

/// Video whose frames are of these sizes relative to each other, again and again.
fn made_clip(kbps: u32, weights: &[u32]) -> Clip {
    let mut bytes = b"DKIF\0\0\x20\0VP80\x40\x01\xf0\0".to_vec();
    for word in [FRAME_RATE, 1, 0, 0] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    // A key frame takes what six other frames do.
    let mean = kbps * 1000 / 8 / FRAME_RATE * KEY_FRAME_DISTANCE / (KEY_FRAME_DISTANCE + 5);
    let sum: u32 = weights.iter().sum();
    for frame in 0..4 * KEY_FRAME_DISTANCE {
        let is_key = frame % KEY_FRAME_DISTANCE == 0;
        let weight = weights[frame as usize % weights.len()] * weights.len() as u32;
        let length = if is_key { mean * 6 } else { mean * weight / sum };
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&u64::from(frame).to_le_bytes());
        bytes.push(u8::from(!is_key));
        bytes.resize(bytes.len() + length as usize - 1, 0x55);
    }
    Clip::read(&bytes).unwrap()
}

/// A client that sends nothing.
pub fn silent_client() -> ClientConfig {
    ClientConfig {
        name: "p".to_owned(),
        video: Vec::new(),
        audio: None,
        max_people: 1,
        queue: SendQueue::Pacer,
        offset: 0.0,
    }
}

/// A client of a call.
pub struct Member {
    pub access: Access,
    /// Encodings of its video, the lowest first.
    pub video: Vec<Arc<Clip>>,
    /// Times at which it joins and at which it ends.
    pub span: (Duration, Duration),
    /// True if at the end it is gone without a word.
    pub vanishes: bool,
    /// Times from which and until which its program does not run.
    pub paused: Option<(Duration, Duration)>,
    /// Way of its media.
    pub carrier: Carrier,
    /// Queue of its video.
    pub queue: SendQueue,
}

impl Member {
    /// A client on an ample link that is there from the beginning on.
    pub fn new(encodings: &[u32], end: Duration) -> Self {
        Self {
            access: link(100.0, 100.0),
            video: encodings.iter().map(|kbps| clip(*kbps)).collect(),
            span: (Duration::ZERO, end),
            vanishes: false,
            paused: None,
            carrier: Carrier::Udp,
            queue: SendQueue::Pacer,
        }
    }

    /// The member, sending this video.
    pub fn sending(self, clip: Arc<Clip>) -> Self {
        Self { video: vec![clip], ..self }
    }

    pub fn on(self, access: Access) -> Self {
        Self { access, ..self }
    }

    pub fn from(self, start: Duration) -> Self {
        Self { span: (start, self.span.1), ..self }
    }

    /// The member, with its media on a connection, which its access does not limit.
    pub fn over(self, carrier: Carrier) -> Self {
        Self { carrier, ..self }
    }

    pub fn queueing(self, queue: SendQueue) -> Self {
        Self { queue, ..self }
    }

    pub fn vanishing(self) -> Self {
        Self { vanishes: true, ..self }
    }

    /// The member, whose program does not run in this time.
    pub fn pausing(self, from: Duration, until: Duration) -> Self {
        Self { paused: Some((from, until)), ..self }
    }
}

/// Something else that happens on the server's network.
pub enum Disturbance {
    Nothing,
    /// The server ends at this time.
    Stop(Duration),
    /// A stranger sends these to the server's port, 1 ms apart, from this time on.
    Datagrams(Duration, Vec<Vec<u8>>),
}

/// Result of a client: its summary, or the refusal.
pub type Outcome = Result<ClientSummary, Refusal>;

/// Runs a call to the end of its last member; outcomes in the members' order.
pub fn call(members: Vec<Member>, limits: CallLimits, disturbance: Disturbance) -> Vec<Outcome> {
    observed_call(members, limits, disturbance).0
}

/// Runs a call; also the server's status a second before the end.
pub fn observed_call(
    members: Vec<Member>,
    limits: CallLimits,
    disturbance: Disturbance,
) -> (Vec<Outcome>, CallStatus) {
    let seed = Seed(7);
    let mut topology = Topology::new(SendJitter::Services(1.0), seed);
    let server_host = topology.add_server();
    let mut accesses: Vec<&Access> = members.iter().map(|member| &member.access).collect();
    let stranger_access = link(100.0, 100.0);
    accesses.push(&stranger_access);
    let mut clients = Vec::new();
    for (i, access) in accesses.into_iter().enumerate() {
        let name = format!("home{i}");
        let at = topology.add_access(&name, access, None, seed.split(&name));
        let client = topology.add_client(&[at]);
        topology.connect(server_host, &client, Duration::from_millis(20));
        clients.push(client);
    }
    let network = topology.finish();
    let address = SocketAddr::new(network.addresses(server_host)[0], PORT);
    let mut world = World::new(seed, network);
    let server = world.host("server", address.ip());
    let mut hosts: Vec<RuntimeHandle> = Vec::new();
    for (i, client) in clients.iter().enumerate() {
        let ips: Vec<_> = client.addresses.iter().map(|(_, ip)| *ip).collect();
        hosts.push(world.host_with(&format!("client{i}"), &ips));
    }
    let stranger = hosts.pop().unwrap();
    let socket = server.bind_udp(address).unwrap();
    let conference = ConferenceHandle::start(&server, socket, vec![address], limits).unwrap();
    let last = members.iter().map(|member| member.span.1).max().unwrap_or_default();
    let outcomes = Arc::new(Mutex::new(vec![Err(Refusal::Stopping); members.len()]));
    for (i, (member, host)) in members.into_iter().zip(&hosts).enumerate() {
        let (host, conference, outcomes) = (host.clone(), conference.clone(), outcomes.clone());
        host.clone().spawn("client", async move {
            host.sleep_until(Time::ZERO + member.span.0).await;
            let outcome = take_part(&host, &conference, address, i, &member).await;
            outcomes.lock()[i] = outcome;
        });
    }
    match disturbance {
        Disturbance::Nothing => {}
        Disturbance::Stop(at) => {
            let (clock, conference) = (server.clone(), conference.clone());
            server.spawn("stop", async move {
                clock.sleep_until(Time::ZERO + at).await;
                conference.stop().await;
            });
        }
        Disturbance::Datagrams(at, datagrams) => {
            let clock = stranger.clone();
            stranger.spawn("stranger", async move {
                clock.sleep_until(Time::ZERO + at).await;
                let any = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
                let socket = clock.bind_udp(any).unwrap();
                for payload in datagrams {
                    let (ecn, dscp) = Default::default();
                    let datagram = Datagram {
                        dst: address,
                        src: None,
                        ecn,
                        dscp,
                        payload: &payload,
                        segment: None,
                    };
                    socket.try_send(&datagram).unwrap();
                    clock.sleep(Duration::from_millis(1)).await;
                }
            });
        }
    }
    let status = Arc::new(Mutex::new(CallStatus::default()));
    let (clock, asked, found) = (server.clone(), conference.clone(), status.clone());
    server.spawn("status", async move {
        clock.sleep_until(Time::ZERO + last.saturating_sub(Duration::from_secs(1))).await;
        // A conference that was stopped has none.
        *found.lock() = asked.status().await.unwrap_or_default();
    });
    let clock = server.clone();
    let end = Time::ZERO + last + Duration::from_millis(500);
    world.run(async move { clock.sleep_until(end).await }).unwrap();
    drop(conference);
    (outcomes.lock().clone(), status.lock().clone())
}

async fn take_part(
    host: &RuntimeHandle,
    conference: &ConferenceHandle,
    server: SocketAddr,
    number: usize,
    member: &Member,
) -> Outcome {
    let config = ClientConfig {
        name: format!("p{number}"),
        video: member.video.clone(),
        audio: None,
        max_people: 7,
        queue: member.queue,
        offset: number as f64 / 10.0,
    };
    let offer = ClientOffer::new(config, host.now()).unwrap();
    let room = "room".parse().unwrap();
    let own = offer.sdp().to_owned();
    let joined = conference.join(room, Role::Member, &format!("p{number}"), &own).await?;
    let transport = match member.carrier {
        Carrier::Udp | Carrier::Shadowed(_) => Transport::Udp,
        _ => Transport::Tcp,
    };
    assert_eq!(ClientOffer::candidates(&joined.sdp, transport), [server]);
    let socket = member.carrier.socket(host, conference, server);
    let client = offer.accept(&joined.sdp, socket.local_addr(), transport).unwrap();
    let name = [&joined.sdp, &own].map(|sdp| attribute(sdp, "ice-ufrag")).join(":");
    member.carrier.shadow(host, conference, (socket.local_addr(), server), &name);
    let end = host.sleep_until(Time::ZERO + member.span.1);
    if member.vanishes {
        // What is dropped says nothing.
        let never = std::future::pending();
        tokio::select! {
            summary = client.run(host, &*socket, None, never) => return Ok(summary),
            () = end => return Ok(ClientSummary::default()),
        }
    }
    let taking_part = client.run(host, &*socket, None, end);
    Ok(match member.paused {
        Some(span) => pausing(host, span, taking_part).await,
        None => taking_part.await,
    })
}

/// Runs a program but for a time in which it stands still, as one that was stopped does.
async fn pausing<T>(
    host: &RuntimeHandle,
    (from, until): (Duration, Duration),
    program: impl Future<Output = T>,
) -> T {
    let (from, until) = (Time::ZERO + from, Time::ZERO + until);
    let mut program = std::pin::pin!(program);
    let mut timer = host.timer(until);
    std::future::poll_fn(|cx| {
        if (from..until).contains(&host.now()) {
            // Whatever wakes it meanwhile, it goes on at the end of that time.
            let _ = timer.poll(cx);
            return std::task::Poll::Pending;
        }
        program.as_mut().poll(cx)
    })
    .await
}
