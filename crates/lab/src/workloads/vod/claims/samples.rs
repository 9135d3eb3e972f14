//! From the runs of a claim to its samples: a figure of each metric per mix and seed.

use airlane_minerva::{Blend, Config};

use super::super::CALIBRATED;
use super::figures::Figures;
use super::metrics::{
    GAINS, MIN_GAP, OF_A_GAP, OF_A_MIX, OF_GROUPS, OF_TWO, SLACK, STEP, where_a_gap, worst,
};
use super::optimum;
use airlane_sim::identity::text;
use airlane_sim::workload::{ByMetric, ClaimRun, SceneRuns};

/// Text of all that figures depend on and no scenario contains: the constants of the metrics, the
/// defaults of Minerva's controller, and the calibrated alphas.
pub(crate) fn defaults() -> String {
    let (config, blend) = (text(&Config::default()), text(&Blend::default()));
    format!("{STEP} {MIN_GAP} {SLACK} {config} {blend} {CALIBRATED:?}")
}

/// One mix: what was measured with each seed, and what constant rates could have reached.
#[derive(Clone, Debug)]
pub(super) struct Mix<'a> {
    /// Per seed: the scheme that is judged and what it is compared with, in the claim's order.
    pub(super) runs: Vec<Vec<&'a Figures>>,
    /// Lowest QoE at the fixed-rate optimum.
    pub(super) optimum: f64,
    /// Lowest QoE at its bound.
    pub(super) bound: f64,
}

impl Mix<'_> {
    /// Lowest QoE under the first baseline with the seed after the `seed`-th; `None` if there is
    /// only one seed, or no baseline.
    ///
    /// It decides whether the mix has a gap to close. The compared run itself must not: it would select
    /// mixes in which the baseline happened to be bad, and count that as a gain.
    fn other_baseline(&self, seed: usize) -> Option<f64> {
        let other = (seed + 1) % self.runs.len();
        (other != seed).then(|| self.runs[other].get(1).map(|b| worst(b))).flatten()
    }
}

/// The mixes of a claim's scene, in order.
pub(super) fn mixes<'a>(compared: &SceneRuns<'a>) -> Option<Vec<Mix<'a>>> {
    let mix = |(case, seeds): (usize, &Vec<Vec<&'a ClaimRun>>)| {
        let figures = |run: &&'a ClaimRun| run.kept.of::<Figures>();
        let runs = seeds.iter().map(|runs| runs.iter().map(figures).collect());
        let (optimum, bound) = optimum::of_mix(compared.plan, compared.caches, case);
        Some(Mix { runs: runs.collect::<Option<_>>()?, optimum, bound })
    };
    compared.runs.iter().enumerate().map(mix).collect()
}

