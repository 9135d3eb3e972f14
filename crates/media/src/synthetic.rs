//! Videos made of numbers alone, for tests and examples.
//!
//! They have the shape of real content, not its statistics: 8 rungs from 0.3 to 6.2 Mbit/s, a
//! concave VMAF curve of its own per video (`100 * r^s / (r^s + k^s)` with the rate k of half
//! quality between 0.15 and 0.9 Mbit/s), and a complexity that wanders from chunk to chunk and
//! jumps at scene cuts, which moves sizes up and quality down together. No claim is judged on
//! them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Rng, Seed};
use rand::RngExt;

use crate::video::{Metric, Rung, Video};

/// Width, height and nominal kbit/s of the rungs.
const LADDER: [(u32, u32, u64); 8] = [
    (426, 240, 300),
    (426, 240, 500),
    (640, 360, 850),
    (854, 480, 1300),
    (960, 540, 2000),
    (1280, 720, 3000),
    (1920, 1080, 4300),
    (1920, 1080, 6200),
];

/// `n` videos named `synthetic-0` and up, of `chunks` chunks of 4 s each; the same for the same
/// seed.
pub fn corpus(n: usize, chunks: usize, seed: Seed) -> Vec<Arc<Video>> {
    (0..n).map(|i| Arc::new(video(i, n, chunks, seed.split("synthetic").index(i as u64)))).collect()
}

/// One video whose chunks are all alike: rate and quality are the same in every chunk, as closed
/// forms want them. Rungs as in [`corpus`]; `half_bps` is the rate of half quality.
pub fn flat(name: &str, chunks: usize, half_bps: f64) -> Arc<Video> {
    Arc::new(build(name.to_owned(), half_bps, 1.0, &vec![1.0; chunks]))
}

fn video(i: usize, n: usize, chunks: usize, seed: Seed) -> Video {
    let mut rng = seed.rng();
    // Spread evenly, so that any corpus has easy and hard videos.
    let place = (i as f64 + 0.5) / n as f64;
    let half_bps = 150e3 * 6f64.powf(place);
    let steepness = rng.random_range(1.0..1.3);
    build(format!("synthetic-{i}"), half_bps, steepness, &complexities(chunks, &mut rng))
}

/// A positive factor per chunk: wandering in the logarithm, with a scene cut about every seventh
/// chunk.
fn complexities(chunks: usize, rng: &mut Rng) -> Vec<f64> {
    let mut log = 0.0f64;
    (0..chunks)
        .map(|_| {
            log = if rng.random_bool(0.15) {
                rng.random_range(-1.0..1.0)
            } else {
                (0.9 * log + rng.random_range(-0.4..0.4)).clamp(-1.0, 1.0)
            };
            log.exp()
        })
        .collect()
}

fn build(name: String, half_bps: f64, steepness: f64, complexity: &[f64]) -> Video {
    let chunk = Duration::from_secs(4);
    let rungs = LADDER.map(|(width, height, kbps)| {
        let bytes = |c: f64| (kbps as f64 * 1e3 * chunk.as_secs_f64() / 8.0 * c.sqrt()).round();
        let vmaf = |c: f64| {
            // The encoder gives a hard chunk more bits, but not as many as it needs.
            let relative = bytes(c) * 8.0 / chunk.as_secs_f64() / (half_bps * c.powf(1.8));
            let power = relative.powf(steepness);
            100.0 * power / (power + 1.0)
        };
        Rung {
            name: format!("{height}p-{kbps}k"),
            width,
            height,
            nominal: Rate::from_bps(kbps * 1000),
            size_bytes: complexity.iter().map(|&c| bytes(c) as u64).collect(),
            quality: BTreeMap::from([(
                Metric::Vmaf,
                complexity.iter().map(|&c| vmaf(c)).collect(),
            )]),
        }
    });
    Video {
        title: name.clone(),
        name,
        character: "synthetic".to_owned(),
        source: "generated numbers, no picture".to_owned(),
        fps: None,
        chunk,
        distinct_chunks: complexity.len(),
        rungs: rungs.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_quality::stats;

    #[test]
    fn videos_are_valid_different_and_repeatable() {
        let videos = corpus(6, 75, Seed(1));
        assert_eq!(videos, corpus(6, 75, Seed(1)));
        assert_ne!(videos, corpus(6, 75, Seed(2)));
        let at = |mbps: f64| -> Vec<f64> {
            videos.iter().map(|v| v.mean_curve(Metric::Vmaf).unwrap().eval(mbps * 1e6)).collect()
        };
        for v in &videos {
            v.check().unwrap();
            let top = v.mean_quality(Metric::Vmaf, 7).unwrap();
            assert!((85.0..100.0).contains(&top), "{} {top}", v.name);
        }
        let one = stats::sorted(&at(1.0));
        assert!(one[5] - one[0] > 25.0, "{one:?}");
    }

    #[test]
    fn curves_are_concave_and_chunks_vary() {
        for v in corpus(4, 75, Seed(3)) {
            let points: Vec<(f64, f64)> = v.mean_curve(Metric::Vmaf).unwrap().points().collect();
            let slopes: Vec<f64> =
                points.windows(2).map(|w| (w[1].1 - w[0].1) / (w[1].0 - w[0].0)).collect();
            assert!(slopes.windows(2).all(|s| s[1] < s[0] * 1.01), "{} {slopes:?}", v.name);
            let q = &v.rungs[4].quality[&Metric::Vmaf];
            let jumps: Vec<f64> = q.windows(2).map(|w| (w[1] - w[0]).abs()).collect();
            assert!((1.0..12.0).contains(&stats::mean(&jumps).unwrap()), "{jumps:?}");
        }
    }

    #[test]
    fn a_flat_video_has_one_size_and_one_quality_per_rung() {
        let v = flat("flat", 10, 1e6);
        v.check().unwrap();
        for (i, rung) in v.rungs.iter().enumerate() {
            assert_eq!(v.mean_rate_bps(i), rung.nominal.as_f64());
            assert!(rung.size_bytes.iter().all(|&b| b == rung.size_bytes[0]));
            let q = &rung.quality[&Metric::Vmaf];
            let r = rung.nominal.as_f64();
            assert!(q.iter().all(|&q| (q - 100.0 * r / (r + 1e6)).abs() < 1e-9));
        }
    }
}
