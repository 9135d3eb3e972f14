//! What a corpus is like: curves, spread over its videos, variation within them, traps.
//!
//! The figures of `airlane corpus`. They are taken as the real set's own figures were, so that
//! the two can be compared: quality at a rate is read off each video's mean curve, and the
//! variation from chunk to chunk at the rung whose mean rate is nearest.

use airlane_base::InputError;
use airlane_quality::stats::{self, Quartiles};

use crate::corpus::{Corpus, Entry};
use crate::table::Traps;
use crate::video::{Metric, Video};

/// The rates at which videos are compared, bits/s.
pub const RATES_BPS: [f64; 2] = [1e6, 2.5e6];

/// Statistics of real content at one of [`RATES_BPS`]: the 56 tables of the Comyco set, VMAF.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference {
    /// Quartiles over videos of the mean VMAF.
    pub vmaf: Quartiles,
    /// Median over videos of the mean difference between adjacent chunks: a range.
    pub adjacent: (f64, f64),
}

/// [`Reference`] for each of [`RATES_BPS`].
pub const REAL: [Reference; 2] = [
    Reference { vmaf: Quartiles { lower: 59.0, median: 69.0, upper: 77.0 }, adjacent: (7.0, 8.0) },
    Reference { vmaf: Quartiles { lower: 79.0, median: 85.0, upper: 89.0 }, adjacent: (7.0, 8.0) },
];

/// A corpus spreads as real content does if its quartiles are within this of [`REAL`].
pub const QUARTILE_SLACK: f64 = 8.0;
/// And its chunks vary as real ones do if the median is within this of the range in [`REAL`].
pub const ADJACENT_SLACK: f64 = 3.0;

/// Statistics of a video at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtRate {
    /// Quality on the mean curve at the rate.
    pub quality: f64,
    /// The rung whose mean rate is nearest.
    pub rung: usize,
    /// Mean quality of that rung.
    pub rung_quality: f64,
    /// Mean absolute difference in quality between adjacent chunks of that rung; zero for a
    /// video of one chunk.
    pub adjacent: f64,
}

/// Statistics of a video.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoStatistics {
    /// Its name.
    pub name: String,
    /// Kind of its content.
    pub character: String,
    /// Number of chunks.
    pub chunks: usize,
    /// Number of distinct chunks.
    pub distinct_chunks: usize,
    /// Mean rate of each rung, bits/s.
    pub rate_bps: Vec<f64>,
    /// Mean quality of each rung.
    pub quality: Vec<f64>,
    /// At each of [`RATES_BPS`].
    pub at: [AtRate; 2],
    /// Share of chunks in which a rung scores less than a lower one.
    pub not_monotone: f64,
    /// Metrics and rungs at which every chunk scores the same.
    pub constant: Vec<(Metric, usize)>,
    /// Faults that were mended while it was read.
    pub traps: Traps,
}

/// The spread over the videos of a corpus at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Quartiles of [`AtRate::quality`].
    pub quality: Quartiles,
    /// Quartiles of [`AtRate::rung_quality`].
    pub rung_quality: Quartiles,
    /// Median of [`AtRate::adjacent`].
    pub adjacent: f64,
}

impl Spread {
    /// True if the quartiles are within [`QUARTILE_SLACK`] of the real ones.
    pub fn quartiles_are_real(&self, real: &Reference) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= QUARTILE_SLACK;
        near(self.quality.lower, real.vmaf.lower)
            && near(self.quality.median, real.vmaf.median)
            && near(self.quality.upper, real.vmaf.upper)
    }

    /// True if adjacent chunks differ as real ones do, within [`ADJACENT_SLACK`].
    pub fn adjacent_is_real(&self, real: &Reference) -> bool {
        let (lo, hi) = real.adjacent;
        (lo - ADJACENT_SLACK..=hi + ADJACENT_SLACK).contains(&self.adjacent)
    }
}

/// Statistics of a corpus.
#[derive(Clone, Debug, PartialEq)]
pub struct CorpusStatistics {
    /// Its name.
    pub name: String,
    /// Its [`Corpus::content_hash`].
    pub content_hash: u64,
    /// The metric that the figures are of.
    pub metric: Metric,
    /// Its videos.
    pub videos: Vec<VideoStatistics>,
    /// The spread over them at each of [`RATES_BPS`].
    pub spread: [Spread; 2],
    /// The warnings of reading it.
    pub warnings: Vec<String>,
}

