//! The settings of endpoints.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Dscp, Seed, Time};
use airlane_congestion::{Controller, ControllerConfig};
use bytes::Bytes;

use crate::connection_limiter::ConnectionLimiter;
use crate::crypto::{Cipher, Security, Tls};
use crate::reports::Reports;

/// Streams of each kind that a peer may have open at once, where its role needs no other number: as many
/// requests as RFC 9114, section 6.1, says that servers should let clients have.
pub(crate) const MAX_STREAMS: u32 = 100;

/// Arguments from which a congestion controller is made.
#[derive(Clone, Copy, Debug)]
pub struct NewController {
    /// Time at which the connection, or its new path, begins.
    pub now: Time,
    /// The largest UDP payload in bytes.
    pub payload_bytes: u64,
    /// For controllers that draw: different for each connection of the endpoint.
    pub seed: Seed,
}

/// Makes the congestion controller of each connection.
#[derive(Clone)]
pub struct ControllerFactory(Arc<dyn Fn(NewController) -> Box<dyn Controller> + Send + Sync>);

impl ControllerFactory {
    /// One that asks `make`, for controllers that no [`ControllerConfig`] names.
    pub fn new(
        make: impl Fn(NewController) -> Box<dyn Controller> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(make))
    }

    pub(crate) fn make(&self, new: NewController) -> Box<dyn Controller> {
        (self.0)(new)
    }
}

impl From<ControllerConfig> for ControllerFactory {
    fn from(config: ControllerConfig) -> Self {
        Self::new(move |n| config.build(n.now, n.payload_bytes, n.seed))
    }
}

/// Policy by which the peer acknowledges the packets of this endpoint.
///
/// In QUIC's extension for acknowledgement frequency (draft-ietf-quic-ack-frequency-04) the sender
/// of data asks for it, so this is set where the data comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Every second packet, at once when packets come out of order, and after 25 ms at the latest
    /// (RFC 9000, section 13.2.1 and 18.2).
    EverySecond,
    /// Every `packets`-th packet, after `max_delay` at the latest. Packets out of order are
    /// acknowledged at once.
    Decimated {
        /// One acknowledgement for so many packets, at least 1.
        packets: u32,
        /// The longest delay, at least 1 ms.
        max_delay: Duration,
    },
}

impl AckPolicy {
    /// Decimation as Chromium does it on a path of round-trip time `rtt`: every 10th packet or
    /// after a quarter of the round trip, at most 25 ms. Chromium acknowledges every second one
    /// of the first 100 packets; here decimation holds from the first packet on.
    pub fn chromium(rtt: Duration) -> Self {
        let max_delay = (rtt / 4).clamp(Duration::from_millis(1), Duration::from_millis(25));
        Self::Decimated { packets: 10, max_delay }
    }
}

/// Limits of the clients that a server lets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Handshakes under way from which on clients must first show that they receive at the address
    /// that they send from (RFC 9000, section 8.1.2): a round trip more.
    pub validate_from: usize,
    /// Handshakes under way at most; further clients are turned away.
    pub handshakes: usize,
    /// Connections at most; further clients are turned away.
    pub connections: usize,
    /// Maximum time of a client's handshake; `None`: no limit, so long as the client
    /// sends something.
    pub handshake_timeout: Option<Duration>,
}

impl Admission {
    /// Everybody, at once.
    pub const ALL: Self = Self {
        validate_from: usize::MAX,
        handshakes: usize::MAX,
        connections: usize::MAX,
        handshake_timeout: None,
    };
}

impl Default for Admission {
    fn default() -> Self {
        Self::ALL
    }
}

/// Authorisation of a client's first packet by its token (RFC 9000, section 17.2.2): a server that has
/// one answers no packet of an unauthenticated peer.
pub trait FirstPacketAuthorization: Send + Sync {
    /// Token of a client's first packet, made for each connection.
    fn token(&self) -> Bytes;
    /// True if a server accepts the token of a peer at `from`. It is asked once per connection.
    fn admits(&self, token: &[u8], from: SocketAddr) -> bool;
}

