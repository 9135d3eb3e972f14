//! Keys of a scheme: its controller, its weight and Minerva.

use std::path::PathBuf;

use super::super::bounds::{Range, Word, range};
use super::super::reader::{NONE, Reader};
use super::super::types::*;
use super::network::queue;
use super::{RATE, words};

const WEIGHT: Range = range(0.01, 1000.0, "2.0");
const PART: Range = range(0.0, 1e3, "1");

#[derive(Clone, Copy, PartialEq)]
pub(super) enum ControllerKind {
    Reno,
    Cubic,
    Fast,
    Bbr,
    Explicit,
}

words! {
    ControllerKind: "reno" => Self::Reno, "cubic" => Self::Cubic, "fast" => Self::Fast,
        "bbr" => Self::Bbr, "explicit" => Self::Explicit;
    WeightRule: "synchronised" => Self::Synchronised, "textbook" => Self::Textbook;
    Utility: "client-aware" => Self::ClientAware, "basic" => Self::Basic;
    Normalisation: "fixed-rate" => Self::FixedRate, "mean-curve" => Self::MeanCurve,
        "fitted" => Self::Fitted, "none" => Self::None;
    Fairness: "max-min" => Self::MaxMin, "proportional" => Self::Proportional;
    Value: "on-demand" => Self::OnDemand, "table" => Self::Table, "fitted" => Self::Fitted,
        "optimal" => Self::Optimal, "sent" => Self::Sent;
}

pub(super) fn control(
    r: &mut Reader<'_>,
    default: Option<ControllerKind>,
    default_text: &str,
) -> Option<Control> {
    let kind = r.word_or_none("controller", default_text, "The congestion controller.").or(default);
    let weight = r.number_or_none(
        "weight",
        WEIGHT,
        "1",
        "How many plain connections Cubic or FAST counts for; under Minerva, until the first update.",
    );
    let rule = r.word_or_none(
        "weight_rule",
        "\"synchronised\"",
        "How the weight acts: by how synchronised the losses are, or as if they were independent.",
    );
    let rate =
        r.rate_or_none("rate_bps", RATE, "required for \"explicit\"", "The rate of \"explicit\".");
    let cubic = kind == Some(ControllerKind::Cubic);
    if !cubic && kind != Some(ControllerKind::Fast) && r.has("weight") {
        let found = "found without controller = \"cubic\" or \"fast\"";
        r.fail("weight", found, "only Cubic and FAST have a weight");
    }
    if !cubic && r.has("weight_rule") {
        r.fail("weight_rule", "found without controller = \"cubic\"", "only Cubic has one");
    }
    match kind {
        Some(ControllerKind::Explicit) if !r.has("rate_bps") => {
            r.fail("rate_bps", "missing", "expected the rate to send at, such as 4e6");
        }
        Some(ControllerKind::Explicit) => {}
        _ if r.has("rate_bps") => {
            let found = "found without controller = \"explicit\"";
            r.fail("rate_bps", found, "only that controller has a rate");
        }
        _ => {}
    }
    Some(match kind? {
        ControllerKind::Reno => Control::Reno,
        ControllerKind::Cubic => Control::Cubic {
            weight: weight.unwrap_or(1.0),
            rule: rule.unwrap_or(WeightRule::Synchronised),
        },
        ControllerKind::Fast => Control::Fast { weight: weight.unwrap_or(1.0) },
        ControllerKind::Bbr => Control::Bbr,
        ControllerKind::Explicit => Control::Explicit(rate.unwrap_or_default()),
    })
}

pub(super) fn scheme(r: &mut Reader<'_>) -> Scheme {
    let name = r.name_or_none("name", "required", "Name of rows and files.");
    if !r.has("name") {
        r.fail("name", "missing", "expected a name, such as \"cubic\"");
    }
    let name = name.unwrap_or_default();
    let title = r.text_or_none("title", "`name`", "Name for people.");
    let note = r.text_or_none("note", NONE, "One sentence for people who do not know it.");
    let control = control(r, Some(ControllerKind::Cubic), "\"cubic\"").unwrap_or(Control::Reno);
    let queue = r.table("queue", "`link.queue`", "The queue under this scheme.", queue);
    let minerva = r.table(
        "minerva",
        NONE,
        "Minerva sets the weights; keys left out have the algorithm's defaults.",
        minerva,
    );
    if minerva.is_some() && !matches!(control, Control::Cubic { .. } | Control::Fast { .. }) {
        let expected = "expected controller = \"cubic\" or \"fast\", the ones with a weight";
        r.fail("minerva", "found beside a controller without weights", expected);
    }
    Scheme {
        title: title.unwrap_or_else(|| name.clone()),
        note: note.unwrap_or_default(),
        name,
        control,
        queue,
        minerva,
    }
}

fn minerva(r: &mut Reader<'_>) -> Minerva {
    const OWN: &str = "the algorithm's";
    let minerva = Minerva {
        alpha: r.number_or_none("alpha", range(1e-3, 1e3, "1.96"), OWN, "Factor on every weight."),
        mu: r.number_or_none(
            "mu",
            range(1.0, 1e3, "1.5"),
            NONE,
            "Weights stay within 1/mu and mu of the scheme's `weight`.",
        ),
        utility: r.word_or_none(
            "utility",
            OWN,
            "What is made equal among viewers; \"basic\" if `fairness` is \"proportional\".",
        ),
        normalisation: r.word_or_none(
            "normalisation",
            OWN,
            "What the normalisation averages over the corpus: the player's QoE at constant rates, \
             mean curves, exponentials that fit the first; or that there is none.",
        ),
        popularity: r
            .text_or_none(
                "popularity",
                "uniform",
                "How popular each title is, which the normalisation averages with: a CSV file of \
                 `title,popularity` ([chunk tables](chunk-tables.md)); the path is relative to the \
                 scenario.",
            )
            .map(PathBuf::from),
        normalisation_file: r
            .text_or_none(
                "normalisation_file",
                NONE,
                "A normalisation that `airlane corpus normalise` wrote, instead of computing one; \
                 its alpha counts unless `alpha` is given. The path is relative to the scenario.",
            )
            .map(PathBuf::from),
        fairness: r.word_or_none(
            "fairness",
            OWN,
            "What the weights make equal: utility, or what more rate brings over what is there.",
        ),
        value: r.word_or_none(
            "value",
            OWN,
            "How the value function is had: simulated with every update, from a table, from \
             exponentials that fit the table, as the best that any player could do, or sent by the \
             player.",
        ),
        past: r.number_or_none(
            "past",
            PART,
            OWN,
            "Weight of the mean QoE of the past in the utility, beside 1 for the current chunk.",
        ),
        future: r.number_or_none(
            "future",
            PART,
            OWN,
            "Weight of the value function in the utility, beside 1 for the current chunk.",
        ),
        horizon: r
            .count_or_none("horizon", (1, 100), OWN, "Chunks that the value function looks ahead.")
            .map(|n| n as usize),
        interval_rtts: r
            .count_or_none("interval_rtts", (1, 1000), OWN, "Round trips between updates.")
            .map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
        conservative: r.flag_or_none(
            "conservative",
            OWN,
            "Whether rates are lowered by half the deviation of the last ones.",
        ),
        smoothed: r.flag_or_none("smoothed", OWN, "Whether rates and weights are smoothed."),
    };
    for key in ["normalisation", "popularity"] {
        if r.has("normalisation_file") && r.has(key) {
            let found = "found beside normalisation_file";
            r.fail(key, found, "expected one of them: the file was computed with its own");
        }
    }
    minerva
}