impl CorpusStatistics {
    /// The statistics of `corpus` under `metric`.
    ///
    /// # Errors
    /// If a video lacks the metric.
    pub fn of(corpus: &Corpus, metric: Metric) -> Result<Self, InputError> {
        let videos: Vec<VideoStatistics> =
            corpus.entries.iter().map(|e| video(e, metric)).collect::<Result<_, _>>()?;
        let spread = |i: usize| -> Spread {
            let over = |f: fn(&AtRate) -> f64| -> Vec<f64> {
                videos.iter().map(|v| f(&v.at[i])).collect()
            };
            let quartiles = |xs: &[f64]| stats::quartiles(xs).expect("a corpus is never empty");
            Spread {
                quality: quartiles(&over(|a| a.quality)),
                rung_quality: quartiles(&over(|a| a.rung_quality)),
                adjacent: quartiles(&over(|a| a.adjacent)).median,
            }
        };
        let spread = [spread(0), spread(1)];
        Ok(Self {
            name: corpus.name.clone(),
            content_hash: corpus.content_hash(),
            metric,
            videos,
            spread,
            warnings: corpus.warnings(),
        })
    }

    /// Videos of at least `chunks` chunks.
    pub fn at_least(&self, chunks: usize) -> usize {
        self.videos.iter().filter(|v| v.chunks >= chunks).count()
    }
}

fn video(entry: &Entry, metric: Metric) -> Result<VideoStatistics, InputError> {
    let v = &*entry.video;
    let at = |rate: f64| at_rate(v, metric, rate);
    let (Some(low), Some(high)) = (at(RATES_BPS[0]), at(RATES_BPS[1])) else {
        let known: Vec<&str> = v.metrics().map(Metric::name).collect();
        return Err(InputError::new(
            format!("no usable {metric}"),
            format!("its metrics are {}", known.join(", ")),
        )
        .at_file(&entry.origin));
    };
    let rungs = 0..v.rungs.len();
    Ok(VideoStatistics {
        name: v.name.clone(),
        character: v.character.clone(),
        chunks: v.chunks(),
        distinct_chunks: v.distinct_chunks,
        rate_bps: rungs.clone().map(|r| v.mean_rate_bps(r)).collect(),
        quality: rungs.filter_map(|r| v.mean_quality(metric, r)).collect(),
        at: [low, high],
        not_monotone: not_monotone(v, metric),
        constant: constant(v),
        traps: entry.traps.clone(),
    })
}

fn at_rate(v: &Video, metric: Metric, rate_bps: f64) -> Option<AtRate> {
    let quality = curve_value(v, metric, rate_bps)?;
    let off = |r: &usize| (v.mean_rate_bps(*r) - rate_bps).abs();
    let rung = (0..v.rungs.len()).min_by(|a, b| off(a).total_cmp(&off(b)))?;
    let chunks = v.rungs[rung].quality.get(&metric)?;
    let steps: Vec<f64> = chunks.windows(2).map(|w| (w[1] - w[0]).abs()).collect();
    Some(AtRate {
        quality,
        rung,
        rung_quality: v.mean_quality(metric, rung)?,
        adjacent: stats::mean(&steps).unwrap_or(0.0),
    })
}

/// The mean curve at a rate; above the top rung the top rung's quality, which is all that a
/// viewer gets there (the curve itself goes on in proportion).
fn curve_value(v: &Video, metric: Metric, rate_bps: f64) -> Option<f64> {
    let curve = v.mean_curve(metric)?;
    Some(curve.eval(rate_bps.min(curve.last().0)))
}

fn not_monotone(v: &Video, metric: Metric) -> f64 {
    let falls = |c: &usize| {
        let q: Vec<f64> = (0..v.rungs.len()).filter_map(|r| v.quality(metric, r, *c)).collect();
        q.windows(2).any(|w| w[1] < w[0])
    };
    (0..v.chunks()).filter(falls).count() as f64 / v.chunks() as f64
}

fn constant(v: &Video) -> Vec<(Metric, usize)> {
    let mut found = Vec::new();
    for (r, rung) in v.rungs.iter().enumerate() {
        for (metric, values) in &rung.quality {
            if values.len() > 1 && values.iter().all(|q| q == &values[0]) {
                found.push((*metric, r));
            }
        }
    }
    found
}
