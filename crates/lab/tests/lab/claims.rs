//! Verdicts of rules on samples whose outcome is known.

use std::path::Path;
use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_judge::claims::*;
use airlane_judge::summary::{PaperValue, Verdict};
use airlane_lab::workloads::vod::{Start, Viewers};
use airlane_scenario::{Capacity, ControllerConfig, Discipline, Scenario};

const HEAD: &str = "schema = 3\nsystem = \"x\"\nseed = 7\n\
    [scenario]\nlink = { rtt_s = 0.02, rate_bps = 10e6 }\n\
    [schemes.one]\n[schemes.two]\nweight = 2\n\
    [variants]\nfour = { scenario = { link = { rate_bps = 4e6 } }, schemes = { two = { weight = 3 } } }\n";

fn set(rule: &str) -> String {
    format!(
        "{HEAD}[[claim]]\nid = \"x.one\"\nsource = \"s\"\nstatement = \"t\"\npaper = {{ value = 24.0 }}\n\
         unit = \"% of mixes\"\nstatistic = \"a\"\nrule_text = \"r\"\nrule = {rule}\n\
         compare = [\"two\", \"one\"]\nmixes = \"m\"\nscenario = {{ viewer = [{{}}] }}\n\
         full = {{ pairs = 44, seeds = 2 }}\nquick = {{ pairs = 12, seeds = 1 }}\n"
    )
}

fn read(text: &str) -> Result<ClaimSet, String> {
    ClaimSet::from_text(airlane_lab::registry(), text, Path::new("x.toml"))
        .map_err(|e| e.to_string())
}

fn claim(rule: &str) -> Claim {
    read(&set(rule)).unwrap().claims.remove(0)
}

/// Twelve pairs of two seeds around `mean`, each pair within `spread` of it.
fn around(mean: f64, spread: f64) -> Vec<Vec<f64>> {
    (0..12)
        .map(|i| {
            let pair = mean + spread * (f64::from(i) / 5.5 - 1.0);
            vec![pair - 0.1 * spread, pair + 0.1 * spread]
        })
        .collect()
}

fn samples(of: &[(&str, Vec<Vec<f64>>)]) -> Samples {
    Samples::without_cells(by_metric(of))
}

fn by_metric(of: &[(&str, Vec<Vec<f64>>)]) -> ByMetric {
    of.iter().map(|(name, draws)| ((*name).to_owned(), draws.clone())).collect()
}

fn verdict(rule: &str, of: &[(&str, Vec<Vec<f64>>)]) -> Verdict {
    judge(&claim(rule), &samples(of), Seed(1)).verdict
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
    let judged = judge(&claim(above), &samples(&[("gain", around(5.0, 3.0))]), Seed(1));
    let [lo, hi] = judged.ci95.unwrap();
    let percent = judged.measured.unwrap();
    assert!((percent - 500.0).abs() < 1e-6 && lo < 500.0 && 500.0 < hi, "in the claim's unit");
    assert_eq!((judged.n, judged.reason.as_str()), (12, ""));
}

