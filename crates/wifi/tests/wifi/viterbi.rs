//! The convolutional code's error rates beside a receiver that is simulated here: encoder, puncturing,
//! interleaving, QAM, white noise, soft Viterbi decoder.

use airlane_base::{Rng, Seed};
use airlane_wifi::{Code, ErrorModel, Format, Guard, Vector, Width};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

const GENERATORS: [u32; 2] = [0o133, 0o171];
const STATES: usize = 64;
const TAIL: usize = 6;

/// What is kept of each pair of coded bits, by code rate (802.11-2020, 17.3.5.6 and 19.3.11.6).
fn pattern(num: u32, den: u32) -> &'static [[bool; 2]] {
    const ALL: [bool; 2] = [true, true];
    const FIRST: [bool; 2] = [true, false];
    const SECOND: [bool; 2] = [false, true];
    match (num, den) {
        (1, 2) => &[ALL],
        (2, 3) => &[ALL, FIRST],
        (3, 4) => &[ALL, FIRST, SECOND],
        (5, 6) => &[ALL, FIRST, SECOND, FIRST, SECOND],
        _ => panic!("no such rate"),
    }
}

fn coded(register: u32) -> [bool; 2] {
    GENERATORS.map(|generator| (register & generator).count_ones() % 2 == 1)
}

/// Log-likelihood ratios of a symbol's bits on one dimension, positive for 1.
fn ratios(y: f64, bits: u32, unit: f64, out: &mut Vec<f64>) {
    let points = 1_usize << bits;
    for bit in 0..bits {
        let mut sides = [1e-300_f64; 2];
        for point in 0..points {
            let label = point ^ (point >> 1);
            let x = (2.0 * point as f64 - (points - 1) as f64) * unit;
            sides[(label >> bit) & 1] += (-(y - x) * (y - x) / 2.0).exp();
        }
        out.push((sides[1] / sides[0]).ln());
    }
}

/// The most likely bits, given the ratio of each coded bit (0 where it was not sent).
fn decode(ratios: &[[f64; 2]]) -> Vec<bool> {
    let mut metrics = [f64::NEG_INFINITY; STATES];
    metrics[0] = 0.0;
    let mut from = Vec::with_capacity(ratios.len());
    for pair in ratios {
        let mut next = [f64::NEG_INFINITY; STATES];
        let mut choices = [0_u8; STATES];
        for (state, metric) in metrics.iter().enumerate() {
            for bit in [0, 1] {
                let register = (bit << 6) | state;
                let sent = coded(register as u32);
                let gain: f64 = (0..2).map(|i| if sent[i] { pair[i] } else { 0.0 }).sum();
                let to = register >> 1;
                if metric + gain > next[to] {
                    next[to] = metric + gain;
                    choices[to] = state as u8;
                }
            }
        }
        metrics = next;
        from.push(choices);
    }
    let mut state = 0;
    let mut bits: Vec<_> = (from.iter().rev())
        .map(|choices| {
            let bit = state >> 5 == 1;
            state = usize::from(choices[state]);
            bit
        })
        .collect();
    bits.reverse();
    bits
}

/// Whether a frame of so many bytes comes through.
fn comes(rng: &mut Rng, (bits, num, den): (u32, u32, u32), snr_db: f64, bytes: usize) -> bool {
    let mut data: Vec<bool> = (0..8 * bytes).map(|_| rng.random()).collect();
    data.extend([false; TAIL]);
    let pattern = pattern(num, den);
    // What is sent, and where each bit of it belongs.
    let mut sent = Vec::new();
    let mut register = 0;
    for (i, &bit) in data.iter().enumerate() {
        register = (register >> 1) | (u32::from(bit) << 6);
        for (j, value) in coded(register).into_iter().enumerate() {
            if pattern[i % pattern.len()][j] {
                sent.push((value, i, j));
            }
        }
    }
    for i in (1..sent.len()).rev() {
        sent.swap(i, rng.random_range(0..=i));
    }
    // One dimension at a time, the noise having a variance of 1.
    let snr = 10_f64.powf(snr_db / 10.0);
    let (bits, energy) = if bits == 1 { (1, snr) } else { (bits / 2, snr / 2.0) };
    let points = 1_usize << bits;
    let unit = (2.0 * energy * 3.0 / ((points * points - 1) as f64)).sqrt();
    let mut received = vec![[0.0; 2]; data.len()];
    let mut values = Vec::new();
    for symbol in sent.chunks(bits as usize) {
        let label = (0..bits as usize)
            .map(|bit| symbol.get(bit).map_or(rng.random(), |&(value, ..)| value))
            .enumerate()
            .fold(0_usize, |label, (bit, value)| label | usize::from(value) << bit);
        let point = (0..points).find(|p| p ^ (p >> 1) == label).expect("a point of this label");
        let x = (2.0 * point as f64 - (points - 1) as f64) * unit;
        let noise: f64 = StandardNormal.sample(rng);
        values.clear();
        ratios(x + noise, bits, unit, &mut values);
        for (&(_, i, j), &ratio) in symbol.iter().zip(&values) {
            received[i][j] = ratio;
        }
    }
    decode(&received) == data
}

#[test]
fn a_simulated_receiver_loses_as_much() {
    let model = ErrorModel::with_code(Code::Convolutional);
    let (bytes, frames) = (100, 600);
    for (mcs, code) in [
        (0, (1, 1, 2)),
        (2, (2, 3, 4)),
        (5, (6, 2, 3)),
        (7, (6, 5, 6)),
        // Others have no curves of these.
        (10, (10, 3, 4)),
        (11, (10, 5, 6)),
    ] {
        let vector = Vector {
            format: Format::He,
            mcs,
            streams: 1,
            width: Width::Mhz20,
            guard: Guard::Ns800,
        };
        let snr_db = model.snr_for(&vector, bytes, 0.1);
        let mut rng = Seed(24).index(u64::from(mcs)).rng();
        let lost = (0..frames).filter(|_| !comes(&mut rng, code, snr_db, bytes as usize)).count();
        let share = lost as f64 / f64::from(frames);
        // As much as a third of a decibel more or less would lose, and chance (2.5 deviations).
        let at = |db: f64| 1.0 - model.success(&vector, snr_db + db, bytes);
        let chance = 2.5 * (0.09 / f64::from(frames)).sqrt();
        println!("MCS {mcs} at {snr_db:.2} dB: {share:.3} lost, 0.100 expected");
        assert!(
            share > at(0.33) - chance && share < at(-0.33) + chance,
            "MCS {mcs} at {snr_db:.2} dB: {share} lost"
        );
    }
}
