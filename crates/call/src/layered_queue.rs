//! Frames of layered video that wait until a transport takes them, dropped by Octopus's rules.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_octopus::{DropDecision, Dropper, Header, MAX_PRIORITY, Mark, Marking, Options};

use crate::queue_config::QueueConfig;
use crate::service_rate::ServiceRate;

/// Streams whose frames are told apart at one time; those of more are dropped for their age alone.
const MAX_STREAMS: usize = 64;

/// Place of a frame in its video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayeredFrame {
    /// Number in its video: counts up, and wraps.
    pub number: u32,
    /// True if it can be decoded without the frames before it.
    pub is_key: bool,
    /// Temporal layer, 0 the lowest: no frame of a lower layer is predicted from it.
    pub temporal_layer: u8,
    /// Distance to the frame that it is predicted from.
    pub reference_distance: u8,
    /// Length in bytes.
    pub bytes: u32,
}

impl LayeredFrame {
    /// The marking of video in temporal layers (Octopus, figure 7): a frame drops those that wait of its own layer
    /// and of higher ones, one of layer 0 those of higher ones, and a key frame all.
    fn marking(&self) -> Marking {
        let (priority, drops) = match self.temporal_layer {
            _ if self.is_key => (1, 1),
            0 => (1, 2),
            layer => {
                let priority = layer.saturating_add(1).min(MAX_PRIORITY);
                (priority, priority)
            }
        };
        Marking { priority, drops: Some(drops), ..Marking::default() }
    }
}

/// Frames that wait, in the order of their arrival, by the video of key `K` that they belong to.
///
/// A frame is dropped where it would leave: when a newer one has made it worthless ([Octopus](airlane_octopus),
/// condition 1), when it waited too long, or when the frame that it is predicted from did not leave. So all that
/// leaves can be decoded.
#[derive(Debug)]
pub struct LayeredQueue<K, T> {
    config: QueueConfig,
    dropper: Dropper,
    waiting: VecDeque<Waiting<K, T>>,
    streams: BTreeMap<K, Stream>,
    next_flow: u64,
    bytes: u64,
    dropped: u64,
    service: ServiceRate,
    /// Videos of which a key frame is to be asked for.
    wanted: BTreeSet<K>,
}

#[derive(Debug)]
struct Waiting<K, T> {
    at: Time,
    stream: K,
    frame: LayeredFrame,
    mark: Mark,
    item: T,
}

/// State of a video.
#[derive(Debug)]
struct Stream {
    flow: u64,
    /// The newest frame that left, and which of those before it did: bit i is the frame i before it.
    left: Option<(u32, u64)>,
}

impl Stream {
    fn has_left(&self, number: u32) -> bool {
        self.left.is_some_and(|(newest, before)| {
            let age = newest.wrapping_sub(number);
            age < u64::BITS && before >> age & 1 == 1
        })
    }

    fn leaves(&mut self, number: u32) {
        let before = self.left.map_or(0, |(newest, before)| {
            before.checked_shl(number.wrapping_sub(newest)).unwrap_or(0)
        });
        self.left = Some((number, before | 1));
    }
}

impl<K: Ord + Copy, T> LayeredQueue<K, T> {
    /// An empty queue.
    pub fn new(config: QueueConfig) -> Self {
        let options = Options { streams: MAX_STREAMS, ..Options::default() };
        Self {
            config,
            dropper: Dropper::new(options),
            waiting: VecDeque::new(),
            streams: BTreeMap::new(),
            next_flow: 0,
            bytes: 0,
            dropped: 0,
            service: ServiceRate::default(),
            wanted: BTreeSet::new(),
        }
    }

    /// Adds a frame of a video that arrived at `now`. One for which there is no room is dropped.
    pub fn push(&mut self, now: Time, stream: K, frame: LayeredFrame, item: T) {
        let flow = match self.streams.get(&stream) {
            Some(known) => known.flow,
            None => {
                let flow = self.next_flow;
                self.next_flow += 1;
                self.streams.insert(stream, Stream { flow, left: None });
                flow
            }
        };
        // A frame without a payload takes memory too.
        let overhead = (self.waiting.len() + 1) * size_of::<Waiting<K, T>>();
        let memory = self.bytes + u64::from(frame.bytes) + overhead as u64;
        let header = Header {
            message: frame.number,
            marking: frame.marking(),
            first: true,
            last: true,
            ..Header::default()
        };
        let fits = memory <= self.config.max_bytes;
        let mark = fits.then(|| self.dropper.enqueue(now, flow, Some(&header), frame.bytes));
        let Some(Ok(mark)) = mark else {
            self.give_up(stream, frame);
            return;
        };
        if frame.is_key {
            self.wanted.remove(&stream);
        }
        if self.waiting.is_empty() {
            self.service.begins_to_wait(now);
        }
        self.bytes += u64::from(frame.bytes);
        self.waiting.push_back(Waiting { at: now, stream, frame, mark, item });
    }

    /// Takes the next frame, and drops those in front of it that are not to leave.
    pub fn pop(&mut self, now: Time) -> Option<T> {
        while let Some(Waiting { at, stream, frame, mark, item }) = self.waiting.pop_front() {
            self.bytes -= u64::from(frame.bytes);
            if self.leaves(now - at, now, stream, frame, &mark) {
                self.service.leaves(now, frame.bytes);
                return Some(item);
            }
        }
        None
    }

    /// True if a frame leaves that has waited for so long. The dropper hears of it either way.
    fn leaves(
        &mut self,
        waited: Duration,
        now: Time,
        stream: K,
        frame: LayeredFrame,
        mark: &Mark,
    ) -> bool {
        let LayeredFrame { number, is_key, reference_distance, .. } = frame;
        let reference = number.wrapping_sub(reference_distance.into());
        let can_be_decoded =
            is_key || self.streams.get(&stream).is_some_and(|of| of.has_left(reference));
        if waited > self.config.max_wait || !can_be_decoded {
            self.dropper.remove(mark);
            self.give_up(stream, frame);
            return false;
        }
        if self.dropper.dequeue(now, mark) != DropDecision::Pass {
            self.dropped += 1;
            return false;
        }
        if let Some(of) = self.streams.get_mut(&stream) {
            of.leaves(number);
        }
        true
    }

    /// Drops a frame that later ones may need.
    fn give_up(&mut self, stream: K, frame: LayeredFrame) {
        self.dropped += 1;
        let has_key = self.waiting.iter().any(|of| of.stream == stream && of.frame.is_key);
        if frame.temporal_layer == 0 && !has_key {
            self.wanted.insert(stream);
        }
    }

    /// Rate at which frames leave; `None` while none waits, or it is not known yet.
    pub fn service_rate(&self, now: Time) -> Option<Rate> {
        if self.waiting.is_empty() { None } else { self.service.rate(now) }
    }

    /// True if no frame waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes of the frames that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Frames dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Videos of which a key frame is to be asked for, each once.
    pub fn take_wanted(&mut self) -> Vec<K> {
        std::mem::take(&mut self.wanted).into_iter().collect()
    }

    /// Forgets the videos of these keys: their frames do not leave.
    pub fn forget(&mut self, is_gone: impl Fn(&K) -> bool) {
        let Self { dropper, waiting, streams, bytes, wanted, .. } = self;
        waiting.retain(|of| {
            let stays = !is_gone(&of.stream);
            if !stays {
                *bytes -= u64::from(of.frame.bytes);
                dropper.remove(&of.mark);
            }
            stays
        });
        streams.retain(|stream, _| !is_gone(stream));
        wanted.retain(|stream| !is_gone(stream));
    }
}
