//! Bulk flows over one bottleneck: from a few figures to a scenario, and from its runs to rates.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_lab::workloads::bulk::{Output, TransferOutput};
use airlane_net::LinkReport;
use airlane_quic::ControlHandle;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::plan::Plan;
use airlane_sim::pool::{self, Job, Progress, StopFlag, Ticket};
use airlane_sim::workload::Caches;
use airlane_sim::world::{self, Options, SenderHook};
use parking_lot::Mutex;
use rand::RngExt;
use rand::seq::SliceRandom;

/// IP bytes of a full packet.
pub const PACKET_BYTES: f64 = 1_378.0;

/// UDP payload of a full packet.
const PAYLOAD_BYTES: f64 = 1_350.0;

/// How often weights change where they do.
const SHUFFLE: Duration = Duration::from_millis(500);

/// What of each half second is left out of the rates: a round trip and some more.
const AFTER_SHUFFLE: Duration = Duration::from_millis(200);

/// One flow.
#[derive(Clone, Debug)]
pub struct Flow {
    pub controller: &'static str,
    /// What Cubic counts for.
    pub weight: f64,
    /// Its round trip over the scene's.
    pub rtt_factor: f64,
}

impl Flow {
    pub fn of(controller: &'static str) -> Self {
        Self { controller, weight: 1.0, rtt_factor: 1.0 }
    }

    pub fn weighing(weight: f64) -> Self {
        Self { weight, ..Self::of("cubic") }
    }
}

/// A queue. The limit of PIE is so large that it never binds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Queue {
    Bdp(f64),
    Pie,
    /// Nothing is ever dropped.
    Endless,
}

impl Queue {
    pub const ALL: [Self; 3] = [Self::Bdp(1.0), Self::Bdp(1.5), Self::Pie];

    pub fn name(self) -> String {
        match self {
            Self::Bdp(x) => format!("droptail {x} BDP"),
            Self::Pie => "PIE".to_owned(),
            Self::Endless => "endless".to_owned(),
        }
    }
}

/// A bottleneck and the flows that share it.
#[derive(Clone, Debug)]
pub struct Scene {
    pub flows: Vec<Flow>,
    pub rate_bps: f64,
    pub rtt_ms: f64,
    pub queue: Queue,
    pub seconds: f64,
    /// Seconds that are left out at first.
    pub settle: f64,
    /// An acknowledgement for every ten packets, as Chromium does.
    pub decimated: bool,
    /// Of so many packets one is lost, the first after so many.
    pub loss: Option<(u64, u64)>,
    /// The hosts' jitter in packet times.
    pub jitter: f64,
    /// Shuffles the weights of the first so many flows among them every half second.
    pub shuffled: usize,
}

impl Scene {
    pub fn new(flows: Vec<Flow>, rate_bps: f64, rtt_ms: f64, queue: Queue) -> Self {
        Self {
            flows,
            rate_bps,
            rtt_ms,
            queue,
            seconds: 60.0,
            settle: 10.0,
            decimated: false,
            loss: None,
            jitter: 3.0,
            shuffled: 0,
        }
    }

    /// Cubic flows of these weights with so many packets of bandwidth-delay product per unit.
    pub fn of_weights(weights: &[f64], unit: f64, rtt_ms: f64, queue: Queue) -> Self {
        let bdp = unit * weights.iter().sum::<f64>();
        let rate = bdp * PACKET_BYTES * 8.0 / (rtt_ms / 1e3);
        let flows = weights.iter().map(|&w| Flow::weighing(w)).collect();
        Self::new(flows, rate, rtt_ms, queue)
    }

    /// Packets of bandwidth-delay product.
    pub fn bdp(&self) -> f64 {
        self.rate_bps * self.rtt_ms / 1e3 / 8.0 / PACKET_BYTES
    }

    /// Packets that its runs carry at most: how long they take.
    fn packets(&self) -> f64 {
        let most = self.rate_bps / 8.0 / PACKET_BYTES * self.seconds;
        // Losses and not the link are the limit: the response function is about 1.2/sqrt(p).
        let limited = |(every, _)| (every as f64).sqrt() * self.seconds / self.rtt_ms * 1e3;
        self.loss.map_or(most, limited)
    }

