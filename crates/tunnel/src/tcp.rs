//! Subflows over TCP: two connections, one per channel, each with TLS 1.3 behind an authorisation token.

use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use airlane_base::network_of;
use airlane_multipath::MultipathError;
use airlane_multipath::{
    Channel, ChannelFuture, ChannelKind, ChannelReceiver, ChannelSender, Channels, PeerId,
    PendingConnections, SubflowConnection,
};
use airlane_quic::{ConnectionLimiter, IdlePermit, PublicKey};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Buf, Bytes, BytesMut};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::auth_token::{AuthToken, Nonce, TOKEN_BYTES, TokenSigner, TokenVerifier};
use super::descriptors::DescriptorPlan;
use super::key::{NAME, random};
use super::path_spec;
use super::server_path::ServerPath;
use airlane_host::FairPermits;
use airlane_host::date;
use airlane_host::{RateLimitedLog, accept};

/// A connection has shaken hands by then.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time in which a connection has to be authorised.
const FIRST_WORD_TIMEOUT: Duration = Duration::from_secs(3);
/// Pieces that one call of the system takes at most.
const SLICES: usize = 16;

/// The end that connects.
#[derive(Clone)]
pub(crate) struct TcpDialer {
    pub(crate) to: ServerPath,
    pub(crate) auth_token: TokenSigner,
    pub(crate) tls: TlsConnector,
}

impl TcpDialer {
    /// Opens a subflow.
    pub(crate) async fn connect(&self) -> Result<Channels, MultipathError> {
        self.to.race(|at| self.subflow(at)).await
    }

    async fn subflow(&self, server: SocketAddr) -> Result<Channels, MultipathError> {
        let nonce = random().map_err(|e| MultipathError::Io(e.to_string()))?;
        let channel = |kind| self.channel(server, nonce, kind);
        let (low_latency, bulk) =
            tokio::try_join!(channel(ChannelKind::LowLatency), channel(ChannelKind::Bulk))?;
        Ok(Channels { peer: PeerId::default(), low_latency, bulk, guard: Box::new(()) })
    }

    async fn channel(
        &self,
        server: SocketAddr,
        nonce: Nonce,
        kind: ChannelKind,
    ) -> io::Result<Channel> {
        let mut stream = self.to.path.tcp_socket(server)?.connect(server).await?;
        let auth_token = AuthToken { nonce, channel: kind.number(), time_ms: date::now_ms() };
        stream.write_all(&self.auth_token.seal(&auth_token)).await?;
        let name = ServerName::try_from(NAME).map_err(io::Error::other)?;
        let connected = self.tls.connect(name, stream).await;
        // A server that is not the right one, or takes this one for an unauthenticated peer, just hangs up.
        let stream = connected.map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => io::Error::new(
                e.kind(),
                "the server hung up: its key is another, it does not know this client (any more), \
                 or its clock is minutes apart",
            ),
            _ => e,
        })?;
        Ok(as_channel(stream))
    }
}

/// The end that listens.
pub(crate) struct TcpAcceptor {
    pub(crate) runtime: RuntimeHandle,
    pub(crate) verifier: Arc<TokenVerifier>,
    pub(crate) tls: TlsAcceptor,
    pub(crate) warnings: Arc<RateLimitedLog>,
    /// Connections that are not authorised yet.
    unasked: Arc<ConnectionLimiter>,
    /// Connections that have, by address.
    connections: Arc<FairPermits<IpAddr>>,
    pairs: Arc<PendingConnections>,
}

impl TcpAcceptor {
    pub(crate) fn new(
        runtime: RuntimeHandle,
        verifier: Arc<TokenVerifier>,
        tls: TlsAcceptor,
        warnings: Arc<RateLimitedLog>,
        descriptors: DescriptorPlan,
    ) -> Arc<Self> {
        // So many of one address that others find room while its oldest still have time to speak.
        let unasked = ConnectionLimiter::new(descriptors.silent, descriptors.silent / 2);
        let connections = FairPermits::new(descriptors.subflows);
        let pairs = PendingConnections::new(runtime.clone());
        Arc::new(Self { runtime, verifier, tls, warnings, unasked, connections, pairs })
    }

