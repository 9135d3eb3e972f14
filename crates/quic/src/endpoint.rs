//! Endpoints: one UDP socket with any number of connections.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use airlane_base::Seed;
use airlane_runtime::{RuntimeExt, RuntimeHandle, UdpSocket};
use bytes::Bytes;
use noq_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, NoneTokenStore,
    RandomConnectionIdGenerator, ServerConfig, Side, TimeSource, TokenStore, ValidationTokenConfig,
    VarInt,
};
use parking_lot::Mutex;
use ring::hmac;
use tokio::sync::{Mutex as AsyncMutex, mpsc};

use crate::clock::Clock;
use crate::config::{
    AckPolicy, FirstPacketAuthorization, MAX_STREAM_WINDOW_BYTES, TransportConfig,
};
use crate::connection::Connection;
use crate::crypto::{SealedClient, SeededIds, TokenKey};
use crate::driver::{Driver, EndpointState, Link, Links, Owner, Released, send_reports};
use crate::error::QuicError;
use crate::non_quic::{DatagramQueue, NonQuicSocket};
use crate::shards::{MAX_SHARDS, SERVER_ID_BYTES, Shard};

/// Bytes of the first id that a client sends to: RFC 9000, section 7.2, asks for 8.
const INITIAL_ID_BYTES: usize = 8;

/// A socket that opens connections, and accepts them if it was made with
/// [`server`](Self::server).
///
/// Dropping it ends accepting; connections live on until they are dropped themselves.
pub struct Endpoint {
    inner: Arc<EndpointState>,
    /// `None` on endpoints that accept no connections.
    accepted: Option<AsyncMutex<mpsc::UnboundedReceiver<Arc<Owner>>>>,
}

