//! A figure under one scheme over cases and seeds: its mean and interval.

use airlane_base::Seed;
use airlane_quality::{Bootstrap, Interval, MIN_CLUSTERS, stats, student};

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

    /// The 95 % interval of [`Self::mean`]: over cases, or over the seeds of the only case. `None`
    /// below two units.
    ///
    /// Below ten units it is Student's, else one of resampling.
    pub fn ci95(&self, name: &str) -> Option<Interval> {
        let cases: Vec<&Vec<f64>> = self.0.iter().filter(|case| !case.is_empty()).collect();
        let units: Vec<f64> = match cases.as_slice() {
            [seeds] => (*seeds).clone(),
            cases => cases.iter().filter_map(|case| stats::mean(case)).collect(),
        };
        if units.len() < MIN_CLUSTERS {
            return student::mean_interval(&units);
        }
        Bootstrap::new(Seed(0).split("story").split(name)).mean(&units)
    }

    /// Number of independent units: the cases, or the seeds of the only case.
    pub fn units(&self) -> usize {
        let cases = self.0.iter().filter(|case| !case.is_empty());
        match cases.clone().count() {
            1 => cases.map(Vec::len).sum(),
            n => n,
        }
    }
}

/// The difference sample by sample.
pub fn difference(a: &Samples, b: &Samples) -> Samples {
    let pairs = a.0.iter().zip(&b.0);
    Samples(pairs.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a - b).collect()).collect())
}
