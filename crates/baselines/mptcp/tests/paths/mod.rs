//! Paths of a fixed rate and delay, in steps of a millisecond.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::Time;
use airlane_mptcp::wire::{Ack, Segment};
use airlane_mptcp::{Config, Options, PathId, PathState, Receiver, Sender};
use bytes::Bytes;

/// A path in both directions: a rate, a delay, and what is on its way.
pub struct Path {
    pub id: Option<PathId>,
    pub stuck: bool,
    /// Bytes that came over it.
    pub carried: u64,
    bytes_per_ms: u64,
    delay_ms: u64,
    /// By when the path has sent what it took.
    free_at_ms: f64,
    segments: VecDeque<(u64, Segment)>,
    acks: VecDeque<(u64, Ack)>,
    /// When its own acknowledgements come: of how many bytes, and when these were taken.
    own_acks: VecDeque<(u64, u64, u64)>,
    taken: VecDeque<(u64, u64)>,
    in_flight: u64,
    /// Smoothed round trip, its deviation and the least, milliseconds.
    rtt: Option<(f64, f64, f64)>,
}

impl Path {
    fn new(id: Option<PathId>, now_ms: u64, bytes_per_ms: u64, delay_ms: u64) -> Self {
        Self {
            id,
            stuck: false,
            carried: 0,
            bytes_per_ms,
            delay_ms,
            free_at_ms: now_ms as f64,
            segments: VecDeque::new(),
            acks: VecDeque::new(),
            own_acks: VecDeque::new(),
            taken: VecDeque::new(),
            in_flight: 0,
            rtt: None,
        }
    }

    /// A controller that has settled: what fits the link in a round trip and a half, and in two
    /// milliseconds more, as time comes in steps of one.
    fn cwnd(&self) -> u64 {
        self.bytes_per_ms * (3 * self.delay_ms + 4) + 3000
    }

    fn state(&self) -> PathState {
        let ms = |ms: f64| Duration::from_secs_f64(ms / 1000.0);
        let (srtt, rttvar, min_rtt) = self.rtt.unwrap_or_default();
        PathState {
            cwnd: self.cwnd(),
            in_flight: self.in_flight,
            srtt: ms(srtt),
            rttvar: ms(rttvar),
            min_rtt: ms(min_rtt),
            rate_bps: self.bytes_per_ms as f64 * 8000.0,
            mss: 1448,
            has_room: self.in_flight < self.cwnd(),
            ..PathState::default()
        }
    }

    fn take(&mut self, now_ms: u64, segment: Segment) {
        let bytes = segment.payload.len() as u64;
        let starts = self.free_at_ms.max(now_ms as f64);
        self.free_at_ms = starts + bytes as f64 / self.bytes_per_ms as f64;
        self.in_flight += bytes;
        self.taken.push_back((now_ms, bytes));
        self.segments.push_back((self.free_at_ms.ceil() as u64 + self.delay_ms, segment));
    }

    fn on_own_acks(&mut self, now_ms: u64) {
        while let Some((_, bytes, taken_at)) = self.own_acks.pop_front_if(|ack| ack.0 <= now_ms) {
            self.in_flight -= bytes;
            let sample = (now_ms - taken_at) as f64;
            // What took longer than a timeout was sent again, and is no sample (Karn).
            if self
                .rtt
                .is_some_and(|(mean, deviation, _)| sample > 200f64.max(mean + 4.0 * deviation))
            {
                continue;
            }
            let (mean, deviation, least) = self.rtt.unwrap_or((sample, sample / 2.0, sample));
            let deviation = deviation + ((mean - sample).abs() - deviation) / 4.0;
            self.rtt = Some((mean + (sample - mean) / 8.0, deviation, least.min(sample)));
        }
    }
}

/// What the application writes: byte `i` of the stream.
fn byte(i: u64) -> u8 {
    (i.wrapping_mul(2_654_435_761) >> 13) as u8
}

pub fn pattern(length: usize) -> Bytes {
    (0..length as u64).map(byte).collect::<Vec<_>>().into()
}

pub struct Stream {
    pub sender: Sender,
    pub receiver: Receiver,
    pub paths: Vec<Path>,
    pub now_ms: u64,
    /// Whether the application takes what comes.
    pub reads: bool,
    /// What is left to write; `None` if there is always more.
    data: Option<Bytes>,
    kept: Vec<u8>,
    received: u64,
    /// The highest right edge that was told.
    window: u64,
    memory: u64,
    last_ack: Ack,
}

