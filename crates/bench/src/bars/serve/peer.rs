//! The peer: noq's own endpoint on tokio, without HTTP/3.
//!
//! A request is a stream on which the client says how many bytes it wants; they come back on it.

use std::fmt::Display;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::Arc;

use bytes::Bytes;
use clap::ValueEnum;
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TransportConfig, VarInt};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{CipherSuite, RootCertStore};
use serde::{Deserialize, Serialize};

use super::{Load, Moved, threads};
use crate::bar::Problem;
use crate::clock::Watch;
use crate::process::{Running, Usage};

/// Both sides' application protocol.
const ALPN: &[u8] = b"bulk";
/// The server's name.
const NAME: &str = "localhost";
/// What the server hands over at once.
const PIECE_BYTES: usize = 1 << 20;
/// What a tuned endpoint asks the system to keep for its socket, as ours do.
const SOCKET_BYTES: usize = 4 << 20;

/// How an endpoint is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Windows {
    /// As it comes.
    Own,
    /// With larger windows and socket buffers.
    Large,
}

impl Windows {
    pub(super) const ALL: [Self; 2] = [Self::Own, Self::Large];

    fn transport(self) -> TransportConfig {
        let mut transport = TransportConfig::default();
        if self == Self::Large {
            // More than 2048 full packets in one stream end the connection.
            transport.stream_receive_window(VarInt::from_u32(2 << 20)).send_window(16 << 20);
        }
        transport
    }

    fn endpoint(self, server: Option<ServerConfig>) -> Result<Endpoint, Problem> {
        let socket = UdpSocket::bind("127.0.0.1:0").map_err(broke)?;
        if self == Self::Large {
            set_socket_recv_buffer_size(&socket, SOCKET_BYTES).map_err(broke)?;
            set_socket_send_buffer_size(&socket, SOCKET_BYTES).map_err(broke)?;
        }
        let config = EndpointConfig::default();
        Endpoint::new(config, server, socket, Arc::new(noq::TokioRuntime)).map_err(broke)
    }
}

/// What a server says of itself.
#[derive(Serialize, Deserialize)]
struct Ready {
    address: SocketAddr,
    certificate: Vec<u8>,
}

fn broke(e: impl Display) -> Problem {
    Problem::Broke(format!("noq: {e}"))
}

/// The cipher suite that ours agree on.
fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider.cipher_suites.retain(|s| s.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256);
    Arc::new(provider)
}

/// Serves in this process for as long as it lives.
pub(crate) fn child(windows: Windows) -> Result<(), Problem> {
    let own = rcgen::generate_simple_self_signed([NAME.to_owned()]).map_err(broke)?;
    let certificate = own.cert.der().clone();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
    let mut tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(broke)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .map_err(broke)?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let crypto = QuicServerConfig::try_from(tls).map_err(broke)?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(windows.transport()));
    let threads = threads()?;
    let _guard = threads.enter();
    let endpoint = windows.endpoint(Some(config))?;
    let address = endpoint.local_addr().map_err(broke)?;
    let ready = Ready { address, certificate: certificate.to_vec() };
    println!("{}", serde_json::to_string(&ready).map_err(broke)?);
    threads.block_on(async {
        while let Some(incoming) = endpoint.accept().await {
            let connection = incoming.await.map_err(broke)?;
            // It ends with its connection.
            threads.spawn(async move { converse(connection).await.is_ok() });
        }
        Ok(())
    })
}

/// Answers all requests of a connection, one after the other.
async fn converse(connection: noq::Connection) -> Result<(), Problem> {
    let piece = Bytes::from(vec![0x5a; PIECE_BYTES]);
    loop {
        let (mut send, mut recv) = connection.accept_bi().await.map_err(broke)?;
        let mut wanted = [0; 8];
        recv.read_exact(&mut wanted).await.map_err(broke)?;
        let mut left = u64::from_be_bytes(wanted);
        while left > 0 {
            let part = piece.slice(..usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES));
            left -= part.len() as u64;
            send.write_chunk(part).await.map_err(broke)?;
        }
        send.finish().map_err(broke)?;
    }
}

/// Fetches from a server in a process of its own.
pub(super) fn run(windows: Windows, load: Load) -> Result<Moved, Problem> {
    let own = std::env::current_exe().map_err(broke)?;
    let name = windows.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default();
    let mut command = Command::new(own);
    let (server, line) = Running::announced("noq", command.arg(format!("--child-noq={name}")))?;
    let ready: Ready = serde_json::from_str(&line).map_err(broke)?;
    let threads = threads()?;
    let _guard = threads.enter();
    let endpoint = windows.endpoint(None)?;
    let config = client(windows, &ready)?;
    threads.block_on(async {
        let connecting = endpoint.connect_with(config, ready.address, NAME).map_err(broke)?;
        let connection = connecting.await.map_err(broke)?;
        // As ours: the connection has carried something before it is measured.
        fetch(&connection, 1).await?;
        let (served, own) = (server.usage()?, Usage::own()?);
        let watch = Watch::start();
        let mut bytes = 0;
        for _ in 0..load.objects {
            bytes += fetch(&connection, load.object_bytes).await?;
        }
        let wall = watch.elapsed();
        Ok(Moved {
            bytes,
            wall,
            server: server.usage()?.cpu - served.cpu,
            client: Usage::own()?.cpu - own.cpu,
        })
    })
}

fn client(windows: Windows, server: &Ready) -> Result<ClientConfig, Problem> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(server.certificate.clone())).map_err(broke)?;
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(broke)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let crypto = QuicClientConfig::try_from(tls).map_err(broke)?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(windows.transport()));
    Ok(config)
}

async fn fetch(connection: &noq::Connection, wanted: u64) -> Result<u64, Problem> {
    let (mut send, mut recv) = connection.open_bi().await.map_err(broke)?;
    send.write_all(&wanted.to_be_bytes()).await.map_err(broke)?;
    send.finish().map_err(broke)?;
    let mut bytes = 0;
    // As many at once as ours: each call locks the connection.
    let mut pieces = [const { Bytes::new() }; 64];
    while let Some(n) = recv.read_many_chunks(&mut pieces).await.map_err(broke)? {
        bytes += pieces[..n].iter().map(|piece| piece.len() as u64).sum::<u64>();
    }
    Ok(bytes)
}
