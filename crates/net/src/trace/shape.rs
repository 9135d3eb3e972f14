//! What traces are like in numbers that can be compared: variation, memory, outages.

use std::time::Duration;

use airlane_base::Rate;

use super::Trace;

/// The bin that variation and outages are counted in.
pub const BIN: Duration = Duration::from_millis(100);
/// Lags of [`Shape::autocorrelation`], in bins: 0.1, 0.5, 1, 5 and 20 s.
pub const LAGS: [usize; 5] = [1, 5, 10, 50, 200];
/// A bin with less than this share of its trace's mean is an outage.
pub const OUTAGE_BELOW: f64 = 0.05;

const BINS_PER_SECOND: usize = 10;

/// Statistics of one trace or of a pool of them, over bins of 100 ms.
///
/// All but the means are of the capacity over the mean of the trace that it stands in, so that
/// traces of different means can share a pool. Bins count alike, so a long trace counts for more
/// than a short one. What is left after the last whole bin of a trace does not count; a value
/// that nothing speaks for (the autocorrelation of traces shorter than the lag, outages where
/// there are none) is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shape {
    /// Number of traces.
    pub traces: usize,
    /// Their length together.
    pub length: Duration,
    /// Their mean capacity over time.
    pub mean: Rate,
    /// Coefficient of variation of the traces' means (each trace counts once, n - 1); zero for
    /// one.
    pub means_cv: f64,
    /// Coefficient of variation of 100 ms means.
    pub cv_100ms: f64,
    /// Coefficient of variation of 1 s means.
    pub cv_1s: f64,
    /// Autocorrelation of 100 ms means at [`LAGS`].
    pub autocorrelation: [f64; LAGS.len()],
    /// Share of bins in an outage.
    pub outage_share: f64,
    /// Number of outages: runs of such bins, cut at the ends of a trace.
    pub outages: usize,
    /// Median length of an outage.
    pub outage_median: Duration,
    /// 90th percentile of it.
    pub outage_p90: Duration,
    /// Mean of it.
    pub outage_mean: Duration,
    /// 5th, 50th and 95th percentile of the 100 ms means, each divided by the mean of its trace.
    pub percentiles: [f64; 3],
}

impl Shape {
    /// Of a pool of traces.
    pub fn of(traces: &[Trace]) -> Self {
        let bins: Vec<Vec<f64>> = traces.iter().map(|t| t.means(BIN)).collect();
        Self::of_bins(&bins)
    }

    /// Of a pool of traces, each given as its mean capacities in bits per second in bins of
    /// 100 ms. A trace of no bin or no capacity does not count.
    pub fn of_bins(traces: &[Vec<f64>]) -> Self {
        let whole: Vec<&Vec<f64>> = traces.iter().filter(|t| t.iter().sum::<f64>() > 0.0).collect();
        let means: Vec<f64> = whole.iter().map(|t| mean(t)).collect();
        let relative: Vec<Vec<f64>> = whole
            .iter()
            .zip(&means)
            .map(|(trace, mean)| trace.iter().map(|bin| bin / mean).collect())
            .collect();
        let mut sorted: Vec<f64> = relative.concat();
        if sorted.is_empty() {
            return Self::default();
        }
        sorted.sort_unstable_by(f64::total_cmp);
        let bins = sorted.len();
        let variance = variance(&sorted);
        let seconds: Vec<f64> =
            relative.iter().flat_map(|t| t.chunks_exact(BINS_PER_SECOND).map(mean)).collect();
        let mut outages: Vec<usize> = relative.iter().flat_map(|t| runs(t)).collect();
        outages.sort_unstable();
        let in_outage: usize = outages.iter().sum();
        let outage = |p: f64| ranked(&outages, p).map_or(Duration::ZERO, |n| BIN * *n as u32);
        let time = BIN * bins as u32;
        let bits: f64 = whole.iter().map(|t| t.iter().sum::<f64>()).sum();
        Self {
            traces: whole.len(),
            length: time,
            mean: Rate::from_bps_f64(bits / bins as f64),
            means_cv: spread(&means),
            cv_100ms: variance.sqrt(),
            cv_1s: self::variance(&seconds).sqrt(),
            autocorrelation: LAGS.map(|lag| autocovariance(&relative, lag) / variance.max(1e-300)),
            outage_share: in_outage as f64 / bins as f64,
            outages: outages.len(),
            outage_median: outage(0.5),
            outage_p90: outage(0.9),
            outage_mean: BIN.mul_f64(in_outage as f64 / outages.len().max(1) as f64),
            percentiles: [0.05, 0.5, 0.95].map(|p| ranked(&sorted, p).copied().unwrap_or_default()),
        }
    }
}

/// The least of the sorted values that at least the share `p` of them does not exceed.
fn ranked<T>(sorted: &[T], p: f64) -> Option<&T> {
    sorted.get(((p * sorted.len() as f64).ceil() as usize).saturating_sub(1))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Around one, which is the mean of every trace; 1 s means may leave out an end.
fn variance(relative: &[f64]) -> f64 {
    relative.iter().map(|v| (v - 1.0).powi(2)).sum::<f64>() / relative.len().max(1) as f64
}

fn spread(means: &[f64]) -> f64 {
    if means.len() < 2 {
        return 0.0;
    }
    let middle = mean(means);
    let squares: f64 = means.iter().map(|m| (m - middle).powi(2)).sum();
    (squares / (means.len() - 1) as f64).sqrt() / middle
}

fn autocovariance(traces: &[Vec<f64>], lag: usize) -> f64 {
    let (mut sum, mut pairs) = (0.0, 0);
    for trace in traces {
        let later = trace.iter().skip(lag);
        sum += trace.iter().zip(later).map(|(a, b)| (a - 1.0) * (b - 1.0)).sum::<f64>();
        pairs += trace.len().saturating_sub(lag);
    }
    sum / pairs.max(1) as f64
}

/// Lengths of the outages of a trace, in bins.
fn runs(relative: &[f64]) -> impl Iterator<Item = usize> {
    relative
        .chunk_by(|a, b| (*a < OUTAGE_BELOW) == (*b < OUTAGE_BELOW))
        .filter(|run| run[0] < OUTAGE_BELOW)
        .map(<[f64]>::len)
}
