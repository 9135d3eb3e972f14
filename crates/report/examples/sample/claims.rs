//! Made-up claims, one of each kind.

use airlane_report::model::{Bound, Check, Claim, Verdict};

pub fn claims() -> Vec<Claim> {
    vec![
        Claim {
            id: "sample.late".to_owned(),
            statement: "A viewer who joins late sees better quality than under Cubic.".to_owned(),
            source: "Figure 2".to_owned(),
            content: "embedded".to_owned(),
            paper: "better".to_owned(),
            measured: Some(3.4),
            ci95: Some([1.9, 4.8]),
            unit: "VMAF".to_owned(),
            digits: 1,
            n: 60,
            rule: "above zero, interval excluding it".to_owned(),
            bound: Some(Bound::AtLeast(0.0)),
            verdict: Verdict::Holds,
            also: vec![
                Check {
                    statement: "The first viewer's quality falls by at most 3.".to_owned(),
                    measured: Some(-1.9),
                    ci95: Some([-2.4, -1.3]),
                    unit: "VMAF".to_owned(),
                    digits: 1,
                    rule: "at least −3".to_owned(),
                    bound: Some(Bound::AtLeast(-3.0)),
                    verdict: Verdict::Holds,
                },
                Check {
                    statement: "The first viewer's stalls grow by at most 0.1 s.".to_owned(),
                    measured: Some(0.02),
                    ci95: Some([-0.01, 0.06]),
                    unit: "s".to_owned(),
                    digits: 2,
                    rule: "at most 0.1 s".to_owned(),
                    bound: Some(Bound::AtMost(0.1)),
                    verdict: Verdict::Holds,
                },
            ],
            ..Claim::default()
        },
        Claim {
            id: "sample.share".to_owned(),
            statement: "Share of mixes whose worst viewer gains at least 7.65 VMAF.".to_owned(),
            source: "Figure 9, 10 Mbit/s".to_owned(),
            content: "embedded".to_owned(),
            paper: "32 %".to_owned(),
            paper_value: Some(32.0),
            measured: Some(27.0),
            ci95: Some([14.0, 41.0]),
            unit: "%".to_owned(),
            n: 44,
            rule: "at least 0.6 of the optimum's share (57 %)".to_owned(),
            bound: Some(Bound::AtLeast(34.2)),
            verdict: Verdict::Undecided,
            ..Claim::default()
        },
        Claim {
            id: "sample.worst".to_owned(),
            statement: "BBR's worst viewer is below Minerva's.".to_owned(),
            source: "Section 8.2".to_owned(),
            content: "embedded".to_owned(),
            paper: "below".to_owned(),
            measured: Some(1.2),
            ci95: Some([0.4, 2.1]),
            unit: "QoE".to_owned(),
            digits: 1,
            n: 44,
            rule: "below zero, interval excluding it".to_owned(),
            bound: Some(Bound::AtMost(0.0)),
            verdict: Verdict::Fails,
            ..Claim::default()
        },
        Claim {
            id: "sample.half".to_owned(),
            statement: "Video gets half of the link beside as many other flows.".to_owned(),
            source: "Section 5.4".to_owned(),
            content: "real".to_owned(),
            paper: "0.50".to_owned(),
            paper_value: Some(0.5),
            measured: Some(0.496),
            ci95: Some([0.481, 0.509]),
            digits: 3,
            n: 24,
            rule: "0.47 to 0.53".to_owned(),
            bound: Some(Bound::Within(0.47, 0.53)),
            verdict: Verdict::Holds,
            ..Claim::default()
        },
        Claim {
            id: "sample.load".to_owned(),
            statement: "The same share at 16 Mbit/s.".to_owned(),
            source: "Figure 9, 16 Mbit/s".to_owned(),
            content: "embedded".to_owned(),
            paper: "16 %".to_owned(),
            paper_value: Some(16.0),
            measured: Some(9.0),
            ci95: Some([2.0, 18.0]),
            unit: "%".to_owned(),
            n: 44,
            rule: "reported where the optimum reaches under 20 %".to_owned(),
            why: "The optimum reaches 11 %: the load counts as saturated.".to_owned(),
            ..Claim::default()
        },
    ]
}
