//! The serving end: datagrams between a stream and their targets.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::time::Duration;

use airlane_multipath::MultipathStream;
use airlane_runtime::RuntimeHandle;
use parking_lot::Mutex;

use super::queue::Queue;
use super::socket::BurstSocket;
use super::{Counts, DatagramFrame, Incoming, count, send};
use crate::pump::PumpError;
use crate::request::Target;
use crate::target_connector::{Holder, TargetConnector};

/// Bytes of a datagram at most.
const MAX_BYTES: usize = 65_536;
/// Time in which the addresses of a name are to be known.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);
/// Names that are remembered.
const NAMES: usize = 64;
/// Hosts that an association may have sent to; then the first are forgotten.
const HOSTS: usize = 1024;

/// Descriptors that a relay takes at most.
pub(crate) const SOCKETS: usize = 2;

/// Sockets that a relay sends from.
pub(crate) struct Sockets {
    v4: BurstSocket,
    v6: Option<BurstSocket>,
}

impl Sockets {
    /// One of each family that there is.
    ///
    /// # Errors
    /// If there is none to be had.
    pub(crate) fn bind() -> io::Result<Self> {
        let bind = |ip: IpAddr| BurstSocket::bind(SocketAddr::new(ip, 0));
        Ok(Self {
            v4: bind(Ipv4Addr::UNSPECIFIED.into())?,
            // Machines without IPv6 reach IPv4 all the same.
            v6: bind(Ipv6Addr::UNSPECIFIED.into()).ok(),
        })
    }
}

/// Passes datagrams on until the stream ends.
///
/// # Errors
/// If the stream or a socket fails.
pub(crate) async fn relay(
    (stream, sockets): (MultipathStream, Sockets),
    (connector, holder): (&TargetConnector, Holder),
    (runtime, counts): (&RuntimeHandle, &Counts),
) -> Result<(), PumpError> {
    let Sockets { v4, v6 } = sockets;
    let relay = Relay {
        v4,
        v6,
        connector,
        holder,
        queue: Queue::new(runtime.clone()),
        counts,
        asked: Mutex::default(),
    };
    tokio::select! {
        biased;
        ended = relay.give_out(&stream) => ended,
        ended = relay.take_in(Some(&relay.v4)) => ended,
        ended = relay.take_in(relay.v6.as_ref()) => ended,
        ended = send(&stream, &relay.queue, counts) => Ok(ended?),
    }
}

struct Relay<'a> {
    v4: BurstSocket,
    v6: Option<BurstSocket>,
    connector: &'a TargetConnector,
    holder: Holder,
    queue: Queue,
    counts: &'a Counts,
    /// The hosts that something was sent to.
    asked: Mutex<BTreeSet<IpAddr>>,
}

impl Relay<'_> {
    /// From the stream to targets.
    async fn give_out(&self, stream: &MultipathStream) -> Result<(), PumpError> {
        let mut names: BTreeMap<Target, SocketAddr> = BTreeMap::new();
        let mut incoming = Incoming::new(stream, Vec::new());
        while let Some(frame) = incoming.next().await? {
            let to = match names.get(&frame.target) {
                Some(known) => Some(*known),
                None => self.look_up(&frame.target).await,
            };
            let socket =
                to.and_then(|to| if to.is_ipv4() { Some(&self.v4) } else { self.v6.as_ref() });
            let (Some(to), Some(socket)) = (to, socket) else {
                count(&self.counts.refused);
                continue;
            };
            if names.len() >= NAMES && !names.contains_key(&frame.target) {
                names.pop_first();
            }
            names.insert(frame.target, to);
            {
                let mut asked = self.asked.lock();
                if asked.len() >= HOSTS && !asked.contains(&to.ip()) {
                    asked.pop_first();
                }
                asked.insert(to.ip());
            }
            count(&self.counts.out);
            socket.send_to(&frame.payload, to).await;
        }
        Ok(())
    }

    /// From targets into the queue.
    async fn take_in(&self, socket: Option<&BurstSocket>) -> Result<(), PumpError> {
        let Some(socket) = socket else { return std::future::pending().await };
        let mut buffer = vec![0; MAX_BYTES];
        loop {
            let (length, from) = socket.recv_from(&mut buffer).await?;
            // Only those who were asked may answer: others were not.
            let is_asked = self.asked.lock().contains(&from.ip());
            let source = Target::new(&from.ip().to_string(), from.port()).filter(|_| is_asked);
            match source.and_then(|source| DatagramFrame::encode(&source, &buffer[..length])) {
                Some(frame) => self.queue.push(frame),
                None => count(&self.counts.refused),
            }
            let dropped = self.queue.dropped() + socket.lost();
            self.counts.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
    }

    /// The first address of a target that is allowed, in the family that it is of.
    async fn look_up(&self, target: &Target) -> Option<SocketAddr> {
        let allowed = self.connector.allowed(self.holder, target, LOOKUP_TIMEOUT).await.ok()?;
        let first = allowed.first()?;
        Some(SocketAddr::new(first.ip().to_canonical(), first.port()))
    }
}
