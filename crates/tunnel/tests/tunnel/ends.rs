//! Both ends of a tunnel, and what is at its ends.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use airlane_base::Seed;
use airlane_runtime::RuntimeExt;
use airlane_runtime::real_time::TokioRuntime;
use airlane_tunnel::{
    AdmissionConfig, ClientKey, Congestion, Forward, Key, PathSpec, Rules, SessionLimits,
    SubflowTransport, Target, TunnelClient, TunnelClientConfig, TunnelServer, TunnelServerConfig,
};
use tokio::net::{TcpSocket, TcpStream};

use super::air::Air;

/// Any port of this machine.
pub const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// The addresses of two interfaces.
pub fn interfaces() -> [IpAddr; 2] {
    [[127, 0, 0, 2].into(), [127, 0, 0, 3].into()]
}

/// A serving end that connects to this machine.
pub async fn server(key: &Key, allow: &[&str]) -> TunnelServer {
    server_at(key, allow, ANY).await
}

/// The same at an address.
pub async fn server_at(key: &Key, allow: &[&str], at: SocketAddr) -> TunnelServer {
    server_within(key, allow, (at, SessionLimits::default())).await
}

/// The same with other bounds.
pub async fn server_within(
    key: &Key,
    allow: &[&str],
    (at, bounds): (SocketAddr, SessionLimits),
) -> TunnelServer {
    server_with(key, AdmissionConfig::default(), allow, (at, bounds)).await
}

/// The same with clients of its own.
pub async fn server_for(
    key: &Key,
    admission: AdmissionConfig,
    allow: &[&str],
    at: SocketAddr,
) -> TunnelServer {
    server_with(key, admission, allow, (at, SessionLimits::default())).await
}

/// The same with both.
pub async fn server_with(
    key: &Key,
    admission: AdmissionConfig,
    allow: &[&str],
    (at, bounds): (SocketAddr, SessionLimits),
) -> TunnelServer {
    let allow = allow.iter().map(|rule| rule.parse().unwrap()).collect();
    let request = TunnelServerConfig {
        listen: vec![at],
        key: key.clone(),
        admission,
        rules: Rules { allow, deny: Vec::new() },
        congestion: Congestion::default(),
        status: Some(ANY),
        bounds,
    };
    // The port may belong to one that has just ended.
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    loop {
        match TunnelServer::start(request.clone()).await {
            Ok(server) => return server,
            Err(_) if at.port() != 0 => drop(ticks.tick().await),
            Err(e) => panic!("{e}"),
        }
    }
}

/// A connecting end with two interfaces that takes SOCKS5 and forwards to these targets.
pub async fn client(key: &Key, server: SocketAddr, targets: &[SocketAddr]) -> TunnelClient {
    client_over(SubflowTransport::Tcp, key, server, targets).await
}

/// The same over what is named.
pub async fn client_over(
    over: SubflowTransport,
    key: &Key,
    server: SocketAddr,
    targets: &[SocketAddr],
) -> TunnelClient {
    TunnelClient::start(request(over, key, server, targets)).await.unwrap()
}

/// What such a connecting end is told.
pub fn request(
    over: SubflowTransport,
    key: &Key,
    server: SocketAddr,
    targets: &[SocketAddr],
) -> TunnelClientConfig {
    let forward = |target: &SocketAddr| {
        let target = Target::new(&target.ip().to_string(), target.port()).unwrap();
        Forward { listen: ANY, target }
    };
    TunnelClientConfig {
        server: server.into(),
        key: ClientKey::shared(key).unwrap(),
        interfaces: interfaces().map(|ip| PathSpec::Address(ip).into()).to_vec(),
        usage: None,
        over,
        congestion: Congestion::default(),
        socks: Some(ANY),
        forwards: targets.iter().map(forward).collect(),
        status: Some(ANY),
        bounds: SessionLimits::default(),
    }
}

/// A tunnel through the air to a target.
pub struct Tunnel {
    pub air: Air,
    pub server: TunnelServer,
    pub client: TunnelClient,
}

impl Tunnel {
    /// One over TCP that forwards to `target`.
    pub async fn to(target: SocketAddr) -> Self {
        Self::over(SubflowTransport::Tcp, target).await
    }

    /// The same over what is named.
    pub async fn over(over: SubflowTransport, target: SocketAddr) -> Self {
        Self::with(over, target, |_| {}).await
    }

    /// The same, and what it is told is changed.
    pub async fn with(
        over: SubflowTransport,
        target: SocketAddr,
        change: impl FnOnce(&mut TunnelClientConfig),
    ) -> Self {
        let key = Key::generate().unwrap();
        let server = server(&key, &["127.0.0.0/8"]).await;
        let air = Air::before(server.addresses()[0]).await;
        let mut request = request(over, &key, air.address, &[target]);
        change(&mut request);
        let client = TunnelClient::start(request).await.unwrap();
        client.up().await;
        Self { air, server, client }
    }

    /// A connection to the target through the tunnel.
    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.client.forwards()[0]).await.unwrap()
    }

    /// Waits until as many subflows are there.
    pub async fn subflows(&self, wanted: usize) {
        self.until(|| self.client.interfaces().iter().filter(|(_, of)| of.is_up).count() == wanted)
            .await;
    }

    /// Waits until something is so.
    pub async fn until(&self, is_so: impl Fn() -> bool) {
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        while !is_so() {
            ticks.tick().await;
        }
    }
}

/// Why subflows of a client ended or were not opened, but for those that came too late or whose place
/// another took: a busy machine may have them so.
pub fn faults(client: &TunnelClient) -> Vec<String> {
    let too_late = ["no answer for", "in time", "timed out", "hung up", "ended a path"];
    let problems = client.interfaces().into_iter().map(|(_, interface)| interface.problem);
    problems.filter(|p| !p.is_empty() && !too_late.iter().any(|of| p.contains(of))).collect()
}

/// Listens, and has `serve` deal with each connection; where.
pub async fn listen<F: Future<Output = ()> + Send + 'static>(
    serve: impl Fn(TcpStream) -> F + Send + Sync + 'static,
) -> SocketAddr {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(ANY).unwrap();
    // Room for a thousand at once.
    let listener = socket.listen(4096).unwrap();
    let at = listener.local_addr().unwrap();
    let runtime = TokioRuntime::new(Seed(1));
    let on = runtime.clone();
    runtime.spawn("target", async move {
        while let Ok((connection, _)) = listener.accept().await {
            on.spawn("target connection", serve(connection));
        }
    });
    at
}

/// A target that sends back what it gets, and then ends.
pub async fn echo() -> SocketAddr {
    listen(|mut connection| async move {
        let (mut from, mut to) = connection.split();
        drop(tokio::io::copy(&mut from, &mut to).await);
        drop(tokio::io::AsyncWriteExt::shutdown(&mut to).await);
    })
    .await
}
