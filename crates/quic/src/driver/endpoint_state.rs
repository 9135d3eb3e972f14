//! The state of an endpoint: what its handle and its driver share, and what connections are made from.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use airlane_base::{Seed, Time};
use airlane_runtime::{Received, RuntimeHandle, UdpSocket, WatchCell};
use noq_proto::{
    AckFrequencyConfig, ConnectionId, IdleTimeout, Incoming, MtuDiscoveryConfig, ServerConfig,
    Side, VarInt, crypto as proto_crypto,
};
use parking_lot::Mutex;

use super::links::Links;
use crate::clock::Clock;
use crate::config::{AckPolicy, NewController, TransportConfig};
use crate::control::{ControlHandle, Factory, Shared};
use crate::crypto::SealedServer;
use crate::non_quic::DatagramQueue;
use crate::qlog;
use crate::run_queue::RunQueue;
use crate::shards::Shard;

/// State shared by the endpoint's handle and its driver.
pub(crate) struct EndpointState {
    pub(crate) links: Mutex<Links>,
    pub(crate) run_queue: Arc<RunQueue>,
    pub(crate) local_addr: SocketAddr,
    pub(crate) runtime: RuntimeHandle,
    pub(crate) clock: Arc<Clock>,
    pub(crate) config: TransportConfig,
    pub(crate) seed: Seed,
    /// Connections so far: each gets a seed of its own.
    pub(crate) connections: AtomicU64,
    /// Connections that there are, those that drain included.
    pub(crate) live: Arc<AtomicU64>,
    pub(crate) client: Arc<dyn proto_crypto::ClientConfig>,
    pub(crate) server: Option<ServerConfig>,
    pub(crate) initial_ids: Arc<dyn Fn() -> ConnectionId + Send + Sync>,
    pub(crate) socket: Arc<dyn UdpSocket>,
    /// Datagrams that are not QUIC's, once somebody reads them.
    pub(crate) non_quic: OnceLock<Arc<DatagramQueue>>,
    /// Number of this endpoint among several at its address.
    pub(crate) shard: Option<Shard>,
    /// Goes with the endpoint's last part, after the socket.
    pub(crate) released: Released,
}

/// The end of an endpoint: says that there is none any more when it is dropped.
#[derive(Default)]
pub(crate) struct Released(Arc<WatchCell<bool>>);

impl Drop for Released {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// Reports that wait to be read, bytes: each is read in the turn in which it comes.
const REPORT_BUFFER_BYTES: usize = 4_096;

impl EndpointState {
    /// Hands a datagram that is not QUIC's to whoever reads those.
    pub(crate) fn deliver_non_quic(&self, received: Received) {
        if let Some(non_quic) = self.non_quic.get() {
            non_quic.put(received);
        }
    }

    /// Closes the queue of datagrams that are not QUIC's.
    pub(crate) fn close_non_quic(&self) {
        if let Some(non_quic) = self.non_quic.get() {
            non_quic.close();
        }
    }

    /// Settings and control of the next connection. `original_id` is where the client's first
    /// packet goes to.
    pub(crate) fn connection(
        &self,
        now: Time,
        side: Side,
        remote: SocketAddr,
        original_id: ConnectionId,
    ) -> (noq_proto::TransportConfig, ControlHandle) {
        let config = &self.config;
        let shared = Arc::new(Shared::new(self.clock.clone(), config.packets.payload_bytes.into()));
        let n = self.connections.fetch_add(1, Ordering::Relaxed);
        let seed = self.seed.split("connection").index(n);
        let payload_bytes = config.packets.payload_bytes.into();
        let first = config.controller.make(NewController { now, payload_bytes, seed });
        let factory = Factory {
            shared: shared.clone(),
            make: config.controller.clone(),
            seed,
            first: Mutex::new(Some(first)),
            qlog: config.debug_files.qlog_dir.clone().map(|dir| qlog::Target {
                dir,
                side,
                local: self.local_addr,
                remote,
                original_id,
            }),
        };
        // Both ends must allow datagrams for one to send them.
        let takes_reports = config.reports.sink.is_some() || config.reports.source.is_some();
        let mut t = noq_proto::TransportConfig::default();
        t.congestion_controller_factory(Arc::new(factory))
            .initial_rtt(config.timers.initial_rtt)
            .initial_mtu(config.packets.payload_bytes)
            .min_mtu(config.packets.payload_bytes)
            .mtu_discovery_config(config.packets.max_payload_bytes.map(|most| {
                let mut discovery = MtuDiscoveryConfig::default();
                discovery.upper_bound(most);
                discovery
            }))
            .stream_receive_window(VarInt::from_u32(config.flow.stream_receive_window_bytes))
            .receive_window(VarInt::from_u32(config.flow.receive_window_bytes))
            .send_window(config.flow.min_send_window_bytes.min(config.flow.send_window_bytes))
            .max_concurrent_bidi_streams(VarInt::from_u32(config.flow.max_streams))
            .max_concurrent_uni_streams(VarInt::from_u32(config.flow.max_streams))
            .max_idle_timeout(
                config.timers.idle_timeout.and_then(|d| IdleTimeout::try_from(d).ok()),
            )
            .keep_alive_interval(config.timers.keep_alive)
            .datagram_receive_buffer_size(takes_reports.then_some(REPORT_BUFFER_BYTES))
            .allow_spin(false);
        if let AckPolicy::Decimated { packets, max_delay } = config.acks {
            let mut acks = AckFrequencyConfig::default();
            acks.ack_eliciting_threshold(VarInt::from_u32(packets - 1))
                .max_ack_delay(Some(max_delay))
                .reordering_threshold(VarInt::from_u32(1));
            t.ack_frequency_config(Some(acks));
        }
        (t, ControlHandle::new(shared, self.runtime.clone()))
    }

    /// Settings and control of a connection that a client opens; `None` if it is to be refused.
    pub(crate) fn answer(&self, incoming: &Incoming) -> Option<(ServerConfig, ControlHandle)> {
        let server = self.server.as_ref()?;
        let (remote, original_id) = (incoming.remote_address(), incoming.orig_dst_cid());
        let (transport, control) =
            self.connection(self.clock.last(), Side::Server, remote, original_id);
        let crypto =
            SealedServer { inner: server.crypto.clone(), seal: control.shared().seal.clone() };
        let mut config = server.clone();
        config.crypto = Arc::new(crypto);
        config.transport = Arc::new(transport);
        Some((config, control))
    }

    /// Waits until the endpoint is no more.
    pub(crate) fn released(&self) -> impl Future<Output = ()> + use<> {
        let released = self.released.0.clone();
        async move { released.until(true).await }
    }

    /// True if the endpoint accepts connections.
    pub(crate) fn accepts(&self) -> bool {
        self.server.is_some()
    }

    /// Configuration of the endpoint.
    pub(crate) fn config(&self) -> &TransportConfig {
        &self.config
    }

    /// `addr` as this socket must name it: one of IPv6 reaches IPv4 by mapped addresses
    /// (RFC 4291, section 2.5.5.2).
    pub(crate) fn reachable(&self, addr: SocketAddr) -> SocketAddr {
        match addr {
            SocketAddr::V4(v4) if self.local_addr.is_ipv6() => {
                SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port())
            }
            other => other,
        }
    }
}
