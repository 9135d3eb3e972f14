//! Keys of a scheme: its controller, its weight, its queue.

use super::super::bounds::{Range, Word, range};
use super::super::reader::{NONE, Reader};
use super::super::types::*;
use super::RATE;
use super::network::scheme_queue;
use crate::participants::SchemeParts;
use crate::registry::Registry;
use crate::words;
use airlane_congestion::CustomController;

const WEIGHT: Range = range(0.01, 1000.0, "2.0");

words! {
    Algorithm: "reno" => Self::Reno, "cubic" => Self::Cubic,
        "coupled" => Self::Coupled, "fast" => Self::Fast, "bbr" => Self::Bbr, "explicit" => Self::Explicit,
        "abc" => Self::Abc, "cupid" => Self::Cupid, "ledbat" => Self::Ledbat,
        "prague" => Self::Prague, "scream" => Self::Scream, "bbr3" => Self::Bbr3;
    Fallback: "cubic" => Self::Cubic, "bbr" => Self::Bbr;
    RuleKind: "paper" => Self::Paper, "default" => Self::Default;
    Charging: "literal" => Self::Literal, "packed" => Self::Packed;
    WeightRule: "synchronised" => Self::Synchronised, "textbook" => Self::Textbook;
}

/// Reads a congestion controller with its weight; one that is not named is `default`, described as
/// `default_text`.
pub fn control(
    r: &mut Reader<'_>,
    default: Option<Algorithm>,
    default_text: &str,
) -> Option<ControllerConfig> {
    let own = Algorithm::WORDS.iter().map(|(word, kind)| (*word, Ok(*kind)));
    let brought = r.registry().controllers().iter();
    let brought = brought.map(|kind| (kind.name(), Err(CustomController(*kind))));
    let choices: Vec<_> = own.chain(brought).collect();
    let doc = "The congestion controller.";
    let choice = r.choice_or_none("controller", &choices, default_text, doc);
    let kind = match choice {
        Some(Ok(kind)) => Some(kind),
        Some(Err(_)) => None,
        None => default,
    };
    let weight = r.number_or_none(
        "weight",
        WEIGHT,
        "1",
        "How many plain connections Cubic or FAST counts for, or equal parts of the air \"cupid\" takes; where weights are set while it runs, until the first update.",
    );
    let rule = r.word_or_none(
        "weight_rule",
        "\"synchronised\"",
        "How the weight acts: by how synchronised the losses are, or as if they were independent.",
    );
    let rate =
        r.rate_or_none("rate_bps", RATE, "required for \"explicit\"", "The rate of \"explicit\".");
    let fallback = r.word_or_none(
        "fallback",
        "\"cubic\"",
        "What \"cupid\" does without reports, or where the air is not what holds it back.",
    );
    if kind != Some(Algorithm::Cupid) && r.has("fallback") {
        let found = "found without controller = \"cupid\"";
        r.fail("fallback", found, "only that controller has one");
    }
    let bbr = r.section("bbr", "Options of \"bbr\".", bbr_config);
    if kind != Some(Algorithm::Bbr) && r.has("bbr") {
        let found = "found without controller = \"bbr\"";
        r.fail("bbr", found, "only that controller has these options");
    }
    let cubic = kind == Some(Algorithm::Cubic);
    let has_weight = kind.is_some_and(|kind| ControllerConfig::new(kind).has_weight());
    if !has_weight && r.has("weight") {
        let found = "found without controller = \"cubic\", \"fast\" or \"cupid\"";
        r.fail("weight", found, "only Cubic, FAST and Cupid have a weight");
    }
    if !cubic && r.has("weight_rule") {
        r.fail("weight_rule", "found without controller = \"cubic\"", "only Cubic has one");
    }
    match kind {
        Some(Algorithm::Explicit) if !r.has("rate_bps") => {
            r.fail("rate_bps", "missing", "expected the rate to send at, such as 4e6");
        }
        Some(Algorithm::Explicit) => {}
        _ if r.has("rate_bps") => {
            let found = "found without controller = \"explicit\"";
            r.fail("rate_bps", found, "only that controller has a rate");
        }
        _ => {}
    }
    if let Some(Err(kind)) = choice {
        return Some(ControllerConfig::Custom(kind));
    }
    Some(match kind? {
        Algorithm::Reno => ControllerConfig::Reno,
        Algorithm::Cubic => ControllerConfig::Cubic(CubicConfig {
            weight: weight.unwrap_or(1.0),
            rule: rule.unwrap_or_default(),
            ..CubicConfig::default()
        }),
        Algorithm::Coupled => ControllerConfig::Coupled,
        Algorithm::Fast => ControllerConfig::Fast { weight: weight.unwrap_or(1.0) },
        Algorithm::Bbr if bbr == BbrConfig::default() => ControllerConfig::Bbr,
        Algorithm::Bbr => ControllerConfig::TunedBbr(bbr),
        Algorithm::Explicit => ControllerConfig::Explicit { rate: rate.unwrap_or_default() },
        Algorithm::Abc => ControllerConfig::Abc,
        Algorithm::Ledbat => ControllerConfig::Ledbat,
        Algorithm::Prague => ControllerConfig::Prague,
        Algorithm::Scream => ControllerConfig::Scream,
        Algorithm::Bbr3 => ControllerConfig::Bbr3,
        Algorithm::Cupid => ControllerConfig::Cupid {
            fallback: fallback.unwrap_or_default(),
            weight: weight.unwrap_or(1.0),
        },
    })
}