    fn text(&self, seed: u64) -> String {
        let mut rng = Seed(seed).split("starts").rng();
        let queue = match self.queue {
            Queue::Bdp(x) => {
                let packets = (x * self.bdp()).round().max(1.0);
                format!("{{ kind = \"droptail\", limit_packets = {packets} }}")
            }
            Queue::Pie => {
                let packets = (20.0 * self.bdp()).round().max(1_000.0);
                format!("{{ kind = \"pie\", limit_packets = {packets} }}")
            }
            Queue::Endless => "{ kind = \"droptail\", limit_packets = 1000000 }".to_owned(),
        };
        let ack = if self.decimated { "decimated" } else { "every-2" };
        // Acknowledgements are never what waits.
        let uplink = self.rate_bps.max(10e6);
        let mut text = format!(
            "name = \"equilibria\"\nduration_s = {}\nseeds = [{seed}]\n[link]\nrate_bps = {:.0}\n\
             rtt_s = {}\nuplink_rate_bps = {uplink:.0}\nqueue = {queue}\n",
            self.seconds,
            self.rate_bps,
            self.rtt_ms / 1e3,
        );
        if let Some((every, first)) = self.loss {
            let loss = format!("kind = \"periodic\", every = {every}, first = {first}");
            let _ = writeln!(text, "loss = {{ {loss} }}");
        }
        let _ = write!(
            text,
            "[host]\nsend_jitter_packets = {}\n[transport]\nack = \"{ack}\"\n[[scheme]]\nname = \
             \"flows\"\n",
            self.jitter
        );
        for flow in &self.flows {
            let start: f64 = rng.random_range(0.0..0.5);
            let _ = write!(
                text,
                "[[bulk]]\ncontroller = \"{}\"\nstart_s = {start}\nrtt_s = {}\n",
                flow.controller,
                self.rtt_ms / 1e3 * flow.rtt_factor
            );
            if flow.controller == "cubic" {
                let _ = writeln!(text, "weight = {}", flow.weight);
            }
        }
        text
    }

    /// The weights of the shuffled flows from each half second on.
    fn shuffles(&self, seed: u64) -> Vec<(Time, Vec<f64>)> {
        if self.shuffled == 0 {
            return Vec::new();
        }
        let mut rng = Seed(seed).split("weights").rng();
        let mut weights: Vec<f64> = self.flows[..self.shuffled].iter().map(|f| f.weight).collect();
        let times = 1..(self.seconds / SHUFFLE.as_secs_f64()) as u32;
        let shuffle = |i| {
            weights.shuffle(&mut rng);
            (Time::ZERO + i * SHUFFLE, weights.clone())
        };
        times.map(shuffle).collect()
    }

    fn run(&self, seed: u64, ticket: &Ticket<'_>) -> Result<Outcome, LabError> {
        let text = self.text(seed);
        let scenario = Scenario::from_bytes(
            airlane_lab::registry().scenarios(),
            text.as_bytes(),
            Path::new("equilibria"),
            &[],
        )?;
        let plan = Plan::new(scenario, &Common { stop: ticket.stop.clone(), ..Common::default() })?;
        let caches = Caches::of_plan(&plan)?;
        let shuffles = Arc::new(self.shuffles(seed));
        let seen = Arc::new(Mutex::new(Slope::default()));
        let hook = {
            let (shuffles, seen, shuffled) = (shuffles.clone(), seen.clone(), self.shuffled);
            SenderHook::new(move |number, host, control| {
                if number < shuffled {
                    let task = change(number, host, control, &shuffles, &seen);
                    host.spawn("weights", task);
                }
            })
        };
        let options = Options {
            settle: Duration::from_secs_f64(self.settle),
            on_sender: Some(hook),
            ..Options::default()
        };
        let key = plan.runs().next().ok_or_else(|| LabError::fault("a scene without runs"))?;
        let out = world::run(&plan, &caches, key, &options, ticket)?;
        if let Some(failure) = Output::of(&out).iter().find_map(|b| b.failure.clone()) {
            return Err(LabError::fault(failure));
        }
        let slope = seen.lock().value(self.settle);
        let flows = Output::of(&out).iter().map(|b| Figures::of(b, self.settle)).collect();
        let link = out
            .bottleneck()
            .map(|way| way.report.clone())
            .ok_or_else(|| LabError::fault("a bottleneck without a report"))?;
        Ok(Outcome { flows, link, slope })
    }
}

/// Gives a flow its weight every half second, and notes its rate after it has settled.
fn change(
    number: usize,
    host: &RuntimeHandle,
    control: &ControlHandle,
    shuffles: &Arc<Vec<(Time, Vec<f64>)>>,
    seen: &Arc<Mutex<Slope>>,
) -> impl Future<Output = ()> + Send + 'static {
    let (host, control) = (host.clone(), control.clone());
    let (shuffles, seen) = (shuffles.clone(), seen.clone());
    async move {
        for (at, weights) in shuffles.iter() {
            host.sleep_until(*at).await;
            control.set_weight(weights[number]);
            host.sleep(AFTER_SHUFFLE).await;
            let before = control.stats().acked_bytes;
            host.sleep_until(*at + SHUFFLE - Duration::from_millis(1)).await;
            let bytes = control.stats().acked_bytes - before;
            seen.lock().0.push((*at, weights[number], bytes as f64));
        }
    }
}

/// Weights and the bytes carried under them.
#[derive(Debug, Default)]
struct Slope(Vec<(Time, f64, f64)>);

