//! Verdicts of rules on samples whose outcome is known.

use std::path::Path;

use airlane_base::Seed;
use airlane_judge::claims::*;
use airlane_judge::summary::{CheckEntry, PaperValue, Verdict};
use airlane_sim::plan::Window;
use airlane_sim::workload::Unit;

const HEAD: &str = "schema = 3\nsystem = \"x\"\nseed = 7\n\
    [scenario]\nlink = { rtt_s = 0.02, rate_bps = 10e6 }\n\
    [schemes.one]\n[schemes.two]\nweight = 2\n\
    [variants]\nfour = { scenario = { link = { rate_bps = 4e6 } }, schemes = { two = { weight = 3 } } }\n";

pub(crate) fn set(rule: &str) -> String {
    format!(
        "{HEAD}[[claim]]\nid = \"x.one\"\nsource = \"s\"\nstatement = \"t\"\npaper = {{ value = 24.0 }}\n\
         unit = \"% of mixes\"\nstatistic = \"a\"\nrule_text = \"r\"\nrule = {rule}\n\
         compare = [\"two\", \"one\"]\nmixes = \"m\"\nscenario = {{ viewer = [{{}}] }}\n\
         full = {{ pairs = 44, seeds = 2 }}\nquick = {{ pairs = 12, seeds = 1 }}\n"
    )
}

pub(crate) fn read(text: &str) -> Result<ClaimSet, String> {
    ClaimSet::from_text(airlane_lab::registry(), text, Path::new("x.toml"))
        .map_err(|e| e.to_string())
}

pub(crate) fn claim(rule: &str) -> Claim {
    read(&set(rule)).unwrap().claims.remove(0)
}

/// Twelve pairs of two seeds around `mean`, each pair within `spread` of it.
pub(crate) fn around(mean: f64, spread: f64) -> Vec<Vec<f64>> {
    (0..12)
        .map(|i| {
            let pair = mean + spread * (f64::from(i) / 5.5 - 1.0);
            vec![pair - 0.1 * spread, pair + 0.1 * spread]
        })
        .collect()
}

pub(crate) fn samples(of: &[(&str, Vec<Vec<f64>>)]) -> Samples {
    Samples::without_cells(by_metric(of))
}

fn cell(name: &str, figures: ByMetric) -> CellSamples {
    CellSamples { name: name.to_owned(), figures, ..CellSamples::default() }
}

fn by_metric(of: &[(&str, Vec<Vec<f64>>)]) -> ByMetric {
    of.iter().map(|(name, draws)| ((*name).to_owned(), draws.clone())).collect()
}

/// Every metric of these tests in `unit`.
pub(crate) fn units(unit: Unit) -> Units {
    ["gain", "best", "a", "b", "c", "a_of_one", "b_of_one"]
        .map(|m| (m.to_owned(), unit))
        .into_iter()
        .collect()
}

fn judged_by(claim: &Claim, samples: &Samples, seed: u64) -> RuleOutcome {
    judge(claim, samples, &units(Unit::ONE), Seed(seed))
}

fn verdict(rule: &str, of: &[(&str, Vec<Vec<f64>>)]) -> Verdict {
    judged_by(&claim(rule), &samples(of), 1).verdict
}

#[test]
fn a_mean_is_judged_by_where_its_interval_lies() {
    let above = r#"{ kind = "above", of = "gain", bound = 0.0 }"#;
    let below = r#"{ kind = "below", of = "gain", bound = 0.0 }"#;
    let cases = [
        (5.0, 3.0, Verdict::Holds, Verdict::Fails),
        (-5.0, 3.0, Verdict::Fails, Verdict::Holds),
        (0.3, 3.0, Verdict::Undecided, Verdict::Undecided),
        // Zero has to be excluded,
        (0.0, 0.0, Verdict::Undecided, Verdict::Undecided),
    ];
    for (mean, spread, if_above, if_below) in cases {
        let gain = [("gain", around(mean, spread))];
        assert_eq!(verdict(above, &gain), if_above, "{mean} above");
        assert_eq!(verdict(below, &gain), if_below, "{mean} below");
    }
    // and any other bound may be met exactly.
    let two = r#"{ kind = "above", of = "gain", bound = 2.0 }"#;
    assert_eq!(verdict(two, &[("gain", around(2.0, 0.0))]), Verdict::Holds);
    let judged = judged_by(&claim(above), &samples(&[("gain", around(5.0, 3.0))]), 1);
    let [lo, hi] = judged.ci95.unwrap();
    let percent = judged.measured.unwrap();
    assert!((percent - 500.0).abs() < 1e-6 && lo < 500.0 && 500.0 < hi, "in the claim's unit");
    assert_eq!((judged.n, judged.reason.as_str()), (12, ""));
}