impl Stream {
    pub fn new(config: Config, memory: u64, options: Options, paths: &[(u64, u64)]) -> Self {
        let sender = Sender::new(config, memory, options);
        let receiver = Receiver::new(config);
        let last_ack = receiver.ack();
        let mut stream = Self {
            sender,
            receiver,
            paths: Vec::new(),
            now_ms: 0,
            reads: true,
            data: None,
            kept: Vec::new(),
            received: 0,
            window: last_ack.window,
            memory: config.receive_memory,
            last_ack,
        };
        for (bytes_per_ms, delay_ms) in paths {
            stream.open(*bytes_per_ms, *delay_ms);
        }
        stream
    }

    pub fn without_end(self) -> Self {
        self
    }

    pub fn with_end(self, length: usize) -> Self {
        Self { data: Some(pattern(length)), ..self }
    }

    pub fn received(&self) -> u64 {
        self.received
    }

    pub fn bytes(&self) -> &[u8] {
        &self.kept
    }

    pub fn open(&mut self, bytes_per_ms: u64, delay_ms: u64) {
        let id = self.sender.open(self.now());
        self.paths.push(Path::new(id, self.now_ms, bytes_per_ms, delay_ms));
    }

    pub fn close(&mut self, path: usize) {
        if path < self.paths.len()
            && let Some(id) = self.paths.remove(path).id
        {
            self.sender.close(id);
        }
    }

    pub fn run_until(&mut self, ms: u64) {
        while self.now_ms < ms {
            self.step();
        }
    }

    /// Runs until all has arrived and was taken.
    pub fn finish(&mut self, max_ms: u64) {
        while !(self.sender.is_done() && self.receiver.is_done()) {
            assert!(self.now_ms < max_ms, "not done: {:?}", self.sender.counts());
            self.step();
            if let Some(end) = self.sender.end() {
                self.receiver.on_end(end).unwrap();
            }
        }
    }

    fn now(&self) -> Time {
        Time::from_millis(self.now_ms)
    }

    fn push(&mut self) {
        match &mut self.data {
            Some(data) => {
                self.sender.push(data);
                if data.is_empty() {
                    self.sender.finish();
                }
            }
            None => {
                let zeros = Bytes::from_static(&[0; 1 << 16]);
                while self.sender.room() > 0 {
                    self.sender.push(&mut zeros.clone());
                }
            }
        }
    }

    /// A millisecond passes.
    fn step(&mut self) {
        self.now_ms += 1;
        let now = self.now();
        self.push();
        for path in &self.paths {
            if let Some(id) = path.id {
                self.sender.update(now, id, path.state());
            }
        }
        while let Some(id) = self.sender.chosen(now) {
            let segment = self.sender.next(now, id).expect("it was chosen");
            let end = segment.dsn + segment.payload.len() as u64;
            assert!(end <= self.window, "the window is overrun");
            let path = self.paths.iter_mut().find(|p| p.id == Some(id)).expect("it is open");
            path.take(self.now_ms, segment);
            self.sender.update(now, id, path.state());
        }
        if let Some(at) = self.paths.iter().find_map(|p| self.sender.next_event(p.id?)) {
            assert!(at > now, "a timeout that does not pass");
        }
        for path in &mut self.paths {
            while !path.stuck
                && let Some((_, segment)) = path.segments.pop_front_if(|s| s.0 <= self.now_ms)
            {
                let bytes = segment.payload.len() as u64;
                path.carried += bytes;
                let (taken_at, _) = path.taken.pop_front().unwrap();
                path.own_acks.push_back((self.now_ms + path.delay_ms, bytes, taken_at));
                self.receiver.on_segment(now, segment).unwrap();
                assert!(self.receiver.held_bytes() <= self.memory);
            }
        }
        while self.reads
            && let Some(bytes) = self.receiver.read(now)
        {
            self.received += bytes.len() as u64;
            if self.data.is_some() {
                self.kept.extend_from_slice(&bytes);
            }
        }
        self.acknowledge(now);
    }

    fn acknowledge(&mut self, now: Time) {
        let ack = self.receiver.ack();
        assert!(ack.window >= self.last_ack.window, "the edge moves back");
        self.last_ack = ack;
        for path in &mut self.paths {
            path.acks.push_back((self.now_ms + path.delay_ms, ack));
            if path.stuck {
                continue;
            }
            path.on_own_acks(self.now_ms);
            while let Some((_, ack)) = path.acks.pop_front_if(|ack| ack.0 <= self.now_ms) {
                self.sender.on_ack(now, &ack).unwrap();
                self.window = self.window.max(ack.window);
            }
        }
    }
}
