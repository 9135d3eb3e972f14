//! Two summaries, run by run and figure by figure.

use std::collections::BTreeMap;

use airlane_quality::stats;

use crate::summary::{ClaimEntry, Row, Summary};
use airlane_sim::{Samples, difference};

/// Figures that are shown unless all are asked for.
const SHOWN: usize = 40;

/// A figure over runs: experiment, scheme, metric, unit.
type Figure<'a> = (&'a str, &'a str, &'a str, &'a str);

/// The run that a value is of: case (with the viewer or transfer behind a `/`) and seed.
type Run<'a> = (&'a str, u64);

/// Numbers of runs, rows and claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DiffCounts {
    pub(super) runs: usize,
    pub(super) rows: usize,
    pub(super) claims: usize,
}

/// A claim that is not the same on both sides.
pub(super) struct ClaimChange<'a> {
    pub(super) a: &'a ClaimEntry,
    pub(super) b: &'a ClaimEntry,
}

/// A figure that is not the same on both sides.
pub(super) struct Change<'a> {
    /// Experiment, scheme, metric, unit.
    pub(super) figure: Figure<'a>,
    /// Its values in A and in B, of the runs that both have: by case, then whatever has the case.
    pub(super) a: Samples,
    pub(super) b: Samples,
}

/// Differences between two summaries.
pub(super) struct Comparison<'a> {
    /// Claims whose verdict, figure, interval or conditions changed.
    pub(super) claims: Vec<ClaimChange<'a>>,
    /// Figures that changed: by how much they did, largest first, and those last whose change may
    /// be chance.
    pub(super) changes: Vec<Change<'a>>,
    /// Figures of which both sides have runs in common.
    pub(super) figures: usize,
    /// Counts of what both sides have.
    pub(super) common: DiffCounts,
    /// Counts of what A alone has.
    pub(super) only_a: DiffCounts,
    /// Counts of what B alone has.
    pub(super) only_b: DiffCounts,
    /// Runs on both sides whose packets differ.
    pub(super) other_packets: usize,
}

impl<'a> Comparison<'a> {
    pub(super) fn of(a: &'a Summary, b: &'a Summary) -> Self {
        let mut comparison = Self {
            claims: Vec::new(),
            changes: Vec::new(),
            figures: 0,
            common: DiffCounts::default(),
            only_a: DiffCounts::default(),
            only_b: DiffCounts::default(),
            other_packets: 0,
        };
        comparison.runs(a, b);
        comparison.rows(a, b);
        comparison.claims(a, b);
        comparison
    }

    fn runs(&mut self, a: &'a Summary, b: &'a Summary) {
        let runs = |s: &'a Summary| {
            by_key(s.runs.iter().map(|r| {
                ((&*r.experiment, &*r.case, &*r.scheme, r.seed), r.packet_hash.as_deref())
            }))
        };
        let paired = pair(runs(a), runs(b));
        self.common.runs = paired.common.len();
        (self.only_a.runs, self.only_b.runs) = (paired.only_a, paired.only_b);
        self.other_packets = paired.common.iter().filter(|(_, a, b)| a != b).count();
    }

    fn rows(&mut self, a: &'a Summary, b: &'a Summary) {
        let key = |r: &'a Row| -> (Figure<'a>, Run<'a>) {
            ((&r.experiment, &r.scheme, &r.metric, &r.unit), (&r.case, r.seed))
        };
        let rows = |s: &'a Summary| by_key(s.rows.iter().map(|r| (key(r), r.value)));
        let paired = pair(rows(a), rows(b));
        self.common.rows = paired.common.len();
        (self.only_a.rows, self.only_b.rows) = (paired.only_a, paired.only_b);
        let mut figures: BTreeMap<Figure<'_>, Vec<(Run<'_>, f64, f64)>> = BTreeMap::new();
        for ((figure, run), a, b) in paired.common {
            figures.entry(figure).or_default().push((run, a, b));
        }
        self.figures = figures.len();
        for (figure, values) in figures {
            if values.iter().all(|(_, a, b)| a.to_bits() == b.to_bits()) {
                continue;
            }
            // Viewers of one case are not independent of each other: they are members of it.
            let mut cases: BTreeMap<&str, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
            for ((case, _), a, b) in values {
                let case = case.split_once('/').map_or(case, |(case, _)| case);
                let members = cases.entry(case).or_default();
                members.0.push(a);
                members.1.push(b);
            }
            let (a, b) = cases.into_values().unzip();
            self.changes.push(Change { figure, a: Samples(a), b: Samples(b) });
        }
        // A stable sort: equal changes stay in the order of their names.
        let rank = |c: &Change<'_>| (c.may_be_chance(), c.relative());
        self.changes.sort_by(|x, y| {
            let ((x_chance, x), (y_chance, y)) = (rank(x), rank(y));
            x_chance.cmp(&y_chance).then(y.total_cmp(&x))
        });
    }

    fn claims(&mut self, a: &'a Summary, b: &'a Summary) {
        let claims = |s: &'a Summary| {
            by_key(s.claims.iter().map(|c| ((c.id.as_str(), c.content.as_str()), c)))
        };
        let paired = pair(claims(a), claims(b));
        self.common.claims = paired.common.len();
        (self.only_a.claims, self.only_b.claims) = (paired.only_a, paired.only_b);
        let changed = paired.common.into_iter().filter(|(_, a, b)| a != b);
        self.claims = changed.map(|(_, a, b)| ClaimChange { a, b }).collect();
    }

    /// True if nothing differs. Which build made the results does not matter.
    pub(super) fn is_identical(&self) -> bool {
        self.claims.is_empty()
            && self.changes.is_empty()
            && self.other_packets == 0
            && (self.only_a, self.only_b) == (DiffCounts::default(), DiffCounts::default())
    }

    /// Number of figures that changed by more than a share of themselves.
    pub(super) fn beyond(&self, threshold: f64) -> usize {
        self.changes.iter().filter(|c| c.relative() > threshold).count()
    }

    /// The changes to show: all, or the largest of those beyond the threshold.
    pub(super) fn shown(&self, all: bool, threshold: f64) -> Vec<&Change<'a>> {
        let most = if all { usize::MAX } else { SHOWN };
        self.changes.iter().filter(|c| all || c.relative() > threshold).take(most).collect()
    }
}