/// The key of stateless resets of the endpoint at `local` that was given `secret`.
///
/// Endpoints that share a secret must not share the key (RFC 9000, section 21.11): whoever sends
/// one of them a packet with the connection id of another's connection would be told the token that
/// ends it.
fn reset_key(secret: &[u8; 32], local: SocketAddr) -> hmac::Key {
    let of_secret = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let of_endpoint = hmac::sign(&of_secret, format!("stateless reset of {local}").as_bytes());
    hmac::Key::new(hmac::HMAC_SHA256, of_endpoint.as_ref())
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("local_addr", &self.local_addr()).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// An endpoint at `local` that accepts connections, and may open some too.
    ///
    /// # Errors
    /// If the address cannot be bound, or a setting is not allowed.
    pub fn server(
        runtime: &RuntimeHandle,
        local: SocketAddr,
        config: TransportConfig,
    ) -> Result<Self, QuicError> {
        let socket = bind(runtime, local, &config)?;
        Self::new(runtime, socket, config, true, None)
    }

    /// Endpoints that accept connections, all at `local`: `count` of them, 64 at most, each with a
    /// socket and a task of its own; one where the system cannot share an address among sockets. A
    /// connection is found by its id whichever of them receives its packets. Together they have no
    /// more handshakes under way than one would.
    ///
    /// # Errors
    /// If the address cannot be bound, or a setting is not allowed.
    pub fn servers(
        runtime: &RuntimeHandle,
        local: SocketAddr,
        config: &TransportConfig,
        count: usize,
    ) -> Result<Vec<Self>, QuicError> {
        if config.packets.interface.is_some() || config.security.repeats() || count < 2 {
            return Ok(vec![Self::server(runtime, local, config.clone())?]);
        }
        check(config)?;
        let sockets = runtime.bind_udp_group(local, count.min(MAX_SHARDS))?;
        let all = sockets.len();
        let shards = if all > 1 { Shard::all(all) } else { Vec::new() };
        let mut shards = shards.into_iter();
        let sockets = sockets.into_iter().map(Arc::from);
        sockets
            .map(|socket| Self::new(runtime, socket, config.clone(), true, shards.next()))
            .collect()
    }

    /// An endpoint at `local` (port 0: any) that only opens connections.
    ///
    /// # Errors
    /// If the address cannot be bound, or a setting is not allowed.
    pub fn client(
        runtime: &RuntimeHandle,
        local: SocketAddr,
        config: TransportConfig,
    ) -> Result<Self, QuicError> {
        let socket = bind(runtime, local, &config)?;
        Self::new(runtime, socket, config, false, None)
    }

    fn new(
        runtime: &RuntimeHandle,
        socket: Arc<dyn UdpSocket>,
        config: TransportConfig,
        accepts: bool,
        shard: Option<Shard>,
    ) -> Result<Self, QuicError> {
        let local_addr = socket.local_addr();
        let seed = runtime.seed().split("quic").split(&local_addr.to_string());
        let secret = |name: &str| config.security.secret(seed, name);

        let reset_key = match &config.accept.reset_secret {
            Some(kept) => reset_key(kept, local_addr),
            None => hmac::Key::new(hmac::HMAC_SHA256, &secret("reset key")?),
        };
        let mut endpoint_config = EndpointConfig::new(Arc::new(reset_key));
        endpoint_config
            .max_udp_payload_size(config.packets.payload_bytes.max(PEER_PAYLOAD_BYTES))
            .map_err(|e| QuicError::Config(e.to_string()))?;
        endpoint_config.grease_quic_bit(false);
        endpoint_config.rng_seed(Some(secret("noq")?));
        // A server needs ids: its connections may come from behind one address, or move.
        let has_no_ids = config.packets.empty_client_ids && !accepts;
        let bytes = if has_no_ids { 0 } else { SERVER_ID_BYTES };
        let initial_ids = match config.security.repeats() {
            true => seeded_ids(&mut endpoint_config, seed, bytes),
            false => random_ids(&mut endpoint_config, shard.clone(), bytes),
        };

        let keylog = config.debug_files.keylog.as_deref();
        let client = config.security.cipher().client(&config.alpn, keylog)?;
        let server = match accepts {
            true => Some(server_config(&config, TokenKey::new(&secret("token key")?))?),
            false => None,
        };

        let clock = Arc::new(Clock::new(config.clock_shift));
        // What the endpoint knows of its server's settings decides how it answers strangers: those
        // of each connection are made when it comes.
        let proto = noq_proto::Endpoint::new(
            Arc::new(endpoint_config),
            server.clone().map(Arc::new),
            config.packets.max_payload_bytes.is_some() && !socket.may_fragment(),
        );
        let (accept, accepted) = accepts.then(mpsc::unbounded_channel).unzip();
        let handshakes = shard.as_ref().map(Shard::handshakes).unwrap_or_default();
        let inner = Arc::new(EndpointState {
            links: Mutex::new(Links::new(proto, accept, handshakes)),
            run_queue: Arc::default(),
            local_addr,
            runtime: runtime.clone(),
            clock,
            config,
            seed,
            connections: AtomicU64::new(0),
            live: Arc::default(),
            client,
            server,
            initial_ids,
            socket: socket.clone(),
            non_quic: OnceLock::new(),
            shard,
            released: Released::default(),
        });
        if let Some(shard) = &inner.shard {
            shard.attend(&inner.run_queue);
        }
        runtime.spawn("quic", Driver::new(inner.clone(), socket));
        Ok(Self { inner, accepted: accepted.map(AsyncMutex::new) })
    }

    /// The address that the endpoint is bound to.
    pub fn local_addr(&self) -> SocketAddr {
        self.inner.local_addr
    }

    /// The runtime that it runs on.
    pub fn runtime(&self) -> &RuntimeHandle {
        &self.inner.runtime
    }

    /// A secret of this endpoint alone, for another protocol beside QUIC: from the operating system, or
    /// in the laboratory from the seed.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn secret(&self, name: &str) -> Result<[u8; 32], QuicError> {
        self.inner.config.security.secret(self.inner.seed, name)
    }

    /// The socket, for another protocol beside QUIC; `None` if it was given away already.
    pub fn non_quic_socket(&self) -> Option<NonQuicSocket> {
        let non_quic = Arc::new(DatagramQueue::default());
        self.inner.non_quic.set(non_quic.clone()).ok()?;
        Some(NonQuicSocket::new(
            self.inner.socket.clone(),
            non_quic,
            self.inner.config.packets.dscp,
        ))
    }

    /// The next connection whose handshake has succeeded; `None` when the endpoint is closed or
    /// does not accept any. Handshakes do not wait for each other.
    pub async fn accept(&self) -> Option<Connection> {
        self.accepted.as_ref()?.lock().await.recv().await.map(Connection::new)
    }

    /// Connections that there are, those that drain and those in their handshakes included.
    pub fn connections(&self) -> usize {
        self.inner.links.lock().len()
    }

    /// Handshakes under way that clients have begun, at all endpoints of its address.
    pub fn handshakes(&self) -> usize {
        self.inner.links.lock().handshakes()
    }

    /// Opens a connection to the server called `name` at `addr`, and completes its handshake.
    ///
    /// # Errors
    /// If the handshake fails or the endpoint is closed, or if it goes without connection ids
    /// ([`PacketConfig::empty_client_ids`](crate::PacketConfig::empty_client_ids)) and has a connection to `addr` already.
    pub async fn connect(&self, addr: SocketAddr, name: &str) -> Result<Connection, QuicError> {
        let id = (self.inner.initial_ids)();
        let now = self.inner.runtime.now();
        let (transport, control) = self.inner.connection(now, Side::Client, addr, id);
        let crypto =
            SealedClient { inner: self.inner.client.clone(), seal: control.shared().seal.clone() };
        let mut client = ClientConfig::new(Arc::new(crypto));
        client
            .transport_config(Arc::new(transport))
            .token_store(match &self.inner.config.first_packet_authorization {
                Some(first_packet_authorization) => {
                    Arc::new(AuthorizationTokens(first_packet_authorization.clone()))
                }
                None => Arc::new(NoneTokenStore),
            })
            .initial_dst_cid_provider(Arc::new(move || id));
        let connection = {
            let now = self.inner.clock.instant(now);
            let mut links = self.inner.links.lock();
            if let Some(why) = links.closed() {
                return Err(why.clone());
            }
            let remote = self.inner.reachable(addr);
            if self.inner.config.packets.empty_client_ids && links.any_to(remote) {
                // Without ids, what comes from there could not be told apart.
                return Err(QuicError::Config(format!(
                    "a second connection to {addr} from an endpoint without connection ids"
                )));
            }
            let (handle, proto) = links.proto().connect(now, client, remote, name)?;
            let link = Link::new(handle, proto, control, &self.inner);
            links.insert(now, link.clone(), None);
            self.inner.run_queue.add(handle);
            Connection::new(Owner::new(link))
        };
        connection.connected().await?;
        if let Some(source) = &self.inner.config.reports.source {
            let task = send_reports(source.clone(), connection.weak());
            self.inner.runtime.spawn("reports", task);
        }
        Ok(connection)
    }

    /// Waits until all that was written on any connection has been acknowledged.
    pub async fn flushed(&self) {
        /// Interval between two looks: a stop is no matter of microseconds.
        const EVERY: Duration = Duration::from_millis(10);
        loop {
            // First: what was written just now is not on the driver's books yet.
            self.inner.runtime.sleep(EVERY).await;
            if self.inner.links.lock().all_flushed() {
                return;
            }
        }
    }

    /// Closes all connections with `code` and ends accepting.
    pub fn close(&self, code: u32, reason: &str) {
        let reason = Bytes::copy_from_slice(reason.as_bytes());
        self.inner.links.lock().close_all(VarInt::from_u32(code), reason);
        self.inner.run_queue.notify();
    }

    /// Waits until the peers have been told of all closures, or had the time to be.
    pub async fn wait_idle(&self) {
        poll_fn(|cx| self.inner.links.lock().poll_idle(cx)).await;
    }

    /// Waits until the endpoint has let go of its socket: it has been closed, and it, its connections
    /// and its non-QUIC socket have been dropped.
    pub fn released(&self) -> impl Future<Output = ()> + use<> {
        self.inner.released()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.inner.links.lock().abandon();
        self.inner.run_queue.notify();
    }
}

