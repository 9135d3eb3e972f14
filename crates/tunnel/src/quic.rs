//! Subflows over QUIC: two connections, one per channel, whose first packets carry an authorisation token.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use airlane_congestion::ControllerConfig;
use airlane_multipath::MultipathError;
use airlane_multipath::path_transport;
use airlane_multipath::{Channels, accept_quic_subflows, open_quic};
use airlane_quic::{
    AcceptConfig, Admission, Endpoint, FirstPacketAuthorization, PacketConfig, QuicError, Timers,
    Tls, TransportConfig,
};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use parking_lot::Mutex;

use super::auth_token::{AuthToken, TokenSigner, TokenVerifier};
use super::client_key::ClientKey;
use super::key::{NAME, random};
use super::path_spec::PathSpec;
use super::server_path::ServerPath;
use airlane_host::RateLimitedLog;
use airlane_host::date;

/// The channel in tokens over QUIC: either. The pairing inside the connection says which.
const EITHER: u8 = 2;
/// The application protocol.
const ALPN: &[u8] = b"airlane-tunnel/2";
/// A client has shaken hands, and opened its channels, by then.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Handshakes under way at most, of those who are authorised.
const MAX_HANDSHAKES: usize = 512;
/// Connections at most.
const MAX_CONNECTIONS: usize = 4096;
/// Silence after which a connection is given up. The connecting end pings far more often.
const IDLE_TIMEOUT: Duration = Duration::from_secs(45);
/// Silence after which the connecting end sends a PING: on a bulk channel without streams, since it
/// pings far more often on the low-latency channel itself.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(20);

/// Bytes that a connection may have received and not passed on, as packets before them are missing: 200 Mbit/s over
/// 640 ms. A peer may fill it and never send what is missing.
const RECEIVE_WINDOW_BYTES: u32 = 16 << 20;

/// The congestion control of subflows over QUIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// Each interface's by itself: Cubic.
    #[default]
    Cubic,
    /// Coupled among a client's interfaces: LIA (RFC 6356).
    Coupled,
}

impl Congestion {
    fn config(self) -> ControllerConfig {
        match self {
            Self::Cubic => ControllerConfig::cubic(1.0),
            Self::Coupled => ControllerConfig::Coupled,
        }
    }
}

/// Tokens on the connecting end's part.
struct ClientAuthorization(TokenSigner);

impl FirstPacketAuthorization for ClientAuthorization {
    fn token(&self) -> Bytes {
        let Ok(nonce) = random() else { return Bytes::new() };
        let auth_token = AuthToken { nonce, channel: EITHER, time_ms: date::now_ms() };
        Bytes::copy_from_slice(&self.0.seal(&auth_token))
    }

    fn admits(&self, _: &[u8], _: SocketAddr) -> bool {
        false
    }
}

/// The serving end's verifier.
struct ServerAuthorization {
    verifier: Arc<TokenVerifier>,
    warnings: Arc<RateLimitedLog>,
}

impl FirstPacketAuthorization for ServerAuthorization {
    fn token(&self) -> Bytes {
        Bytes::new()
    }

    fn admits(&self, token: &[u8], from: SocketAddr) -> bool {
        match self.verifier.take(token, date::now_ms()) {
            Ok((auth_token, _)) => auth_token.channel == EITHER,
            Err(e) => {
                self.warnings.warn("stranger", format_args!("{e} of {} over QUIC", from.ip()));
                false
            }
        }
    }
}

fn transport(
    tls: Tls,
    control: Congestion,
    auth_token: Arc<dyn FirstPacketAuthorization>,
) -> TransportConfig {
    let mut config = path_transport(TransportConfig {
        packets: PacketConfig::probing(),
        alpn: vec![ALPN.to_vec()],
        timers: Timers { idle_timeout: Some(IDLE_TIMEOUT), ..Timers::default() },
        first_packet_authorization: Some(auth_token),
        accept: AcceptConfig {
            admission: Admission {
                validate_from: usize::MAX,
                handshakes: MAX_HANDSHAKES,
                connections: MAX_CONNECTIONS,
                handshake_timeout: Some(HANDSHAKE_TIMEOUT),
            },
            ..AcceptConfig::default()
        },
        ..TransportConfig::network(tls, control.config())
    });
    config.flow.receive_window_bytes = RECEIVE_WINDOW_BYTES;
    config
}

