//! MPTCP as the engine of a multipath session's streams: a scheduler that knows the state of all paths
//! says whose turn it is.

use std::time::Duration;

use airlane_base::{Histogram, Time};
use airlane_multipath::{
    Arrival, ControlEvent, Engine, EngineFactory, MultipathError, Outgoing, PathLoad, PathLoads,
    Preference, Protocol, SentCounts, Terms, Turn,
};
use airlane_quic::ControlStats;
use bytes::{Bytes, BytesMut};

use crate::wire::Frame;
use crate::{Config, MAX_PATHS, Options, PathId, PathState, Receiver, Sender};

/// Engines with this scheduler.
#[derive(Clone, Copy, Debug)]
pub struct MptcpEngines(pub Options);

impl EngineFactory for MptcpEngines {
    fn protocol(&self) -> Protocol {
        Protocol::Mptcp
    }

    fn engine(&self, terms: &Terms) -> Box<dyn Engine> {
        Box::new(Mptcp::new(terms, self.0))
    }
}

const _: () = assert!(MAX_PATHS == airlane_multipath::MAX_PATHS);

/// Error for something from the peer that does not fit.
fn refused(e: impl std::fmt::Display) -> MultipathError {
    MultipathError::Engine(e.to_string())
}

struct Mptcp {
    sender: Sender,
    receiver: Receiver,
    paths: [Option<Path>; MAX_PATHS],
}

/// A path, and what the sender has to know of it beyond what its connection says at any time.
struct Path {
    id: PathId,
    /// Bytes that the connection had sent when it was looked at last, and what the path has taken
    /// since that changed: it is not in flight yet.
    sent_bytes: u64,
    unsent_bytes: u64,
    /// Packets acknowledged then, and the mean deviation of the round trip (RFC 6298, 2.3).
    acked_packets: u64,
    deviation: Option<Duration>,
}

impl Mptcp {
    fn new(terms: &Terms, options: Options) -> Self {
        let Terms { segment_bytes, receive_memory, .. } = *terms;
        let config = Config { segment_bytes, receive_memory };
        let sender = Sender::new(config, receive_memory, options);
        let paths = [const { None }; MAX_PATHS];
        Self { sender, receiver: Receiver::new(config), paths }
    }
}

impl Path {
    fn state(&mut self, stats: &ControlStats, has_room: bool) -> PathState {
        if stats.sent_bytes != self.sent_bytes {
            (self.sent_bytes, self.unsent_bytes) = (stats.sent_bytes, 0);
        }
        let in_flight = stats.in_flight + self.unsent_bytes;
        // Every scheme's connections take a little beyond their window, so that they do not run
        // dry between two turns. While one does, its window counts as open.
        let most = if has_room { stats.window.saturating_sub(1) } else { u64::MAX };
        let mut state = PathState {
            cwnd: stats.window,
            in_flight: in_flight.min(most),
            rate_bps: stats.pacing_rate.map_or(0.0, |rate| rate.bps() as f64),
            acked_packets: stats.acked_packets,
            has_room,
            ..PathState::default()
        };
        if let Some(rtt) = stats.rtt {
            if stats.acked_packets != self.acked_packets {
                self.acked_packets = stats.acked_packets;
                let sample = rtt.latest.abs_diff(rtt.smoothed);
                let before = self.deviation.unwrap_or(rtt.latest / 2);
                self.deviation = Some(before.mul_f64(0.75) + sample.mul_f64(0.25));
            }
            state.srtt = rtt.smoothed;
            state.min_rtt = rtt.min;
            state.rttvar = self.deviation.unwrap_or_default();
        }
        state
    }
}

impl Engine for Mptcp {
    fn open(&mut self, now: Time, _: Preference) -> Option<usize> {
        let id = self.sender.open(now)?;
        self.paths[id.index()] =
            Some(Path { id, sent_bytes: 0, unsent_bytes: 0, acked_packets: 0, deviation: None });
        Some(id.index())
    }

