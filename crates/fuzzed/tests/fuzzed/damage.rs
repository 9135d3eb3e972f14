//! Inputs that were valid before.

use airlane_base::Rng;
use rand::RngExt;

/// Texts that parsers of numbers and of structure stumble over.
const WORDS: [&[u8]; 8] =
    [b"NaN", b"-1", b"1e999", b"99999999999999999999", b"\0", b"\xff", b"[[", b"="];

/// Cuts, doubles, overwrites and splices `valid`, also with parts of `other`.
pub(crate) fn damaged(valid: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut data = valid.to_vec();
    for _ in 0..rng.random_range(1..=4) {
        if data.is_empty() {
            break;
        }
        let (a, b) = (rng.random_range(0..data.len()), rng.random_range(0..data.len()));
        let (from, to) = (a.min(b), (a.max(b) + 1).min(a.min(b) + 64));
        match rng.random_range(0..8) {
            0 => data.truncate(a),
            1 => drop(data.drain(from..to)),
            2 => data[a] = rng.random(),
            3 => {
                let part = data[from..to].to_vec();
                drop(data.splice(b..b, part));
            }
            4 => {
                let word = WORDS[rng.random_range(0..WORDS.len())];
                drop(data.splice(a..a, word.iter().copied()));
            }
            5 => data[a] ^= 1 << rng.random_range(0..8),
            // A length or a number of 1, 2, 4 or 8 bytes, at an end of its range or near it.
            6 => {
                let end = (a + (1 << rng.random_range(0..4))).min(data.len());
                let fill = if rng.random() { 0xff } else { 0 };
                data[a..end].fill(fill);
                data[end - 1] ^= rng.random_range(0..3);
                data[a] ^= if rng.random() { 0x80 } else { 0 };
            }
            _ => {
                let end = (from + 32).min(other.len());
                let part = other.get(from.min(end)..end).unwrap_or_default().to_vec();
                drop(data.splice(a..a, part));
            }
        }
    }
    data
}

/// Bytes without any structure, up to `most` of them.
pub(crate) fn random(most: usize, rng: &mut Rng) -> Vec<u8> {
    // As many short inputs as long ones.
    let most = most >> rng.random_range(0..8);
    let mut data = vec![0; rng.random_range(0..=most)];
    rng.fill(&mut data[..]);
    data
}
