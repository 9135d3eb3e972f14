//! The end that is connected to: joins the lines of each trunk.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Bytes, BytesMut};
use rand::RngExt;

use super::budget::Budget;
use super::channel::Channels;
use super::dialer::FAREWELL;
use super::first;
use super::hello::{HELLO_BYTES, TrunkHello, TrunkId, welcome};
use super::line::LineTerms;
use super::pair::PeerId;
use super::streams::{StreamLimits, Streams};
use crate::multipath::error::MultipathError;
use crate::multipath::{MultipathStream, StreamConfig};

/// A line has said what it belongs to by then.
const HELLO: Duration = Duration::from_secs(5);
/// A trunk without lines is given up after so long: by then its streams have failed too.
const PATIENCE: Duration = Duration::from_secs(35);
/// A line on which nothing came for so long is given up. The other end asks at least every ten
/// seconds whether this one is there.
const SILENCE: Duration = Duration::from_secs(45);
/// Between two looks at lines and trunks.
const LOOK: Duration = Duration::from_secs(5);

/// What an end holds at most.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Trunks at once.
    pub trunks: usize,
    /// Lines of a trunk at once.
    pub lines_per_trunk: usize,
    /// Streams of a trunk.
    pub streams_per_trunk: usize,
    /// Streams of all trunks.
    pub streams: usize,
    /// Bytes that the streams of a trunk may hold in each direction together, beyond 256 KiB of each.
    pub memory_per_trunk: u64,
    /// Bytes that the streams of all trunks may hold in each direction together, beyond 256 KiB of
    /// each.
    pub memory: u64,
    /// Number of descriptors that the process may have open; `None`: as many as the system grants it.
    pub max_descriptors: Option<usize>,
    /// The streams that this end opens or accepts.
    pub stream: StreamConfig,
    /// Time in which a target is to be reached: its name, and the client's turn, included.
    pub reach_timeout: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            trunks: 256,
            lines_per_trunk: 16,
            streams_per_trunk: 1024,
            streams: 4096,
            memory_per_trunk: 256 << 20,
            memory: 512 << 20,
            max_descriptors: None,
            stream: StreamConfig::default(),
            reach_timeout: Duration::from_secs(15),
        }
    }
}

/// A stream that the other end has opened.
#[derive(Debug)]
pub struct Opened {
    /// The stream.
    pub stream: MultipathStream,
    /// What it is for.
    pub request: Bytes,
    /// Who opened it.
    pub peer: PeerId,
}

/// A trunk, as figures show it.
#[derive(Clone, Debug)]
pub struct TrunkView {
    /// Which it is: a number that no other has.
    pub serial: u64,
    /// Whose it is.
    pub peer: PeerId,
    /// Streams that are open.
    pub streams: usize,
    /// Of each line: its radio, bytes sent and received.
    pub lines: Vec<(u8, u64, u64)>,
}

/// Joins lines to trunks.
pub struct Acceptor {
    runtime: RuntimeHandle,
    bounds: Bounds,
    budget: Budget,
    begun: Arc<dyn Fn(Opened) + Send + Sync>,
    serial: AtomicU64,
    /// By peer and the name that it gave: no peer can join another's trunk, or end it.
    trunks: Mutex<BTreeMap<TrunkKey, Known>>,
}

type TrunkKey = (PeerId, TrunkId);

#[derive(Clone)]
struct Known {
    serial: u64,
    incarnation: u64,
    streams: Arc<Streams>,
}

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Acceptor").field("bounds", &self.bounds).finish_non_exhaustive()
    }
}