#[test]
fn figures_are_told_in_the_unit_of_the_claim_or_in_their_own() {
    let rule = r#"{ kind = "all", of = [{ kind = "above", of = "gain", bound = 2e6 }, { kind = "above", of = "best", bound = 0.02 }] }"#;
    let of = samples(&[("gain", around(5e6, 3e6)), ("best", around(0.05, 0.01))]);
    let units = Units::from_iter([
        ("gain".to_owned(), Unit::BITS_PER_SECOND),
        ("best".to_owned(), Unit::ONE),
    ]);
    let told = |unit: &str| {
        let mut claim = claim(rule);
        claim.unit = ClaimUnit::try_from(unit.to_owned()).unwrap();
        let judged = judge(&claim, &of, &units, Seed(1));
        let one =
            |c: &CheckEntry| (c.unit.clone(), c.bound, (c.measured.unwrap() * 1e6).round() / 1e6);
        (
            judged.unit,
            (judged.measured.unwrap() * 1e6).round() / 1e6,
            judged.checks.iter().map(one).collect::<Vec<_>>(),
        )
    };
    let rate = ("Mbit/s".to_owned(), 2.0, 5.0);
    let (unit, measured, checks) = told("Mbit/s of the tunnel");
    assert_eq!((unit.as_str(), measured), ("Mbit/s of the tunnel", 5.0));
    assert_eq!(checks, [rate.clone(), (String::new(), 0.02, 0.05)]);
    // The headline is no share, so it is not told as one; the condition that is one is.
    let (unit, measured, checks) = told("%");
    assert_eq!((unit.as_str(), measured), ("Mbit/s", 5.0));
    assert_eq!(checks, [rate, ("%".to_owned(), 2.0, 5.0)]);
}

#[test]
fn figures_of_different_units_are_not_compared() {
    let units = Units::from_iter([
        ("gain".to_owned(), Unit::BITS_PER_SECOND),
        ("best".to_owned(), Unit::SECONDS),
    ]);
    let of = samples(&[("gain", around(5.0, 1.0)), ("best", around(5.0, 1.0))]);
    let rule = r#"{ kind = "above", of = "sum(gain / best)", bound = 1 }"#;
    let judged = judge(&claim(rule), &of, &units, Seed(1));
    assert_eq!(judged.verdict, Verdict::Fails);
    assert_eq!(judged.reason, "gain in bit/s and best in s");
}

#[test]
fn a_ratio_is_judged_on_a_logarithmic_scale() {
    // Of ten draws one is a hundred times the others: on a linear scale its interval reaches below
    // zero.
    let heavy: Vec<Vec<f64>> = (0..10).map(|i| vec![if i == 3 { 100.0 } else { 1.0 }]).collect();
    let flat = vec![vec![1.0]; 10];
    let of = [("a", heavy), ("b", flat)];
    let rule = r#"{ kind = "reported", of = "sum(a / b)" }"#;
    let judged = judged_by(&claim(rule), &samples(&of), 1);
    let [lo, hi] = judged.ci95.unwrap();
    assert!(lo > 0.0 && hi > 1090.0, "in %: {lo} to {hi}");
}

