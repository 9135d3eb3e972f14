//! Reports a response to a session's request to the sessions, while it is handed over to the
//! connection.

use std::ops::Range;
use std::sync::Arc;

use airlane_minerva::Progress;
use airlane_runtime::RuntimeHandle;

use super::provider::WeightPolicy;
use super::sessions::{PendingResponse, SharedSessions, Taken};
use super::weigher::Weigher;
use crate::store::{Object, Part};

/// The response to a request for a part of a title. Dropping it reports the end of the response.
pub(super) struct Delivery {
    pub(super) sessions: SharedSessions,
    pub(super) runtime: RuntimeHandle,
    /// That of the connection, if the origin sets its weight.
    pub(super) weigher: Option<Arc<Weigher>>,
    pub(super) weighing: Option<Arc<dyn WeightPolicy>>,
    pub(super) response: PendingResponse,
    pub(super) part: Part,
    /// The chunk of the picture that it is of, if it is.
    pub(super) chunk: Option<Chunk>,
}

/// Place of a chunk of video in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Its position in the ladder, and its number.
    pub(super) id: (usize, usize),
    /// Its bytes.
    pub(super) bytes: Range<u64>,
}

impl Chunk {
    /// The chunk of `object` that holds the byte `first`.
    pub(super) fn of(object: &Object, first: u64) -> Option<Self> {
        let (rung, chunk, bytes) = object.part.as_ref()?.chunk_at(first, object.len)?;
        Some(Self { id: (rung, chunk), bytes })
    }

    /// Part of the chunk that these bytes of the object are.
    fn taken(&self, bytes: Range<u64>) -> Taken {
        let begin = self.bytes.start;
        let of_chunk = |at: u64| at.clamp(begin, self.bytes.end) - begin;
        let (first, end) = (of_chunk(bytes.start), of_chunk(bytes.end));
        Taken { chunk: self.id, bytes: first..end, len: self.bytes.end - begin }
    }
}

/// Estimates of the server for a session, as CMSD tells players (CTA-5006).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Estimates {
    /// The throughput that the player can count on.
    pub(super) throughput_kbps: u64,
    /// No rung above it should be chosen.
    pub(super) bitrate_kbps: u64,
}

impl Delivery {
    /// `bytes` of the body are handed over to the connection.
    pub(super) fn on_body_handed_over(&self, bytes: u64) {
        // Only shares count pending bytes.
        if self.response.has_share() {
            let (now, totals) = (self.runtime.now(), self.totals());
            self.response.on_body_handed_over(now, totals, bytes);
        }
    }

    /// The connection took these bytes of the object.
    pub(super) fn on_taken(&self, bytes: Range<u64>) {
        if let Some(chunk) = self.chunk.as_ref().filter(|_| self.response.has_share()) {
            self.response.on_taken(self.runtime.now(), &chunk.taken(bytes));
        }
    }

    /// `bytes` of the body were handed over in all.
    pub(super) fn end(self, bytes: u64) {
        self.sessions.lock().on_body_end(self.runtime.now(), &self.response, bytes);
    }

    /// The estimates for the session, once its rate was measured.
    pub(super) fn estimates(&self) -> Option<Estimates> {
        let rate_bps = self.response.rate_bps()?;
        let bitrate_bps = self.weighing.as_ref()?.suggestion_bps(&self.part.title, rate_bps)?;
        let throughput_kbps = (rate_bps / 1e3) as u64;
        Some(Estimates { throughput_kbps, bitrate_kbps: bitrate_bps / 1000 })
    }

    /// The connection's totals; zero on a connection whose weight the origin does not set.
    fn totals(&self) -> Progress {
        self.weigher.as_ref().map(|w| w.progress()).unwrap_or_default()
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let (now, totals) = (self.runtime.now(), self.totals());
        let ending = self.sessions.lock().on_response_end(now, &self.response, totals);
        if let Some(weigher) = self.weigher.as_ref().filter(|_| ending) {
            weigher.look_again();
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::store::PartRole;

    #[test]
    fn chunks_are_files_or_parts_of_one() {
        let object = |role| Object {
            len: 1000,
            media_type: "video/mp4",
            version: None,
            caching: None,
            fields: Vec::new(),
            part: Some(Part { title: "film".into(), role }),
            source: Arc::new(Bytes::new()),
        };
        let file = object(PartRole::Picture { rung: 2, chunk: 7 });
        assert_eq!(Chunk::of(&file, 10), Some(Chunk { id: (2, 7), bytes: 0..1000 }));
        assert_eq!(Chunk::of(&object(PartRole::Other), 0), None);
        let many = object(PartRole::Pictures { rung: 1, begins: Arc::new([100, 400, 600]) });
        assert_eq!(Chunk::of(&many, 99), None);
        assert_eq!(Chunk::of(&many, 600), Some(Chunk { id: (1, 2), bytes: 600..1000 }));
        let middle = Chunk::of(&many, 400).unwrap();
        assert_eq!(middle, Chunk { id: (1, 1), bytes: 400..600 });
        // An answer may go on beyond it.
        assert_eq!(middle.taken(450..900), Taken { chunk: (1, 1), bytes: 50..200, len: 200 });
        assert_eq!(middle.taken(700..900).bytes, 200..200);
    }
}