/// The end that connects.
pub(crate) struct QuicDialer {
    to: ServerPath,
    control: Congestion,
    key: ClientKey,
    /// The sockets that attempts are made from, IPv4 and IPv6. An interface that was gone may need others.
    endpoints: Mutex<[Option<Arc<Endpoint>>; 2]>,
}

impl QuicDialer {
    pub(crate) fn new(to: ServerPath, control: Congestion, key: ClientKey) -> Arc<Self> {
        Arc::new(Self { to, control, key, endpoints: Mutex::default() })
    }

    /// Opens a subflow.
    pub(crate) async fn connect(&self) -> Result<Channels, MultipathError> {
        self.to.race(|at| self.subflow(at)).await
    }

    async fn subflow(&self, server: SocketAddr) -> Result<Channels, MultipathError> {
        let nonce = random().map_err(|e| MultipathError::Io(e.to_string()))?;
        let endpoint = self.endpoint(server)?;
        let connection = || endpoint.connect(server, NAME);
        match tokio::try_join!(connection(), connection()) {
            Ok((low_latency, bulk)) => open_quic(nonce, low_latency, bulk).await,
            Err(e) => {
                let kept = &mut self.endpoints.lock()[usize::from(server.is_ipv6())];
                if kept.as_ref().is_some_and(|of| Arc::ptr_eq(of, &endpoint)) {
                    *kept = None;
                }
                Err(e.into())
            }
        }
    }

    fn endpoint(&self, server: SocketAddr) -> Result<Arc<Endpoint>, MultipathError> {
        let kept = &mut self.endpoints.lock()[usize::from(server.is_ipv6())];
        if let Some(endpoint) = kept.as_ref() {
            return Ok(endpoint.clone());
        }
        let endpoint = Arc::new(self.bind(server)?);
        *kept = Some(endpoint.clone());
        Ok(endpoint)
    }

    fn bind(&self, server: SocketAddr) -> Result<Endpoint, QuicError> {
        let auth_token = self.key.auth_token().map_err(|e| QuicError::Tls(e.to_string()))?;
        let mut transport =
            transport(self.key.tls()?, self.control, Arc::new(ClientAuthorization(auth_token)));
        transport.timers.keep_alive = Some(KEEP_ALIVE_INTERVAL);
        let at = |ip| SocketAddr::new(ip, 0);
        let client = |ip, interface| {
            let mut transport = transport.clone();
            transport.packets.interface = interface;
            Endpoint::client(&self.to.runtime, at(ip), transport)
        };
        let path = &self.to.path;
        match path {
            PathSpec::Address(own) => client(*own, None),
            PathSpec::Interface(name) => {
                let any = match server.is_ipv4() {
                    true => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                    false => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
                };
                // Where this user may not bind to an interface, its address has to do.
                client(any, Some(name.clone())).or_else(|bound: QuicError| {
                    let own: io::Result<IpAddr> = path.address(server);
                    own.map_or(Err(bound), |own| client(own, None))
                })
            }
        }
    }
}

/// Listens at `at`, with that controller for each connection; `opened` gets each subflow.
pub(crate) fn serve(
    runtime: &RuntimeHandle,
    (at, control): (SocketAddr, Congestion),
    tls: Tls,
    (verifier, warnings): (Arc<TokenVerifier>, Arc<RateLimitedLog>),
    opened: impl Fn(Channels) + Send + Sync + 'static,
) -> Result<Arc<Endpoint>, QuicError> {
    let transport = transport(tls, control, Arc::new(ServerAuthorization { verifier, warnings }));
    let endpoint = Arc::new(Endpoint::server(runtime, at, transport)?);
    let accepting = accept_quic_subflows(endpoint.clone(), HANDSHAKE_TIMEOUT, |_, _| {}, opened);
    runtime.spawn("tunnel over quic", accepting);
    Ok(endpoint)
}

#[cfg(test)]
mod tests {
    use airlane_quic::Trust;

    use super::*;

    struct Nobody;

    impl FirstPacketAuthorization for Nobody {
        fn token(&self) -> Bytes {
            Bytes::new()
        }

        fn admits(&self, _: &[u8], _: SocketAddr) -> bool {
            false
        }
    }

    /// `docs/reference/wire/multipath.md`, Bounds, promises it to operators.
    #[test]
    fn a_connection_holds_no_more_than_16_mib_that_wait_for_packets_before_them() {
        let tls = Tls { identity: None, trust: Trust::Anyone };
        let config = transport(tls, Congestion::default(), Arc::new(Nobody));
        assert_eq!(config.flow.receive_window_bytes, 16 << 20);
    }
}
