//! The claims about browsers, and whether what they measured bears them out.
//!
//! - **Prediction**: under Minerva, with our MPC in all players, the laboratory's quality of each
//!   player is within 5 points of what its browser saw, and its rate within 10 %: the 95 % interval
//!   of the mean over rounds, of the difference or of the logarithm of the ratio.
//! - **Gain**: the worst player's QoE under Minerva is above that under plain Cubic: the 95 %
//!   interval of the differences, round by round, is above 0.
//!
//! As for all claims, fewer than ten rounds decide nothing.
//!
//! A run that used more than 85 % of the machine's processors is void: its browsers waited for
//! the machine and not for the link. Without a run that is not there is no verdict.

use airlane_abr::PlayerModel;
use airlane_base::Time;
use airlane_media::Metric;
use airlane_quality::{MIN_CLUSTERS, stats};
use airlane_report::model::Bound;

use super::super::{NAME, Output, metric_unit};
use super::record::{Record, Rule, Run, Scheme};
use super::scenario::{Side, named};
use airlane_judge::reporting::{ReportedRun, words};
use airlane_judge::summary::{CheckEntry, ClaimEntry, PaperValue, Verdict};
use airlane_sim::Samples;
use airlane_sim::plan::RunKey;
use airlane_sim::workload::{ActorResult, Unit};
use airlane_sim::world::RunOutput;

/// Share of the processors' time from which on a run is void.
pub(super) const MAX_CPU: f64 = 0.85;
/// Points by which a predicted quality may be off.
const QUALITY_WITHIN: f64 = 5.0;
/// Percent by which a predicted rate may be off.
const RATE_WITHIN: f64 = 10.0;

/// Results of a player.
#[derive(Clone, Copy, Debug)]
struct PlayerResult {
    /// Mean over the chunks that began to play.
    quality: Option<f64>,
    rate_bps: Option<f64>,
}

/// Results of one run that claims are judged by.
#[derive(Clone, Debug)]
pub(super) struct JudgedRun {
    key: RunKey,
    side: Side,
    scheme: Scheme,
    /// True if a browser's run counts; the laboratory's all do.
    valid: bool,
    players: Vec<PlayerResult>,
    min_qoe: Option<f64>,
}

impl JudgedRun {
    pub(super) fn of(
        (side, scheme): (Side, Scheme),
        run: Option<&Run>,
        output: &RunOutput,
        told: &ReportedRun,
    ) -> Self {
        let viewers = Output::of(output);
        let rates = viewers.iter().map(|v| rate_bps(&v.model, output.ended));
        let actors = told.result.of(NAME).zip(rates);
        let quality = |a: &ActorResult| stats::mean(a.samples_of("quality"));
        let players = actors.map(|(a, rate_bps)| PlayerResult { quality: quality(a), rate_bps });
        let (key, valid) = (told.key, run.is_none_or(is_valid));
        let min_qoe = told.result.value("min_qoe");
        Self { key, side, scheme, valid, players: players.collect(), min_qoe }
    }
}

/// True if browsers had enough of the machine.
pub(super) fn is_valid(run: &Run) -> bool {
    run.cpu <= MAX_CPU
}

/// Bits of the chunks that arrived, over the time from the player's start to the last arrival.
fn rate_bps(model: &PlayerModel, ended: Time) -> Option<f64> {
    let arrived = model.chunks().iter().filter(|c| c.arrived <= ended);
    let last = arrived.clone().map(|c| c.arrived).max()?;
    let bits: f64 = arrived.map(|c| model.setting().bits(c.chunk)[c.rung]).sum();
    let span = (last - model.start()).as_secs_f64();
    (span > 0.0).then(|| bits / span)
}

/// The claims that can be judged of these runs.
pub(super) fn claims(record: &Record, runs: &[JudgedRun], content: &str) -> Vec<ClaimEntry> {
    let own_rule = record.players().iter().all(|p| p.abr == Rule::Mpc);
    let schemes = &record.setup.schemes;
    let mut claims = Vec::new();
    for &scheme in schemes {
        claims.extend(prediction(record, runs, scheme, content, own_rule));
    }
    if schemes.contains(&Scheme::Plain) && schemes.contains(&Scheme::Minerva) {
        claims.push(gain(record, runs, content, own_rule));
    }
    claims
}

/// Error of the laboratory in a figure of a player, with its 95 % interval.
#[derive(Clone, Copy, Debug)]
struct PredictionError {
    measured: f64,
    ci95: Option<[f64; 2]>,
}

