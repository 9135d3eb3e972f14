//! A peer that has the key to a session, and says what it likes.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Packet, Seed, Time};
use airlane_multipath::{
    AcceptedStream, Body, Channel, ChannelFuture, ChannelReceiver, ChannelSender, Channels, PeerId,
    Preference, SessionHello, SessionLimits, SessionServer, SubflowFrame,
};
use airlane_multipath::{MultipathError, Protocol, Terms};
use airlane_runtime::virtual_time::{Fabric, World};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Bytes, BytesMut};

use crate::allocator::{Before, alone};

/// Bytes that the peer says at once.
const SAYS_BYTES: usize = 16 << 10;

/// What a peer says on the low-latency channel, frame by frame, and whether it reads what it is answered.
pub struct Peer {
    pub says: Box<dyn Iterator<Item = Bytes> + Send>,
    pub reads: bool,
}

/// What serving it took.
#[derive(Debug)]
pub struct Cost {
    /// Bytes that are held when the peer has said everything.
    pub live: usize,
    /// Most bytes that were held at once.
    pub peak: usize,
    /// Why the subflow ended, if it did.
    pub ended: Option<MultipathError>,
}

/// A network in which nothing is delivered.
struct Nowhere;

impl Fabric for Nowhere {
    fn send(&mut self, _: Time, _: Box<Packet>) {}

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn poll(&mut self, _: Time) -> Option<Box<Packet>> {
        None
    }
}

struct Says {
    first: Option<Bytes>,
    rest: Box<dyn Iterator<Item = Bytes> + Send>,
    clock: RuntimeHandle,
}

impl ChannelReceiver for Says {
    fn read<'a>(&'a mut self, into: &'a mut BytesMut) -> ChannelFuture<'a, ()> {
        Box::pin(async move {
            // Others have their turn, as between two packets.
            self.clock.sleep(Duration::from_micros(100)).await;
            let before = into.len();
            for piece in self.first.take().into_iter().chain(&mut self.rest) {
                into.extend_from_slice(&piece);
                if into.len() - before >= SAYS_BYTES {
                    return Ok(());
                }
            }
            match into.len() > before {
                true => Ok(()),
                false => std::future::pending().await,
            }
        })
    }
}

/// Takes the first so many writes, and no more.
struct Takes(usize);

impl ChannelSender for Takes {
    fn write(&mut self, _: Vec<Bytes>) -> ChannelFuture<'_, ()> {
        Box::pin(async move {
            match self.0.checked_sub(1) {
                Some(left) => self.0 = left,
                None => std::future::pending().await,
            }
            Ok(())
        })
    }
}

/// Serves a peer; `target` gets each stream that it opens.
pub fn serve<F>(
    bounds: SessionLimits,
    peer: Peer,
    target: impl Fn(AcceptedStream) -> F + Send + Sync + 'static,
) -> Cost
where
    F: Future<Output = ()> + Send + 'static,
{
    let _alone = alone();
    let before = Before::now();
    let mut world = World::new(Seed(1), Nowhere);
    let runtime = world.host("server", [10, 0, 0, 1].into());
    let clock = runtime.clone();
    let cost = world.run(async move {
        let on = clock.clone();
        let acceptor: Arc<SessionServer> =
            SessionServer::new(clock.clone(), bounds, move |opened| {
                on.spawn("target", target(opened));
            });
        let hello = SessionHello {
            session: [7; 16],
            interface: 0,
            preference: Preference::default(),
            max_bps: None,
            credit: None,
        };
        let takes = |reads| Box::new(Takes(if reads { usize::MAX } else { 1 }));
        let says = |first, rest| Box::new(Says { first, rest, clock: clock.clone() });
        let low_latency = Channel {
            sender: takes(peer.reads),
            receiver: says(Some(hello.encode()), peer.says),
            control: None,
        };
        let silent: Box<dyn Iterator<Item = Bytes> + Send> = Box::new(std::iter::empty());
        let bulk =
            Channel { sender: takes(peer.reads), receiver: says(None, silent), control: None };
        let subflow = Channels { peer: PeerId::default(), low_latency, bulk, guard: Box::new(()) };
        // Before it is taken for silent.
        let ended = tokio::select! {
            biased;
            ended = acceptor.serve(subflow) => Some(ended),
            () = clock.sleep(Duration::from_secs(40)) => None,
        };
        let (live, peak) = (before.live(), before.peak());
        Cost { live, peak, ended }
    });
    cost.unwrap()
}

/// Terms of a stream: bytes of a segment, of a window and of its memory.
pub fn terms(segment_bytes: u32, window_bytes: u32, receive_memory: u64) -> Terms {
    Terms { protocol: Protocol::Fbdt, segment_bytes, window_bytes, receive_memory }
}

pub fn open(stream: u32, terms: Terms) -> Bytes {
    SubflowFrame { stream, body: Body::Open { terms, request: Bytes::new() } }.encode()
}

pub fn data_stream(stream: u32, segments: &[u8]) -> Bytes {
    SubflowFrame { stream, body: Body::Data(BytesMut::from(segments)) }.encode()
}