#[test]
fn rates_are_told_in_the_unit_of_the_claim() {
    let mut claim = claim(r#"{ kind = "above", of = "gain", bound = 2e6 }"#);
    claim.unit = "Mbit/s".to_owned();
    let judged = judge(&claim, &samples(&[("gain", around(5e6, 3e6))]), Seed(1));
    assert!((judged.measured.unwrap() - 5.0).abs() < 1e-6, "{judged:?}");
    let check = &judged.checks[0];
    assert_eq!((check.bound, check.unit.as_str()), (2.0, "Mbit/s"));
    assert_eq!(check.measured, judged.measured);
}

#[test]
fn the_same_samples_give_the_same_interval() {
    let rule = r#"{ kind = "above", of = "gain", bound = 0.0 }"#;
    let of = samples(&[("gain", around(1.0, 3.0))]);
    assert_eq!(judge(&claim(rule), &of, Seed(1)), judge(&claim(rule), &of, Seed(1)));
    assert_ne!(judge(&claim(rule), &of, Seed(1)).ci95, judge(&claim(rule), &of, Seed(2)).ci95);
}

/// Pairs of which the first `yes` of `n` have it.
fn share(yes: usize, n: usize) -> Vec<Vec<f64>> {
    (0..n).map(|i| vec![f64::from(i < yes)]).collect()
}

const SHARE: &str = r#"{ kind = "share_of_reference", metric = "gain", reference = "best", factor = 0.6, saturated_below = 0.2 }"#;

#[test]
fn a_share_is_judged_against_its_reference_pair_by_pair() {
    let of = |gain: usize, best: usize| {
        judge(
            &claim(SHARE),
            &samples(&[("gain", share(gain, 44)), ("best", share(best, 44))]),
            Seed(1),
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
    let judged = judge(&claim(SHARE), &of, Seed(1));
    assert_eq!(judged.verdict, Verdict::Reported);
    assert!(judged.reason.starts_with("saturated: best: 18.2 %"), "{}", judged.reason);
}

#[test]
fn an_offline_reference_has_one_figure_for_all_seeds_of_a_pair() {
    let gain: Vec<Vec<f64>> = (0..12).map(|_| vec![1.0, 1.0]).collect();
    assert_eq!(verdict(SHARE, &[("gain", gain.clone()), ("best", share(12, 12))]), Verdict::Holds);
    let of = samples(&[("gain", gain), ("best", share(11, 11))]);
    let judged = judge(&claim(SHARE), &of, Seed(1));
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
        judge(&claim(rule), &samples(&[("a", around(3.0, 0.5)), ("b", around(0.0, 0.5))]), Seed(1));
    assert_eq!(judged.checks.len(), 2);
    assert!((judged.measured.unwrap() - 300.0).abs() < 1e-6, "the first has the headline");
    assert_eq!(verdict(rule, &[("a", around(3.0, 0.5))]), Verdict::Fails, "b was left out");
}

#[test]
fn what_was_left_out_is_not_held_and_nine_draws_decide_nothing() {
    let rule = r#"{ kind = "above", of = "gain", bound = 0.0 }"#;
    let none = judge(&claim(rule), &Samples::default(), Seed(1));
    assert_eq!((none.verdict, none.n, none.measured), (Verdict::Fails, 0, None));
    assert_eq!(none.reason, "no sample of gain");
    assert_eq!(verdict(rule, &[("gain", vec![vec![1.0], vec![f64::NAN]])]), Verdict::Fails);
    assert_eq!(verdict(rule, &[("gain", vec![vec![1.0], vec![]])]), Verdict::Fails);
    let few = |n: usize| {
        let draws = (0..n).map(|i| vec![9.0 + 0.1 * i as f64]).collect();
        judge(&claim(rule), &samples(&[("gain", draws)]), Seed(1))
    };
    let (one, nine, ten) = (few(1), few(9), few(10));
    assert_eq!((one.verdict, one.n, one.ci95), (Verdict::Undecided, 1, None));
    assert_eq!(one.reason, "1 draw, of at least 10 that decide");
    assert_eq!((nine.verdict, nine.ci95), (Verdict::Undecided, None));
    assert_eq!((ten.verdict, ten.reason.as_str()), (Verdict::Holds, ""));
}

/// A claim over two cells, `a` and `b`, under `rule`, with gains of so many draws in each.
fn over_cells(rule: &str, draws: &str, a: Vec<Vec<f64>>, b: Vec<Vec<f64>>) -> Judged {
    let text = set(rule).replace("mixes = ", "cells = [\"a\", \"b\"]\nmixes = ");
    let text = text.replace("[variants]\n", "[variants]\na = {}\nb = {}\n");
    let text = text.replace("unit = \"% of mixes\"", &format!("unit = \"points\"\n{draws}"));
    let claim = read(&text).unwrap().claims.remove(0);
    let cells = [("a", a), ("b", b)];
    let cells = cells.map(|(name, gain)| (name.to_owned(), by_metric(&[("gain", gain)])));
    judge(&claim, &Samples::with_cells(claim.draws, cells.to_vec()), Seed(1))
}

#[test]
fn a_draw_is_one_however_many_cells_it_was_measured_in() {
    let rule = r#"{ kind = "above", of = "gain", bound = 0.0 }"#;
    let gain = around(1.0, 3.0);
    let one = judge(&claim(rule), &samples(&[("gain", gain.clone())]), Seed(1));
    let shared = over_cells(rule, "", gain.clone(), gain.clone());
    assert_eq!((one.n, shared.n), (12, 12));
    // In percent of the unit there, as it stands here.
    let width = |j: &Judged, unit: f64| j.ci95.map(|[lo, hi]| (hi - lo) / unit).unwrap();
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
    let of = |j: &Judged| -> Vec<(String, bool, Verdict)> {
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
    let judged = judge(&claim(rule), &samples(&[("gain", share(12, 12))]), Seed(1));
    assert_eq!((judged.verdict, judged.measured), (Verdict::Undecided, Some(100.0)));
    let points = rule.replace("share(gain)", "gain");
    assert_eq!(verdict(&points, &[("gain", share(12, 12))]), Verdict::Holds, "figures that agree");
}

#[test]
fn a_saturated_cell_leaves_nothing_to_judge_in_it() {
    let text = set(SHARE).replace("mixes = ", "cells = [\"a\", \"b\"]\nmixes = ");
    let text = text.replace("[variants]\n", "[variants]\na = {}\nb = {}\n");
    let claim = read(&text).unwrap().claims.remove(0);
    let cell = |gain: usize, best: usize| {
        by_metric(&[("gain", share(gain, 44)), ("best", share(best, 44))])
    };
    let cells = vec![("a".to_owned(), cell(30, 30)), ("b".to_owned(), cell(0, 4))];
    let judged = judge(&claim, &Samples::with_cells(claim.draws, cells), Seed(1));
    let of_b = judged.checks.iter().find(|c| c.cell == "b").unwrap();
    assert_eq!((of_b.verdict, judged.verdict), (Verdict::Reported, Verdict::Holds));
}

#[test]
fn a_reported_claim_has_figures_and_no_judgement() {
    let judged = judge(
        &claim(r#"{ kind = "reported", of = "gain" }"#),
        &samples(&[("gain", around(-9.0, 1.0))]),
        Seed(1),
    );
    assert_eq!(judged.verdict, Verdict::Reported);
    assert!((judged.measured.unwrap() + 900.0).abs() < 1e-6);
}

#[test]
fn an_entry_carries_the_claim_and_its_verdict() {
    let rule = r#"{ kind = "above", of = "gain", bound = 0.0 }"#;
    let e = entry(&claim(rule), "embedded", &samples(&[("gain", around(5.0, 3.0))]), Seed(1));
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
        judge(&claim(rule), &samples(&[("a", around(1.0, 0.1)), ("b", around(2.0, 0.1))]), Seed(1));
    assert!((judged.measured.unwrap() + 50.0).abs() < 1e-6);
    assert_eq!(judged.checks[0].rule, "at most -20");
}

#[test]
fn quartiles_have_intervals_of_their_own() {
    let rule = r#"{ kind = "above", of = "lower(gain)", bound = 0.5 }"#;
    assert_eq!(verdict(rule, &[("gain", around(1.0, 0.2))]), Verdict::Holds);
    assert_eq!(verdict(rule, &[("gain", around(1.0, 1.0))]), Verdict::Undecided);
}

#[test]
fn the_claims_of_minerva_are_read_with_their_defaults() {
    let set = ClaimSet::of_system(airlane_lab::registry(), "minerva").unwrap();
    let ids: Vec<&str> = set.claims.iter().map(|c| c.id.as_str()).collect();
    for id in
        ["minerva.fig2", "minerva.fig9.4", "minerva.fig9.10", "minerva.fig9.16", "minerva.bbr"]
    {
        assert!(ids.contains(&id), "{id} among {ids:?}");
    }
    let e = ClaimSet::of_system(airlane_lab::registry(), "nothing").unwrap_err().to_string();
    assert_eq!(
        e,
        "no claims of \"nothing\"; expected one of minerva, cupid, fbdt, ows, octopus, or all"
    );
}

#[test]
fn bad_claims_are_named() {
    let good = set(r#"{ kind = "reported", of = "gain" }"#);
    let bad = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        read(&good.replacen(from, to, 1)).unwrap_err()
    };
    assert!(bad("mixes = ", "mixs = ").starts_with("x.toml:"), "{}", bad("mixes = ", "mixs = "));
    assert!(bad("mixes = ", "mixs = ").contains("mixs"));
    assert!(bad("schema = 3", "schema = 1").contains("schema: schema 1; expected 3"));
    assert!(bad("x.one", "y.one").contains("claim.0.id"));
    assert!(bad("pairs = 44", "pairs = 0").contains("claim.0.full: 0 pairs of 2 seeds"));
    assert!(bad("\"two\", \"one\"", "\"three\"").contains("claim.0.compare: \"three\""));
    assert!(bad("mixes = ", "cells = [\"five\"]\nmixes = ").contains("claim.0.cells: \"five\""));
    let reported = "\"reported\", of = \"gain\"";
    assert!(bad(reported, "\"all\", of = []").contains("claim.0.rule: no rule"));
    let nan = bad(reported, "\"above\", of = \"a\", bound = nan");
    assert!(nan.contains("a bound of NaN"), "{nan}");
    let mode = bad(reported, "\"above\", of = \"mode(a)\", bound = 1.0");
    assert!(mode.contains("\"mode(a)\" is no statistic"), "{mode}");
    let with = |more: &str| bad("mixes = ", &format!("{more}\nmixes = "));
    let own = with("schemes = { three = {} }");
    assert!(own.contains("claim.0.schemes: \"three\"; expected a name of `compare`"), "{own}");
    let turned = bad(reported, "\"within\", of = \"a\", low = 2.0, high = 1.0");
    assert!(turned.contains("bounds of 2 and 1"), "{turned}");
}

#[test]
fn bad_charts_are_named() {
    let good = set(r#"{ kind = "reported", of = "gain" }"#);
    let with = |more: &str| {
        read(&good.replacen("mixes = ", &format!("{more}\nmixes = "), 1)).map(|_| ()).unwrap_err()
    };
    let chart = |x: &str, more: &str| {
        with(&format!("chart = {{ kind = \"tradeoff\", x = {x}, y = {{ of = \"b\" }}{more} }}"))
    };
    let difference = chart("{ of = \"a - b\" }", "");
    assert!(
        difference.contains("claim.0.chart.x.of: \"a - b\"; expected a metric, or share()"),
        "{difference}"
    );
    let none = chart("{ of = \"mode(a)\" }", "");
    assert!(none.contains("\"mode(a)\" is no statistic"), "{none}");
    let log = chart("{ of = \"a\" }", ", beside = [{ of = \"c\", log = true }]");
    assert!(log.contains("claim.0.chart.beside.0.log: true; expected it of x and y"), "{log}");
    assert!(chart("{ of = \"a\", colour = 1 }", "").contains("colour"));
    let kind = with("chart = { kind = \"pie\" }");
    assert!(kind.contains("pie") && kind.contains("tradeoff"), "{kind}");
    let one = good.replacen("\"two\", \"one\"", "\"two\"", 1).replacen(
        "mixes = ",
        "chart = { kind = \"tradeoff\", x = { of = \"a\" }, y = { of = \"b\" } }\nmixes = ",
        1,
    );
    let one = read(&one).unwrap_err();
    assert!(one.contains("claim.0.chart: a chart of one scheme"), "{one}");
}

#[test]
fn a_chart_has_the_figures_of_each_scheme_and_changes_no_draws() {
    let plain = set(r#"{ kind = "reported", of = "a" }"#);
    let chart = "chart = { kind = \"tradeoff\", x = { of = \"median(a)\" }, y = { of = \"b\" }, \
                 beside = [{ of = \"c\" }] }\nmixes = ";
    let text = plain.replacen("mixes = ", chart, 1);
    let (without, with) = (read(&plain).unwrap(), read(&text).unwrap());
    let stream = |set: &ClaimSet| set.stream(&set.claims[0], Purpose::Verdict).unwrap();
    assert_eq!(stream(&with), stream(&without));

    let samples = samples(&[
        ("a", around(3.0, 1.0)),
        ("a_of_one", around(5.0, 1.0)),
        ("b", around(7.0, 0.0)),
        ("b_of_one", vec![vec![1.0, 1.0]; 9]),
    ]);
    let rows = entry(&with.claims[0], "embedded", &samples, Seed(1)).chart;
    let of = |row: usize, figure: usize| {
        let figure = &rows[row].figures[figure];
        (figure.of.as_str(), figure.value, figure.ci95.is_some())
    };
    assert_eq!(rows.iter().map(|r| r.scheme.as_str()).collect::<Vec<_>>(), ["two", "one"]);
    assert!((of(0, 0).1.unwrap() - 3.0).abs() < 1e-9 && of(0, 0).2);
    assert!((of(1, 0).1.unwrap() - 5.0).abs() < 1e-9 && of(1, 0).0 == "median(a)");
    assert_eq!((of(0, 1), of(1, 1)), (("b", Some(7.0), true), ("b", Some(1.0), false)));
    assert_eq!((of(0, 2), of(1, 2)), (("c", None, false), ("c", None, false)));
    assert!(entry(&without.claims[0], "embedded", &samples, Seed(1)).chart.is_empty());
    assert_eq!(entry(&with.claims[0], "embedded", &samples, Seed(1)).chart, rows);
}

#[test]
fn each_claim_of_minerva_says_a_scenario() {
    let set = ClaimSet::of_system(airlane_lab::registry(), "minerva").unwrap();
    for (claim, real) in set.claims.iter().flat_map(|c| [(c, false), (c, true)]) {
        let cell = claim.cells.first().map(|name| &set.variants[name]);
        let patches: Vec<&Patch> = cell.into_iter().collect();
        let stream = set.stream(claim, Purpose::Exploration).unwrap();
        let s = set
            .scenario(claim, claim.quick, &stream, real, &patches)
            .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(s.cases.count, claim.quick.pairs, "{}", claim.id);
        assert_eq!(s.seeds.len(), claim.quick.seeds);
        assert_eq!(s.schemes.len(), claim.compare.len());
        assert_eq!(s.schemes.last().unwrap().name, claim.compare[0], "baselines first");
        assert_eq!(s.network.rtt, Duration::from_millis(20), "{}: from the defaults", claim.id);
        let again = Scenario::from_bytes(
            airlane_lab::registry().scenarios(),
            s.source.text.as_bytes(),
            Path::new("x"),
            &[],
        )
        .unwrap();
        let whole = |s: &Scenario| format!("{:?} {:?} {:?}", s.network, s.schemes, s.participants);
        assert_eq!(whole(&again), whole(&s), "its text is a scenario");
    }
    let of = |id: &str, patches: &[&Patch]| {
        let claim = set.claims.iter().find(|c| c.id == id).unwrap();
        let stream = set.stream(claim, Purpose::Exploration).unwrap();
        set.scenario(claim, claim.full, &stream, false, patches).unwrap()
    };
    let fig2 = of("minerva.fig2", &[]);
    assert_eq!(Viewers::of(&fig2).viewers[1].start, Start::At(Duration::from_secs(70)));
    assert_eq!(
        fig2.network.bottleneck().unwrap().capacity,
        Capacity::Constant(Rate::from_mbps(7.0))
    );
    assert_eq!(
        fig2.network.bottleneck().unwrap().queue.discipline,
        Discipline::Pie { target: Duration::from_millis(15), ecn: false }
    );
    let (a, b) = (of("minerva.fig9.4", &[]), of("minerva.fig9.16", &[]));
    assert_eq!((a.cases, &a.seeds), (b.cases, &b.seeds), "one stream of mixes for all loads");
    assert_ne!(a.cases.seed, fig2.cases.seed);
    let bbr = of("minerva.bbr", &[]);
    assert_eq!(bbr.network.bottleneck().unwrap().queue.discipline, Discipline::DropTail);
    assert_eq!(bbr.schemes[0].control, ControllerConfig::Bbr);
}

#[test]
fn patches_change_what_they_name_and_nothing_else() {
    let set = read(&set(r#"{ kind = "reported", of = "gain" }"#)).unwrap();
    let claim = &set.claims[0];
    let stream = set.stream(claim, Purpose::Exploration).unwrap();
    let plain = set.scenario(claim, claim.full, &stream, false, &[]).unwrap();
    let patches = [&set.variants["four"]];
    let four = set.scenario(claim, claim.full, &stream, false, &patches).unwrap();
    assert_eq!(
        plain.network.bottleneck().unwrap().capacity,
        Capacity::Constant(Rate::from_mbps(10.0))
    );
    assert_eq!(
        four.network.bottleneck().unwrap().capacity,
        Capacity::Constant(Rate::from_mbps(4.0))
    );
    assert_eq!((four.network.rtt, four.cases), (plain.network.rtt, plain.cases));
    let weights = |s: &Scenario| s.schemes.iter().map(|s| s.control.weight()).collect::<Vec<_>>();
    assert_eq!((weights(&plain), weights(&four)), (vec![1.0, 2.0], vec![1.0, 3.0]));
}

#[test]
fn a_claim_changes_schemes_for_itself() {
    let rule = r#"{ kind = "reported", of = "gain" }"#;
    let changed = set(rule).replacen("mixes = ", "schemes = { two = { weight = 5 } }\nmixes = ", 1);
    let weights = |text: &str, patched: bool| -> Vec<f64> {
        let set = read(text).unwrap();
        let claim = &set.claims[0];
        let stream = set.stream(claim, Purpose::Exploration).unwrap();
        let four = &set.variants["four"];
        let patches: &[&Patch] = if patched { &[four] } else { &[] };
        let scene = set.scenario(claim, claim.quick, &stream, false, patches).unwrap();
        scene.schemes.iter().map(|s| s.control.weight()).collect()
    };
    assert_eq!(weights(&set(rule), false), [1.0, 2.0]);
    assert_eq!(weights(&changed, false), [1.0, 5.0]);
    assert_eq!(weights(&changed, true), [1.0, 3.0], "variants come last");
}

#[test]
fn a_scene_without_a_link_is_named() {
    let text = set(r#"{ kind = "reported", of = "gain" }"#).replace(", rate_bps = 10e6 }", " }");
    let set = read(&text).unwrap();
    let claim = &set.claims[0];
    let stream = set.stream(claim, Purpose::Exploration).unwrap();
    let e = set.scenario(claim, claim.full, &stream, false, &[]).unwrap_err().to_string();
    assert!(e.starts_with("x.one") && e.contains("link"), "{e}");
}

#[test]
fn verdicts_draw_from_a_stream_that_is_named_after_all_they_hang_on() {
    let rule = r#"{ kind = "above", of = "gain", bound = 2.0 }"#;
    let good = set(rule);
    let name = |text: &str, purpose| {
        let set = read(text).unwrap();
        set.stream(&set.claims[0], purpose).unwrap().name().to_owned()
    };
    let verdict = |text: &str| name(text, Purpose::Verdict);
    let first = verdict(&good);
    assert_eq!(first.len(), "m/0123456789abcdef".len(), "{first}");
    assert_eq!(first, verdict(&good.replace("statistic = \"a\"", "statistic = \"b\"")), "in words");
    assert_eq!(first, verdict(&good.replace("{ pairs = 12,", "{ pairs = 3,")), "a quick run's n");
    for (from, to) in [
        ("bound = 2.0", "bound = 2.5"),
        ("rule_text = \"r\"", "rule_text = \"s\""),
        ("{ pairs = 44,", "{ pairs = 45,"),
        ("seeds = 2 }", "seeds = 3 }"),
        ("rate_bps = 10e6", "rate_bps = 11e6"),
        ("[schemes.two]\nweight = 2", "[schemes.two]\nweight = 3"),
        ("{ viewer = [{}] }", "{ viewer = [{}], player = { buffer_cap_s = 39 } }"),
        ("mixes = \"m\"", "mixes = \"l\""),
    ] {
        let other = good.replacen(from, to, 1);
        assert_ne!(other, good, "{from}");
        assert_ne!(first, verdict(&other), "{to}");
    }
    // What a default says and what says it are the same.
    let said =
        good.replace("{ viewer = [{}] }", "{ viewer = [{}], player = { buffer_cap_s = 40 } }");
    assert_eq!(first, verdict(&said));
    assert_eq!(name(&good, Purpose::Exploration), "exploration/m");
}

#[test]
fn claims_with_the_same_mixes_draw_the_same_ones_and_change_them_together() {
    let set = ClaimSet::of_system(airlane_lab::registry(), "minerva").unwrap();
    let of = |set: &ClaimSet, id: &str| {
        let claim = set.claims.iter().find(|c| c.id == id).unwrap();
        set.stream(claim, Purpose::Verdict).unwrap().name().to_owned()
    };
    assert_eq!(of(&set, "minerva.fig9.4"), of(&set, "minerva.gap"));
    assert_ne!(of(&set, "minerva.fig9.4"), of(&set, "minerva.fig2"));
    let mut more = set.clone();
    more.claims.iter_mut().find(|c| c.id == "minerva.gap").unwrap().full.pairs += 1;
    assert_ne!(of(&set, "minerva.fig9.4"), of(&more, "minerva.fig9.4"));
    assert_eq!(of(&set, "minerva.fig2"), of(&more, "minerva.fig2"));
}

#[test]
fn streams_share_no_draws() {
    let set = read(&set(r#"{ kind = "reported", of = "gain" }"#)).unwrap();
    let claim = &set.claims[0];
    let verdict = set.stream(claim, Purpose::Verdict).unwrap();
    let streams = [verdict.of_cell("a"), set.stream(claim, Purpose::Exploration).unwrap(), verdict];
    let scenes = streams.map(|s| set.scenario(claim, claim.full, &s, false, &[]).unwrap());
    for (i, a) in scenes.iter().enumerate() {
        for b in &scenes[i + 1..] {
            assert_ne!((a.cases.seed, &a.seeds), (b.cases.seed, &b.seeds));
            assert!(a.seeds.iter().all(|seed| !b.seeds.contains(seed)));
        }
    }
}