    /// Takes connections for ever; `opened` gets each subflow.
    pub(crate) async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        opened: impl Fn(Channels) + Send + Sync + Clone + 'static,
    ) {
        loop {
            let (stream, peer) = accept(&self.runtime, &listener, Some(&self.warnings)).await;
            let silent = match self.unasked.acquire_idle(peer.ip()) {
                Ok(permit) => permit,
                Err(e) => {
                    self.warnings.warn("silent", format_args!("{e}: {}", peer.ip()));
                    continue;
                }
            };
            let (verifier, opened) = (self.clone(), opened.clone());
            self.runtime.spawn("tunnel handshake", async move {
                match timeout(HANDSHAKE_TIMEOUT, verifier.admit((stream, peer), silent)).await {
                    Ok(Ok(half)) => {
                        if let Some(channels) = verifier.pairs.join(half) {
                            opened(channels);
                        }
                    }
                    Ok(Err((kind, e))) => {
                        verifier.warnings.warn(kind, format_args!("{} of {}", e, peer.ip()))
                    }
                    Err(_) => verifier
                        .warnings
                        .warn("handshake", format_args!("no handshake in time of {}", peer.ip())),
                }
            });
        }
    }

    /// Reads the token of a connection and shakes hands. Not a byte is sent before it is authorised.
    async fn admit(
        &self,
        (mut stream, from): (TcpStream, SocketAddr),
        silent: IdlePermit,
    ) -> Result<SubflowConnection, (&'static str, MultipathError)> {
        let io = |kind| move |e: io::Error| (kind, MultipathError::from(e));
        path_spec::tune(&stream).map_err(io("socket"))?;
        let mut bytes = [0; TOKEN_BYTES];
        let is_heard = tokio::select! {
            biased;
            read = stream.read_exact(&mut bytes) => read.map(|_| true).map_err(io("hung up"))?,
            () = silent.evicted() => false,
            () = self.runtime.sleep(FIRST_WORD_TIMEOUT) => false,
        };
        if !is_heard {
            let e = MultipathError::Protocol("no authorisation in time, or before others came");
            return Err(("silent", e));
        }
        let auth_token = self.verifier.take(&bytes, date::now_ms());
        let (auth_token, peer) =
            auth_token.map_err(|e| ("stranger", MultipathError::Io(e.to_string())))?;
        let kind = ChannelKind::of(auth_token.channel).map_err(|e| ("stranger", e))?;
        drop(silent);
        let Some(permit) = self.connections.try_acquire(network_of(from.ip()), 1) else {
            let e = MultipathError::Protocol("its address has as many connections as it may");
            return Err(("no room", e));
        };
        let stream = self.tls.accept(stream).await.map_err(io("handshake"))?;
        let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let shown = shown.and_then(|certificate| PublicKey::of_certificate(certificate));
        if shown.as_ref().and_then(PublicKey::as_ed25519) != Some(&peer) {
            let e = MultipathError::Protocol("a client that authenticated as another");
            return Err(("stranger", e));
        }
        let channel = as_channel(stream);
        Ok(SubflowConnection {
            peer,
            nonce: auth_token.nonce,
            kind,
            channel,
            guard: Box::new(permit),
        })
    }
}

fn as_channel<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(stream: S) -> Channel {
    let (from, to) = split(stream);
    Channel { sender: Box::new(Sender(to)), receiver: Box::new(Receiver(from)), control: None }
}

struct Sender<S>(WriteHalf<S>);

impl<S: AsyncWrite + Send + Unpin> ChannelSender for Sender<S> {
    fn write(&mut self, mut pieces: Vec<Bytes>) -> ChannelFuture<'_, ()> {
        Box::pin(async move {
            // The first piece that is not written whole.
            let mut at = 0;
            while at < pieces.len() {
                let mut slices = [IoSlice::new(&[]); SLICES];
                let rest = &pieces[at..];
                for (slice, piece) in slices.iter_mut().zip(rest) {
                    *slice = IoSlice::new(piece);
                }
                let slices = &slices[..rest.len().min(SLICES)];
                let mut written = self.0.write_vectored(slices).await?;
                if written == 0 {
                    return Err(io::Error::from(io::ErrorKind::WriteZero).into());
                }
                while at < pieces.len() && written >= pieces[at].len() {
                    written -= pieces[at].len();
                    at += 1;
                }
                if written > 0 {
                    pieces[at].advance(written);
                }
            }
            self.0.flush().await?;
            Ok(())
        })
    }
}

struct Receiver<S>(ReadHalf<S>);

impl<S: AsyncRead + Send + Unpin> ChannelReceiver for Receiver<S> {
    fn read<'a>(&'a mut self, into: &'a mut BytesMut) -> ChannelFuture<'a, ()> {
        Box::pin(async move {
            match self.0.read_buf(into).await? {
                0 => Err(MultipathError::Ended),
                _ => Ok(()),
            }
        })
    }
}
