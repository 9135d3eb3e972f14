//! What sends and receives a stream above its paths: FBDT, or MPTCP's meta level to compare with.

mod fbdt;
mod mptcp;

use airlane_base::{Histogram, Time};
use airlane_fbdt::Preference;
use airlane_quic::ControlStats;
use bytes::{Bytes, BytesMut};

use super::error::MultipathError;
use super::hello::Terms;
use super::{Scheme, Settings};

/// What a sender has done.
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
pub(super) struct Outgoing {
    pub(super) frame: Bytes,
    pub(super) payload_bytes: u64,
}

/// A segment that came.
pub(super) struct Came {
    pub(super) bytes: u64,
    /// Whether any of it was new.
    pub(super) is_new: bool,
}

/// What a frame on a control stream was.
pub(super) enum Told {
    Ack,
    End,
}

/// The sending and the receiving half of one end of a stream. Paths have numbers below
/// [`MAX_PATHS`](super::shared::MAX_PATHS), given by [`Self::open`].
pub(super) trait Halves: Send {
    /// A path joins, which is used as `preference` says, where the protocol knows of that: FBDT does.
    /// `None` if there are too many.
    fn open(&mut self, now: Time, preference: Preference) -> Option<usize>;
    /// A path of this preference is about to join, and waited for until then.
    fn expect(&mut self, preference: Preference, until: Time);
    /// Whether the other end is known not to be heard on `path`.
    fn set_quiet(&mut self, path: usize, is_quiet: bool);
    /// A path ended.
    fn close(&mut self, path: usize);
    /// What the connection of `path` says of itself, and whether it takes a segment now. Only where
    /// [`Self::looks_at_paths`].
    fn look(&mut self, path: usize, stats: &ControlStats, has_room: bool);
    /// Whether a path's turn depends on the state of all of them. Then each is to be looked at
    /// before any is asked, and the one that is [`Self::chosen`] woken.
    fn looks_at_paths(&self) -> bool;
    /// The path whose turn it is.
    fn chosen(&mut self, now: Time) -> Option<usize>;
    /// What `path` sends next.
    fn next(&mut self, now: Time, path: usize) -> Option<Outgoing>;
    /// When to ask for `path` again, if nothing happens before.
    fn next_event(&self, now: Time, path: usize) -> Option<Time>;
    /// Appends what there is room for of `data`.
    fn push(&mut self, data: &mut Bytes);
    /// Whether there is room for more.
    fn has_room(&self) -> bool;
    /// Bytes that were pushed and have not arrived.
    fn unarrived(&self) -> u64;
    /// Nothing comes after what was pushed.
    fn finish(&mut self);
    /// The frame that tells the end, once it is known.
    fn end(&self) -> Option<Bytes>;
    /// The frame that tells what has come, on a path on which so many bytes of segments came.
    fn ack(&self, received: u64) -> Bytes;
    /// Takes the first frame off what came on a lane; `None` if not all of it is there.
    ///
    /// # Errors
    /// If it is no segment, or one that the peer may not send.
    fn on_lane(&mut self, now: Time, from: &mut BytesMut) -> Result<Option<Came>, MultipathError>;
    /// Takes the first frame off what came on the control stream of `path`; `None` if not all of it is there.
    ///
    /// # Errors
    /// If it is a segment, or tells what cannot be.
    fn on_control(
        &mut self,
        now: Time,
        path: usize,
        from: &mut BytesMut,
    ) -> Result<Option<Told>, MultipathError>;
    /// The next bytes in order.
    fn read(&mut self, now: Time) -> Option<Bytes>;
    /// How long bytes waited from coming to being read, bytes by bytes.
    fn waited(&self) -> &Histogram;
    /// Whether all that was written has arrived.
    fn is_sent(&self) -> bool;
    /// Whether all that comes has been read.
    fn is_read(&self) -> bool;
    /// Bytes that wait to be read, or for others before them.
    fn held_bytes(&self) -> u64;
    /// The path for whose segment all others wait at the other end.
    fn head(&self) -> Option<usize>;
    /// Where two paths met in the last window: the share that came from its beginning on.
    fn met(&self) -> Option<f64>;
    /// What the sending half has done.
    fn sent(&self) -> SentCounts;
}

/// Both halves of an end with these settings, on the terms that both ends agreed on.
pub(super) fn new(settings: &Settings, terms: &Terms) -> Box<dyn Halves> {
    match settings.scheme {
        Scheme::Fbdt(options) => Box::new(fbdt::Fbdt::new(terms, settings.send_memory, options)),
        Scheme::Mptcp(options) => Box::new(mptcp::Mptcp::new(terms, settings.send_memory, options)),
    }
}
