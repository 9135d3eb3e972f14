//! Emulated paths, and a stream over them.

use std::collections::VecDeque;

use airlane_base::Time;
use airlane_fbdt::wire::{Ack, Segment};
use airlane_fbdt::{Config, PathId, Receiver, Sender};
use bytes::Bytes;

/// By then whatever carries a path knows that nothing comes on it.
const UNRESPONSIVE_MS: u64 = 500;

/// A path in both directions: a rate, a delay, and what is on its way.
pub struct Path {
    pub id: Option<PathId>,
    pub bytes_per_ms: u64,
    pub delay_ms: u64,
    /// By when the path has sent what it took.
    pub free_at_ms: f64,
    pub segments: VecDeque<(u64, Segment)>,
    pub acks: VecDeque<(u64, Ack)>,
    /// Bytes of segments that came on it.
    pub came: u64,
    pub stuck: bool,
    /// Since when it is stuck.
    pub stuck_ms: u64,
}

impl Path {
    pub fn new(id: Option<PathId>, (bytes_per_ms, delay_ms): (u64, u64), now_ms: u64) -> Self {
        Self {
            id,
            bytes_per_ms,
            delay_ms,
            free_at_ms: now_ms as f64,
            segments: VecDeque::new(),
            acks: VecDeque::new(),
            came: 0,
            stuck: false,
            stuck_ms: 0,
        }
    }
}

pub struct Stream {
    pub sender: Sender,
    pub receiver: Receiver,
    pub paths: Vec<Path>,
    pub now_ms: u64,
    pub data: Bytes,
    pub received: Vec<u8>,
    /// Segments handed to each path that came, and bytes.
    pub carried: Vec<u64>,
    /// Whether paths keep more than a millisecond of data unsent.
    pub takes_all: bool,
    /// Bytes that the application writes per millisecond; all at once if there is none.
    pub offered: Option<usize>,
}

/// So many bytes that tell where they belong.
pub fn pattern(length: usize) -> Bytes {
    (0..length as u64)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect::<Vec<_>>()
        .into()
}

impl Stream {
    pub fn new(config: Config, paths: &[(u64, u64)], length: usize) -> Self {
        let mut sender = Sender::new(config, 8 << 20);
        let paths: Vec<Path> =
            paths.iter().map(|path| Path::new(sender.open(Time::ZERO), *path, 0)).collect();
        let carried = vec![0; paths.len()];
        let data = pattern(length);
        Self {
            sender,
            receiver: Receiver::new(config),
            paths,
            now_ms: 0,
            data,
            received: vec![],
            carried,
            takes_all: false,
            offered: None,
        }
    }

    /// Another path joins.
    pub fn open(&mut self, path: (u64, u64)) -> Option<PathId> {
        let id = self.sender.open(self.now());
        self.paths.push(Path::new(id, path, self.now_ms));
        self.carried.push(0);
        id
    }

    pub fn now(&self) -> Time {
        Time::from_millis(self.now_ms)
    }

    /// A millisecond passes. Paths keep a millisecond of data unsent at most, or all.
    pub fn step(&mut self) {
        self.now_ms += 1;
        let now = self.now();
        let offered = self.offered.unwrap_or(usize::MAX).min(self.data.len());
        let mut written = self.data.slice(..offered);
        self.sender.push(&mut written);
        self.data = self.data.slice(offered - written.len()..);
        if self.data.is_empty() {
            self.sender.finish();
        }
        for (i, path) in self.paths.iter_mut().enumerate() {
            let Some(id) = path.id else { continue };
            // A path that is stuck takes what fits its buffer.
            path.stuck_ms = if path.stuck { path.stuck_ms + 1 } else { 0 };
            self.sender.set_unresponsive(id, path.stuck_ms > UNRESPONSIVE_MS);
            let most = if path.stuck { 20 } else { usize::MAX };
            let ahead_ms = if self.takes_all { 1e9 } else { 1.0 };
            while path.free_at_ms < self.now_ms as f64 + ahead_ms && path.segments.len() < most {
                let Some(segment) = self.sender.next(now, id) else { break };
                let starts = path.free_at_ms.max(self.now_ms as f64);
                path.free_at_ms = starts + segment.payload.len() as f64 / path.bytes_per_ms as f64;
                path.segments.push_back((path.free_at_ms.ceil() as u64 + path.delay_ms, segment));
            }
            let mut came = false;
            while !path.stuck && path.segments.front().is_some_and(|(at, _)| *at <= self.now_ms) {
                let (_, segment) = path.segments.pop_front().unwrap();
                self.carried[i] += segment.payload.len() as u64;
                path.came += segment.payload.len() as u64;
                self.receiver.on_segment(now, segment).unwrap();
                came = true;
            }
            if came {
                while let Some(bytes) = self.receiver.read(now) {
                    self.received.extend_from_slice(&bytes);
                }
            }
        }
        for path in &mut self.paths {
            let ack = self.receiver.ack(path.came);
            path.acks.push_back((self.now_ms + path.delay_ms, ack));
            while !path.stuck && path.acks.front().is_some_and(|(at, _)| *at <= self.now_ms) {
                let (_, ack) = path.acks.pop_front().unwrap();
                if let Some(id) = path.id {
                    self.sender.on_ack(now, id, &ack).unwrap();
                }
            }
        }
    }

    /// Runs until all has arrived. The milliseconds that it took.
    pub fn finish(&mut self, max_ms: u64) -> u64 {
        while !self.sender.is_done() {
            assert!(self.now_ms < max_ms, "not done: {:?}", self.sender.counts());
            self.step();
        }
        self.now_ms
    }
}
