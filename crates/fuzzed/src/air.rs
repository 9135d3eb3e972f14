//! What Cupid's estimator hears of the air (`docs/design/cupid.md`).

use std::time::Duration;

use airlane_base::Time;
use airlane_cupid::{
    Agent, AgentOptions, Charging, Estimate, EstimatorOptions, Feedback, PassiveObserver,
};
use airlane_wifi::{
    Address, BlockAck, Format, Frame, FrameKind, Guard, Heard, Vector, What, Width,
};

/// Bytes of the input per record.
const STEP: usize = 12;

/// Any records in any order: shares stay shares, reports can be written, and nobody is granted more
/// than the air carries.
///
/// The input is a byte of options and steps, one per record.
pub fn air(data: &[u8]) {
    let [flags, data @ ..] = data else { return };
    let mut estimator = EstimatorOptions::new(address(1));
    estimator.bssid = (flags & 1 != 0).then(|| address(0));
    let charging = if flags & 2 != 0 { Charging::Packed } else { Charging::Literal };
    let subtract_foreign = flags & 4 != 0;
    let options = AgentOptions { charging, subtract_foreign, ..AgentOptions::new(estimator) };
    let mut agent = Agent::new(options, Time::ZERO);
    let mut observer = PassiveObserver::new(options);
    let mut now = 0_u64;
    for step in data.as_chunks::<STEP>().0 {
        let [op, gap, .., acked, count] = *step;
        let gap = u64::from(gap) << (op & 15);
        now = if op & 16 != 0 { now.saturating_sub(gap) } else { now.saturating_add(gap * 64) };
        if op & 32 != 0 && acked == 255 {
            now = u64::MAX - u64::from(count);
        }
        let at = Time::from_nanos(now);
        let heard = heard(at, step);
        agent.hear(&heard);
        let mut reports = 0_u64;
        observer.hear(&heard, |_, granted| {
            let delta = granted.estimate.packed_delta.max(granted.estimate.delta);
            assert!(Some(granted.rate.max(granted.paper_rate)) <= delta, "{granted:?}");
            reports += 1;
        });
        // However long it was silent: no longer than a station counts, and few of them are there.
        assert!(reports <= 26 * 256);
        if op & 3 == 0 {
            check(&agent.estimator().estimate(at));
            agent.estimator().take_events();
        }
        if let Some((feedback, _)) = agent.poll(at, 1 + u32::from(count)) {
            let again = Feedback::decode(&feedback.encode());
            assert_eq!(again.map(|f| f.sequence), Ok(feedback.sequence));
        }
    }
}

fn check(estimate: &Estimate) {
    for share in [
        estimate.utilisation,
        estimate.without_contention,
        estimate.packed,
        estimate.foreign,
        estimate.inferred,
        estimate.utilisation_confidence,
        estimate.stations_confidence,
        estimate.own_confidence,
    ] {
        assert!((0.0..=1.0).contains(&share), "{estimate:?}");
    }
    assert!(estimate.stations <= 1_024);
}

/// The record that a step is.
fn heard(at: Time, step: &[u8; STEP]) -> Heard {
    let &[op, _, long, kind, to, from, seq, low, size, rest, acked, count] = step;
    let duration = Duration::from_nanos(u64::from(long) << (rest & 31));
    let frame = |n: u16| Frame {
        kind: FrameKind::ALL[usize::from(kind) % FrameKind::ALL.len()],
        receiver: if to == 255 { Address::BROADCAST } else { address(to) },
        transmitter: (from != 255).then(|| address(from)),
        bssid: (rest & 32 != 0).then(|| address(rest)),
        is_down: rest & 64 != 0,
        bytes: u32::from(size) << (seq & 31),
        is_retry: rest & 128 != 0,
        sequence: u16::from_be_bytes([seq, low]).wrapping_add(n),
        remaining: Duration::from_nanos(u64::from(size) << (low & 63)),
        tid: low,
        block_ack: (acked != 0).then(|| BlockAck {
            start: u16::from_be_bytes([low, seq]),
            came: [u64::MAX >> (acked & 63), u64::from(acked), 0, u64::from(size)],
        }),
    };
    let what = match op >> 6 {
        0 => What::Energy,
        1 => What::Header(vector(kind)),
        _ => What::Frames {
            vector: vector(size),
            is_aggregate: op & 64 != 0,
            frames: (0..u16::from(count % 70)).map(frame).collect(),
        },
    };
    Heard { at, duration, what }
}

/// Addresses of few stations, so that they meet, or of any.
fn address(byte: u8) -> Address {
    Address([2, 0, 0, 0, byte >> 4, byte & 15])
}

fn vector(byte: u8) -> Vector {
    let formats = [Format::Dsss, Format::Ofdm, Format::Ht, Format::Vht, Format::He];
    let vector = Vector {
        format: formats[usize::from(byte) % 5],
        mcs: byte / 5 % 12,
        streams: 1 + byte / 60 % 4,
        width: Width::ALL[usize::from(byte) % 4],
        guard: Guard::Ns800,
    };
    if vector.is_valid() { vector } else { Vector::ofdm(byte % 8) }
}

/// An access point that sends to three stations in turn, and one of them that answers, for 0.2 s, at
/// each setting of the options.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    // 4.2 ms after the last record (16 times 64 times 2^12 ns), with an estimate.
    const ENERGY: [u8; 2] = [12, 16];
    const HEADER: [u8; 2] = [1 << 6 | 12, 16];
    const FRAMES: [u8; 2] = [2 << 6 | 12, 16];
    const AGGREGATE: [u8; 2] = [3 << 6 | 12, 16];
    // Lasting 2^12 ns times what the step says; down, and of a network.
    const UP: u8 = 32 | 12;
    const DOWN: u8 = 64 | UP;
    let mut steps = Vec::new();
    for n in 0..10_u8 {
        let station = 1 + n % 3;
        let records = [
            // 20 frames of 1184 bytes, and their block acknowledgement.
            (AGGREGATE, [200, 0, station, 0, 5, n, 37, DOWN, 0, 20]),
            (FRAMES, [10, 8, 0, station, 0, 0, 32, UP, 44, 1]),
            (FRAMES, [100, 0, 0, station, 5, n, 37, UP, 0, 1]),
            (FRAMES, [50, 3, 255, 0, 1, n, 100, DOWN, 0, 1]),
            if n % 2 == 0 { (ENERGY, [30; 10]) } else { (HEADER, [30; 10]) },
        ];
        for (op, record) in records {
            steps.extend(op);
            steps.extend(record);
        }
    }
    (0..8).map(|flags| [&[flags], &steps[..]].concat()).collect()
}
