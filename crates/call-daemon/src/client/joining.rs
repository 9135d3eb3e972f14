//! A client that joins a server on the network: by HTTP for the answer, by UDP for the call.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use airlane_quic::Trust;
use airlane_runtime::RuntimeHandle;

use super::signalling::{CallUrl, offer};
use super::{ClientConfig, ClientOffer, ClientSummary};
use crate::error::CallError;

/// Room to join, and whom to trust.
#[derive(Clone, Debug)]
pub struct CallTarget {
    /// URL of the room.
    pub url: CallUrl,
    /// Servers that are trusted over HTTPS.
    pub trust: Trust,
}

/// Joins a call and takes part until `stop`, or for `length` from the connection on.
///
/// # Errors
/// If the server cannot be reached or refuses.
pub async fn join(
    runtime: &RuntimeHandle,
    target: &CallTarget,
    config: ClientConfig,
    length: Option<Duration>,
    stop: impl Future<Output = ()>,
) -> Result<ClientSummary, CallError> {
    let name = config.name.clone();
    let pending = ClientOffer::new(config, runtime.now())?;
    let answer = offer(target, &name, pending.sdp()).await?;
    let candidates = ClientOffer::candidates(&answer);
    let local = candidates.iter().find_map(|at| source_to(*at));
    let local = local.ok_or_else(|| {
        let all: Vec<String> = candidates.iter().map(ToString::to_string).collect();
        CallError::Peer(format!("no way leads to the server's media at {}", all.join(", ")))
    })?;
    let failed = |e: std::io::Error| CallError::Peer(format!("no socket at {local}: {e}"));
    let socket = runtime.bind_udp(SocketAddr::new(local, 0)).map_err(failed)?;
    let client = pending.accept(&answer, socket.local_addr())?;
    Ok(client.run(runtime, &*socket, length, stop).await)
}

/// Own address from which packets to another leave; nothing is sent.
fn source_to(there: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = match there {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(there).ok()?;
    Some(socket.local_addr().ok()?.ip())
}
