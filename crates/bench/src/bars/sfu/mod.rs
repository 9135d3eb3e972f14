//! `airlane call serve` under load: what a forwarded packet costs on one core beside Janus and its video room, and how long
//! the server keeps it.

mod airlane;
mod client;
mod generator;
mod http;
mod janus;

use std::time::Duration;

use self::generator::{Generator, Outcome};
use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::bars::link::forward::pin;
use crate::process::{Running, Scratch};

/// Participants of a room, each of whom receives all others.
const PEOPLE: u32 = 10;
/// Rooms under full load, and those of a quick bench, which a busy machine bears; half load has half of them.
const ROOMS: u32 = 10;
const QUICK_ROOMS: u32 = 2;
/// Core of the server.
const SERVER_CORE: usize = 0;
/// Time that the server may add to a packet's way at half load, ms: the median, and the 99th percentile.
const MAX_MEDIAN_MS: f64 = 1.0;
const MAX_P99_MS: f64 = 5.0;

/// Starts a program on the server's core.
fn on_server_core<T: Send>(
    start: impl FnOnce() -> Result<T, Problem> + Send,
) -> Result<T, Problem> {
    // A process runs where the thread that started it may.
    let start = || {
        pin(SERVER_CORE)?;
        start()
    };
    let started = std::thread::scope(|scope| scope.spawn(start).join());
    started.map_err(|_| Problem::Broke("a thread panicked".to_owned()))?
}

/// Starter of a server with rooms full of participants.
type Start = fn(&Generator, u32, &Scratch) -> Result<Running, Problem>;

/// Load of so many rooms on a server.
fn load(start: Start, rooms: u32, setting: &Setting) -> Result<Outcome, Problem> {
    let [settle, span] = if setting.quick { [20, 10] } else { [20, 60] };
    let folder = Scratch::new("sfu")?;
    let generator = Generator::new()?;
    let mut server = start(&generator, rooms, &folder)?;
    let [settle, span] = [settle, span].map(Duration::from_secs);
    let outcome = generator.measure(&server, rooms * PEOPLE, settle, span)?;
    server.stop()?;
    Ok(outcome)
}

/// Loads of several rounds.
#[derive(Default)]
struct Loads {
    full: Vec<Outcome>,
    half: Vec<Outcome>,
}

impl Loads {
    fn add(&mut self, start: Start, setting: &Setting) -> Result<(), Problem> {
        let rooms = if setting.quick { QUICK_ROOMS } else { ROOMS };
        self.full.push(load(start, rooms, setting)?);
        self.half.push(load(start, rooms / 2, setting)?);
        Ok(())
    }
}

fn middle(outcomes: &[Outcome], figure: fn(&Outcome) -> f64) -> f64 {
    median(outcomes.iter().map(figure))
}

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let (mut ours, mut peers) = (Loads::default(), Loads::default());
    let mut peer = janus::version();
    for _ in 0..setting.rounds(5) {
        ours.add(airlane::start, setting)?;
        if peer.is_ok()
            && let Err(e) = peers.add(janus::start, setting)
        {
            peer = Err(e);
        }
    }
    Ok(figures(&ours, &peers, peer.map_err(|e| e.to_string())))
}

fn figures(ours: &Loads, peers: &Loads, peer: Result<String, String>) -> Vec<Figure> {
    let of_peer = |outcomes: &[Outcome], figure: fn(&Outcome) -> f64| {
        peer.is_ok().then(|| middle(outcomes, figure))
    };
    let beside = match &peer {
        Ok(version) => format!("the peer is Janus {version}"),
        Err(why) => format!("no peer: {why}"),
    };
    let figure = |name: &str, ours, peer, unit, rule, note| Figure {
        bar: format!("sfu.{name}"),
        ours,
        peer,
        unit,
        rule,
        note,
    };
    let of_load = |outcomes: &[Outcome]| {
        format!(
            "{:.0} packets/s for {:.2} of a core, the clients take {:.2} of the other",
            middle(outcomes, |of| of.received as f64 / of.span.as_secs_f64()),
            middle(outcomes, Outcome::load),
            middle(outcomes, Outcome::clients_load),
        )
    };
    let people = |outcomes: &[Outcome]| middle(outcomes, |of| f64::from(of.people));
    let cpu_of_peer = of_peer(&peers.full, Outcome::cpu_us);
    let at_half = of_load(&ours.half);
    let delay = "from a client's send to the system's receive time at another, the clients' encryption and the loopback \
                 interface included";
    vec![
        figure(
            "loss",
            middle(&ours.full, Outcome::loss) * 100.0,
            of_peer(&peers.full, |of| of.loss() * 100.0),
            "%",
            Rule::AtMost(0.0),
            format!(
                "{} participants receive {} streams each, 1 Mbit/s together, packets of {} bytes: {}; {beside}",
                people(&ours.full),
                PEOPLE - 1,
                client::PAYLOAD_BYTES,
                of_load(&ours.full),
            ),
        ),
        figure(
            "cpu",
            middle(&ours.full, Outcome::cpu_us),
            cpu_of_peer,
            "us",
            // Without a peer nothing is asked.
            cpu_of_peer.map_or(Rule::Reported, Rule::AtMost),
            match cpu_of_peer {
                Some(_) => format!(
                    "processor time of the server per forwarded packet; the peer's: {}; {beside}",
                    of_load(&peers.full)
                ),
                None => format!("processor time of the server per forwarded packet; {beside}"),
            },
        ),
        figure(
            "delay_median",
            middle(&ours.half, |of| of.median_ms),
            of_peer(&peers.half, |of| of.median_ms),
            "ms",
            Rule::AtMost(MAX_MEDIAN_MS),
            format!("{} participants: {at_half}; {delay}; {beside}", people(&ours.half)),
        ),
        figure(
            "delay_p99",
            middle(&ours.half, |of| of.p99_ms),
            of_peer(&peers.half, |of| of.p99_ms),
            "ms",
            Rule::AtMost(MAX_P99_MS),
            "the same, 99th percentile".to_owned(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(cpu_ms: u64, received: u64) -> Outcome {
        Outcome {
            people: 100,
            expected: 1000,
            received,
            cpu: Duration::from_millis(cpu_ms),
            clients_cpu: Duration::ZERO,
            span: Duration::from_secs(1),
            median_ms: 0.2,
            p99_ms: 6.0,
        }
    }

    fn loads(cpu_ms: u64, received: u64) -> Loads {
        Loads { full: vec![outcome(cpu_ms, received)], half: vec![outcome(cpu_ms, received)] }
    }

    fn holds(figures: &[Figure]) -> Vec<Option<bool>> {
        figures.iter().map(Figure::holds).collect()
    }

    #[test]
    fn the_peers_cost_is_the_limit_where_there_is_one() {
        let (ours, peers) = (loads(20, 1000), loads(30, 1000));
        let beside = figures(&ours, &peers, Ok("1.1".to_owned()));
        assert_eq!(holds(&beside), [Some(true), Some(true), Some(true), Some(false)]);
        assert_eq!((beside[1].ours, beside[1].peer), (20.0, Some(30.0)));
        let alone = figures(&ours, &Loads::default(), Err("skipped: no janus".to_owned()));
        assert_eq!((alone[1].holds(), alone[1].peer), (None, None));
        assert!(alone[1].note.contains("no janus"), "{}", alone[1].note);
        let dear = figures(&loads(40, 999), &peers, Ok("1.1".to_owned()));
        assert_eq!(holds(&dear)[..2], [Some(false), Some(false)]);
    }
}
