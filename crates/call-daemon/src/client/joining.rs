//! A client that joins a server on the network: by HTTP for the answer, by UDP or TCP for the call.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket as StdUdpSocket};
use std::time::Duration;

use airlane_quic::Trust;
use airlane_runtime::{RuntimeExt, RuntimeHandle, UdpSocket};
use tokio::net::TcpStream;

use super::signalling::{CallUrl, offer};
use super::{ClientConfig, ClientOffer, ClientSummary, StreamSocket};
use crate::error::CallError;
use crate::media::remote::Transport;
use crate::media_tcp::tune;

/// Time in which a connection to an address is up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Room to join, how, and whom to trust.
#[derive(Clone, Debug)]
pub struct CallTarget {
    /// URL of the room.
    pub url: CallUrl,
    /// Servers that are trusted over HTTPS.
    pub trust: Trust,
    /// Transport of media.
    pub transport: Transport,
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
    let candidates = ClientOffer::candidates(&answer, target.transport);
    let socket = match target.transport {
        Transport::Udp => bind(runtime, &candidates)?,
        Transport::Tcp => connect(runtime, &candidates).await?,
    };
    let client = pending.accept(&answer, socket.local_addr(), target.transport)?;
    Ok(client.run(runtime, &*socket, length, stop).await)
}

/// Socket from which packets to one of the addresses leave.
fn bind(
    runtime: &RuntimeHandle,
    candidates: &[SocketAddr],
) -> Result<Box<dyn UdpSocket>, CallError> {
    let local = candidates.iter().find_map(|at| source_to(*at));
    let local = local.ok_or_else(|| unreachable(candidates, "no way leads there"))?;
    let failed = |e: std::io::Error| CallError::Peer(format!("no socket at {local}: {e}"));
    runtime.bind_udp(SocketAddr::new(local, 0)).map_err(failed)
}

/// Connection to the first of the addresses that answers.
async fn connect(
    runtime: &RuntimeHandle,
    candidates: &[SocketAddr],
) -> Result<Box<dyn UdpSocket>, CallError> {
    let mut problem = "it names none for TCP".to_owned();
    for at in candidates {
        let connecting = async {
            let stream = TcpStream::connect(at).await?;
            tune(&stream)?;
            let local = stream.local_addr()?;
            Ok::<_, std::io::Error>((stream, local))
        };
        let connected = tokio::select! {
            biased;
            connected = connecting => connected.map_err(|e| e.to_string()),
            () = runtime.sleep(CONNECT_TIMEOUT) => Err("no answer".to_owned()),
        };
        match connected {
            Ok((stream, local)) => {
                return Ok(Box::new(StreamSocket::new(runtime, stream, local, *at)));
            }
            Err(e) => problem = e,
        }
    }
    Err(unreachable(candidates, &problem))
}

fn unreachable(candidates: &[SocketAddr], problem: &str) -> CallError {
    let all: Vec<String> = candidates.iter().map(ToString::to_string).collect();
    let all = all.join(", ");
    CallError::Peer(format!("the server's media at {all} cannot be reached: {problem}"))
}

/// Own address from which packets to another leave; nothing is sent.
fn source_to(there: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = match there {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = StdUdpSocket::bind((any, 0)).ok()?;
    socket.connect(there).ok()?;
    Some(socket.local_addr().ok()?.ip())
}