#[test]
fn either_of_two_holds_with_one_and_fails_with_both() {
    let rule = r#"{ kind = "either", of = [{ kind = "above", of = "a", bound = 0 }, { kind = "above", of = "b", bound = 0 }] }"#;
    let of = |a: f64, b: f64| {
        let of = samples(&[("a", around(a, 1.0)), ("b", around(b, 1.0))]);
        judged_by(&claim(rule), &of, 1)
    };
    assert_eq!(of(3.0, -3.0).verdict, Verdict::Holds);
    assert_eq!(of(-3.0, -3.0).verdict, Verdict::Fails);
    assert_eq!(of(-3.0, 0.1).verdict, Verdict::Undecided);
    // Two intervals that hold together are wider than one alone.
    let both = of(3.0, 3.0).checks[0].ci95.unwrap();
    let alone = judged_by(
        &claim(r#"{ kind = "above", of = "a", bound = 0 }"#),
        &samples(&[("a", around(3.0, 1.0))]),
        1,
    );
    let alone = alone.checks[0].ci95.unwrap();
    assert!(both[0] < alone[0] && both[1] > alone[1], "{both:?}, {alone:?}");
    let shares = r#"{ kind = "either", of = [{ kind = "above", of = "share(a)", bound = 0.5 }] }"#;
    let e = read(&set(shares)).unwrap_err();
    assert!(e.contains("expected above or below, of a mean, a difference or a ratio"), "{e}");
}

#[test]
fn the_same_samples_give_the_same_interval() {
    let rule = r#"{ kind = "above", of = "gain", bound = 0.0 }"#;
    let of = samples(&[("gain", around(1.0, 3.0))]);
    assert_eq!(judged_by(&claim(rule), &of, 1), judged_by(&claim(rule), &of, 1));
    assert_ne!(judged_by(&claim(rule), &of, 1).ci95, judged_by(&claim(rule), &of, 2).ci95);
}

/// Pairs of which the first `yes` of `n` have it.
fn share(yes: usize, n: usize) -> Vec<Vec<f64>> {
    (0..n).map(|i| vec![f64::from(i < yes)]).collect()
}

const SHARE: &str = r#"{ kind = "share_of_reference", metric = "gain", reference = "best", factor = 0.6, saturated_below = 0.2 }"#;

#[test]
fn a_share_is_judged_against_its_reference_pair_by_pair() {
    let of = |gain: usize, best: usize| {
        judged_by(
            &claim(SHARE),
            &samples(&[("gain", share(gain, 44)), ("best", share(best, 44))]),
            1,
        )
    };
    let good = of(22, 22);
    assert_eq!(good.verdict, Verdict::Holds);
    assert_eq!(good.measured, Some(50.0), "shown in the unit of the claim");
    assert!(good.ci95.unwrap()[0] > 30.0 && good.ci95.unwrap()[1] < 70.0);
    assert!((good.checks[0].measured.unwrap() - 20.0).abs() < 1e-9, "0.5 - 0.6 * 0.5");
    assert_eq!(good.reason, "best: 50.0 %");
    assert_eq!(of(2, 30).verdict, Verdict::Fails);
    assert_eq!(of(14, 22).verdict, Verdict::Undecided);
}

#[test]
fn a_reference_that_saturates_leaves_nothing_to_judge() {
    let of = samples(&[("gain", share(0, 44)), ("best", share(8, 44))]);
    let judged = judged_by(&claim(SHARE), &of, 1);
    assert_eq!(judged.verdict, Verdict::Reported);
    assert!(judged.reason.starts_with("saturated: best: 18.2 %"), "{}", judged.reason);
}

#[test]
fn an_offline_reference_has_one_figure_for_all_seeds_of_a_pair() {
    let gain: Vec<Vec<f64>> = (0..12).map(|_| vec![1.0, 1.0]).collect();
    assert_eq!(verdict(SHARE, &[("gain", gain.clone()), ("best", share(12, 12))]), Verdict::Holds);
    let of = samples(&[("gain", gain), ("best", share(11, 11))]);
    let judged = judged_by(&claim(SHARE), &of, 1);
    assert_eq!((judged.verdict, judged.n), (Verdict::Fails, 0));
    assert_eq!(judged.reason, "12 draws of gain, 11 of best");
}

#[test]
fn all_fails_with_one_and_holds_with_all() {
    let rule = r#"{ kind = "all", of = [
        { kind = "above", of = "a", bound = 0.0 },
        { kind = "below", of = "b", bound = 1.0 } ] }"#;
    let of = |a: f64, b: f64| verdict(rule, &[("a", around(a, 0.5)), ("b", around(b, 0.5))]);
    assert_eq!(of(3.0, 0.0), Verdict::Holds);
    assert_eq!(of(3.0, 1.0), Verdict::Undecided);
    assert_eq!(of(3.0, 2.0), Verdict::Fails);
    assert_eq!(of(0.0, 2.0), Verdict::Fails);
    let judged =
        judged_by(&claim(rule), &samples(&[("a", around(3.0, 0.5)), ("b", around(0.0, 0.5))]), 1);
    assert_eq!(judged.checks.len(), 2);
    assert!((judged.measured.unwrap() - 300.0).abs() < 1e-6, "the first has the headline");
    assert_eq!(verdict(rule, &[("a", around(3.0, 0.5))]), Verdict::Fails, "b was left out");
}

