//! The engine of a stream, which splits it among its paths and joins it again: FBDT, or one from outside.

mod fbdt;
mod scheme;

use airlane_base::{Histogram, Time};
use airlane_fbdt::Preference;
use airlane_quic::ControlStats;
use bytes::{Bytes, BytesMut};

pub use self::scheme::Scheme;
use crate::error::MultipathError;
use crate::terms::{Protocol, Terms};

/// Number of paths that a stream may have.
pub const MAX_PATHS: usize = airlane_fbdt::MAX_PATHS;

/// Counts of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentCounts {
    /// Bytes that were cut into segments.
    pub distinct_bytes: u64,
    /// Bytes of segments that a second path sent as well.
    pub redundant_bytes: u64,
    /// Bytes of segments that were on their way on a path when it ended.
    pub moved_bytes: u64,
}

/// A frame with data. In one piece: a connection looks for what it sends among all pieces that it
/// holds, one after the other.
pub struct Outgoing {
    /// The frame.
    pub frame: Bytes,
    /// Bytes of the stream in it.
    pub payload_bytes: u64,
    /// True if the next segment may be another path's, whose task is to be woken.
    pub ends_turn: bool,
}

/// The answer to a path that asks for a segment.
pub enum Turn {
    /// The path sends this.
    Segment(Outgoing),
    /// The path sends nothing now.
    Wait {
        /// Time at which to ask again, if nothing happens before.
        until: Option<Time>,
        /// The path whose turn it is instead.
        other: Option<usize>,
    },
}

/// The state of a path's connection, and whether the path takes a segment now.
pub struct PathLoad {
    /// The state of the connection for bulk data.
    pub stats: ControlStats,
    /// True if the path takes a segment now.
    pub has_room: bool,
}

/// The states of all paths, by their numbers.
pub type PathLoads<'a> = &'a dyn Fn(usize) -> Option<PathLoad>;

/// A segment that came.
pub struct Arrival {
    /// Payload, bytes.
    pub bytes: u64,
    /// True if any of it was new.
    pub is_new: bool,
}

/// A frame that came on a control stream.
pub enum ControlEvent {
    /// An acknowledgement.
    Ack,
    /// The end of the stream in the peer's direction.
    End,
}

/// Both directions of one end of a stream. Paths have numbers below [`MAX_PATHS`], given by
/// [`Self::open`].
pub trait Engine: Send {
    /// A path joins. `None` if there are too many.
    fn open(&mut self, now: Time, preference: Preference) -> Option<usize>;
    /// A path ended.
    fn close(&mut self, path: usize);
    /// A path of this preference is about to join: an engine with preferences waits for it until then.
    fn expect(&mut self, _: Preference, _until: Time) {}
    /// Sets whether the other end does not answer on `path`: an engine with preferences then uses
    /// others.
    fn set_unresponsive(&mut self, _path: usize, _is_unresponsive: bool) {}
    /// The segment that `path` sends next.
    fn next(&mut self, now: Time, path: usize, loads: PathLoads<'_>) -> Turn;
    /// Appends what there is room for of `data`.
    fn push(&mut self, data: &mut Bytes);
    /// True if there is room for more.
    fn has_room(&self) -> bool;
    /// Number of bytes that were pushed and have not arrived.
    fn unarrived(&self) -> u64;
    /// Nothing comes after what was pushed.
    fn finish(&mut self);
    /// The frame with the end of what is sent, once it is known.
    fn end(&self) -> Option<Bytes>;
    /// The acknowledgement to send on a path on which `received` bytes of segments came.
    fn ack(&self, received: u64) -> Bytes;
    /// Takes the first frame off what came on a path's data stream; `None` if not all of it is there.
    ///
    /// # Errors
    /// If it is no segment, or one that the peer may not send.
    fn on_data(
        &mut self,
        now: Time,
        from: &mut BytesMut,
    ) -> Result<Option<Arrival>, MultipathError>;
    /// Takes the first frame off what came on the control stream of `path`; `None` if not all of it is
    /// there.
    ///
    /// # Errors
    /// If it is a segment, or tells what cannot be.
    fn on_control(
        &mut self,
        now: Time,
        path: usize,
        from: &mut BytesMut,
    ) -> Result<Option<ControlEvent>, MultipathError>;
    /// The next bytes in order.
    fn read(&mut self, now: Time) -> Option<Bytes>;
    /// Times from coming to being read, bytes by bytes.
    fn waited(&self) -> &Histogram;
    /// True if all that was written has arrived.
    fn is_sent(&self) -> bool;
    /// True if all that comes has been read.
    fn is_read(&self) -> bool;
    /// Number of bytes that wait to be read, or for others before them.
    fn held_bytes(&self) -> u64;
    /// The path for whose segment all others wait at the other end.
    fn head(&self) -> Option<usize>;
    /// The share of FBDT's last window that was sent from its beginning on, where two paths met.
    fn met(&self) -> Option<f64> {
        None
    }
    /// Counts of the sending direction.
    fn sent(&self) -> SentCounts;
}

/// A maker of engines for the streams of a session.
pub trait EngineFactory: std::fmt::Debug + Send + Sync {
    /// The frames of its streams.
    fn protocol(&self) -> Protocol;
    /// An engine on the terms that both ends agreed on.
    fn engine(&self, terms: &Terms) -> Box<dyn Engine>;
    /// Bytes under way up to which a stream uses the low-latency channel. 0: one connection carries
    /// all data of a path.
    fn max_low_latency_bytes(&self) -> u64 {
        0
    }
}

/// An engine for this scheme, on the terms that both ends agreed on.
pub(crate) fn new(scheme: &Scheme, terms: &Terms) -> Box<dyn Engine> {
    match scheme {
        Scheme::Fbdt(options) => Box::new(fbdt::Fbdt::new(terms, *options)),
        Scheme::Other(engines) => engines.engine(terms),
    }
}
