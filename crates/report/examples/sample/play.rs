//! A toy of four viewers on a link: no packets, made-up weights. It only has to look plausible.

use airlane_base::Seed;
use airlane_report::model::{Actor, Draw, Panel, Run, Series, Span};

pub const SEED: u64 = 1;
pub const SCHEMES: [(&str, &str); 3] = [("cubic", "Cubic"), ("bbr", "BBR"), ("minerva", "Minerva")];
pub const RUNGS_KBPS: [f64; 8] = [300.0, 550.0, 900.0, 1400.0, 2100.0, 3100.0, 4400.0, 6000.0];
const CHUNK_S: f64 = 4.0;
const STEP_S: f64 = 0.25;
const END_S: f64 = 200.0;

pub struct Viewer {
    pub name: &'static str,
    pub video: &'static str,
    pub character: &'static str,
    /// Rate in Mbit/s at which the video is half-way to its best.
    hard_mbps: f64,
    share_minerva: f64,
}

pub const VIEWERS: [Viewer; 4] = [
    viewer("Viewer A", "lecture", "talking head, still background", 0.22, 0.55),
    viewer("Viewer B", "trailer", "animation with fast cuts", 0.55, 0.9),
    viewer("Viewer C", "football", "fast motion over grass", 1.6, 1.6),
    viewer("Viewer D", "night street", "dark, with film grain", 1.05, 1.2),
];

const fn viewer(
    name: &'static str,
    video: &'static str,
    character: &'static str,
    hard_mbps: f64,
    share_minerva: f64,
) -> Viewer {
    Viewer { name, video, character, hard_mbps, share_minerva }
}

impl Viewer {
    /// The mean quality at a rate in Mbit/s.
    pub fn vmaf(&self, rate_mbps: f64) -> f64 {
        100.0 * rate_mbps.powf(1.1) / (rate_mbps.powf(1.1) + self.hard_mbps)
    }
}

pub struct Outcome {
    pub run: Run,
    pub qoe: Vec<f64>,
    pub vmaf: Vec<f64>,
    pub rates_mbps: Vec<f64>,
    pub buffers_s: Vec<f64>,
    pub startup_s: Vec<f64>,
    pub switches: Vec<u32>,
    pub chunk_vmaf: Vec<f64>,
    pub queue_ms: f64,
}

/// One viewer while it plays.
#[derive(Default)]
struct State {
    buffer_s: f64,
    rung: usize,
    left_bits: f64,
    shown: f64,
    playing: bool,
    waiting_since: f64,
    drift: f64,
    rate_mbps: f64,
    qualities: Vec<f64>,
    penalty: f64,
    bits: f64,
    buffer_sum: f64,
    switches: u32,
    startup_s: f64,
}