impl Slope {
    /// Slope of the logarithm of the rate over that of the weight, among flows at the same time.
    fn value(&self, settle: f64) -> Option<f64> {
        let (mut xy, mut xx) = (0.0, 0.0);
        let mut all: Vec<_> =
            self.0.iter().filter(|(at, ..)| at.as_secs_f64() >= settle).copied().collect();
        all.sort_by_key(|(at, ..)| *at);
        for same in all.chunk_by(|a, b| a.0 == b.0) {
            let n = same.len() as f64;
            let ln = |bytes: f64| bytes.max(PAYLOAD_BYTES / 2.0).ln();
            let x0 = same.iter().map(|(_, w, _)| w.ln()).sum::<f64>() / n;
            let y0 = same.iter().map(|(_, _, b)| ln(*b)).sum::<f64>() / n;
            for (_, weight, bytes) in same {
                xy += (weight.ln() - x0) * (ln(*bytes) - y0);
                xx += (weight.ln() - x0).powi(2);
            }
        }
        (xx > 0.0).then(|| xy / xx)
    }
}

/// What a flow got after the start.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Payload acknowledged, bits per second.
    pub rate_bps: f64,
    /// Mean of the smoothed round trip.
    pub rtt_s: f64,
    /// Least window seen, packets.
    pub min_window: f64,
    /// Largest window seen at any time, packets.
    pub max_window: f64,
    /// Share of the bytes that were lost.
    pub lost: f64,
}

impl Figures {
    fn of(bulk: &TransferOutput, settle: f64) -> Self {
        let after: Vec<_> =
            bulk.samples.iter().filter(|s| s.at.as_secs_f64() >= settle).copied().collect();
        let (Some(first), Some(last)) = (after.first(), after.last()) else {
            panic!("no samples after {settle} s")
        };
        let span = (last.at - first.at).as_secs_f64();
        let rtts: Vec<f64> = after.iter().filter_map(|s| s.rtt_s).collect();
        let sent = (last.sent_bytes - first.sent_bytes) as f64;
        let windows = |all: &[world::FlowSample]| -> Vec<f64> {
            all.iter().map(|s| s.window_bytes as f64 / PAYLOAD_BYTES).collect()
        };
        Self {
            rate_bps: (last.acked_bytes - first.acked_bytes) as f64 * 8.0 / span,
            rtt_s: mean(&rtts),
            min_window: windows(&after).into_iter().fold(f64::INFINITY, f64::min),
            max_window: windows(&bulk.samples).into_iter().fold(0.0, f64::max),
            lost: (last.lost_bytes - first.lost_bytes) as f64 / sent.max(1.0),
        }
    }

    /// Mean packets in flight.
    pub fn window(&self) -> f64 {
        self.rate_bps / 8.0 / PAYLOAD_BYTES * self.rtt_s
    }
}

/// What came out of a scene under one seed.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub flows: Vec<Figures>,
    pub link: LinkReport,
    /// How rates follow weights that change.
    pub slope: Option<f64>,
}

impl Outcome {
    fn rate(&self, flows: std::ops::Range<usize>) -> f64 {
        self.flows[flows].iter().map(|f| f.rate_bps).sum()
    }

    /// Mean rate of the first `some` flows over that of the others.
    pub fn ratio(&self, some: usize) -> f64 {
        let others = self.flows.len() - some;
        self.rate(0..some) / some as f64 / (self.rate(some..self.flows.len()) / others as f64)
    }

    /// Share of the first `some` flows in what all got.
    pub fn share(&self, some: usize) -> f64 {
        self.rate(0..some) / self.rate(0..self.flows.len())
    }
}

/// Runs every scene under every seed, the outcomes by scene.
pub fn run_all(scenes: &[Scene], seeds: u64, jobs: usize, progress: &dyn Progress) -> Vec<Runs> {
    let stop = StopFlag::default();
    let each = scenes.iter().flat_map(|scene| (1..=seeds).map(move |seed| (scene, seed)));
    let work = each.map(|(scene, seed)| Job {
        label: format!("{}, {} ms, {:.0} packets", scene.queue.name(), scene.rtt_ms, scene.bdp()),
        seed,
        command: String::new(),
        units: scene.packets() as u64,
        work: Box::new(move |ticket: &Ticket<'_>| scene.run(seed, ticket)),
    });
    let done = pool::run(work.collect(), jobs, "packets", &stop, progress);
    if let Some(error) = done.error {
        panic!("{error}");
    }
    let mut results = done.results.into_iter().flatten();
    scenes.iter().map(|_| Runs(results.by_ref().take(seeds as usize).collect())).collect()
}

/// The outcomes of a scene by seeds.
pub struct Runs(pub Vec<Outcome>);

impl Runs {
    /// `figure` of each outcome.
    pub fn each(&self, figure: impl Fn(&Outcome) -> f64) -> Vec<f64> {
        self.0.iter().map(figure).collect()
    }

    /// Mean of `figure` over the seeds.
    pub fn mean(&self, figure: impl Fn(&Outcome) -> f64) -> f64 {
        mean(&self.each(figure))
    }
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The mean, the least and the most.
pub fn spread(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    format!("{:.2} ({low:.2}-{high:.2})", mean(values))
}
