//! The peer: noq's multipath, one connection over all paths, between the ends that the script names.
//!
//! Its scheduler sends on the first path that has room, in the order of their numbers.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use noq::{
    Connection, Endpoint, EndpointConfig, FourTuple, PathError, PathStatus, TransportConfig, VarInt,
};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};
use serde::{Deserialize, Serialize};

use crate::bar::Problem;
use crate::clock::Watch;
use crate::noq_bulk::{self, NAME, Ready, broke, fetch, threads};

/// Most paths of a connection.
const PATHS: u32 = 4;

/// Windows of a stream, and of all together; more than 2048 full packets in one stream end the
/// connection. Many streams, so that memory is not what limits it.
const STREAM_BYTES: u32 = 2 << 20;
const STREAMS: u32 = 32;
const WINDOW_BYTES: u32 = STREAMS * STREAM_BYTES;

/// Size of the buffer that an endpoint asks the system for, as ours do.
const SOCKET_BYTES: usize = 4 << 20;

/// Maximum time until the server gives the connection ids of another path.
const PATH_TIMEOUT: Duration = Duration::from_secs(5);

/// Server to fetch from, and paths to use.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fetch {
    /// The server's address and certificate, as it printed them.
    server: SocketAddr,
    certificate: Vec<u8>,
    /// Source addresses of the paths beside the first, which is where the system's routes lead.
    more: Vec<IpAddr>,
    /// Seconds that do not count, and then those that do.
    omit_s: f64,
    span_s: f64,
}

impl FromStr for Fetch {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text)
    }
}

/// Result of a fetch.
#[derive(Serialize)]
struct Moved {
    bits_per_second: f64,
    /// Bytes that arrived on each path, in the order of their numbers.
    path_bytes: Vec<u64>,
}

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_multipath_paths(PATHS)
        .stream_receive_window(VarInt::from_u32(STREAM_BYTES))
        .receive_window(VarInt::from_u32(WINDOW_BYTES))
        .send_window(u64::from(WINDOW_BYTES));
    transport
}

fn endpoint(at: SocketAddr, server: Option<noq::ServerConfig>) -> Result<Endpoint, Problem> {
    let socket = UdpSocket::bind(at).map_err(broke)?;
    set_socket_recv_buffer_size(&socket, SOCKET_BYTES).map_err(broke)?;
    set_socket_send_buffer_size(&socket, SOCKET_BYTES).map_err(broke)?;
    let runtime = Arc::new(noq::TokioRuntime);
    Endpoint::new(EndpointConfig::default(), server, socket, runtime).map_err(broke)
}

/// Serves at `address`, in this process, for as long as it lives.
pub(crate) fn serve(address: SocketAddr) -> Result<(), Problem> {
    let (config, certificate) = noq_bulk::server(transport())?;
    let threads = threads()?;
    let _guard = threads.enter();
    let endpoint = endpoint(address, Some(config))?;
    threads.block_on(noq_bulk::serve(&endpoint, certificate))
}

/// Fetches, and prints what came of it.
pub(crate) fn run(wanted: &Fetch) -> Result<(), Problem> {
    let threads = threads()?;
    let _guard = threads.enter();
    let endpoint = endpoint(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0), None)?;
    let ready = Ready { address: wanted.server, certificate: wanted.certificate.clone() };
    let config = noq_bulk::client(&ready, transport())?;
    let moved = threads.block_on(async {
        let connecting = endpoint.connect_with(config, wanted.server, NAME).map_err(broke)?;
        let connection = connecting.await.map_err(broke)?;
        let mut paths = vec![connection.path(noq::PathId::ZERO).ok_or_else(|| broke("no path"))?];
        for source in &wanted.more {
            paths.push(open(&connection, wanted.server, *source).await?);
        }
        let bytes = Arc::new(AtomicU64::new(0));
        let watch = Watch::start();
        let streams: Vec<_> = (0..STREAMS)
            .map(|_| {
                let (connection, bytes) = (connection.clone(), bytes.clone());
                let (omit, end) = (wanted.omit_s, wanted.omit_s + wanted.span_s);
                threads.spawn(async move {
                    let count = |n| {
                        let now = watch.elapsed().as_secs_f64();
                        if (omit..end).contains(&now) {
                            bytes.fetch_add(n, Ordering::Relaxed);
                        }
                        now < end
                    };
                    fetch(&connection, u64::MAX >> 2, count).await
                })
            })
            .collect();
        for stream in streams {
            // The connection knows why; a stream only that it is lost.
            let why = |e: Problem| connection.close_reason().map_or(e, broke);
            stream.await.map_err(broke)?.map_err(why)?;
        }
        let bytes = bytes.load(Ordering::Relaxed);
        let path_bytes = paths.iter().map(|p| p.stats().udp_rx.bytes).collect();
        connection.close(VarInt::from_u32(0), b"");
        Ok::<_, Problem>(Moved { bits_per_second: bytes as f64 * 8.0 / wanted.span_s, path_bytes })
    })?;
    println!("{}", serde_json::to_string(&moved).map_err(broke)?);
    Ok(())
}

/// Opens a path from another address, once the server has given the connection ids for it.
async fn open(
    connection: &Connection,
    server: SocketAddr,
    source: IpAddr,
) -> Result<noq::Path, Problem> {
    let way = FourTuple::new(server, Some(source));
    let watch = Watch::start();
    loop {
        match connection.open_path(way, PathStatus::Available).await {
            Ok(path) => return Ok(path),
            Err(PathError::RemoteCidsExhausted) if watch.elapsed() < PATH_TIMEOUT => {
                tokio::task::yield_now().await;
            }
            Err(error) => return Err(broke(format!("the path from {source}: {error}"))),
        }
    }
}
