//! A figure under one scheme over cases and seeds: its mean and interval.

use airlane_base::Seed;
use airlane_quality::{Bootstrap, Interval, stats};

/// The 97.5th percentile of Student's t with one degree of freedom and up.
const STUDENT_T: [f64; 8] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306];

/// A figure under one scheme, case by case and seed by seed.
///
/// Groups are cases, members are seeds. The independent unit is the case if there are several,
/// else the seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples(pub Vec<Vec<f64>>);

impl Samples {
    /// The mean over cases of the mean over seeds; `None` without a sample.
    pub fn mean(&self) -> Option<f64> {
        let means: Vec<f64> = self.0.iter().filter_map(|case| stats::mean(case)).collect();
        stats::mean(&means)
    }

    /// The 95 % interval of [`Self::mean`]: over cases with their seeds nested, or over the seeds
    /// of the only case. `None` below two units.
    ///
    /// Below ten units it is Student's: no resample of three values leaves their range, which
    /// holds the true mean three times in four only.
    pub fn ci95(&self, name: &str) -> Option<Interval> {
        let cases: Vec<Vec<f64>> = self.0.iter().filter(|case| !case.is_empty()).cloned().collect();
        let units: Vec<f64> = match cases.as_slice() {
            [seeds] => seeds.clone(),
            cases => cases.iter().filter_map(|case| stats::mean(case)).collect(),
        };
        let degrees = units.len().checked_sub(1)?;
        if let Some(t) = degrees.checked_sub(1).and_then(|i| STUDENT_T.get(i)) {
            let (mean, n) = (stats::mean(&units)?, units.len() as f64);
            let squares: f64 = units.iter().map(|u| (u - mean).powi(2)).sum();
            let half = t * (squares / (n - 1.0) / n).sqrt();
            return Some(Interval { lo: mean - half, hi: mean + half });
        }
        let bootstrap = Bootstrap::new(Seed(0).split("story").split(name));
        match cases.as_slice() {
            [seeds] => bootstrap.mean(seeds),
            cases => bootstrap.nested_mean(cases),
        }
    }

    /// How many independent units there are.
    pub fn units(&self) -> usize {
        let cases = self.0.iter().filter(|case| !case.is_empty());
        match cases.clone().count() {
            1 => cases.map(Vec::len).sum(),
            n => n,
        }
    }
}

/// The difference sample by sample.
pub(crate) fn difference(a: &Samples, b: &Samples) -> Samples {
    let pairs = a.0.iter().zip(&b.0);
    Samples(pairs.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a - b).collect()).collect())
}