/// Reads the options of BBR version 1.
fn bbr_config(r: &mut Reader<'_>) -> BbrConfig {
    let default = BbrConfig::default();
    BbrConfig {
        rtprop_window: r.time(
            "rtprop_window_s",
            range(0.1, 1000.0, "100"),
            default.rtprop_window.as_secs_f64(),
            "Lifetime of the minimum round-trip time. When it expires, ProbeRTT holds four packets in flight for 200 ms.",
        ),
        min_bandwidth_window: r.time(
            "min_bandwidth_window_s",
            range(0.0, 10.0, "0.6"),
            default.min_bandwidth_window.as_secs_f64(),
            "Minimum length of the bandwidth filter's window, which has at least ten round trips.",
        ),
        drop_pacing_gain: r.number(
            "drop_pacing_gain",
            range(0.0, 10.0, "0"),
            default.drop_pacing_gain,
            "Minimum pacing gain for 5 s after an Octopus queue dropped a packet on purpose; 0 keeps the draft's gains.",
        ),
    }
}

pub(super) fn scheme(registry: &Registry, r: &mut Reader<'_>, network: &Network) -> Scheme {
    let name = r.name_or_none("name", "required", "Name of rows and files.");
    if !r.has("name") {
        r.fail("name", "missing", "expected a name, such as \"cubic\"");
    }
    let name = name.unwrap_or_default();
    let title = r.text_or_none("title", "`name`", "Name for people.");
    let note = r.text_or_none("note", NONE, "One sentence for people who do not know it.");
    let control = control(r, Some(Algorithm::Cubic), "\"cubic\"").unwrap_or(ControllerConfig::Reno);
    let queue = r.table("queue", "that of the access", "The queue under this scheme.", |r| {
        scheme_queue(r, network)
    });
    let cupid = r.section(
        "cupid",
        "What agents of Cupid do on hosts on a WiFi ([Cupid](../design/cupid.md)).",
        cupid,
    );
    let parts = registry.workloads().iter().filter_map(|w| w.read_scheme(r, &control)).collect();
    Scheme {
        title: title.unwrap_or_else(|| name.clone()),
        note: note.unwrap_or_default(),
        name,
        control,
        queue,
        cupid,
        parts: SchemeParts::new(parts),
    }
}

fn cupid(r: &mut Reader<'_>) -> Cupid {
    let default = Cupid::default();
    let rule = r.word(
        "rule",
        default.rule,
        "The rule as published, or the one that keeps the air that others leave unused.",
    );
    let charging = r.word(
        "charging",
        default.charging,
        "Airtime is charged as it was used, or as if aggregates had been full.",
    );
    let eta = r.number("eta", range(0.1, 1.0, "0.8"), default.eta, "Utilisation that is aimed at.");
    let memory = r.time(
        "memory_s",
        range(0.2, 5.0, "1"),
        default.memory.as_secs_f64(),
        "How long a station counts after its last frame above 200 bytes.",
    );
    let interval = r.time(
        "interval_s",
        range(0.001, 0.255, "0.04"),
        default.interval.as_secs_f64(),
        "Time between reports.",
    );
    Cupid { rule, charging, eta, memory, interval }
}
