//! The server of sessions: it accepts subflows and joins those of each session.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Bytes, BytesMut};
use parking_lot::{Mutex, MutexGuard};
use rand::RngExt;

use crate::MultipathStream;
use crate::error::MultipathError;
use crate::session::client::CLOSE_TIMEOUT;
use crate::session::hello::{HELLO_BYTES, SessionHello, SessionId, welcome};
use crate::session::limits::{SessionLimits, StreamLimits};
use crate::session::memory::MemoryPool;
use crate::session::streams::Streams;
use crate::subflow::SubflowConfig;
use crate::subflow::channel::{Channels, read_first};
use crate::subflow::pairing::PeerId;

/// Time for the hello of a subflow, and for taking the welcome.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// Time without any subflow after which a session is given up: its streams have failed by then.
const NO_SUBFLOW_TIMEOUT: Duration = Duration::from_secs(35);
/// Time without a frame after which a subflow is given up. The client pings at least every ten seconds.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(45);
/// Interval between two looks at subflows and sessions.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// A stream that a client has opened.
#[derive(Debug)]
pub struct AcceptedStream {
    /// The stream.
    pub stream: MultipathStream,
    /// The request that came with it: what it is for.
    pub request: Bytes,
    /// The peer that opened it.
    pub peer: PeerId,
}

/// Status of a session.
#[derive(Clone, Debug)]
pub struct SessionStatus {
    /// Number that no other session of this server has.
    pub serial: u64,
    /// The client.
    pub peer: PeerId,
    /// Number of open streams.
    pub streams: usize,
    /// Interface of each subflow, bytes sent and received.
    pub subflows: Vec<(u8, u64, u64)>,
}

/// Server of sessions.
pub struct SessionServer {
    runtime: RuntimeHandle,
    bounds: SessionLimits,
    memory_pool: MemoryPool,
    on_stream: Arc<dyn Fn(AcceptedStream) + Send + Sync>,
    serial: AtomicU64,
    /// Sessions by client and the id that it gave: nobody can join or end another's session.
    sessions: Mutex<BTreeMap<SessionKey, KnownSession>>,
}

type SessionKey = (PeerId, SessionId);

#[derive(Clone)]
struct KnownSession {
    serial: u64,
    incarnation: u64,
    streams: Arc<Streams>,
}

impl std::fmt::Debug for SessionServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionServer").field("bounds", &self.bounds).finish_non_exhaustive()
    }
}

