//! Sets of claims: how they are read, the scenes that they say, and the streams of their draws.

use std::path::Path;
use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_judge::ClaimWorlds;
use airlane_judge::claims::*;
use airlane_judge::request::ReproduceRequest;
use airlane_lab::workloads::vod::{Start, Viewers};
use airlane_scenario::{Capacity, ControllerConfig, Discipline, Scenario};
use airlane_sim::Common;
use airlane_sim::workload::Unit;

use crate::claims::{around, read, samples, set, units};

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
        "no claims of \"nothing\"; expected one of minerva, cupid, fbdt, ows, octopus, plum, or all"
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
    let rows = entry(&with.claims[0], "embedded", (&samples, &units(Unit::ONE)), Seed(1)).chart;
    let of = |row: usize, figure: usize| {
        let figure = &rows[row].figures[figure];
        (figure.of.as_str(), figure.value, figure.ci95.is_some())
    };
    assert_eq!(rows.iter().map(|r| r.scheme.as_str()).collect::<Vec<_>>(), ["two", "one"]);
    assert!((of(0, 0).1.unwrap() - 3.0).abs() < 1e-9 && of(0, 0).2);
    assert!((of(1, 0).1.unwrap() - 5.0).abs() < 1e-9 && of(1, 0).0 == "median(a)");
    assert_eq!((of(0, 1), of(1, 1)), (("b", Some(7.0), true), ("b", Some(1.0), false)));
    assert_eq!((of(0, 2), of(1, 2)), (("c", None, false), ("c", None, false)));
    assert!(
        entry(&without.claims[0], "embedded", (&samples, &units(Unit::ONE)), Seed(1))
            .chart
            .is_empty()
    );
    assert_eq!(
        entry(&with.claims[0], "embedded", (&samples, &units(Unit::ONE)), Seed(1)).chart,
        rows
    );
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
fn quick_runs_change_scenes_and_those_of_verdicts_stay() {
    let plain = set(r#"{ kind = "reported", of = "gain" }"#);
    let quick = "quick_scenario = { duration_s = 30 }\n";
    let shorter = plain.replacen("schema = 3", &format!("{quick}schema = 3"), 1);
    let own = "quick_scenario = { duration_s = 60 }\nmixes = ";
    let durations = |text: &str| {
        let set = read(text).unwrap();
        let claim = &set.claims[0];
        [Purpose::Exploration, Purpose::Verdict].map(|purpose| {
            let stream = set.stream(claim, purpose).unwrap();
            let scene = set.scenario(claim, claim.quick, &stream, false, &[]).unwrap();
            (stream.name().to_owned(), scene.duration.as_secs())
        })
    };
    let [[exploration, verdict], [shorter, same], [own, still]] =
        [&plain, &shorter, &shorter.replacen("mixes = ", own, 1)].map(|text| durations(text));
    assert_eq!((shorter.1, own.1), (30, 60));
    assert!(exploration.1 > 60, "{exploration:?}");
    assert_eq!([&same, &still], [&verdict; 2], "draws and scenes of verdicts");
}

/// Quick runs of a claim may have fewer schemes and cells, and then leave out what is shown of the others.
#[test]
fn quick_runs_have_fewer_schemes_and_cells_where_a_claim_says_so() {
    let rule = r#"{ kind = "reported", of = "gain" }"#;
    let variants = "[variants.a]\n[variants.b]\n[[claim]]";
    let own = "cells = [\"a\", \"b\"]\nquick_compare = [\"two\"]\nquick_cells = [\"b\"]\n\
               beside = [\"worst\", \"worst_of_one\", \"worst_over_one\", \"worst@a\", \"worst@b\"]\nmixes = ";
    let text = set(rule).replacen("[[claim]]", variants, 1).replacen("mixes = ", own, 1);
    let set = read(&text).unwrap();
    let [verdict, quick] =
        [Purpose::Verdict, Purpose::Exploration].map(|purpose| set.claims_for(purpose)[0].clone());
    assert_eq!((verdict.compare.len(), verdict.cells.len(), verdict.beside.len()), (2, 2, 5));
    assert_eq!((quick.compare, quick.cells), (vec!["two".to_owned()], vec!["b".to_owned()]));
    assert_eq!(quick.beside, ["worst", "worst@b"]);
    let error = |from: &str, to: &str| read(&text.replacen(from, to, 1)).unwrap_err();
    let other = error("quick_compare = [\"two\"]", "quick_compare = [\"one\"]");
    assert!(other.contains("quick_compare: \"one\"; expected the first of `compare`"), "{other}");
    let unknown = error("quick_compare = [\"two\"]", "quick_compare = [\"three\"]");
    assert!(unknown.contains("quick_compare: \"three\"; expected a name of"), "{unknown}");
    let cell = error("quick_cells = [\"b\"]", "quick_cells = [\"c\"]");
    assert!(cell.contains("quick_cells: \"c\"; expected a name of `cells`"), "{cell}");
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

/// A condition is told in a unit of what it measures, and compares figures of one unit: in every claim
/// that ships.
#[test]
fn every_claim_has_metrics_that_are_known_and_a_unit_of_them() {
    let systems = airlane_lab::registry().claims().map(|(system, _)| system);
    for (system, quick) in systems.flat_map(|system| [(system, true), (system, false)]) {
        let sets = airlane_lab::claim_sets(system).unwrap();
        let request = ReproduceRequest {
            common: Common::default(),
            system: system.to_owned(),
            quick,
            only: Vec::new(),
            fresh: false,
            adopt: None,
            record: None,
        };
        let worlds = ClaimWorlds::new(sets, &request).unwrap_or_else(|e| panic!("{system}: {e}"));
        assert!(worlds.planned() > 0, "{system}");
    }
}