impl Change<'_> {
    /// Mean over the common runs in A and in B.
    pub(super) fn means(&self) -> (f64, f64) {
        (self.a.mean().unwrap_or(0.0), self.b.mean().unwrap_or(0.0))
    }

    /// Mean of B less A.
    pub(super) fn difference(&self) -> f64 {
        difference(&self.b, &self.a).mean().unwrap_or(0.0)
    }

    /// The 95 % interval of the difference, run by run.
    pub(super) fn ci95(&self) -> Option<[f64; 2]> {
        let (experiment, scheme, metric, _) = self.figure;
        let name = format!("diff/{experiment}/{scheme}/{metric}");
        difference(&self.b, &self.a).ci95(&name).map(Into::into)
    }

    /// True if the difference is less than two standard errors of the independent units from zero:
    /// a rough word on what comes first, where an interval for each would take too long.
    fn may_be_chance(&self) -> bool {
        let cases = difference(&self.b, &self.a).0;
        let units: Vec<f64> = match cases.as_slice() {
            [members] => members.clone(),
            cases => cases.iter().filter_map(|c| stats::mean(c)).collect(),
        };
        let (Some(mean), Some(sd)) = (stats::mean(&units), stats::sample_sd(&units)) else {
            return false;
        };
        mean.abs() < 2.0 * sd / (units.len() as f64).sqrt()
    }

    /// The difference as a share of the larger mean: 0 to 2.
    pub(super) fn relative(&self) -> f64 {
        let (a, b) = self.means();
        let larger = a.abs().max(b.abs());
        if larger > 0.0 { self.difference().abs() / larger } else { 0.0 }
    }

    /// Number of values that are compared.
    pub(super) fn pairs(&self) -> usize {
        self.a.0.iter().map(Vec::len).sum()
    }
}

/// Values of the keys that both sides have, and numbers of those that one side alone has.
struct PairedValues<K, V> {
    common: Vec<(K, V, V)>,
    only_a: usize,
    only_b: usize,
}

/// Values by key; a key that comes twice keeps both, in order.
fn by_key<K: Ord, V>(all: impl Iterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut map: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, value) in all {
        map.entry(key).or_default().push(value);
    }
    map
}

fn pair<K: Ord + Copy, V>(
    a: BTreeMap<K, Vec<V>>,
    mut b: BTreeMap<K, Vec<V>>,
) -> PairedValues<K, V> {
    let mut paired = PairedValues { common: Vec::new(), only_a: 0, only_b: 0 };
    for (key, of_a) in a {
        let mut of_b = b.remove(&key).unwrap_or_default().into_iter();
        for value in of_a {
            match of_b.next() {
                Some(other) => paired.common.push((key, value, other)),
                None => paired.only_a += 1,
            }
        }
        paired.only_b += of_b.count();
    }
    paired.only_b += b.into_values().map(|rest| rest.len()).sum::<usize>();
    paired
}
