//! A video as a ladder of rungs with sizes and qualities per chunk.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use airlane_base::{Fnv64, InputError, Rate};
use airlane_quality::{PiecewiseLinear, QoeParams, stats};

use crate::name;

/// A measure of perceptual quality.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// VMAF, 0 to 100, television at standard distance.
    Vmaf,
    /// VMAF, phone model.
    VmafPhone,
    /// VMAF, 4K television model.
    Vmaf4k,
    /// Peak signal to noise ratio, dB.
    PsnrDb,
    /// Structural similarity, -1 to 1, in practice 0 to 1.
    Ssim,
}

impl Metric {
    /// All metrics, in the order of tables.
    pub const ALL: [Self; 5] =
        [Self::Vmaf, Self::VmafPhone, Self::Vmaf4k, Self::PsnrDb, Self::Ssim];

    /// The name in tables, configurations and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vmaf => "vmaf",
            Self::VmafPhone => "vmaf_phone",
            Self::Vmaf4k => "vmaf_4k",
            Self::PsnrDb => "psnr_db",
            Self::Ssim => "ssim",
        }
    }

    /// The metric of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }

    /// The span of the scale that people read it on, which penalties for a scale of 100 are scaled
    /// to: PSNR's is 53 dB (Minerva, appendix G).
    pub const fn span(self) -> f64 {
        match self {
            Self::Vmaf | Self::VmafPhone | Self::Vmaf4k => 100.0,
            Self::PsnrDb => 53.0,
            Self::Ssim => 1.0,
        }
    }

    /// The penalties of equation 1 in points of this measure, where `on_hundred` has them for a
    /// scale of 100.
    pub fn penalties(self, on_hundred: QoeParams) -> QoeParams {
        on_hundred.scaled(self.span() / 100.0)
    }

    /// The least and the greatest value that a table may hold.
    pub const fn range(self) -> (f64, f64) {
        match self {
            Self::Vmaf | Self::VmafPhone | Self::Vmaf4k => (0.0, 100.0),
            // 8 bits end at 48 dB for one wrong step in every sample; tools cap equality at 100.
            Self::PsnrDb => (0.0, 100.0),
            Self::Ssim => (-1.0, 1.0),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One encoding of a video.
#[derive(Clone, Debug, PartialEq)]
pub struct Rung {
    /// Name, such as `360p-1000k`.
    pub name: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The rate that the encoder was asked for.
    pub nominal: Rate,
    /// Bytes of each chunk.
    pub size_bytes: Vec<u64>,
    /// Quality of each chunk by metric; each list is as long as `size_bytes`.
    pub quality: BTreeMap<Metric, Vec<f64>>,
}

/// A video: rungs in rising order of nominal rate, all with the same number of chunks.
///
/// The readers of this crate hand out videos that [`Video::check`] accepts; a caller that builds
/// one by hand calls it too.
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    /// Name, unique in its corpus.
    pub name: String,
    /// Title, for people.
    pub title: String,
    /// Kind of its content, for people.
    pub character: String,
    /// Source of the video, for people.
    pub source: String,
    /// Frames per second, if known.
    pub fps: Option<f64>,
    /// Length of a chunk.
    pub chunk: Duration,
    /// Number of distinct chunks; the rest repeats them in order.
    pub distinct_chunks: usize,
    /// The ladder, rising.
    pub rungs: Vec<Rung>,
}

/// More chunks than any film has, and few enough that sums of sizes cannot overflow.
pub(crate) const MAX_CHUNKS: usize = 100_000;
/// One chunk of at most 1 TiB.
pub(crate) const MAX_CHUNK_BYTES: u64 = 1 << 40;
/// Nominal rates below 1 Tbit/s.
pub(crate) const MAX_NOMINAL_BPS: u64 = 1_000_000_000_000;

impl Video {
    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        self.rungs.first().map_or(0, |r| r.size_bytes.len())
    }

    /// Bytes of chunk `chunk` at rung `rung`.
    ///
    /// # Panics
    /// If there is no such chunk or rung.
    pub fn size_bytes(&self, rung: usize, chunk: usize) -> u64 {
        self.rungs[rung].size_bytes[chunk]
    }

    /// Quality of chunk `chunk` at rung `rung`, `None` if the metric was not measured.
    pub fn quality(&self, metric: Metric, rung: usize, chunk: usize) -> Option<f64> {
        self.rungs.get(rung)?.quality.get(&metric)?.get(chunk).copied()
    }

    /// Seconds per chunk.
    pub fn chunk_s(&self) -> f64 {
        self.chunk.as_secs_f64()
    }

    /// Length of the whole video.
    pub fn duration(&self) -> Duration {
        self.chunk.saturating_mul(u32::try_from(self.chunks()).unwrap_or(u32::MAX))
    }

    /// True if `metric` was measured.
    pub fn has(&self, metric: Metric) -> bool {
        self.rungs.first().is_some_and(|r| r.quality.contains_key(&metric))
    }

    /// The metrics that were measured.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> + '_ {
        self.rungs.first().into_iter().flat_map(|r| r.quality.keys().copied())
    }

    /// The rate of a rung as encoded: bytes of all its chunks over their time, in bits/s. This,
    /// not [`Rung::nominal`], is what a viewer needs for it.
    ///
    /// # Panics
    /// If there is no such rung.
    pub fn mean_rate_bps(&self, rung: usize) -> f64 {
        let sizes = &self.rungs[rung].size_bytes;
        sizes.iter().sum::<u64>() as f64 * 8.0 / (sizes.len() as f64 * self.chunk_s())
    }

    /// The mean of a metric over the chunks of a rung, `None` if it was not measured.
    pub fn mean_quality(&self, metric: Metric, rung: usize) -> Option<f64> {
        stats::mean(self.rungs.get(rung)?.quality.get(&metric)?)
    }

    /// The mean curve: mean quality of each rung over its mean rate in bits/s, as
    /// [`PiecewiseLinear::from_points`] makes it monotone. `None` if the metric was not measured
    /// or no rung scores above zero.
    ///
    /// Rungs count in the order of their mean rates; of two with the same the better one.
    pub fn mean_curve(&self, metric: Metric) -> Option<PiecewiseLinear> {
        let mut points: Vec<(f64, f64)> = (0..self.rungs.len())
            .map(|i| Some((self.mean_rate_bps(i), self.mean_quality(metric, i)?)))
            .collect::<Option<_>>()?;
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        points.dedup_by(|a, b| a.0 == b.0);
        PiecewiseLinear::from_points(&points).ok()
    }

    /// The first `chunks` chunks: claims compare videos of one length.
    ///
    /// # Panics
    /// If the video is shorter, or `chunks` is zero.
    pub fn cut_to(&self, chunks: usize) -> Self {
        assert!(
            0 < chunks && chunks <= self.chunks(),
            "{} has {} chunks",
            self.name,
            self.chunks()
        );
        let mut cut = self.clone();
        cut.distinct_chunks = cut.distinct_chunks.min(chunks);
        for rung in &mut cut.rungs {
            rung.size_bytes.truncate(chunks);
            rung.quality.values_mut().for_each(|q| q.truncate(chunks));
        }
        cut
    }

    /// A hash of everything that decides a run: name, chunk length, rates, sizes and qualities.
    pub fn content_hash(&self) -> u64 {
        let mut h = Fnv64::new();
        h.write(self.name.as_bytes());
        h.write_u64(u64::try_from(self.chunk.as_nanos()).unwrap_or(u64::MAX));
        for rung in &self.rungs {
            h.write_u64(rung.nominal.bps());
            rung.size_bytes.iter().for_each(|&b| h.write_u64(b));
            for (metric, values) in &rung.quality {
                h.write(metric.name().as_bytes());
                values.iter().for_each(|q| h.write_u64(q.to_bits()));
            }
        }
        h.finish()
    }

    /// Checks everything that the rest of Airlane relies on. Keys in errors are JSON paths of
    /// the format of `docs/reference/chunk-tables.md`.
    ///
    /// # Errors
    /// At the first fault: fewer than two rungs, no chunk, a chunk length that is no time, lists
    /// of different lengths, a size of zero, a quality that is not a number within its metric's
    /// range, a metric that some rungs lack, nominal rates that do not rise.
    pub fn check(&self) -> Result<(), InputError> {
        if !name::is_name(&self.name) {
            return Err(InputError::new(
                format!("the name is {:?}", self.name),
                format!("expected {}", name::EXPECTED),
            )
            .at_key("video"));
        }
        if self.chunk < Duration::from_millis(1) || self.chunk > Duration::from_secs(3600) {
            return Err(InputError::new(
                format!("chunks of {} s", self.chunk_s()),
                "expected a length between 0.001 and 3600 s, such as 4.0",
            )
            .at_key("chunk_s"));
        }
        if self.rungs.len() < 2 {
            return Err(InputError::new(
                format!("a ladder of {} rungs", self.rungs.len()),
                "expected at least two, in rising order of their rates",
            )
            .at_key("rungs"));
        }
        let (chunks, distinct) = (self.chunks(), self.distinct_chunks);
        if chunks == 0 || chunks > MAX_CHUNKS {
            return Err(InputError::new(
                format!("{chunks} chunks"),
                format!("expected 1 to {MAX_CHUNKS} of them"),
            )
            .at_key("rungs[0].size_bytes"));
        }
        if distinct == 0 || distinct > chunks {
            return Err(InputError::new(
                format!("{distinct} distinct chunks of {chunks}"),
                "expected at least one and no more than there are chunks",
            )
            .at_key("distinct_chunks"));
        }
        for (i, rung) in self.rungs.iter().enumerate() {
            let before = i.checked_sub(1).map(|b| self.rungs[b].nominal);
            check_rung(rung, i, before, &self.rungs[0])?;
        }
        if self.rungs[0].quality.is_empty() {
            return Err(InputError::new(
                "no quality was measured",
                "expected at least one metric per rung, such as vmaf",
            )
            .at_key("rungs[0].quality"));
        }
        Ok(())
    }
}

