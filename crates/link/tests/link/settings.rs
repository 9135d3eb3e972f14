//! Links from KEY=VALUE, and what is said of bad ones.

use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_link::LinkSpec;
use airlane_net::{
    GilbertElliott, Impairment, JitterLaw, Limit, OctopusConfig, PeriodicLoss, PieConfig,
    QueueSpec, Supply,
};
use proptest::prelude::*;

fn down(settings: &[&str]) -> Result<LinkSpec, String> {
    LinkSpec::from_settings(&[], settings, Seed(1)).map_err(|e| e.to_string())
}

#[test]
fn keys_mean_what_they_mean_in_a_scenario() {
    let spec = down(&["rate_bps=10e6", "rtt_s=0.08", "queue.limit_bdp=2"]).expect("sound");
    assert_eq!(spec.down.supply, Supply::Constant(Rate::from_mbps(10.0)));
    assert_eq!(spec.down.delay, Duration::from_millis(40));
    // 10 Mbit/s, 40 ms round trip (nothing is said of the way up), twice.
    assert_eq!(spec.down.queue, QueueSpec::DropTail(Limit::Bytes(100_000)));
    assert_eq!(spec.up.supply, Supply::Constant(Rate::from_mbps(10.0)));
    assert_eq!(spec.up.queue, QueueSpec::DropTail(Limit::Packets(1_000)));

    let all = [
        "rate_bps=20e6",
        "delay_s=0.01",
        "jitter_s=0.002",
        "queue.kind=pie",
        "queue.target_s=0.02",
        "queue.limit_packets=100",
        "loss.kind=gilbert-elliott",
        "loss.p_good_to_bad=0.01",
        "loss.p_bad_to_good=0.5",
    ];
    let spec = LinkSpec::from_settings(&all, &all, Seed(3)).expect("sound");
    let target = Duration::from_millis(20);
    let pie = PieConfig { target, ..PieConfig::default() };
    assert_eq!(spec.up.queue, QueueSpec::Pie(Limit::Packets(100), pie));
    let chain = GilbertElliott { to_bad: 0.01, to_good: 0.5, loss_good: 0.0, loss_bad: 1.0 };
    let law = JitterLaw::Uniform(Duration::from_millis(2));
    let both = [Impairment::GilbertElliott(chain), Impairment::Jitter { law, reorder: false }];
    assert_eq!(spec.up.impairments, both);
    assert_eq!((spec.up, spec.seed), (spec.down, Seed(3)));

    let periodic = down(&["rate_bps=1e6", "loss.kind=periodic", "loss.every=10"]).expect("sound");
    let law = PeriodicLoss { every: 10, first: 9 };
    assert_eq!(periodic.down.impairments, [Impairment::PeriodicLoss(law)]);
    // Without delay a limit in BDP counts with 20 ms: 1.5 x 1 Mbit/s x 20 ms.
    assert_eq!(periodic.down.queue, QueueSpec::DropTail(Limit::Bytes(3_750)));

    let steps = down(&["steps=[[0, 10e6], [60, 4e6]]"]).expect("sound");
    let Supply::Profile(profile) = steps.down.supply else { panic!("steps are a profile") };
    let second = (Duration::from_secs(60), Rate::from_mbps(4.0));
    assert_eq!(profile.steps().nth(1), Some(second));
    assert_eq!(profile.period(), None);

    let kinds = [
        ("queue.kind=abc", "Abc"),
        ("queue.kind=octopus", "Octopus"),
        ("queue.kind=fq-codel", "FqCodel"),
    ];
    for (kind, is) in kinds {
        let spec = down(&["rate_bps=1e6", kind]).expect("sound");
        assert!(format!("{:?}", spec.down.queue).starts_with(is), "{kind}: {:?}", spec.down.queue);
    }
    let octopus = ["rate_bps=1e6", "queue.kind=octopus", "queue.slack=true", "queue.headless=true"];
    let octopus = [&octopus[..], &["queue.pdu_set_id=6", "queue.pdu_set_slack_s=0.1"]].concat();
    let pdu_set_slack = Duration::from_millis(100);
    let config = OctopusConfig {
        slack: true,
        headless: true,
        per_packet: false,
        pdu_set_id: Some(6),
        pdu_set_slack,
    };
    let of = down(&octopus).expect("sound").down.queue;
    assert!(matches!(of, QueueSpec::Octopus(_, found) if found == config), "{of:?}");
    let marking = ["rate_bps=1e6", "queue.kind=pie", "queue.ecn=true"];
    let of = down(&marking).expect("sound").down.queue;
    assert!(matches!(of, QueueSpec::Pie(_, PieConfig { ecn: true, .. })), "{of:?}");

    let later = down(&["rate_bps=1e6", "rate_bps=2e6"]).expect("sound");
    assert_eq!(later.down.supply.mean(), Rate::from_mbps(2.0));
}

