//! What recordings of one value per second say, and generated traces seen by the second.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use airlane_base::InputError;
use airlane_net::{Medium, Trace};

/// Lags of [`Seconds::autocorrelation`].
pub const LAGS: [usize; 8] = [1, 2, 5, 7, 10, 15, 20, 29];
/// Percentiles of [`Seconds::quantiles`].
pub const PERCENT: [f64; 9] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0];
/// Lags of [`Seconds::calm`].
pub const CALM_LAGS: [usize; 3] = [1, 2, 5];
/// A second with at least this share of the median is calm.
const CALM_ABOVE: f64 = 0.9;
/// A second with less than this share of the mean is an outage.
const OUTAGE_BELOW: f64 = 0.05;

/// The seconds of a medium's recording that show the medium as it is named. The first five are
/// left out everywhere: a connection starts up. Behind the person the rest is left out from when
/// she steps aside, of the robot from when it stops.
pub fn counted(medium: Medium) -> Range<usize> {
    match medium {
        Medium::WigigNlos => 5..363,
        Medium::WigigMobile => 5..310,
        _ => 5..usize::MAX,
    }
}

/// The capacity in IP bit/s of each whole second of a recording that counts.
pub fn read(path: impl AsRef<Path>, medium: Medium) -> Result<Vec<f64>, InputError> {
    let path = path.as_ref();
    let all = Trace::load(path)?.means(Duration::from_secs(1));
    let Range { start, end } = counted(medium);
    let end = end.min(all.len());
    all.get(start..end)
        .filter(|seconds| !seconds.is_empty())
        .map(<[f64]>::to_vec)
        .ok_or_else(|| InputError::new("no seconds", "expected a report of iperf").at_file(path))
}

/// Statistics of one trace or of a pool of them, over means of one second; all but the mean are
/// over the mean of the pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds {
    pub traces: usize,
    /// In bit/s.
    pub mean: f64,
    /// Coefficient of variation.
    pub cv: f64,
    pub autocorrelation: [f64; LAGS.len()],
    /// Correlation of seconds of which both are calm: where one deep fall has nearly all of the
    /// variance, the above say next to nothing of the rest.
    pub calm: [f64; CALM_LAGS.len()],
    pub outage_share: f64,
    /// Mean length of outages, in seconds.
    pub outage_mean_s: f64,
    pub quantiles: [f64; PERCENT.len()],
}

impl Seconds {
    /// Of a pool of traces, each given as its capacity in each second.
    pub fn of(traces: &[Vec<f64>]) -> Self {
        let all: Vec<f64> = traces.concat();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let off: Vec<Vec<f64>> =
            traces.iter().map(|t| t.iter().map(|v| v / mean - 1.0).collect()).collect();
        let covariance = |lag: usize| {
            let (mut sum, mut pairs) = (0.0, 0);
            for trace in &off {
                sum += trace.iter().zip(trace.iter().skip(lag)).map(|(a, b)| a * b).sum::<f64>();
                pairs += trace.len().saturating_sub(lag);
            }
            sum / pairs.max(1) as f64
        };
        let variance = covariance(0);
        let dark = |v: f64| v + 1.0 < OUTAGE_BELOW;
        let (mut outages, mut in_outage) = (0, 0);
        for run in off.iter().flat_map(|t| t.chunk_by(|a, b| dark(*a) == dark(*b))) {
            if dark(run[0]) {
                outages += 1;
                in_outage += run.len();
            }
        }
        let mut sorted: Vec<f64> = off.concat().iter().map(|v| v + 1.0).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len() - 1;
        let calm = |v: f64| v + 1.0 >= CALM_ABOVE * sorted[last / 2];
        let correlation = |lag: usize| {
            let pairs = off.iter().flat_map(|t| t.iter().zip(t.iter().skip(lag)));
            correlation(pairs.filter(|(a, b)| calm(**a) && calm(**b)))
        };
        Self {
            traces: traces.len(),
            mean,
            cv: variance.sqrt(),
            autocorrelation: LAGS.map(|lag| covariance(lag) / variance),
            calm: CALM_LAGS.map(correlation),
            outage_share: in_outage as f64 / sorted.len() as f64,
            outage_mean_s: in_outage as f64 / f64::from(outages.max(1)),
            quantiles: PERCENT.map(|p| sorted[(p / 100.0 * last as f64).round() as usize]),
        }
    }
}

fn correlation<'a>(pairs: impl Iterator<Item = (&'a f64, &'a f64)>) -> f64 {
    let [mut n, mut a, mut b, mut aa, mut bb, mut ab] = [0.0; 6];
    for (x, y) in pairs {
        n += 1.0;
        a += x;
        b += y;
        aa += x * x;
        bb += y * y;
        ab += x * y;
    }
    let var = |of: f64, squares: f64| squares / n - (of / n).powi(2);
    (ab / n - a / n * b / n) / (var(a, aa) * var(b, bb)).sqrt().max(1e-300)
}

/// Means over one second of steps of 20 ms, from the `offset`th step on: the seconds of a
/// recording begin anywhere.
pub fn by_second(steps: &[f64], offset: usize) -> Vec<f64> {
    steps[offset..].chunks_exact(50).map(|s| s.iter().sum::<f64>() / 50.0).collect()
}
