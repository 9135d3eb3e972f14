//! Keystrokes through a session beside a bulk transfer through the same, in virtual time: how much longer a
//! byte and its echo take than a ping, which waits in the same queues of the network.

use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use airlane_base::{Dscp, Ecn, Rate, Seed};
use airlane_multipath::MultipathStream;
use airlane_multipath::{AcceptedStream, InterfaceConfig, Session, SessionLimits, SessionServer};
use airlane_net::queue::{Limit, QueueSpec};
use airlane_net::{Access, LinkAccess, SendJitter, Topology, Way};
use airlane_runtime::virtual_time::World;
use airlane_runtime::{Datagram, RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::world::{connect, echo, pour, serve};

/// Between two keystrokes.
const EVERY: Duration = Duration::from_millis(50);
/// The bulk transfer alone, before the first keystroke.
const SETTLES: Duration = Duration::from_secs(3);
const KEYS: usize = 400;
/// What a queue of the network holds, in seconds at its rate.
const QUEUE_S: f64 = 0.025;
const TUNNEL_PORT: u16 = 443;
const PING_PORT: u16 = 7;

struct Scene {
    world: World,
    server: RuntimeHandle,
    client: RuntimeHandle,
    server_ip: IpAddr,
    interfaces: Vec<IpAddr>,
}

/// A server and a client with an interface of each rate, the same both ways.
fn scene(rates_mbps: &[f64], rtt: Duration) -> Scene {
    let mut topology = Topology::new(SendJitter::Services(1.0), Seed(5));
    let mut at = Vec::new();
    for (i, mbps) in rates_mbps.iter().enumerate() {
        let rate = Rate::from_mbps(*mbps);
        let bytes = (mbps * 1e6 / 8.0 * QUEUE_S) as u64;
        let way = || Way::new(rate, QueueSpec::DropTail(Limit::Bytes(bytes)));
        let link = LinkAccess { down: way(), up: way() };
        let name = format!("interface{i}");
        at.push(topology.add_access(&name, &Access::Link(link), None, Seed(5).split(&name)));
    }
    let server = topology.add_server();
    let client = topology.add_client(&at);
    topology.connect(server, &client, rtt);
    let network = topology.finish();
    let server_ip = network.addresses(server)[0];
    let interfaces: Vec<IpAddr> = client.addresses.iter().map(|(_, ip)| *ip).collect();
    let mut world = World::new(Seed(5), network);
    let server = world.host("server", server_ip);
    let client = world.host_with("client", &interfaces);
    Scene { world, server, client, server_ip, interfaces }
}

/// Medians and 99th percentiles in milliseconds.
#[derive(Debug)]
struct Found {
    keys: (f64, f64),
    /// Of each interface.
    pings: Vec<(f64, f64)>,
    bulk_mbps: f64,
}

impl Found {
    /// How far the median of keystrokes is above that of pings over the interface where these take least.
    fn above_best_ms(&self) -> f64 {
        self.keys.0 - self.pings.iter().map(|(median, _)| *median).fold(f64::INFINITY, f64::min)
    }
}

/// The median and the 99th percentile in milliseconds.
fn of(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort();
    let at = |share: f64| times[(times.len() as f64 * share) as usize].as_secs_f64() * 1e3;
    (at(0.5), at(0.99))
}

/// Answers pings.
async fn answer(server: RuntimeHandle, at: SocketAddr) {
    let socket = server.bind_udp(at).unwrap();
    loop {
        let asked = poll_fn(|cx| socket.poll_recv(cx)).await.unwrap();
        let payload = &asked.payload[..];
        let to = asked.src;
        let answer = datagram(to, payload);
        poll_fn(|cx| socket.poll_send(cx, &answer)).await.unwrap();
    }
}

fn datagram(dst: SocketAddr, payload: &[u8]) -> Datagram<'_> {
    Datagram { dst, src: None, ecn: Ecn::NotEct, dscp: Dscp::DEFAULT, payload, segment: None }
}