/// Packets of an endpoint: their sizes and marks, and where they go.
#[derive(Clone, Debug)]
pub struct PacketConfig {
    /// UDP payload of a full packet in bytes, at least 1200, which is taken to pass every path.
    pub payload_bytes: u16,
    /// Probes find out whether the path takes more, up to so many bytes (RFC 8899). `None`: it
    /// never changes.
    pub max_payload_bytes: Option<u16>,
    /// Clients go without connection ids of their own, as Chromium does: eight bytes less in every
    /// packet towards them. A client endpoint then has at most one connection to each server, and
    /// its connections do not survive a change of its address.
    pub empty_client_ids: bool,
    /// Packets leave with ECT(0), so that queues may mark them instead of dropping them (RFC 9000,
    /// section 13.4), until the peer shows that it does not tell of marks or that the path clears
    /// them. Controllers hear of marks ([`Controller::on_marked`]).
    pub ecn: bool,
    /// The DSCP of every packet: one for all, since packets of several could overtake each other
    /// and be taken for lost (RFC 7657, section 5.1). In real time packets have the default,
    /// whatever this says.
    pub dscp: Dscp,
    /// The interface that all packets come and go over; `None`: where the routes lead. It must be
    /// one of the machine's, in real time on Linux.
    pub interface: Option<String>,
}

impl Default for PacketConfig {
    fn default() -> Self {
        Self {
            payload_bytes: 1350,
            max_payload_bytes: None,
            empty_client_ids: false,
            ecn: false,
            dscp: Dscp::DEFAULT,
            interface: None,
        }
    }
}

impl PacketConfig {
    /// Packets for paths of which nothing is known: of 1200 bytes, and as large as Ethernet carries
    /// where probes find that the path takes it.
    pub fn probing() -> Self {
        Self {
            payload_bytes: MIN_PAYLOAD_BYTES,
            max_payload_bytes: Some(ETHERNET_PAYLOAD_BYTES),
            ..Self::default()
        }
    }
}

/// Flow control (RFC 9000, section 4): bytes and streams that each end may have under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowControl {
    /// Bytes that the peer may send on one stream ahead of the reader, or past a hole; at most
    /// [`MAX_STREAM_WINDOW_BYTES`]. Several streams together may have more in flight.
    pub stream_receive_window_bytes: u32,
    /// Bytes that the peer may send on all streams ahead of the readers.
    pub receive_window_bytes: u32,
    /// Bytes that writers may hand over ahead of the peer's acknowledgements. It bounds the
    /// sender's buffer and, with the round-trip time, its rate.
    pub send_window_bytes: u64,
    /// The send window grows and shrinks with twice the congestion window, from this many bytes up
    /// to [`send_window_bytes`](Self::send_window_bytes): what waits in a server's memory then
    /// follows what its clients can take. Nor does it grow beyond the connection's share of 64 MiB,
    /// or what 2 Gbit/s deliver in a round trip and 250 us if that is more. The laboratory's are
    /// equal.
    pub min_send_window_bytes: u64,
    /// Instead of the two above: bytes that writers may hand over beyond the congestion window, so
    /// that little waits in a connection that others could take. As `TCP_NOTSENT_LOWAT`.
    pub unsent_bytes: Option<u64>,
    /// Streams of each kind that the peer may have open at once.
    pub max_streams: u32,
}

impl Default for FlowControl {
    fn default() -> Self {
        Self {
            stream_receive_window_bytes: MAX_STREAM_WINDOW_BYTES,
            receive_window_bytes: 12 << 20,
            send_window_bytes: 8 << 20,
            min_send_window_bytes: 8 << 20,
            unsent_bytes: None,
            max_streams: MAX_STREAMS,
        }
    }
}

/// Timers of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// The round-trip time assumed before the first sample (RFC 9002, section 6.2.2).
    pub initial_rtt: Duration,
    /// Silence after which a connection is given up; `None`: never.
    pub idle_timeout: Option<Duration>,
    /// Silence after which a PING goes out; `None`: never.
    pub keep_alive: Option<Duration>,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            initial_rtt: Duration::from_millis(100),
            idle_timeout: Some(Duration::from_secs(60)),
            keep_alive: None,
        }
    }
}

/// Connections that a server accepts, and what it remembers of those from before.
#[derive(Clone, Default)]
pub struct AcceptConfig {
    /// Limits of the clients that a server lets in.
    pub admission: Admission,
    /// Limit of a server's connections, which it may share with others. A connection may be evicted
    /// until it is [active](crate::Connection::mark_active): over HTTP/3 from its first request on.
    /// `None`: no limit.
    pub connection_limiter: Option<Arc<ConnectionLimiter>>,
    /// Secret from which a server's stateless resets are made (RFC 9000, section 10.3): a server
    /// that has the secret from before a crash can tell clients at once that their connections are
    /// gone. `None`: a new one.
    ///
    /// Each endpoint makes a key of its own from it and its local address. Machines that listen at
    /// the same address must not have the same secret (section 21.11).
    pub reset_secret: Option<[u8; 32]>,
}