fn check_rung(rung: &Rung, i: usize, before: Option<Rate>, first: &Rung) -> Result<(), InputError> {
    let key = |field: &str| format!("rungs[{i}].{field}");
    let nominal = rung.nominal.bps();
    if nominal == 0 || nominal > MAX_NOMINAL_BPS {
        return Err(InputError::new(
            format!("a nominal rate of {nominal} bit/s"),
            format!("expected 1 to {MAX_NOMINAL_BPS}"),
        )
        .at_key(key("nominal_bps")));
    }
    if let Some(before) = before.filter(|b| b.bps() >= nominal) {
        return Err(InputError::new(
            format!("{nominal} bit/s after {} bit/s", before.bps()),
            "expected rungs in rising order of their nominal rates",
        )
        .at_key(key("nominal_bps")));
    }
    let chunks = first.size_bytes.len();
    let length = |key: String, found: usize| {
        InputError::new(
            format!("{found} values"),
            format!("expected {chunks}, one per chunk, as in rungs[0].size_bytes"),
        )
        .at_key(key)
    };
    if rung.size_bytes.len() != chunks {
        return Err(length(key("size_bytes"), rung.size_bytes.len()));
    }
    let bad_size = |&b: &u64| b == 0 || b > MAX_CHUNK_BYTES;
    if let Some(c) = rung.size_bytes.iter().position(bad_size) {
        return Err(InputError::new(
            format!("a chunk of {} bytes", rung.size_bytes[c]),
            format!("expected 1 to {MAX_CHUNK_BYTES} bytes"),
        )
        .at_key(key(&format!("size_bytes[{c}]"))));
    }
    for metric in Metric::ALL {
        let Some(values) = rung.quality.get(&metric) else {
            if first.quality.contains_key(&metric) {
                return Err(InputError::new(
                    format!("{metric} is missing"),
                    "expected every rung to have the metrics of rungs[0]",
                )
                .at_key(key("quality")));
            }
            continue;
        };
        let key = key(&format!("quality.{metric}"));
        if !first.quality.contains_key(&metric) {
            return Err(InputError::new(
                format!("{metric} is missing in rungs[0]"),
                "expected every rung to have the same metrics",
            )
            .at_key(key));
        }
        if values.len() != chunks {
            return Err(length(key, values.len()));
        }
        let (lo, hi) = metric.range();
        if let Some(c) = values.iter().position(|v| !(lo..=hi).contains(v)) {
            return Err(InputError::new(
                format!("{}", values[c]),
                format!("expected a number from {lo} to {hi}"),
            )
            .at_key(format!("{key}[{c}]")));
        }
    }
    Ok(())
}
