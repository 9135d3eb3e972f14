//! A server and a client with several interfaces in virtual time, and both ends of a session over QUIC.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_congestion::ControllerConfig;
use airlane_multipath::{
    Connect, InterfaceConfig, MultipathStream, Session, SessionLimits, SessionServer, StreamConfig,
    accept_quic_subflows, connect_quic, path_transport,
};
use airlane_net::link::Supply;
use airlane_net::queue::{Limit, QueueSpec};
use airlane_net::{Access, LinkAccess, SendJitter, Topology, Way};
use airlane_quic::{Cipher, Endpoint, TransportConfig};
use airlane_runtime::virtual_time::World;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use tokio::sync::mpsc;

/// A server and a client with an interface of each supply, and the client's addresses.
pub struct Scene {
    pub world: World,
    pub server: RuntimeHandle,
    pub client: RuntimeHandle,
    pub listen: SocketAddr,
    pub interfaces: Vec<IpAddr>,
}

pub fn scene(supplies: Vec<Supply>, rtt: Duration) -> Scene {
    let mut topology = Topology::new(SendJitter::Services(1.0), Seed(3));
    let mut at = Vec::new();
    for (i, supply) in supplies.into_iter().enumerate() {
        let queue = QueueSpec::DropTail(Limit::Bytes(200_000));
        let link = LinkAccess {
            down: Way::new(supply, queue.clone()),
            up: Way::new(Rate::from_mbps(100.0), queue),
        };
        let name = format!("radio{i}");
        at.push(topology.add_access(&name, &Access::Link(link), None, Seed(3).split(&name)));
    }
    let server = topology.add_server();
    let client = topology.add_client(&at);
    topology.connect(server, &client, rtt);
    let network = topology.finish();
    let address = network.addresses(server)[0];
    let interfaces: Vec<IpAddr> = client.addresses.iter().map(|(_, ip)| *ip).collect();
    let mut world = World::new(Seed(3), network);
    let server = world.host("server", address);
    let client = world.host_with("client", &interfaces);
    Scene { world, server, client, listen: SocketAddr::new(address, 443), interfaces }
}

pub fn transport() -> TransportConfig {
    path_transport(TransportConfig::laboratory(Cipher::Null, ControllerConfig::cubic(1.0)))
}

pub fn mbps(rate: f64) -> Supply {
    Rate::from_mbps(rate).into()
}

/// A body whose bytes follow from their places.
#[derive(Clone, Copy)]
pub struct TestBody(pub u64);

impl TestBody {
    fn byte(self, at: u64) -> u8 {
        ((at ^ self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
    }

    /// The bytes in `range`, `max_bytes` at a time.
    pub fn pieces(self, range: Range<u64>, max_bytes: u64) -> impl Iterator<Item = Bytes> {
        let starts = range.clone().step_by(max_bytes as usize);
        starts.map(move |from| {
            (from..(from + max_bytes).min(range.end)).map(|at| self.byte(at)).collect()
        })
    }

    /// Whether `piece` is what stands at `at`.
    pub fn matches(self, at: u64, piece: &[u8]) -> bool {
        (at..).zip(piece).all(|(at, byte)| self.byte(at) == *byte)
    }
}

/// Sends what comes back.
pub async fn echo(stream: MultipathStream) {
    while let Ok(pieces) = stream.read().await {
        if pieces.is_empty() {
            return;
        }
        for piece in pieces {
            if stream.write(piece).await.is_err() {
                return;
            }
        }
    }
}

/// Sends without end.
pub async fn pour(stream: MultipathStream) {
    let piece = Bytes::from(vec![7; 64 << 10]);
    while stream.write(piece.clone()).await.is_ok() {}
}

/// Takes subflows at `at`.
pub fn serve(server: &RuntimeHandle, at: SocketAddr, acceptor: Arc<SessionServer>) {
    let endpoint = Arc::new(Endpoint::server(server, at, transport()).unwrap());
    let on = server.clone();
    let opened = move |channels| {
        let acceptor = acceptor.clone();
        on.spawn("subflow", async move { drop(acceptor.serve(channels).await) });
    };
    let timeout = Duration::from_secs(5);
    server.spawn("acceptor", accept_quic_subflows(endpoint, timeout, |_, _| {}, opened));
}

/// Opens subflows from `interface`, which has this number.
pub fn connect(
    client: &RuntimeHandle,
    number: u8,
    interface: IpAddr,
    server: SocketAddr,
) -> Connect {
    let endpoint = Endpoint::client(client, SocketAddr::new(interface, 0), transport()).unwrap();
    connect_quic(Arc::new(endpoint), server, "session.airlane", Seed(number.into()))
}

/// Limits of an end whose streams are as `stream` says.
fn bounds(stream: StreamConfig) -> SessionLimits {
    SessionLimits { stream, ..SessionLimits::default() }
}

/// Serves sessions at `at`: the streams that come.
pub fn accept(
    server: &RuntimeHandle,
    at: SocketAddr,
    stream: StreamConfig,
) -> mpsc::UnboundedReceiver<MultipathStream> {
    let (on_stream, streams) = mpsc::unbounded_channel();
    let acceptor = SessionServer::new(server.clone(), bounds(stream), move |opened| {
        drop(on_stream.send(opened.stream));
    });
    serve(server, at, acceptor);
    streams
}

/// Opens a session over these interfaces, and a stream of it.
pub fn open(
    client: &RuntimeHandle,
    (interfaces, server): (&[IpAddr], SocketAddr),
    stream: StreamConfig,
) -> (Session, MultipathStream) {
    let connects =
        (0..).zip(interfaces).map(|(n, interface)| connect(client, n, *interface, server));
    let interfaces = connects.map(|connect| (connect, InterfaceConfig::default())).collect();
    let session = Session::new(client, [7; 16], interfaces, bounds(stream));
    let stream = session.open(Bytes::new()).unwrap();
    (session, stream)
}