#[test]
fn what_was_left_out_is_not_held_and_nine_draws_decide_nothing() {
    let rule = r#"{ kind = "above", of = "gain", bound = 0.0 }"#;
    let none = judged_by(&claim(rule), &Samples::default(), 1);
    assert_eq!((none.verdict, none.n, none.measured), (Verdict::Fails, 0, None));
    assert_eq!(none.reason, "no sample of gain");
    assert_eq!(verdict(rule, &[("gain", vec![vec![1.0], vec![f64::NAN]])]), Verdict::Fails);
    assert_eq!(verdict(rule, &[("gain", vec![vec![1.0], vec![]])]), Verdict::Fails);
    let few = |n: usize| {
        let draws = (0..n).map(|i| vec![9.0 + 0.1 * i as f64]).collect();
        judged_by(&claim(rule), &samples(&[("gain", draws)]), 1)
    };
    let (one, nine, ten) = (few(1), few(9), few(10));
    assert_eq!((one.verdict, one.n, one.ci95), (Verdict::Undecided, 1, None));
    assert_eq!(one.reason, "1 draw, of at least 10 that decide; gain points to holds");
    assert_eq!((nine.verdict, nine.ci95), (Verdict::Undecided, None));
    assert_eq!((ten.verdict, ten.reason.as_str()), (Verdict::Holds, ""));
}

/// A claim over two cells, `a` and `b`, under `rule`, with gains of so many draws in each.
fn over_cells(rule: &str, draws: &str, a: Vec<Vec<f64>>, b: Vec<Vec<f64>>) -> RuleOutcome {
    let text = set(rule).replace("mixes = ", "cells = [\"a\", \"b\"]\nmixes = ");
    let text = text.replace("[variants]\n", "[variants]\na = {}\nb = {}\n");
    let text = text.replace("unit = \"% of mixes\"", &format!("unit = \"points\"\n{draws}"));
    let claim = read(&text).unwrap().claims.remove(0);
    let cells = [("a", a), ("b", b)];
    let cells = cells.map(|(name, gain)| cell(name, by_metric(&[("gain", gain)])));
    judged_by(&claim, &Samples::with_cells(claim.draws, cells.to_vec()), 1)
}

#[test]
fn a_draw_is_one_however_many_cells_it_was_measured_in() {
    let rule = r#"{ kind = "above", of = "gain", bound = 0.0 }"#;
    let gain = around(1.0, 3.0);
    let one = judged_by(&claim(rule), &samples(&[("gain", gain.clone())]), 1);
    let shared = over_cells(rule, "", gain.clone(), gain.clone());
    assert_eq!((one.n, shared.n), (12, 12));
    // In percent of the unit there, as it stands here.
    let width = |j: &RuleOutcome, unit: f64| j.ci95.map(|[lo, hi]| (hi - lo) / unit).unwrap();
    assert!((width(&one, 100.0) / width(&shared, 1.0) - 1.0).abs() < 0.02);
    // Cells with draws of their own are strata: twice as many draws.
    let own = over_cells(rule, "draws = \"own\"", gain.clone(), gain);
    assert_eq!(own.n, 24);
    assert!((0.6..0.75).contains(&(width(&own, 1.0) / width(&shared, 1.0))));
}