/// The samples of draws by metric, one entry per mix, one figure per seed. `compare` has the names
/// of the schemes.
///
/// What could not be measured (a viewer that saw nothing) is a NaN: no rule holds on it.
pub(super) fn samples(mixes: &[Mix<'_>], compare: &[String]) -> ByMetric {
    let mut out = ByMetric::new();
    let mut add = |name: String, of: &dyn Fn(&Mix<'_>, &[&Figures], usize) -> f64| {
        let per_mix = |mix: &Mix<'_>| {
            mix.runs.iter().enumerate().map(|(seed, run)| of(mix, run, seed)).collect()
        };
        out.insert(name, mixes.iter().map(per_mix).collect());
    };
    for (i, baseline) in compare.iter().enumerate().skip(1) {
        for (name, _, _, of) in GAINS {
            if i == 1 {
                add((*name).to_owned(), &|_, run, _| of(run[0]) - of(run[1]));
            }
            add(format!("{name}_over_{baseline}"), &|_, run, _| of(run[0]) - of(run[i]));
        }
    }
    for (name, _, _, of) in OF_GROUPS {
        add((*name).to_owned(), &|mix, run, _| of(mix, run[0]));
    }
    if compare.len() > 1 {
        for (name, _, _, of) in OF_A_GAP {
            let gap =
                |mix: &Mix<'_>, seed: usize| mix.other_baseline(seed).map(|b| (of.to)(mix) - b);
            add((*name).to_owned(), &|mix, run, seed| {
                where_a_gap(gap(mix, seed).unwrap_or(f64::NAN), (of.figure)(mix, run[0], run[1]))
            });
        }
        for (name, _, _, of) in OF_A_MIX {
            add((*name).to_owned(), &|mix, run, _| of(mix, run[0], run[1]));
        }
        if mixes.iter().flat_map(|m| &m.runs).flatten().all(|f| f.viewers.len() > 1) {
            for (name, _, _, of) in OF_TWO {
                add((*name).to_owned(), &|_, run, _| of(run[0], run[1]));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::super::{Player, Viewers};
    use super::super::figures::ViewerFigures;
    use super::super::metrics::{OF_A_RUN, metrics, run_metrics};
    use super::*;
    use airlane_judge::claims::{Samples, Statistic, point_estimate};

    fn run(qoe: [f64; 2]) -> Figures {
        let viewer = |qoe: f64| ViewerFigures {
            qoe: Some(qoe),
            quality: Some(qoe),
            quality_after_join: Some(qoe),
            buffer_at_join_s: qoe / 5.0,
            buffer_after_join_s: Some(qoe / 10.0),
            wait_s: 0.5,
            bytes: 1000 * qoe as u64,
            ..ViewerFigures::default()
        };
        Figures {
            settling_s: None,
            bulk_over_bulk: Vec::new(),
            mu: None,
            viewers: qoe.map(viewer).to_vec(),
        }
    }

    fn against_cubic() -> Vec<String> {
        vec!["minerva".to_owned(), "cubic".to_owned()]
    }

    /// The figures of draws, and those of the runs that are judged.
    fn measured(mixes: &[Mix<'_>], compare: &[String]) -> ByMetric {
        let mut all = samples(mixes, compare);
        for (name, _, _, of) in OF_A_RUN {
            let of_mix = |mix: &Mix<'_>| mix.runs.iter().map(|run| of(run[0])).collect();
            all.insert((*name).to_owned(), mixes.iter().map(of_mix).collect());
        }
        all
    }

    fn statistic(text: &str, s: &ByMetric) -> Option<f64> {
        point_estimate(
            &Statistic::try_from(text.to_owned()).unwrap(),
            &Samples::without_cells(s.clone()),
        )
    }

    #[test]
    fn gains_are_of_the_worst_viewers_whoever_they_are() {
        let (minerva, cubic) = (run([60.0, 58.0]), run([50.0, 90.0]));
        let mix = Mix { runs: vec![vec![&minerva, &cubic]], optimum: 62.0, bound: 57.0 };
        let s = measured(&[mix], &against_cubic());
        let one = |name: &str| s[name][0][0];
        assert_eq!(one("minimum_qoe_gain"), 8.0);
        assert_eq!(one("minimum_qoe_gain_over_cubic"), 8.0);
        assert_eq!((one("optimum_gain"), one("bound_gain")), (12.0, 7.0));
        assert_eq!(one("gain_at_least_7_65"), 1.0);
        assert_eq!(one("bound_gain_at_least_7_65"), 0.0);
        assert_eq!((one("second_quality_gain"), one("first_buffer_change_s")), (-32.0, 1.0));
        assert_eq!(one("first_buffer_at_join_s"), 10.0);
        assert_eq!((one("video_bytes"), one("waiting_s")), (118_000.0, 0.5));
        assert!((one("log_qoe_gain") - (60.0f64 * 58.0 / 50.0 / 90.0).ln()).abs() < 1e-12);
        let traffic = Viewers {
            viewers: Vec::new(),
            arrivals: None,
            player: Player::default(),
            min_chunks: 1,
        };
        let listed = [metrics(&traffic, &against_cubic()), run_metrics(&traffic)].concat();
        for name in s.keys() {
            assert!(listed.iter().any(|m| m.name == *name), "{name}");
        }
        assert!(!listed.iter().any(|m| m.name == "minimum_qoe_gain_over_bbr"));
    }

    #[test]
    fn groups_are_compared_within_a_run() {
        let mut one = run([60.0, 58.0]);
        one.viewers.extend(run([50.0, 90.0]).viewers);
        one.viewers[2..].iter_mut().for_each(|v| v.group = "cubic".to_owned());
        let mix = Mix { runs: vec![vec![&one]], optimum: f64::NAN, bound: f64::NAN };
        let s = measured(&[mix], &["minerva".to_owned()]);
        let of = |name: &str| s[name][0][0];
        assert_eq!((of("group_gain"), of("group_range_change")), (8.0, 2.0 - 40.0));
        assert_eq!(of("group_share"), 118.0 / 258.0);
        assert!(!s.contains_key("minimum_qoe_gain"));
    }

    #[test]
    fn a_mix_has_a_gap_if_it_has_one_under_another_seed() {
        let [ours, lucky, unlucky] = [[58.0; 2], [59.0; 2], [50.0; 2]].map(run);
        let mix = |baselines: [&'static str; 2]| {
            let of = |name| if name == "lucky" { &lucky } else { &unlucky };
            let runs = baselines.map(|name| vec![&ours, of(name)]).to_vec();
            Mix { runs, optimum: 60.0, bound: 66.0 }
        };
        let closed = |mixes: &[Mix<'_>], what: &str| {
            let s = measured(mixes, &against_cubic());
            (s["gap"].clone(), statistic(&format!("sum({what}gap_closed / {what}gap)"), &s))
        };
        // Where the baseline is as far away under both seeds both count.
        assert_eq!(closed(&[mix(["unlucky"; 2])], ""), (vec![vec![10.0, 10.0]], Some(0.8)));
        assert_eq!(closed(&[mix(["unlucky"; 2])], "bound_").1, Some(0.5));
        assert_eq!(closed(&[mix(["lucky"; 2])], "").0, [[0.0, 0.0]]);
        // Where it was unlucky once, the other seed's run counts, and not that one.
        assert_eq!(closed(&[mix(["lucky", "unlucky"])], ""), (vec![vec![1.0, 0.0]], Some(-1.0)));
        // One seed cannot say.
        let mut one = mix(["unlucky"; 2]);
        one.runs.truncate(1);
        assert_eq!(closed(&[one], "").1, None);
    }

    #[test]
    fn what_a_group_could_have_is_compared_with_the_other_group() {
        let mut one = run([60.0, 58.0]);
        one.viewers.extend(run([50.0, 90.0]).viewers);
        one.viewers[2..].iter_mut().for_each(|v| v.group = "cubic".to_owned());
        let mix = Mix { runs: vec![vec![&one]], optimum: 62.0, bound: 57.0 };
        let s = measured(&[mix], &["minerva".to_owned()]);
        assert_eq!((s["group_optimum_gain"][0][0], s["group_gain"][0][0]), (12.0, 8.0));
        assert_eq!(s["group_optimum_gain_at_least_7_65"][0][0], 1.0);
    }

    #[test]
    fn rates_are_judged_bin_by_bin() {
        let mut one = run([60.0, 58.0]);
        one.mu = Some(1.25);
        one.viewers[0].over_bulk = vec![1.0, 1.3, 1.4, 0.8];
        one.viewers[1].over_bulk = vec![0.7, 1.0, 1.0, 1.0];
        one.bulk_over_bulk = vec![1.0, 2.0];
        let of = |one: &Figures, name: &str| {
            let mix = Mix { runs: vec![vec![one]], optimum: f64::NAN, bound: f64::NAN };
            measured(&[mix], &["minerva".to_owned()])[name][0][0]
        };
        assert_eq!((of(&one, "rate_within"), of(&one, "bulk_within")), (6.0 / 8.0, 0.5));
        assert_eq!((of(&one, "rate_high"), of(&one, "rate_low")), (1.125, 0.925));
        // A viewer without a rate does not leave the others to be judged alone.
        one.viewers[1].over_bulk.clear();
        for name in ["rate_within", "rate_high", "rate_low"] {
            assert!(of(&one, name).is_nan(), "{name}");
        }
        one.mu = None;
        assert!(of(&one, "bulk_within").is_nan(), "without bounds there is none to keep");
    }

    #[test]
    fn a_viewer_who_saw_nothing_leaves_no_number() {
        let (mut minerva, cubic) = (run([60.0, 58.0]), run([50.0, 90.0]));
        minerva.viewers[1].qoe = None;
        let mix = Mix { runs: vec![vec![&minerva, &cubic]], optimum: 62.0, bound: 57.0 };
        let s = measured(&[mix], &against_cubic());
        for name in ["minimum_qoe_gain", "gain_at_least_7_65", "log_qoe_gain", "gap_closed"] {
            assert!(s[name][0][0].is_nan(), "{name}");
        }
        assert_eq!(statistic("minimum_qoe_gain", &s), None);
    }
}