/// Files that tell what connections did.
#[derive(Clone, Debug, Default)]
pub struct DebugFiles {
    /// Writes one qlog file (JSON-SEQ) per connection into this folder. What
    /// it holds and what not: `docs/design/quic.md`.
    pub qlog_dir: Option<PathBuf>,
    /// Appends TLS secrets to this file in the format of `SSLKEYLOGFILE`.
    pub keylog: Option<PathBuf>,
}

/// Transport settings of an endpoint and all of its connections.
#[derive(Clone)]
pub struct TransportConfig {
    /// Makes the congestion controllers.
    pub controller: ControllerFactory,
    /// Policy by which the peer acknowledges.
    pub acks: AckPolicy,
    /// Sizes and marks of packets.
    pub packets: PacketConfig,
    /// Windows, and limits of streams.
    pub flow: FlowControl,
    /// Timeouts of connections.
    pub timers: Timers,
    /// Conditions on the connections that a server accepts.
    pub accept: AcceptConfig,
    /// Authorisation of first packets. A server with it answers unauthenticated peers with nothing: no
    /// handshake, no version negotiation, no stateless reset. Not together with address validation
    /// ([`Admission::validate_from`]), which uses the same field.
    pub first_packet_authorization: Option<Arc<dyn FirstPacketAuthorization>>,
    /// Reports of receivers to controllers.
    pub reports: Reports,
    /// Protection of packets, and source of secrets. Only the two constructors make one.
    pub security: Security,
    /// The application protocols, best first (RFC 7301). Both sides need one in common.
    pub alpn: Vec<Vec<u8>>,
    /// Files for logs and secrets.
    pub debug_files: DebugFiles,
    /// Moves the base of the clock that QUIC computes with. Nothing may depend on it: for tests
    /// of just that.
    pub clock_shift: Duration,
}

/// The largest receive window of one stream. noq 1.4.0 keeps full packets as they came, and takes
/// more than 2048 of them in one stream for an attack: it then closes the connection.
pub const MAX_STREAM_WINDOW_BYTES: u32 = 2 << 20;

/// UDP payload of the packets that QUIC needs of every path (RFC 9000, section 14), bytes: where nothing
/// more is known.
pub const MIN_PAYLOAD_BYTES: u16 = 1200;

/// UDP payload of the largest packet that Ethernet carries below IPv6, bytes.
pub const ETHERNET_PAYLOAD_BYTES: u16 = 1452;

/// ALPN of HTTP/3 (RFC 9114, section 3.1).
pub const ALPN_H3: &[u8] = b"h3";
/// ALPN of Airlane's own roles on bare streams.
pub const ALPN_AIRLANE: &[u8] = b"airlane/1";

impl TransportConfig {
    /// The laboratory's settings: payload of 1350 bytes, an acknowledgement for every second
    /// packet, connection ids, keys and tokens from the runtime's seed, and any cipher, the one
    /// that protects nothing included.
    pub fn laboratory(cipher: Cipher, controller: impl Into<ControllerFactory>) -> Self {
        Self::with(Security::laboratory(cipher), controller.into())
    }

    /// The settings for servers and clients on a real network: the same sizes, TLS, and
    /// connection ids, keys and tokens from the operating system.
    pub fn network(tls: Tls, controller: impl Into<ControllerFactory>) -> Self {
        Self::with(Security::network(tls), controller.into())
    }

    fn with(security: Security, controller: ControllerFactory) -> Self {
        Self {
            controller,
            acks: AckPolicy::EverySecond,
            packets: PacketConfig::default(),
            flow: FlowControl::default(),
            timers: Timers::default(),
            accept: AcceptConfig::default(),
            first_packet_authorization: None,
            reports: Reports::default(),
            security,
            alpn: vec![ALPN_H3.to_vec(), ALPN_AIRLANE.to_vec()],
            debug_files: DebugFiles::default(),
            clock_shift: Duration::ZERO,
        }
    }
}

impl fmt::Debug for TransportConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportConfig")
            .field("packets", &self.packets)
            .field("flow", &self.flow)
            .field("timers", &self.timers)
            .field("acks", &self.acks)
            .field("security", &self.security)
            .finish_non_exhaustive()
    }
}
