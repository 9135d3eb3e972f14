//! What the peers on noq's own endpoint share: TLS on both sides, and bulk on bare streams.
//!
//! A request is a stream on which the client says how many bytes it wants; they come back on it.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::{
    ClientConfig, Connection, Endpoint, RecvStream, SendStream, ServerConfig, TransportConfig,
};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{CipherSuite, RootCertStore};
use serde::{Deserialize, Serialize};

use crate::bar::Problem;

/// Both sides' application protocol.
const ALPN: &[u8] = b"bulk";
/// The server's name.
pub(crate) const NAME: &str = "localhost";
/// Bytes that the server hands over at once.
const PIECE_BYTES: usize = 1 << 20;

/// Address and certificate that a server prints when it is ready.
#[derive(Serialize, Deserialize)]
pub(crate) struct Ready {
    pub(crate) address: SocketAddr,
    pub(crate) certificate: Vec<u8>,
}

pub(crate) fn broke(e: impl Display) -> Problem {
    Problem::Broke(format!("noq: {e}"))
}

/// A tokio runtime as the airlane command has it.
pub(crate) fn threads() -> Result<tokio::runtime::Runtime, Problem> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(|e| Problem::Broke(format!("no threads to run on: {e}")))
}

/// The cipher suite that ours agree on.
fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider.cipher_suites.retain(|s| s.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256);
    Arc::new(provider)
}

/// A server with a certificate of its own, which it returns too.
pub(crate) fn server(transport: TransportConfig) -> Result<(ServerConfig, Vec<u8>), Problem> {
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
    config.transport_config(Arc::new(transport));
    Ok((config, certificate.to_vec()))
}

/// A client that trusts the server's certificate.
pub(crate) fn client(server: &Ready, transport: TransportConfig) -> Result<ClientConfig, Problem> {
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
    config.transport_config(Arc::new(transport));
    Ok(config)
}

/// Prints what clients need to know, and serves in this process for as long as it lives.
pub(crate) async fn serve(endpoint: &Endpoint, certificate: Vec<u8>) -> Result<(), Problem> {
    let ready = Ready { address: endpoint.local_addr().map_err(broke)?, certificate };
    println!("{}", serde_json::to_string(&ready).map_err(broke)?);
    while let Some(incoming) = endpoint.accept().await {
        let Ok(connection) = incoming.await else { continue };
        // It ends with its connection.
        tokio::runtime::Handle::current().spawn(converse(connection));
    }
    Ok(())
}

/// Answers the requests of a connection, each on a task of its own, until it ends.
async fn converse(connection: Connection) {
    while let Ok((send, recv)) = connection.accept_bi().await {
        // A client that has enough stops the stream: no fault.
        tokio::runtime::Handle::current().spawn(async move { answer(send, recv).await.is_ok() });
    }
}

/// Sends as many bytes as are asked for.
async fn answer(mut send: SendStream, mut recv: RecvStream) -> Result<(), Problem> {
    let piece = Bytes::from(vec![0x5a; PIECE_BYTES]);
    let mut wanted = [0; 8];
    recv.read_exact(&mut wanted).await.map_err(broke)?;
    let mut left = u64::from_be_bytes(wanted);
    while left > 0 {
        let part = piece.slice(..usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES));
        left -= part.len() as u64;
        send.write_chunk(part).await.map_err(broke)?;
    }
    send.finish().map_err(broke)
}

/// Fetches `wanted` bytes; `seen` is told of each piece, and says whether to go on.
pub(crate) async fn fetch(
    connection: &Connection,
    wanted: u64,
    mut seen: impl FnMut(u64) -> bool,
) -> Result<(), Problem> {
    let (mut send, mut recv) = connection.open_bi().await.map_err(broke)?;
    send.write_all(&wanted.to_be_bytes()).await.map_err(broke)?;
    send.finish().map_err(broke)?;
    // As many at once as ours: each call locks the connection.
    let mut pieces = [const { Bytes::new() }; 64];
    while let Some(n) = recv.read_many_chunks(&mut pieces).await.map_err(broke)? {
        if !seen(pieces[..n].iter().map(|piece| piece.len() as u64).sum::<u64>()) {
            break;
        }
    }
    Ok(())
}