impl Acceptor {
    /// An end without lines. `begun` gets each stream that the other ends open.
    pub fn new(
        runtime: RuntimeHandle,
        bounds: Bounds,
        begun: impl Fn(Opened) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let acceptor = Arc::new(Self {
            budget: Budget::new(bounds.streams, bounds.memory),
            runtime: runtime.clone(),
            bounds,
            begun: Arc::new(begun),
            serial: AtomicU64::new(0),
            trunks: Mutex::default(),
        });
        let of = Arc::downgrade(&acceptor);
        runtime.clone().spawn("trunk lines", async move {
            loop {
                runtime.sleep(LOOK).await;
                let Some(acceptor) = of.upgrade() else { return };
                acceptor.end_silent_lines();
            }
        });
        acceptor
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<TrunkKey, Known>> {
        self.trunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a line until it ends; why it did.
    pub async fn serve(&self, mut channels: Channels) -> MultipathError {
        let mut buffer = BytesMut::new();
        let hello = {
            let timeout = self.runtime.sleep(HELLO);
            tokio::select! {
                biased;
                hello = first(&mut *channels.express.receiver, &mut buffer, HELLO_BYTES) => hello,
                () = timeout => return MultipathError::Protocol("no hello in time"),
            }
        };
        let known = hello.and_then(|hello| {
            let hello = TrunkHello::decode(&hello)?;
            Ok((self.trunk((channels.peer, hello.trunk))?, hello))
        });
        let (known, hello) = match known {
            Ok(known) => known,
            Err(e) => return e,
        };
        let timeout = self.runtime.sleep(HELLO);
        let welcomed = tokio::select! {
            biased;
            welcomed = channels.express.sender.write(vec![welcome(known.incarnation)]) => welcomed,
            () = timeout => return MultipathError::Protocol("no room for a welcome in time"),
        };
        match welcomed {
            Ok(()) => {
                let terms = LineTerms {
                    preference: hello.preference,
                    max_bps: hello.max_bps,
                    limit: hello.allowance,
                    obeys: true,
                };
                known.streams.run((hello.radio, terms), channels, buffer, |_| {}).await
            }
            Err(e) => e,
        }
    }

    /// The trunks that there are.
    pub fn trunks(&self) -> Vec<TrunkView> {
        let known: Vec<(TrunkKey, Known)> =
            self.lock().iter().map(|(key, known)| (*key, known.clone())).collect();
        let view = |((peer, _), known): &(TrunkKey, Known)| TrunkView {
            serial: known.serial,
            peer: *peer,
            streams: known.streams.len(),
            lines: {
                let lines = known.streams.lines();
                let of = lines.values().map(|line| {
                    let carried = line.counts();
                    (line.radio, carried.sent_bytes, carried.received_bytes)
                });
                of.collect()
            },
        };
        known.iter().map(view).collect()
    }

    /// Ends all trunks of a peer at once, with their lines and streams.
    pub fn end_peer(&self, peer: PeerId) {
        let mut trunks = self.lock();
        let of_peer: Vec<TrunkKey> = trunks.keys().filter(|(of, _)| *of == peer).copied().collect();
        let ended: Vec<Known> = of_peer.iter().filter_map(|key| trunks.remove(key)).collect();
        drop(trunks);
        for known in ended {
            known.streams.end();
        }
    }

    /// Gives up all streams, waits a little until the other ends have been told, and ends all
    /// trunks.
    pub async fn close(&self) {
        let trunks = std::mem::take(&mut *self.lock());
        for known in trunks.values() {
            known.streams.give_up();
        }
        self.runtime.sleep(FAREWELL).await;
        for known in trunks.into_values() {
            known.streams.end();
        }
    }

    /// The trunk of this name: a new one, if this is its first line.
    fn trunk(&self, id: TrunkKey) -> Result<Known, MultipathError> {
        let mut trunks = self.lock();
        if let Some(known) = trunks.get(&id) {
            return Ok(known.clone());
        }
        let own = trunks.keys().filter(|(peer, _)| *peer == id.0).count();
        let is_own_full = own >= self.bounds.trunks.div_ceil(2);
        if is_own_full || trunks.len() >= self.bounds.trunks {
            // One that has no line goes first, if it has no streams either: whoever began it may be
            // gone for good.
            let dark = |(of, known): (&_, &Known)| {
                let (peer, _) = of;
                let may_go = !is_own_full || *peer == id.0;
                let since = known.streams.dark_since().filter(|_| may_go)?;
                Some((known.streams.len() > 0, since, *of))
            };
            let oldest = trunks.iter().filter_map(dark).min();
            let gone = oldest.and_then(|(_, _, of)| trunks.remove(&of));
            let gone = gone.ok_or(MultipathError::Protocol(match is_own_full {
                true => "one trunk of a client too many",
                false => "one trunk too many",
            }))?;
            gone.streams.end();
        }
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let incarnation = self.runtime.seed().split("trunk").index(serial).rng().random();
        let begun = self.begun.clone();
        let begun = move |stream, request| begun(Opened { stream, request, peer: id.0 });
        let limits = StreamLimits::of(&self.budget, &self.bounds);
        let streams = Streams::new(self.runtime.clone(), limits, Some(Box::new(begun)));
        let known = Known { serial, incarnation, streams };
        trunks.insert(id, known.clone());
        drop(trunks);
        Ok(known)
    }

    /// Ends lines whose other end is gone, and trunks that have been without lines for too long.
    fn end_silent_lines(&self) {
        let now = self.runtime.now();
        let known: Vec<(TrunkKey, Known)> =
            self.lock().iter().map(|(id, known)| (*id, known.clone())).collect();
        for (id, known) in known {
            for line in known.streams.lines().into_values() {
                if now - line.pulse.heard() > SILENCE {
                    line.end();
                }
            }
            if known.streams.has_been_without_lines(now, PATIENCE) {
                self.lock().remove(&id);
                known.streams.end();
            }
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::multipath::trunk::channel::{Channel, ChannelFuture, ChannelReceiver};
    use crate::multipath::trunk::testing::{Discards, virtual_time};

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

    /// A line of a trunk and radio, which ends at once or never.
    fn line(trunk: u8, radio: u8, ends: bool) -> Channels {
        let hello = TrunkHello {
            trunk: [trunk; 16],
            radio,
            preference: airlane_fbdt::Preference::default(),
            max_bps: None,
            allowance: None,
        };
        let channel = |said| Channel {
            sender: Box::new(Discards),
            receiver: Box::new(Says(said, ends)),
            control: None,
        };
        Channels {
            peer: [trunk; 32],
            express: channel(Some(hello.encode())),
            bulk: channel(None),
            guard: Box::new(()),
        }
    }

    #[test]
    fn trunks_and_lines_have_an_end_and_what_is_dark_gives_way() {
        virtual_time(|runtime| async move {
            let bounds = Bounds { trunks: 2, lines_per_trunk: 2, ..Bounds::default() };
            let acceptor = Acceptor::new(runtime.clone(), bounds, |_| {});
            // Whether a line is still there after a moment.
            let stays = async |channels| {
                let (acceptor, moment) = (acceptor.clone(), runtime.sleep(HELLO / 10));
                let mut serving = Box::pin(async move { acceptor.serve(channels).await });
                let stays = tokio::select! {
                    biased;
                    ended = &mut serving => Err(ended.to_string()),
                    () = moment => Ok(()),
                };
                if stays.is_ok() {
                    runtime.spawn("line", async move { drop(serving.await) });
                }
                stays
            };
            assert!(stays(line(1, 0, true)).await.is_err());
            assert!(stays(line(2, 0, false)).await.is_ok());
            assert_eq!(acceptor.trunks().len(), 2);
            assert!(stays(line(3, 0, false)).await.is_ok());
            let serials: Vec<u64> = acceptor.trunks().iter().map(|trunk| trunk.serial).collect();
            assert_eq!(serials, [1, 2]);
            assert!(stays(line(4, 0, false)).await.unwrap_err().contains("one trunk too many"));
            assert!(stays(line(3, 1, false)).await.is_ok());
            assert!(stays(line(3, 2, false)).await.unwrap_err().contains("one line too many"));
            // One in the place of an older one is none too many.
            assert!(stays(line(3, 1, false)).await.is_ok());
        });
    }
}
