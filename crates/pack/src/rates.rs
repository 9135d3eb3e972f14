//! The rates that a manifest and playlists name, of the sizes and the lengths of chunks.

use std::time::Duration;

use airlane_base::Rate;

/// Bytes and length of each chunk of a representation.
pub(crate) type Sizes = [(u64, Duration)];

/// Bytes of all chunks over their time.
pub(crate) fn mean(chunks: &Sizes) -> Rate {
    Rate::of(chunks.iter().map(|c| c.0).sum(), chunks.iter().map(|c| c.1).sum())
}

/// The highest rate of a chunk, of those that are at least half as long as the longest (RFC 8216,
/// section 4.1, counts no shorter ones).
pub(crate) fn peak(chunks: &Sizes) -> Rate {
    let longest = chunks.iter().map(|c| c.1).max().unwrap_or_default();
    let counts = chunks.iter().filter(|c| c.1 * 2 >= longest);
    counts.map(|(bytes, length)| Rate::of(*bytes, *length)).max().unwrap_or_default()
}

/// DASH's `bandwidth`: the lowest rate at which a client that begins with any chunk, and waits
/// `min_buffer` before it plays, has every later one when its turn comes (ISO/IEC 23009-1, section
/// 5.3.5.2); but not below the mean, which clients take it for. `min_buffer` is not zero.
///
/// From chunk i on, chunk k is whole in time at rate R if
///
/// ```text
/// bits(i..=k) <= R (min_buffer + length(i..k)).
/// ```
///
/// Of the runs that break this, the one that lacks most is brought in order by a higher rate, until
/// none is left (Dinkelbach's method: each rate is the quotient of a run, and they rise).
pub(crate) fn bandwidth(chunks: &Sizes, min_buffer: Duration) -> Rate {
    let mut rate = mean(chunks).as_f64();
    loop {
        let (mut bits, mut time_s) = (0.0, 0.0);
        // Where the run begins that has the least in store.
        let (mut begin, mut store) = ((0.0, 0.0), f64::INFINITY);
        let (mut lack, mut next) = (0.0, rate);
        for (bytes, length) in chunks {
            if bits - rate * time_s < store {
                (begin, store) = ((bits, time_s), bits - rate * time_s);
            }
            bits += *bytes as f64 * 8.0;
            let wait_s = time_s + min_buffer.as_secs_f64();
            if bits - rate * wait_s - store > lack {
                lack = bits - rate * wait_s - store;
                next = (bits - begin.0) / (wait_s - begin.1);
            }
            time_s += length.as_secs_f64();
        }
        if next <= rate {
            // Zero is no bandwidth; nothing real is that small.
            return Rate::from_bps_f64(rate.ceil().max(1.0));
        }
        rate = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn one_large_chunk_is_spread_over_the_buffer() {
        let chunks = [(1_000, 4 * SECOND), (4_000, 4 * SECOND), (1_000, 4 * SECOND), (500, SECOND)];
        assert_eq!(peak(&chunks), Rate::from_bps(8_000));
        assert_eq!(mean(&chunks), Rate::from_bps(4_000));
        // 4 000 bytes within 8 s; the rest is no harder.
        assert_eq!(bandwidth(&chunks, 8 * SECOND), Rate::from_bps(4_000));
        assert_eq!(bandwidth(&chunks, 5 * SECOND), Rate::from_bps(6_400));
        assert_eq!(bandwidth(&[], SECOND), Rate::from_bps(1));
    }

    proptest! {
        /// No run lacks anything, and no rate lower by 2 bit/s would do, if not by a run then by the mean.
        #[test]
        fn it_is_the_lowest_that_lasts(
            chunks in prop::collection::vec((1u64..1_000_000, 100u64..8_000), 1..40),
            buffer_ms in 500u64..20_000,
        ) {
            let chunks: Vec<_> =
                chunks.into_iter().map(|(b, ms)| (b, Duration::from_millis(ms))).collect();
            let buffer = Duration::from_millis(buffer_ms);
            let needed = (0..chunks.len()).flat_map(|i| {
                let (mut bits, mut wait_s) = (0.0, buffer.as_secs_f64());
                chunks[i..].iter().map(move |(bytes, length)| {
                    bits += *bytes as f64 * 8.0;
                    let least = bits / wait_s;
                    wait_s += length.as_secs_f64();
                    least
                }).collect::<Vec<f64>>()
            });
            let least = needed.fold(mean(&chunks).as_f64(), f64::max);
            let found = bandwidth(&chunks, buffer).as_f64();
            prop_assert!(found >= least * (1.0 - 1e-9) && found <= least + 2.0, "{found} of {least}");
        }
    }
}
