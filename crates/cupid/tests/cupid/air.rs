//! Exact records of stations on one channel, as a receiver would hear them: who wins a backoff sends one
//! exchange. No collisions: the winner of a tie is the first.

use std::time::Duration;

use airlane_base::{Rng, Seed, Time};
use airlane_cupid::{Estimate, Estimator, EstimatorOptions};
use airlane_wifi::{
    Access, Address, Band, BlockAck, Format, Frame, FrameKind, Guard, Heard, Response, Timing,
    Vector, What, Width, mac,
};
use rand::RngExt;

/// The access point.
pub const AP: Address = Address([2, 0, 0, 0, 0, 0xfe]);

/// The n-th station.
pub fn station(n: u16) -> Address {
    let [high, low] = n.to_be_bytes();
    Address([2, 0, 0, 1, high, low])
}

/// HE80 with two streams.
pub fn he(mcs: u8) -> Vector {
    let (streams, width, guard) = (2, Width::Mhz80, Guard::Ns800);
    Vector { format: Format::He, mcs, streams, width, guard }
}

/// Who sends what.
#[derive(Clone, Debug)]
pub struct Talker {
    pub from: Address,
    pub to: Address,
    pub bssid: Address,
    pub is_down: bool,
    pub vector: Vector,
    /// Frames of an aggregate; 1 is none.
    pub frames: u16,
    /// Bytes of an MPDU.
    pub bytes: u32,
    pub is_protected: bool,
    pub tid: u8,
    /// Sends only so often, if not always.
    pub every: Option<Duration>,
    pub from_time: Time,
    pub until: Time,
    pub sequence: u16,
    pub next: Time,
    pub backoff: Option<u32>,
}

impl Talker {
    /// A saturated flow from the access point to a station.
    pub fn down(to: Address, vector: Vector, frames: u16) -> Self {
        Self {
            from: AP,
            to,
            bssid: AP,
            is_down: true,
            vector,
            frames,
            bytes: mac::mpdu(1_500, true),
            is_protected: false,
            tid: 0,
            every: None,
            from_time: Time::ZERO,
            until: Time::FAR_FUTURE,
            sequence: 0,
            next: Time::ZERO,
            backoff: None,
        }
    }

    /// One from a station to the access point.
    pub fn up(from: Address, vector: Vector, frames: u16) -> Self {
        Self { from, to: AP, is_down: false, ..Self::down(from, vector, frames) }
    }

    fn is_ready(&self, now: Time) -> bool {
        now >= self.from_time && now < self.until && now >= self.next
    }

    /// Bytes of payload in one exchange.
    pub fn payload(&self) -> u64 {
        u64::from(self.frames) * u64::from(self.bytes - mac::mpdu(0, true) - 28)
    }
}

/// What the channel carried.
pub struct Heards {
    pub records: Vec<Heard>,
    /// Exchanges of each talker, with what they are charged.
    pub exchanges: Vec<u64>,
    pub charged: Vec<Duration>,
}

/// Runs talkers until `end`.
pub fn channel(talkers: &mut [Talker], end: Time, seed: u64) -> Heards {
    let timing = Timing::of(Band::Ghz5);
    let access = Access::BEST_EFFORT;
    let mut rng: Rng = Seed(seed).split("air").rng();
    let mut out = Heards {
        records: Vec::new(),
        exchanges: vec![0; talkers.len()],
        charged: vec![Duration::ZERO; talkers.len()],
    };
    let mut now = Time::ZERO;
    while now < end {
        let ready: Vec<usize> = (0..talkers.len()).filter(|&i| talkers[i].is_ready(now)).collect();
        if ready.is_empty() {
            let next =
                talkers.iter().filter(|t| now < t.until).map(|t| t.next.max(t.from_time)).min();
            match next {
                Some(at) if at > now => now = at,
                _ => break,
            }
            continue;
        }
        for &i in &ready {
            let slots = rng.random_range(0..=u32::from(access.cw_min));
            talkers[i].backoff.get_or_insert(slots);
        }
        let winner =
            ready.iter().copied().min_by_key(|&i| talkers[i].backoff).expect("one is ready");
        let slots = talkers[winner].backoff.take().expect("it drew");
        for &i in &ready {
            if let Some(left) = &mut talkers[i].backoff {
                *left -= slots;
            }
        }
        now = now + timing.aifs(&access) + timing.slot * slots;
        let talker = &mut talkers[winner];
        let begin = now;
        now = exchange(talker, now, &timing, &mut out.records);
        out.exchanges[winner] += 1;
        out.charged[winner] += now.since(begin) + airlane_wifi::contention(&timing, &access);
        if let Some(every) = talker.every {
            talker.next = talker.next.max(talker.from_time) + every;
        }
    }
    out
}