#[test]
fn a_claim_over_cells_shows_each_and_its_worst_and_fails_with_one() {
    let rule = r#"{ kind = "above", of = "gain", bound = 0.0 }"#;
    let judged = over_cells(rule, "", around(9.0, 3.0), around(5.0, 3.0));
    let of = |j: &RuleOutcome| -> Vec<(String, bool, Verdict)> {
        j.checks.iter().map(|c| (c.cell.clone(), c.worst, c.verdict)).collect()
    };
    let held = |cell: &str, worst: bool| (cell.to_owned(), worst, Verdict::Holds);
    assert_eq!(of(&judged), [held("", false), held("a", false), held("b", true)]);
    assert_eq!((judged.verdict, judged.reason.as_str()), (Verdict::Holds, ""));

    let judged = over_cells(rule, "", around(90.0, 3.0), around(-5.0, 3.0));
    assert_eq!(judged.checks[0].verdict, Verdict::Holds, "all cells together");
    assert_eq!(judged.verdict, Verdict::Fails);
    assert_eq!(judged.reason, "wholly on the wrong side in b");
    // A cell that says nothing by itself does not hold the others back.
    let judged = over_cells(rule, "", around(90.0, 3.0), around(0.0, 3.0));
    assert_eq!((judged.checks[2].verdict, judged.verdict), (Verdict::Undecided, Verdict::Holds));
}

/// Figures of draws on windows of recordings, a letter each.
fn on_windows(windows: &[(&str, u64, f64)]) -> Samples {
    let figures = by_metric(&[("gain", windows.iter().map(|(_, _, x)| vec![*x]).collect())]);
    let window = |(recording, number, _): &(&str, u64, f64)| Window {
        recording: (*recording).to_owned(),
        number: *number,
    };
    let windows = windows.iter().map(window).collect();
    Samples::of_cell(CellSamples { windows, ..cell("", figures) })
}

#[test]
fn draws_on_one_window_of_a_recording_are_one_and_each_recording_is_shown() {
    let rule = r#"{ kind = "above", of = "gain", bound = 0 }"#;
    // Fifteen draws of six windows decide nothing.
    let six: Vec<_> = (0..15).map(|i| ("a", i % 6, 5.0 + 0.1 * i as f64)).collect();
    let judged = judged_by(&claim(rule), &on_windows(&six), 1);
    assert_eq!((judged.n, judged.verdict), (6, Verdict::Undecided));
    assert_eq!(judged.reason, "6 draws, of at least 10 that decide; gain points to holds");
    // Two recordings are strata, each with a line of its own.
    let two = |of_b: f64| -> Vec<(&str, u64, f64)> {
        let a = (0..11).map(|i| ("a", i, 5.0 + 0.1 * i as f64));
        a.chain((0..12).map(|i| ("b", i, of_b + 0.1 * i as f64))).collect()
    };
    let judged = judged_by(&claim(rule), &on_windows(&two(2.0)), 1);
    assert_eq!((judged.n, judged.verdict), (23, Verdict::Holds));
    let of: Vec<_> = judged.checks.iter().map(|c| (c.cell.as_str(), c.n)).collect();
    assert_eq!(of, [("", 23), ("a", 11), ("b", 12)]);
    // "On every trace": one that lies wholly on the wrong side is enough to fail.
    let judged = judged_by(&claim(rule), &on_windows(&two(-2.0)), 1);
    assert_eq!(
        (judged.verdict, judged.reason.as_str()),
        (Verdict::Fails, "wholly on the wrong side in b")
    );
}

#[test]
fn cells_with_draws_of_their_own_are_not_compared_draw_by_draw() {
    let rule = r#"{ kind = "above", of = "gain@a - gain@b", bound = 0.0 }"#;
    let shared = over_cells(rule, "", around(9.0, 3.0), around(5.0, 3.0));
    assert_eq!((shared.verdict, shared.n), (Verdict::Holds, 12));
    let own = over_cells(rule, "draws = \"own\"", around(9.0, 3.0), around(5.0, 3.0));
    assert_eq!(own.verdict, Verdict::Fails);
    assert_eq!(own.reason, "gain@a and gain@b have draws of their own");
}

