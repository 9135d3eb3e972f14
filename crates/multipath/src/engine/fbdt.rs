//! FBDT: each path asks for what it sends next, and no path's turn depends on another's state.

use airlane_base::{Histogram, Time};
use airlane_fbdt::wire::Frame;
use airlane_fbdt::{Config, MAX_PATHS, Options, PathId, Preference, Receiver, Sender};
use bytes::{Bytes, BytesMut};

use super::{Arrival, ControlEvent, Engine, Outgoing, PathLoads, SentCounts, Turn};
use crate::error::MultipathError;
use crate::terms::Terms;

pub(crate) struct Fbdt {
    sender: Sender,
    receiver: Receiver,
    paths: [Option<PathId>; MAX_PATHS],
}

impl Fbdt {
    pub(crate) fn new(terms: &Terms, options: Options) -> Self {
        let Terms { segment_bytes, window_bytes, receive_memory, .. } = *terms;
        let config = Config { segment_bytes, window_bytes, receive_memory };
        let sender = Sender::with(config, receive_memory, options);
        Self { sender, receiver: Receiver::new(config), paths: [None; MAX_PATHS] }
    }
}

impl Engine for Fbdt {
    fn open(&mut self, now: Time, preference: Preference) -> Option<usize> {
        let path = self.sender.open_with(now, preference)?;
        self.paths[path.index()] = Some(path);
        Some(path.index())
    }

    fn expect(&mut self, preference: Preference, until: Time) {
        self.sender.expect(preference, until);
    }

    fn set_unresponsive(&mut self, path: usize, is_unresponsive: bool) {
        if let Some(path) = self.paths[path] {
            self.sender.set_unresponsive(path, is_unresponsive);
        }
    }

    fn close(&mut self, path: usize) {
        if let Some(path) = self.paths[path].take() {
            self.sender.close(path);
        }
    }

    fn next(&mut self, now: Time, path: usize, _: PathLoads<'_>) -> Turn {
        let Some(path) = self.paths[path] else { return Turn::Wait { until: None, other: None } };
        match self.sender.next(now, path) {
            Some(segment) => {
                let payload_bytes = segment.payload.len() as u64;
                let frame = encoded(&Frame::Segment(segment));
                Turn::Segment(Outgoing { frame, payload_bytes, ends_turn: false })
            }
            None => Turn::Wait { until: self.sender.next_event(now, path), other: None },
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
        self.sender.end().map(|windows| encoded(&Frame::End(windows)))
    }

    fn ack(&self, received: u64) -> Bytes {
        encoded(&Frame::Ack(self.receiver.ack(received)))
    }

    fn on_data(
        &mut self,
        now: Time,
        from: &mut BytesMut,
    ) -> Result<Option<Arrival>, MultipathError> {
        let Some(frame) = Frame::decode(from)? else { return Ok(None) };
        let Frame::Segment(segment) = frame else { return Err(MultipathError::NO_DATA) };
        let bytes = segment.payload.len() as u64;
        let is_new = self.receiver.on_segment(now, segment)?;
        Ok(Some(Arrival { bytes, is_new }))
    }

    fn on_control(
        &mut self,
        now: Time,
        path: usize,
        from: &mut BytesMut,
    ) -> Result<Option<ControlEvent>, MultipathError> {
        let Some(frame) = Frame::decode(from)? else { return Ok(None) };
        match frame {
            Frame::Ack(ack) => {
                let path = self.paths[path].ok_or(MultipathError::Ended)?;
                self.sender.on_ack(now, path, &ack)?;
                Ok(Some(ControlEvent::Ack))
            }
            Frame::End(windows) => {
                self.receiver.on_end(windows)?;
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

    fn met(&self) -> Option<f64> {
        self.sender.met()
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