/// Makes the ids that a client's first packets go to.
type InitialIds = Arc<dyn Fn() -> ConnectionId + Send + Sync>;

/// Connection ids from a seed, for worlds that repeat.
fn seeded_ids(endpoint: &mut EndpointConfig, seed: Seed, bytes: usize) -> InitialIds {
    let ids = seed.split("connection ids");
    endpoint.cid_generator(Arc::new(move || Box::new(SeededIds::new(ids, bytes))));
    let initial = SeededIds::new(seed.split("initial connection ids"), INITIAL_ID_BYTES);
    let initial = Mutex::new(initial);
    Arc::new(move || initial.lock().generate_cid())
}

/// Connection ids from the operating system, as noq draws them; those of a shard lead to it.
fn random_ids(endpoint: &mut EndpointConfig, shard: Option<Shard>, bytes: usize) -> InitialIds {
    endpoint.cid_generator(Arc::new(move || match &shard {
        Some(shard) => shard.ids(),
        None => Box::new(RandomConnectionIdGenerator::new(bytes)),
    }));
    Arc::new(|| RandomConnectionIdGenerator::new(INITIAL_ID_BYTES).generate_cid())
}

/// Configuration with which all connections that a server accepts begin.
fn server_config(config: &TransportConfig, token_key: TokenKey) -> Result<ServerConfig, QuicError> {
    let keylog = config.debug_files.keylog.as_deref();
    let crypto = config.security.cipher().server(&config.alpn, keylog)?;
    let mut server = ServerConfig::new(crypto, Arc::new(token_key));
    // No NEW_TOKEN frames: they would carry the date.
    let mut tokens = ValidationTokenConfig::default();
    tokens.sent(0);
    server.validation_token_config(tokens);
    if config.security.repeats() {
        server.time_source(Arc::new(NoDate));
    }
    Ok(server)
}

