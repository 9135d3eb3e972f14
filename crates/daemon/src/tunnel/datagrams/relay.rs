//! The serving end: datagrams between a stream and their targets.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::time::Duration;

use airlane_apps::multipath::MultipathStream;
use airlane_runtime::RuntimeHandle;
use parking_lot::Mutex;
use tokio::net::{UdpSocket, lookup_host};
use tokio::time::timeout;

use super::queue::Queue;
use super::{Counts, DatagramFrame, Incoming, count, send};
use crate::tunnel::pump::PumpError;
use crate::tunnel::request::Target;
use crate::tunnel::rules::TargetPolicy;

/// Bytes of a datagram at most.
const MOST_BYTES: usize = 65_536;
/// A name is known by then.
const LOOK_UP: Duration = Duration::from_secs(2);
/// Names that are remembered.
const NAMES: usize = 64;
/// Hosts that an association may have sent to; then the first are forgotten.
const HOSTS: usize = 1024;

/// Passes datagrams on until the stream ends.
///
/// # Errors
/// If the stream or a socket fails.
pub(in crate::tunnel) async fn relay(
    stream: MultipathStream,
    policy: &TargetPolicy,
    (runtime, counts): (&RuntimeHandle, &Counts),
) -> Result<(), PumpError> {
    let bind = |ip: IpAddr| UdpSocket::bind(SocketAddr::new(ip, 0));
    let relay = Relay {
        v4: bind(Ipv4Addr::UNSPECIFIED.into()).await?,
        // Machines without IPv6 reach IPv4 all the same.
        v6: bind(Ipv6Addr::UNSPECIFIED.into()).await.ok(),
        policy,
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
    v4: UdpSocket,
    v6: Option<UdpSocket>,
    policy: &'a TargetPolicy,
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
                None => look_up(self.policy, &frame.target).await,
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
            // One that does not leave is a lost datagram.
            let _ = socket.send_to(&frame.payload, to).await;
        }
        Ok(())
    }

    /// From targets into the queue.
    async fn take_in(&self, socket: Option<&UdpSocket>) -> Result<(), PumpError> {
        let Some(socket) = socket else { return std::future::pending().await };
        let mut buffer = vec![0; MOST_BYTES];
        loop {
            let (length, from) = match socket.recv_from(&mut buffer).await {
                Ok(received) => received,
                // A datagram that a target did not want.
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(e) => return Err(e.into()),
            };
            // Only those who were asked may answer: others are strangers.
            let is_asked = self.asked.lock().contains(&from.ip());
            let source = Target::new(&from.ip().to_string(), from.port()).filter(|_| is_asked);
            match source.and_then(|source| DatagramFrame::encode(&source, &buffer[..length])) {
                Some(frame) => self.queue.push(frame),
                None => count(&self.counts.refused),
            }
            self.counts.dropped.fetch_add(self.queue.dropped(), Ordering::Relaxed);
        }
    }
}

/// The first address of a target that is allowed.
async fn look_up(policy: &TargetPolicy, target: &Target) -> Option<SocketAddr> {
    let found = timeout(LOOK_UP, lookup_host((target.host.as_str(), target.port))).await;
    found.ok()?.ok()?.find(|address| policy.check(target, address.ip()).is_ok())
}