    fn close(&mut self, path: usize) {
        if let Some(path) = self.paths[path].take() {
            self.sender.close(path.id);
        }
    }

    fn next(&mut self, now: Time, path: usize, loads: PathLoads<'_>) -> Turn {
        for (number, path) in self.paths.iter_mut().enumerate() {
            if let Some(path) = path
                && let Some(PathLoad { stats, has_room }) = loads(number)
            {
                let state = path.state(&stats, has_room);
                self.sender.update(stats.now, path.id, state);
            }
        }
        let Some(path) = &mut self.paths[path] else {
            return Turn::Wait { until: None, other: None };
        };
        match self.sender.next(now, path.id) {
            Some(segment) => {
                let payload_bytes = segment.payload.len() as u64;
                path.unsent_bytes += payload_bytes;
                let frame = encoded(&Frame::Segment(segment));
                Turn::Segment(Outgoing { frame, payload_bytes, ends_turn: true })
            }
            None => Turn::Wait {
                until: self.sender.next_event(path.id),
                other: self.sender.chosen(now).map(PathId::index),
            },
        }
    }

    fn push(&mut self, data: &mut Bytes) {
        self.sender.push(data);
    }

    fn has_room(&self) -> bool {
        self.sender.room() > 0
    }

    fn unarrived(&self) -> u64 {
        self.sender.unarrived()
    }

    fn finish(&mut self) {
        self.sender.finish();
    }

    fn end(&self) -> Option<Bytes> {
        self.sender.end().map(|bytes| encoded(&Frame::End(bytes)))
    }

    fn ack(&self, _: u64) -> Bytes {
        encoded(&Frame::Ack(self.receiver.ack()))
    }

    fn on_data(
        &mut self,
        now: Time,
        from: &mut BytesMut,
    ) -> Result<Option<Arrival>, MultipathError> {
        let Some(frame) = Frame::decode(from).map_err(refused)? else { return Ok(None) };
        let Frame::Segment(segment) = frame else { return Err(MultipathError::NO_DATA) };
        let bytes = segment.payload.len() as u64;
        let is_new = self.receiver.on_segment(now, segment).map_err(refused)?;
        Ok(Some(Arrival { bytes, is_new }))
    }

    fn on_control(
        &mut self,
        now: Time,
        _: usize,
        from: &mut BytesMut,
    ) -> Result<Option<ControlEvent>, MultipathError> {
        let Some(frame) = Frame::decode(from).map_err(refused)? else { return Ok(None) };
        match frame {
            Frame::Ack(ack) => {
                self.sender.on_ack(now, &ack).map_err(refused)?;
                Ok(Some(ControlEvent::Ack))
            }
            Frame::End(bytes) => {
                self.receiver.on_end(bytes).map_err(refused)?;
                Ok(Some(ControlEvent::End))
            }
            Frame::Segment(_) => Err(MultipathError::DATA),
        }
    }

    fn read(&mut self, now: Time) -> Option<Bytes> {
        self.receiver.read(now)
    }

    fn waited(&self) -> &Histogram {
        self.receiver.waited()
    }

    fn is_sent(&self) -> bool {
        self.sender.is_done()
    }

    fn is_read(&self) -> bool {
        self.receiver.is_done()
    }

    fn held_bytes(&self) -> u64 {
        self.receiver.held_bytes()
    }

    fn head(&self) -> Option<usize> {
        self.sender.head().map(PathId::index)
    }

    fn sent(&self) -> SentCounts {
        let counts = self.sender.counts();
        SentCounts {
            distinct_bytes: counts.distinct_bytes,
            redundant_bytes: counts.redundant_bytes,
            moved_bytes: counts.moved_bytes,
        }
    }
}

fn encoded(frame: &Frame) -> Bytes {
    let mut out = BytesMut::new();
    frame.encode(&mut out);
    out.freeze()
}