/// A uniform number in -1 to 1 that depends on its arguments alone.
fn noise(what: &str, viewer: usize, step: usize) -> f64 {
    let seed = Seed(SEED).split(what).index(viewer as u64).index(step as u64);
    (seed.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Bits of the chunk of a viewer's video at a rung: scenes differ, as in real videos.
fn chunk_bits(viewer: usize, chunk: usize, rung: usize) -> f64 {
    RUNGS_KBPS[rung] * 1000.0 * CHUNK_S * (1.0 + 0.35 * noise("size", viewer, chunk))
}

/// Plays the four films under a scheme.
pub fn play(scheme: &str) -> Outcome {
    let panel = |id: &str, title: &str, unit: &str, draw, digits| {
        let mut panel = Panel::new(id, title, unit, draw, digits);
        panel.series = VIEWERS.iter().map(|v| Series::new(v.name)).collect();
        panel
    };
    let mut rate = panel("rate", "Delivery rate", "Mbit/s", Draw::Line, 1)
        .help("What arrives, averaged over a second.");
    let mut buffer =
        panel("buffer", "Buffer", "s", Draw::Line, 0).help("Film that is there but not yet seen.");
    let mut rung =
        panel("rung", "Bitrate chosen", "kbit/s", Draw::Step, 0).help("The encoding asked for.");
    let mut quality = panel("vmaf", "Quality on screen", "VMAF", Draw::Step, 0)
        .help("Of the chunk that plays.")
        .range(0.0, 100.0);
    let mut weight = panel("weight", "Weight", "connections", Draw::Step, 1)
        .help("How many ordinary connections this one counts for.");
    let mut so_far = panel("qoe", "Experience so far", "QoE", Draw::Line, 0)
        .help("Mean quality, less stalls and jumps.")
        .last_at_rest();
    let mut queue = Panel::new("queue", "Queue at the link", "ms", Draw::Line, 1);
    queue.series = vec![Series::new("Link")];
    let mut spans = Vec::new();
    let mut states: Vec<State> = VIEWERS
        .iter()
        .enumerate()
        .map(|(i, _)| State { left_bits: chunk_bits(i, 0, 0), ..State::default() })
        .collect();
    let (mut queue_sum, steps) = (0.0, (END_S / STEP_S) as usize);
    for step in 0..=steps {
        let now_s = step as f64 * STEP_S;
        let shares: Vec<f64> = states
            .iter_mut()
            .enumerate()
            .map(|(i, s)| {
                let swing = if scheme == "bbr" { 0.5 } else { 0.2 };
                s.drift = 0.97 * s.drift + 0.25 * swing * noise(scheme, i, step);
                let base = match scheme {
                    "minerva" => VIEWERS[i].share_minerva,
                    "bbr" => [1.25, 0.8, 0.9, 1.05][i],
                    _ => 1.0,
                };
                if s.buffer_s < 38.0 { base * s.drift.exp() } else { 0.0 }
            })
            .collect();
        let total: f64 = shares.iter().sum::<f64>().max(0.3);
        let outage = if (92.0..112.0).contains(&now_s) { 0.08 } else { 1.0 };
        for (i, s) in states.iter_mut().enumerate() {
            let got_mbps = 9.6 * outage * shares[i] / total;
            s.rate_mbps += 0.3 * (got_mbps - s.rate_mbps);
            rate.series[i].push(now_s, s.rate_mbps);
            advance(s, i, now_s, got_mbps, &mut spans);
            s.buffer_sum += s.buffer_s;
            buffer.series[i].push(now_s, s.buffer_s);
            rung.series[i].push(now_s, RUNGS_KBPS[s.rung]);
            if s.qualities.len() > 2 {
                so_far.series[i].push(now_s, s.qoe());
            }
            if s.playing {
                quality.series[i].push(now_s, s.shown);
            } else {
                quality.series[i].push(now_s, f64::NAN);
            }
            if step % 4 == 0 {
                weight.series[i].push(now_s, VIEWERS[i].share_minerva * 2.0 * s.drift.exp());
            }
        }
        let fill = match scheme {
            "bbr" => 4.0 + 2.0 * noise("queue", 9, step),
            _ => 9.0 + 8.0 * (now_s * 1.7).sin() + 2.0 * noise("queue", 9, step),
        };
        queue_sum += fill.max(0.0);
        queue.series[0].push(now_s, fill.max(0.0));
    }
    let mut panels = vec![rate, buffer, rung, quality, so_far, queue];
    if scheme == "minerva" {
        panels.insert(4, weight);
    }
    Outcome {
        run: Run {
            scheme: scheme.to_owned(),
            seed: SEED,
            actors: VIEWERS
                .iter()
                .map(|v| Actor::new(v.name, format!("{}: {}", v.video, v.character)))
                .collect(),
            panels,
            spans,
            ..Run::default()
        },
        qoe: states.iter().map(State::qoe).collect(),
        vmaf: states.iter().map(|s| mean(&s.qualities)).collect(),
        rates_mbps: states.iter().map(|s| s.bits / END_S / 1e6).collect(),
        buffers_s: states.iter().map(|s| s.buffer_sum / steps as f64).collect(),
        startup_s: states.iter().map(|s| s.startup_s).collect(),
        switches: states.iter().map(|s| s.switches).collect(),
        chunk_vmaf: states.iter().flat_map(|s| s.qualities.clone()).collect(),
        queue_ms: queue_sum / steps as f64,
    }
}

/// Moves one viewer on by a step: downloads, plays, stalls, chooses.
fn advance(s: &mut State, i: usize, now_s: f64, got_mbps: f64, spans: &mut Vec<Span>) {
    let bits = got_mbps * 1e6 * STEP_S;
    s.bits += bits;
    s.left_bits -= bits;
    if s.playing {
        s.buffer_s -= STEP_S;
        if s.buffer_s <= 0.0 {
            s.buffer_s = 0.0;
            s.playing = false;
            s.waiting_since = now_s;
        }
    }
    if s.left_bits > 0.0 {
        return;
    }
    s.buffer_s += CHUNK_S;
    let chunk = s.qualities.len();
    let vmaf = VIEWERS[i].vmaf(RUNGS_KBPS[s.rung] / 1000.0);
    s.shown = (vmaf + 6.0 * noise("scene", i, chunk)).min(100.0);
    s.qualities.push(s.shown);
    if !s.playing {
        let kind = if chunk == 0 { "start-up" } else { "stall" };
        if chunk == 0 {
            s.startup_s = now_s;
        } else {
            s.penalty += 25.0 * (now_s - s.waiting_since) / CHUNK_S;
        }
        spans.push(Span {
            actor: VIEWERS[i].name.to_owned(),
            kind: kind.to_owned(),
            start_s: s.waiting_since,
            end_s: now_s,
        });
        s.playing = true;
    }
    let afford_kbps = s.rate_mbps * 1000.0 * (0.55 + s.buffer_s / 36.0);
    let next = RUNGS_KBPS.iter().rposition(|r| *r <= afford_kbps).unwrap_or(0);
    let next = next.min(s.rung + 2);
    if next != s.rung {
        s.switches += 1;
        let step = VIEWERS[i].vmaf(RUNGS_KBPS[next] / 1000.0) - vmaf;
        s.penalty += 2.5 * step.abs();
    }
    s.rung = next;
    s.left_bits += chunk_bits(i, chunk + 1, next);
}

impl State {
    fn qoe(&self) -> f64 {
        mean(&self.qualities) - self.penalty / self.qualities.len().max(1) as f64
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