impl PredictionError {
    /// The mean of the laboratory's runs against each round that counts; `None` without one, or if
    /// one has no figure.
    fn of(
        runs: &[JudgedRun],
        scheme: Scheme,
        player: usize,
        (name, predicted): (&str, &PredictedFigure),
    ) -> Option<Self> {
        let lab = mean(runs, (Side::Laboratory, scheme), player, predicted.of)?;
        let is_round = |r: &&JudgedRun| r.valid && (r.side, r.scheme) == (Side::Browsers, scheme);
        let off = runs.iter().filter(is_round).map(|run| {
            let seen = (predicted.of)(run.players.get(player)?)?;
            Some((predicted.difference)(lab, seen))
        });
        let rounds = Samples(vec![off.collect::<Option<Vec<f64>>>()?]);
        let told = |difference: f64| (predicted.told)(difference).abs();
        let measured = told(rounds.mean()?);
        // Of the size of what may have either sign.
        let ci95 = rounds.ci95(name).map(|of| {
            let (a, b) = (told(of.lo), told(of.hi));
            if of.contains(0.0) { [0.0, a.max(b)] } else { [a.min(b), a.max(b)] }
        });
        let decides = rounds.units() >= MIN_CLUSTERS;
        Some(Self { measured, ci95: ci95.filter(|_| decides) })
    }

    /// Verdict on whether it is within `bound`.
    fn verdict(self, bound: f64) -> Verdict {
        match self.ci95 {
            Some([_, hi]) if hi <= bound => Verdict::Holds,
            Some([lo, _]) if lo > bound => Verdict::Fails,
            _ => Verdict::Undecided,
        }
    }
}

/// The mean of a figure of a player over the runs that count.
fn mean(
    runs: &[JudgedRun],
    (side, scheme): (Side, Scheme),
    player: usize,
    figure: fn(&PlayerResult) -> Option<f64>,
) -> Option<f64> {
    let runs = runs.iter().filter(|r| r.valid && (r.side, r.scheme) == (side, scheme));
    let values: Option<Vec<f64>> = runs.map(|r| figure(r.players.get(player)?)).collect();
    stats::mean(&values?)
}

/// A figure of every player that the laboratory predicts.
struct PredictedFigure {
    figure: &'static str,
    of: fn(&PlayerResult) -> Option<f64>,
    /// Difference between what was predicted and what was seen, on the scale on which rounds are
    /// averaged.
    difference: fn(f64, f64) -> f64,
    /// Conversion of that difference to the unit in which it is told.
    told: fn(f64) -> f64,
    /// That unit; `None`: the one of the content's quality metric.
    unit: Option<Unit>,
    /// Maximum difference.
    within: f64,
    /// The figure itself, for people.
    words: fn(f64) -> String,
}

const PREDICTED: [PredictedFigure; 2] = [
    PredictedFigure {
        figure: "quality",
        of: |p| p.quality,
        difference: |lab, seen| lab - seen,
        told: |points| points,
        unit: None,
        within: QUALITY_WITHIN,
        words: |points| format!("{points:.1}"),
    },
    PredictedFigure {
        figure: "rate",
        of: |p| p.rate_bps,
        difference: |lab, seen| (lab / seen).ln(),
        told: |log| 100.0 * (log.exp() - 1.0),
        unit: Some(Unit::PERCENT),
        within: RATE_WITHIN,
        words: words::mbps,
    },
];

/// Differences between laboratory and browsers: the players' greatest, in quality and in rate.
fn prediction(
    record: &Record,
    runs: &[JudgedRun],
    scheme: Scheme,
    content: &str,
    own_rule: bool,
) -> [ClaimEntry; 2] {
    let players = record.players();
    // The bound in points is one of VMAF.
    let vmaf = players.iter().all(|p| p.metric == Metric::Vmaf);
    let judged = own_rule && vmaf && scheme == Scheme::Minerva;
    let n =
        runs.iter().filter(|r| r.valid && (r.side, r.scheme) == (Side::Browsers, scheme)).count();
    let verdict = |off: Option<PredictionError>, bound: f64| match off {
        Some(off) if judged => off.verdict(bound),
        _ => Verdict::Reported,
    };
    let who = if scheme == Scheme::Minerva { "minerva" } else { "cubic" };
    let points = unit_of(record);
    let claim = |predicted: &PredictedFigure| {
        let PredictedFigure { figure, within, .. } = *predicted;
        let unit = predicted.unit.unwrap_or(points).symbol();
        let checks = (0..players.len()).map(|i| {
            let of = |side| mean(runs, (side, scheme), i, predicted.of);
            let pair = of(Side::Laboratory).zip(of(Side::Browsers));
            let off = PredictionError::of(
                runs,
                scheme,
                i,
                (&format!("browsers.{who}.{figure}.{i}"), predicted),
            );
            let title = &players[i].title;
            CheckEntry {
                metric: match pair {
                    Some((lab, seen)) => format!(
                        "{figure} of {title}: {} predicted, {} seen",
                        (predicted.words)(lab),
                        (predicted.words)(seen)
                    ),
                    None => format!("{figure} of {title}"),
                },
                unit: unit.to_owned(),
                cell: String::new(),
                worst: false,
                rule: format!("at most {within} {unit} apart"),
                bound: within,
                above: false,
                measured: off.map(|off| off.measured),
                ci95: off.and_then(|off| off.ci95),
                n: n as u64,
                verdict: verdict(off, within),
            }
        });
        let checks: Vec<CheckEntry> = checks.collect();
        let is_whole = checks.iter().all(|c| c.measured.is_some());
        let furthest = |a: &&CheckEntry, b: &&CheckEntry| {
            a.measured.unwrap_or(f64::NAN).total_cmp(&b.measured.unwrap_or(f64::NAN))
        };
        let worst = checks.iter().max_by(furthest).filter(|_| is_whole);
        let any = |verdict| checks.iter().any(|c| c.verdict == verdict);
        // Every player has to be within the bound.
        let of_all =
            [Verdict::Fails, Verdict::Undecided, Verdict::Holds].into_iter().find(|v| any(*v));
        ClaimEntry {
            id: format!("browsers.{who}.{figure}"),
            content: content.to_owned(),
            source: "airlane-browsers".to_owned(),
            statement: format!(
                "The laboratory predicts the mean {figure} of each browser's player ({}).",
                named(Side::Browsers, scheme)
            ),
            paper: PaperValue::Text(format!("within {within} {unit}")),
            measured: worst.and_then(|c| c.measured),
            unit: unit.to_owned(),
            n: n as u64,
            ci95: worst.and_then(|c| c.ci95),
            rule: format!("every player's 95 % interval over rounds within {within} {unit}"),
            verdict: of_all.filter(|_| is_whole).unwrap_or(Verdict::Reported),
            reason: reason(n, own_rule, vmaf),
            stream: String::new(),
            checks,
            chart: Vec::new(),
            draws: Vec::new(),
        }
    };
    PREDICTED.each_ref().map(claim)
}