/// Round trips of small datagrams from `interface` to `server`, one every 50 ms. Those that are lost do not
/// count.
async fn pings(client: RuntimeHandle, interface: IpAddr, server: SocketAddr) -> Vec<Duration> {
    let socket = client.bind_udp(SocketAddr::new(interface, 0)).unwrap();
    let start = client.now();
    let mut times = Vec::new();
    for i in 0..KEYS as u32 {
        let at = start + i * EVERY;
        client.sleep_until(at).await;
        let payload = [i.to_be_bytes(); 14].concat();
        let asked = datagram(server, &payload);
        poll_fn(|cx| socket.poll_send(cx, &asked)).await.unwrap();
        let answered = async {
            loop {
                let got = poll_fn(|cx| socket.poll_recv(cx)).await.unwrap();
                if got.payload[..] == payload[..] {
                    return got.at - at;
                }
            }
        };
        tokio::select! {
            biased;
            took = answered => times.push(took),
            () = client.sleep(10 * EVERY) => {}
        }
    }
    times
}

/// A keystroke every 50 ms, or when the last one's echo has come, if that is later.
async fn keys(client: &RuntimeHandle, stream: &MultipathStream) -> Vec<Duration> {
    let start = client.now();
    let mut times = Vec::new();
    for i in 0..KEYS as u32 {
        client.sleep_until(start + i * EVERY).await;
        let at = client.now();
        stream.write(Bytes::from_static(b"k")).await.unwrap();
        let echo = stream.read().await.unwrap();
        assert_eq!(echo, [Bytes::from_static(b"k")]);
        times.push(client.now() - at);
    }
    times
}

fn measure(rates_mbps: &[f64], rtt: Duration) -> Found {
    let Scene { mut world, server, client, server_ip, interfaces } = scene(rates_mbps, rtt);
    let (listen, ping) =
        (SocketAddr::new(server_ip, TUNNEL_PORT), SocketAddr::new(server_ip, PING_PORT));
    let found = world.run(async move {
        server.spawn("pings", answer(server.clone(), ping));
        let on = server.clone();
        let acceptor = SessionServer::new(
            server.clone(),
            SessionLimits::default(),
            move |opened: AcceptedStream| match &opened.request[..] {
                b"echo" => on.spawn("echo", echo(opened.stream)),
                _ => on.spawn("bulk", pour(opened.stream)),
            },
        );
        serve(&server, listen, acceptor);
        let connects = (0..).zip(&interfaces).map(|(n, interface)| {
            (connect(&client, n, *interface, listen), InterfaceConfig::default())
        });
        let session = Session::new(&client, [3; 16], connects.collect(), SessionLimits::default());
        let bulk = session.open(Bytes::from_static(b"bulk")).unwrap();
        let (count, mut counts) = mpsc::unbounded_channel();
        client.spawn("bulk", async move {
            while let Ok(pieces) = bulk.read().await {
                let _ = count.send(pieces.iter().map(Bytes::len).sum::<usize>());
            }
        });
        client.sleep(SETTLES).await;
        let typed = session.open(Bytes::from_static(b"echo")).unwrap();
        while counts.try_recv().is_ok() {}
        let start = client.now();
        let mut pinged = Vec::new();
        for interface in &interfaces {
            let (done, result) = tokio::sync::oneshot::channel();
            let pings = pings(client.clone(), *interface, ping);
            client.spawn("pings", async move { drop(done.send(pings.await)) });
            pinged.push(result);
        }
        let typed = keys(&client, &typed).await;
        let span_s = (client.now() - start).as_secs_f64();
        let mut bytes = 0;
        while let Ok(some) = counts.try_recv() {
            bytes += some;
        }
        let mut times = Vec::new();
        for pings in pinged {
            times.push(of(pings.await.unwrap()));
        }
        Found { keys: of(typed), pings: times, bulk_mbps: bytes as f64 * 8e-6 / span_s }
    });
    found.unwrap()
}

/// What the bulk transfer may cost a keystroke beyond what the network's queues cost a ping, as
/// `docs/results/tunnel.md` asks of the tunnel between namespaces.
const ABOVE_MS: f64 = 1.0;

#[test]
fn a_keystroke_beside_a_bulk_transfer_takes_what_a_ping_over_the_best_radio_takes() {
    for (rates, rtt_ms) in [([20.0, 30.0], 1), ([20.0, 30.0], 20), ([60.0, 140.0], 20)] {
        let found = measure(&rates, Duration::from_millis(rtt_ms));
        let above_ms = found.above_best_ms();
        assert!(above_ms <= ABOVE_MS, "{rates:?} {rtt_ms} ms: {above_ms} ms above, {found:?}");
        let sum: f64 = rates.iter().sum();
        assert!(found.bulk_mbps > 0.9 * sum, "{rates:?} {rtt_ms} ms: {found:?}");
    }
}