fn exchange(talker: &mut Talker, start: Time, timing: &Timing, out: &mut Vec<Heard>) -> Time {
    let control = talker.vector.response();
    let is_aggregate = talker.frames > 1;
    let psdu = match is_aggregate {
        true => u32::from(talker.frames) * mac::in_aggregate(talker.bytes),
        false => talker.bytes,
    };
    let response = if is_aggregate { Response::BlockAck64 } else { Response::Ack };
    let data = talker.vector.duration(psdu);
    let answer = timing.sifs + control.duration(response.bytes());
    let blank = Frame::new(FrameKind::Rts, talker.to, Some(talker.from), mac::RTS);
    let mut at = start;
    let mut put =
        |at: Time, vector: Vector, duration: Duration, is_aggregate, frames: Vec<Frame>| {
            out.push(Heard { at, duration, what: What::Frames { vector, is_aggregate, frames } });
            at + duration
        };
    if talker.is_protected {
        let cts = control.duration(mac::CTS);
        let remaining = 2 * timing.sifs + cts + data + answer;
        let duration = control.duration(mac::RTS);
        at = put(at, control, duration, false, vec![Frame { remaining, ..blank }]) + timing.sifs;
        let remaining = timing.sifs + data + answer;
        let (kind, receiver, bytes) = (FrameKind::Cts, talker.from, mac::CTS);
        let frame = Frame { kind, receiver, transmitter: None, remaining, bytes, ..blank };
        at = put(at, control, cts, false, vec![frame]) + timing.sifs;
    }
    let first = talker.sequence;
    let frames = (0..talker.frames).map(|n| Frame {
        kind: FrameKind::QosData,
        bssid: Some(talker.bssid),
        is_down: talker.is_down,
        bytes: talker.bytes,
        sequence: (first + n) & 0xfff,
        remaining: answer,
        tid: talker.tid,
        ..blank
    });
    at = put(at, talker.vector, data, is_aggregate, frames.collect()) + timing.sifs;
    talker.sequence = (first + talker.frames) & 0xfff;
    let duration = control.duration(response.bytes());
    let frame = Frame { receiver: talker.from, bytes: response.bytes(), ..blank };
    let frame = if is_aggregate {
        let mut came = [0; 4];
        for n in 0..usize::from(talker.frames) {
            came[n / 64] |= 1 << (n % 64);
        }
        let block_ack = Some(BlockAck { start: first, came });
        Frame { kind: FrameKind::BlockAck, transmitter: Some(talker.to), block_ack, ..frame }
    } else {
        Frame { kind: FrameKind::Ack, transmitter: None, ..frame }
    };
    put(at, control, duration, false, vec![frame])
}

/// What is left when a share of records is taken out at random.
pub fn thinned(records: &[Heard], share: f64, seed: u64) -> Vec<Heard> {
    let mut rng: Rng = Seed(seed).split("thin").rng();
    records.iter().filter(|_| rng.random::<f64>() >= share).cloned().collect()
}

/// Estimates each 40 ms from `from` on.
pub fn estimates(records: &[Heard], options: EstimatorOptions, from: Time) -> Vec<Estimate> {
    let mut estimator = Estimator::new(options);
    let mut next = from;
    let mut out = Vec::new();
    for heard in records {
        while heard.at + heard.duration > next {
            out.push(estimator.estimate(next));
            next += Duration::from_millis(40);
        }
        estimator.hear(heard);
    }
    out
}

pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), v| (sum + v, n + 1));
    sum / f64::from(n)
}