/// Bound on a claim's figure.
pub(super) fn bound(claim: &ClaimEntry) -> Bound {
    match claim.id.rsplit('.').next() {
        Some("quality") => Bound::AtMost(QUALITY_WITHIN),
        Some("rate") => Bound::AtMost(RATE_WITHIN),
        _ => Bound::AtLeast(0.0),
    }
}

/// The unit of quality and QoE: that of the players' measure, if they have one.
fn unit_of(record: &Record) -> Unit {
    let mut units = record.players().iter().map(|p| metric_unit(p.metric)).collect::<Vec<_>>();
    units.dedup();
    match units[..] {
        [unit] => unit,
        _ => Unit::POINTS,
    }
}

/// Reason for a verdict that the figures do not show by themselves.
fn reason(n: usize, own_rule: bool, vmaf: bool) -> String {
    match (n, own_rule, vmaf) {
        (0, ..) => format!(
            "every run used more than {:.0} % of the processors and is void",
            100.0 * MAX_CPU
        ),
        (_, false, _) => {
            "players choose by dash.js's own rules, which the laboratory has not".to_owned()
        }
        (_, _, false) => "the bound is in points of VMAF, which the titles lack".to_owned(),
        (n, ..) if n < MIN_CLUSTERS => few(n),
        _ => String::new(),
    }
}

/// Reason why so few rounds decide nothing.
fn few(n: usize) -> String {
    format!("{n} of at least {MIN_CLUSTERS} rounds that decide")
}

/// Minerva against plain Cubic, round by round.
fn gain(record: &Record, runs: &[JudgedRun], content: &str, own_rule: bool) -> ClaimEntry {
    let min_qoe = |scheme: Scheme, seed: u64| {
        let of_browsers = |r: &&JudgedRun| {
            (r.side, r.scheme, r.key.seed) == (Side::Browsers, scheme, seed) && r.valid
        };
        runs.iter().find(of_browsers)?.min_qoe
    };
    let rounds = 1..=record.setup.repeat as u64;
    let gains: Vec<f64> = rounds
        .filter_map(|seed| Some(min_qoe(Scheme::Minerva, seed)? - min_qoe(Scheme::Plain, seed)?))
        .collect();
    let n = gains.len();
    let samples = Samples(vec![gains]);
    let measured = samples.mean();
    let ci95 = samples.ci95("browsers.gain").map(|i| [i.lo, i.hi]);
    let verdict = match ci95 {
        Some(_) if n < MIN_CLUSTERS => Verdict::Undecided,
        Some([lo, _]) if lo > 0.0 => Verdict::Holds,
        Some([_, hi]) if hi <= 0.0 => Verdict::Fails,
        Some(_) => Verdict::Undecided,
        None => Verdict::Reported,
    };
    let rules = if own_rule { "our MPC" } else { "dash.js's own rules" };
    ClaimEntry {
        id: "browsers.gain".to_owned(),
        content: content.to_owned(),
        source: "airlane-browsers".to_owned(),
        statement: format!(
            "Under Minerva the worst browser has more QoE than under plain Cubic, with {rules}."
        ),
        paper: PaperValue::Text("above 0".to_owned()),
        measured,
        unit: unit_of(record).symbol().to_owned(),
        n: n as u64,
        ci95,
        rule: "the 95 % interval over pairs of runs above 0".to_owned(),
        verdict,
        reason: reason(n, true, true),
        stream: String::new(),
        checks: Vec::new(),
        chart: Vec::new(),
        draws: Vec::new(),
    }
}