#[test]
fn traces_are_read_scaled_and_made() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("every-ms.trace");
    std::fs::write(&file, "1\n2\n3\n").expect("a file");
    let trace = format!("trace={}", file.display());
    let spec = down(&[&trace, "trace_offset_s=0.001"]).expect("sound");
    assert!(matches!(spec.down.supply, Supply::Opportunities(_)));
    assert_eq!(spec.down.supply.mean(), Rate::from_mbps(12.0));
    assert_eq!(spec.down.offset, Duration::from_millis(1));
    let spec = down(&[&trace, "trace_mean_bps=6e6", "trace_scale=2"]).expect("sound");
    assert_eq!(spec.down.supply.mean(), Rate::from_mbps(12.0));
    let spec = down(&["generator=lte", "trace_mean_bps=8e6"]).expect("sound");
    assert!((spec.down.supply.mean().mbps() - 8.0).abs() < 0.01);
    std::fs::write(&file, "1\nx\n").expect("a file");
    let message = down(&[&trace]).expect_err("no trace");
    assert!(message.contains("every-ms.trace:2: "), "{message}");
}

#[test]
fn bad_settings_are_named() {
    for (settings, says) in [
        (&[][..], "down.rate_bps: missing; expected exactly one of"),
        (&["rate_bps"], "down.rate_bps: no value; expected KEY=VALUE"),
        (&["rate=1e6"], "down.rate: unknown key; did you mean `rate_bps`?"),
        (
            &["rate_bps=fast"],
            "down.rate_bps: found the text \"fast\"; expected a number from 1000 to",
        ),
        (&["rate_bps=10"], "down.rate_bps: found 10; expected a number from 1000 to"),
        (&["rate_bps=nan"], "down.rate_bps: found NaN; expected a number from 1000 to"),
        (&["rate_bps=1e6", "generator=lte"], "down.generator: found 2 capacities"),
        (&["rate_bps=1e6", "trace_scale=2"], "down.trace_scale: found without a trace"),
        (&["rate_bps=1e6", "trace_column=2"], "down.trace_column: "),
        (&["rate_bps=1e6", "generator_outages=0.1"], "down.generator_outages: found without a"),
        (&["generator=lte", "generator_outages=0.1"], "down.generator_outages: found beside"),
        (&["generator=wigig-los", "generator_outages=2"], "down.generator_outages: found 2;"),
        (&["generator=6g"], "down.generator: found the text \"6g\"; expected one of"),
        (&["trace=/nowhere"], "/nowhere: cannot read the trace"),
        (&["steps=[[0,1e6],[0,2e6]]"], "down.steps: found 0 after 0; expected rising times"),
        (&["steps=[[0,0]]"], "down.steps: found no capacity at any time"),
        (&["steps=0,1"], "down.steps: found the text \"0,1\"; expected"),
        (&["rate_bps=1e6", "delay_s=0.1", "rtt_s=0.2"], "down.rtt_s: found beside delay_s"),
        (&["rate_bps=1e6", "delay_s=-1"], "down.delay_s: found -1; expected a number from 0 to 60"),
        (
            &["rate_bps=1e6", "queue.kind=red"],
            "down.queue.kind: found the text \"red\"; expected one of",
        ),
        (&["rate_bps=1e6", "queue.target_s=0.1"], "down.queue.target_s: found beside kind"),
        (
            &["rate_bps=1e6", "queue.limit_bdp=1", "queue.limit_packets=5"],
            "down.queue.limit_packets: found several limits",
        ),
        (&["rate_bps=1e6", "queue.limit_packets=1.5"], "down.queue.limit_packets: found 1.5;"),
        (&["rate_bps=1e6", "loss.p=2"], "down.loss.p: found 2; expected a number from 0 to 1"),
        (&["rate_bps=1e6", "loss.kind=bernoulli"], "down.loss.p: missing"),
        (&["rate_bps=1e6", "loss.p=0.1", "loss.every=5"], "down.loss.every: found beside"),
        (&["rate_bps=1e6", "loss.kind=periodic"], "down.loss.every: missing"),
    ] {
        let message = down(settings).expect_err("bad");
        assert!(message.contains(says), "{settings:?}: {message}");
    }
    let up = LinkSpec::from_settings(&["loss.p=7"], &["rate_bps=1e6"], Seed(1));
    assert!(up.expect_err("bad").to_string().starts_with("up.loss.p: found 7;"));
}

proptest! {
    /// Whatever is written, the answer is a link or a message.
    #[test]
    fn nothing_panics(
        settings in proptest::collection::vec(
            prop_oneof![
                "(rate_bps|steps|generator|delay_s|rtt_s|jitter_s|trace_offset_s)=[-0-9.e\\[\\], a-z]{0,12}",
                "(queue|loss)\\.(kind|p|every|first|limit_bdp|limit_bytes|bdp_rtt_s)=[-0-9.ea-z]{0,10}",
                ".{0,20}",
            ],
            0..5,
        ),
    ) {
        let _ = LinkSpec::from_settings(&settings, &settings, Seed(1));
    }
}