impl SessionServer {
    /// A server without sessions. `on_stream` gets each stream that a client opens.
    pub fn new(
        runtime: RuntimeHandle,
        bounds: SessionLimits,
        on_stream: impl Fn(AcceptedStream) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let acceptor = Arc::new(Self {
            memory_pool: MemoryPool::new(bounds.max_streams, bounds.max_memory),
            runtime: runtime.clone(),
            bounds,
            on_stream: Arc::new(on_stream),
            serial: AtomicU64::new(0),
            sessions: Mutex::default(),
        });
        let of = Arc::downgrade(&acceptor);
        runtime.clone().spawn("session subflows", async move {
            loop {
                runtime.sleep(CHECK_INTERVAL).await;
                let Some(acceptor) = of.upgrade() else { return };
                acceptor.end_unresponsive_subflows();
            }
        });
        acceptor
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionKey, KnownSession>> {
        self.sessions.lock()
    }

    /// Serves a subflow until it ends; returns why it did.
    pub async fn serve(&self, mut channels: Channels) -> MultipathError {
        let mut buffer = BytesMut::new();
        let hello = {
            let timeout = self.runtime.sleep(HELLO_TIMEOUT);
            tokio::select! {
                biased;
                hello = read_first(&mut *channels.low_latency.receiver, &mut buffer, HELLO_BYTES) => hello,
                () = timeout => return MultipathError::Protocol("no hello in time"),
            }
        };
        let known = hello.and_then(|hello| {
            let hello = SessionHello::decode(&hello)?;
            Ok((self.session((channels.peer, hello.session))?, hello))
        });
        let (known, hello) = match known {
            Ok(known) => known,
            Err(e) => return e,
        };
        let timeout = self.runtime.sleep(HELLO_TIMEOUT);
        let welcomed = tokio::select! {
            biased;
            welcomed = channels.low_latency.sender.write(vec![welcome(known.incarnation)]) => welcomed,
            () = timeout => return MultipathError::Protocol("no room for a welcome in time"),
        };
        match welcomed {
            Ok(()) => {
                let terms = SubflowConfig {
                    preference: hello.preference,
                    max_bps: hello.max_bps,
                    limit: hello.credit,
                    takes_credit: true,
                };
                known.streams.run((hello.interface, terms), channels, buffer, |_| {}).await
            }
            Err(e) => e,
        }
    }

    /// The sessions that there are.
    pub fn sessions(&self) -> Vec<SessionStatus> {
        let known: Vec<(SessionKey, KnownSession)> =
            self.lock().iter().map(|(key, known)| (*key, known.clone())).collect();
        let view = |((peer, _), known): &(SessionKey, KnownSession)| SessionStatus {
            serial: known.serial,
            peer: *peer,
            streams: known.streams.len(),
            subflows: {
                let subflows = known.streams.subflows();
                let of = subflows.values().map(|subflow| {
                    let carried = subflow.counts();
                    (subflow.interface, carried.sent_bytes, carried.received_bytes)
                });
                of.collect()
            },
        };
        known.iter().map(view).collect()
    }

    /// Ends all sessions of a peer at once, with their subflows and streams.
    pub fn end_peer(&self, peer: PeerId) {
        let mut sessions = self.lock();
        let of_peer: Vec<SessionKey> =
            sessions.keys().filter(|(of, _)| *of == peer).copied().collect();
        let ended: Vec<KnownSession> =
            of_peer.iter().filter_map(|key| sessions.remove(key)).collect();
        drop(sessions);
        for known in ended {
            known.streams.end();
        }
    }

    /// Gives up all streams, waits a little until the other ends have been told, and ends all
    /// sessions.
    pub async fn close(&self) {
        let sessions = std::mem::take(&mut *self.lock());
        for known in sessions.values() {
            known.streams.give_up();
        }
        self.runtime.sleep(CLOSE_TIMEOUT).await;
        for known in sessions.into_values() {
            known.streams.end();
        }
    }

    /// The session of this name: a new one, if this is its first subflow.
    fn session(&self, id: SessionKey) -> Result<KnownSession, MultipathError> {
        let mut sessions = self.lock();
        if let Some(known) = sessions.get(&id) {
            return Ok(known.clone());
        }
        let own = sessions.keys().filter(|(peer, _)| *peer == id.0).count();
        let is_own_full = own >= self.bounds.max_sessions.div_ceil(2);
        if is_own_full || sessions.len() >= self.bounds.max_sessions {
            // One that has no subflow goes first, if it has no streams either: whoever began it may be
            // gone for good.
            let dark = |(of, known): (&_, &KnownSession)| {
                let (peer, _) = of;
                let may_go = !is_own_full || *peer == id.0;
                let since = known.streams.down_since().filter(|_| may_go)?;
                Some((known.streams.len() > 0, since, *of))
            };
            let oldest = sessions.iter().filter_map(dark).min();
            let gone = oldest.and_then(|(_, _, of)| sessions.remove(&of));
            let gone = gone.ok_or(MultipathError::Protocol(match is_own_full {
                true => "one session of a client too many",
                false => "one session too many",
            }))?;
            gone.streams.end();
        }
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let incarnation = self.runtime.seed().split("session").index(serial).rng().random();
        let on_stream = self.on_stream.clone();
        let on_stream =
            move |stream, request| on_stream(AcceptedStream { stream, request, peer: id.0 });
        let limits = StreamLimits::of(&self.memory_pool, &self.bounds);
        let streams = Streams::new(self.runtime.clone(), limits, Some(Box::new(on_stream)));
        let known = KnownSession { serial, incarnation, streams };
        sessions.insert(id, known.clone());
        drop(sessions);
        Ok(known)
    }

    /// Ends subflows whose other end is gone, and sessions that have been without subflows for too long.
    fn end_unresponsive_subflows(&self) {
        let now = self.runtime.now();
        let known: Vec<(SessionKey, KnownSession)> =
            self.lock().iter().map(|(id, known)| (*id, known.clone())).collect();
        for (id, known) in known {
            for subflow in known.streams.subflows().into_values() {
                if now - subflow.liveness.heard() > RESPONSE_TIMEOUT {
                    subflow.end();
                }
            }
            if known.streams.has_been_without_subflows(now, NO_SUBFLOW_TIMEOUT) {
                self.lock().remove(&id);
                known.streams.end();
            }
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::subflow::channel::{Channel, ChannelFuture, ChannelReceiver};
    use airlane_runtime::virtual_time::run_alone;

    use crate::subflow::testing::Discards;

    /// Says this, and then nothing, or ends.
    struct Says(Option<Bytes>, bool);

    impl ChannelReceiver for Says {
        fn read<'a>(&'a mut self, into: &'a mut BytesMut) -> ChannelFuture<'a, ()> {
            Box::pin(async move {
                match self.0.take() {
                    Some(said) => into.extend_from_slice(&said),
                    None if self.1 => return Err(MultipathError::Ended),
                    None => std::future::pending().await,
                }
                Ok(())
            })
        }
    }

    /// A subflow of a session and interface, which ends at once or never.
    fn subflow(session: u8, interface: u8, ends: bool) -> Channels {
        let hello = SessionHello {
            session: [session; 16],
            interface,
            preference: airlane_fbdt::Preference::default(),
            max_bps: None,
            credit: None,
        };
        let channel = |said| Channel {
            sender: Box::new(Discards),
            receiver: Box::new(Says(said, ends)),
            control: None,
        };
        Channels {
            peer: [session; 32],
            low_latency: channel(Some(hello.encode())),
            bulk: channel(None),
            guard: Box::new(()),
        }
    }

    #[test]
    fn sessions_and_subflows_have_an_end_and_what_is_down_gives_way() {
        run_alone(|runtime| async move {
            let bounds = SessionLimits {
                max_sessions: 2,
                max_subflows_per_session: 2,
                ..SessionLimits::default()
            };
            let acceptor = SessionServer::new(runtime.clone(), bounds, |_| {});
            // Whether a subflow is still there after a moment.
            let stays = async |channels| {
                let (acceptor, moment) = (acceptor.clone(), runtime.sleep(HELLO_TIMEOUT / 10));
                let mut serving = Box::pin(async move { acceptor.serve(channels).await });
                let stays = tokio::select! {
                    biased;
                    ended = &mut serving => Err(ended.to_string()),
                    () = moment => Ok(()),
                };
                if stays.is_ok() {
                    runtime.spawn("subflow", async move { drop(serving.await) });
                }
                stays
            };
            assert!(stays(subflow(1, 0, true)).await.is_err());
            assert!(stays(subflow(2, 0, false)).await.is_ok());
            assert_eq!(acceptor.sessions().len(), 2);
            assert!(stays(subflow(3, 0, false)).await.is_ok());
            let serials: Vec<u64> =
                acceptor.sessions().iter().map(|session| session.serial).collect();
            assert_eq!(serials, [1, 2]);
            assert!(
                stays(subflow(4, 0, false)).await.unwrap_err().contains("one session too many")
            );
            assert!(stays(subflow(3, 1, false)).await.is_ok());
            assert!(
                stays(subflow(3, 2, false)).await.unwrap_err().contains("one subflow too many")
            );
            // One in the place of an older one is none too many.
            assert!(stays(subflow(3, 1, false)).await.is_ok());
        });
    }
}