#[test]
fn all_of_twelve_is_not_certainty_for_yes_and_no() {
    let rule = r#"{ kind = "above", of = "share(gain)", bound = 0.8 }"#;
    let judged = judged_by(&claim(rule), &samples(&[("gain", share(12, 12))]), 1);
    assert_eq!((judged.verdict, judged.measured), (Verdict::Undecided, Some(100.0)));
    let points = rule.replace("share(gain)", "gain");
    assert_eq!(verdict(&points, &[("gain", share(12, 12))]), Verdict::Holds, "figures that agree");
}

#[test]
fn a_saturated_cell_leaves_nothing_to_judge_in_it() {
    let text = set(SHARE).replace("mixes = ", "cells = [\"a\", \"b\"]\nmixes = ");
    let text = text.replace("[variants]\n", "[variants]\na = {}\nb = {}\n");
    let claim = read(&text).unwrap().claims.remove(0);
    let of = |gain: usize, best: usize| {
        by_metric(&[("gain", share(gain, 44)), ("best", share(best, 44))])
    };
    let cells = vec![cell("a", of(30, 30)), cell("b", of(0, 4))];
    let judged = judged_by(&claim, &Samples::with_cells(claim.draws, cells), 1);
    let of_b = judged.checks.iter().find(|c| c.cell == "b").unwrap();
    assert_eq!((of_b.verdict, judged.verdict), (Verdict::Reported, Verdict::Holds));
}

#[test]
fn a_reported_claim_has_figures_and_no_judgement() {
    let judged = judged_by(
        &claim(r#"{ kind = "reported", of = "gain" }"#),
        &samples(&[("gain", around(-9.0, 1.0))]),
        1,
    );
    assert_eq!(judged.verdict, Verdict::Reported);
    assert!((judged.measured.unwrap() + 900.0).abs() < 1e-6);
}

#[test]
fn an_entry_carries_the_claim_and_its_verdict() {
    let rule = r#"{ kind = "above", of = "gain", bound = 0.0 }"#;
    let e = entry(
        &claim(rule),
        "embedded",
        (&samples(&[("gain", around(5.0, 3.0))]), &units(Unit::ONE)),
        Seed(1),
    );
    assert_eq!((e.id.as_str(), e.content.as_str(), e.n), ("x.one", "embedded", 12));
    assert_eq!((e.paper, e.verdict), (PaperValue::Value(24.0), Verdict::Holds));
    assert_eq!(serde_json::to_value(e.verdict).unwrap(), "holds");
}

#[test]
fn a_range_is_met_by_the_whole_interval() {
    let rule = r#"{ kind = "within", of = "gain", low = 0.0, high = 1.0 }"#;
    let of = |mean: f64| verdict(rule, &[("gain", around(mean, 0.3))]);
    assert_eq!(
        [0.5, 1.0, 2.0, -1.0].map(of),
        [Verdict::Holds, Verdict::Undecided, Verdict::Fails, Verdict::Fails]
    );
}

#[test]
fn half_of_the_papers_gain_is_asked_for_with_its_sign() {
    let rule = r#"{ kind = "half_of_paper", of = "sum(a / b) - 1", paper = -0.4 }"#;
    let of = |a: f64| verdict(rule, &[("a", around(a, 0.1)), ("b", around(2.0, 0.1))]);
    // 50 % less, 20 %, 10 %, and a tenth more, of which the paper says 40 % less.
    assert_eq!(
        [1.0, 1.6, 1.8, 2.2].map(of),
        [Verdict::Holds, Verdict::Undecided, Verdict::Fails, Verdict::Fails]
    );
    let judged =
        judged_by(&claim(rule), &samples(&[("a", around(1.0, 0.1)), ("b", around(2.0, 0.1))]), 1);
    assert!((judged.measured.unwrap() + 50.0).abs() < 1e-6);
    assert_eq!(judged.checks[0].rule, "at most -20");
}

#[test]
fn quartiles_have_intervals_of_their_own() {
    let rule = r#"{ kind = "above", of = "lower(gain)", bound = 0.5 }"#;
    assert_eq!(verdict(rule, &[("gain", around(1.0, 0.2))]), Verdict::Holds);
    assert_eq!(verdict(rule, &[("gain", around(1.0, 1.0))]), Verdict::Undecided);
}