/// A socket at `local`, for settings that are allowed.
fn bind(
    runtime: &RuntimeHandle,
    local: SocketAddr,
    config: &TransportConfig,
) -> Result<Arc<dyn UdpSocket>, QuicError> {
    check(config)?;
    let socket = match &config.packets.interface {
        Some(name) => runtime.bind_udp_to(local, name)?,
        None => runtime.bind_udp(local)?,
    };
    Ok(Arc::from(socket))
}

/// Maximum UDP payload that peers may send: an Ethernet frame's worth. Also the size of receive
/// buffers.
const PEER_PAYLOAD_BYTES: u16 = 1472;

fn check(config: &TransportConfig) -> Result<(), QuicError> {
    let refuse = |what: String| Err(QuicError::Config(what));
    if !(1200..=65_527).contains(&config.packets.payload_bytes) {
        return refuse(format!(
            "a payload of {} bytes is not in 1200..65527",
            config.packets.payload_bytes
        ));
    }
    if let Some(most) = config.packets.max_payload_bytes
        && !(config.packets.payload_bytes..=65_527).contains(&most)
    {
        return refuse(format!(
            "a payload of {most} bytes at most is not in {}..65527",
            config.packets.payload_bytes
        ));
    }
    if let AckPolicy::Decimated { packets, max_delay } = config.acks
        && (packets == 0 || max_delay < Duration::from_millis(1))
    {
        return refuse(format!("acknowledgements every {packets} packets or {max_delay:?}"));
    }
    if config.flow.stream_receive_window_bytes > MAX_STREAM_WINDOW_BYTES {
        return refuse(format!(
            "a stream window of {} bytes is more than {MAX_STREAM_WINDOW_BYTES}",
            config.flow.stream_receive_window_bytes
        ));
    }
    if config.first_packet_authorization.is_some()
        && config.accept.admission.validate_from != usize::MAX
    {
        return refuse(
            "address validation takes the place of the first_packet_authorization".to_owned(),
        );
    }
    if config.alpn.is_empty() {
        return refuse("at least one application protocol is needed".to_owned());
    }
    if let Some(dir) = &config.debug_files.qlog_dir {
        std::fs::create_dir_all(dir).map_err(|e| QuicError::io(dir, e))?;
    }
    Ok(())
}

/// Tokens of first packets, made for each connection. Tokens of servers are not kept.
struct AuthorizationTokens(Arc<dyn FirstPacketAuthorization>);

impl TokenStore for AuthorizationTokens {
    fn insert(&self, _: &str, _: Bytes) {}

    fn take(&self, _: &str) -> Option<Bytes> {
        Some(self.0.token())
    }
}

/// A world has no date. noq asks for it when it checks the age of tokens, which nobody sends.
struct NoDate;

impl TimeSource for NoDate {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}
