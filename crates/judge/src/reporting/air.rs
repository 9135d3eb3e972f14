//! The air of a WiFi, as the report draws it: who held it when, and what each station got of it.

use airlane_net::Direction;
use airlane_net::air::{AirAttempt, AttemptOutcome};
use airlane_report::model::{Draw, Hold, Holder, Occupancy, Panel, Purpose, Series, Stretch, Wear};

use super::series::{over_window, series};
use super::words::plural;
use airlane_sim::plan::Plan;
use airlane_sim::workload::traffic_of;
use airlane_sim::world::{
    AirDirection, AirOutput, BinAirtime, DirectionOutput, FlowSample, RunOutput,
};

/// Shares of the air are over so many seconds.
const SHARE_WINDOW_S: f64 = 2.0;

/// Purposes of attempts, in the order of [`shares`].
const PURPOSES: [(&str, &str, Wear); 5] = [
    ("sent for the first time, to the station", "to it", Wear::Own),
    ("and from the station", "from it", Wear::Striped),
    ("sent again, after a loss", "again", Wear::Again),
    ("in vain: nobody answered", "in vain", Wear::Vain),
    ("collision: two sent at once", "collision", Wear::Clash),
];

/// Outcomes of attempts, in the order of [`became`].
const BECAME: [(&str, &str, Wear); 4] = [
    ("came, all of it sent for the first time", "", Wear::Own),
    ("came, some of it sent again", "", Wear::Again),
    ("nobody answered", "", Wear::Vain),
    ("collision", "", Wear::Clash),
];

/// The stations of a run by the names of their actors: of each entry of its ways, if that crosses air.
/// A station is named after the connection of its host, if each host has one alone.
pub(super) fn stations(plan: &Plan, output: &RunOutput) -> Vec<Option<String>> {
    let participants = traffic_of(&plan.scenario).zip(output.parts.iter());
    let titles = participants.flat_map(|(traffic, part)| {
        let (places, flows) = (traffic.places().len(), part.flows());
        let alone = places == flows.len();
        (0..places).map(move |i| alone.then(|| flows[i].title.clone())).collect::<Vec<_>>()
    });
    let titles: Vec<Option<String>> = titles.collect();
    let mut names: Vec<Option<String>> = vec![None; output.ways.len()];
    for way in output.airs.iter().flat_map(|air| &air.ways) {
        let title = titles.get(way.place).cloned().flatten();
        names[way.way] = Some(title.unwrap_or_else(|| output.ways[way.way].access.clone()));
    }
    names
}

/// The air of each WiFi over the run.
pub(super) fn occupancies(output: &RunOutput, stations: &[Option<String>]) -> Vec<Occupancy> {
    let alone = output.airs.len() == 1;
    let title = |air: &AirOutput| match alone {
        true => "Who held the air".to_owned(),
        false => format!("Who held the air of {}", air.access),
    };
    output.airs.iter().map(|air| occupancy(air, title(air), stations)).collect()
}

fn purposes(of: &[(&str, &str, Wear)]) -> Vec<Purpose> {
    let purpose = |(name, brief, fill): &(&str, &str, Wear)| Purpose {
        name: (*name).to_owned(),
        brief: (*brief).to_owned(),
        fill: *fill,
    };
    of.iter().map(purpose).collect()
}

fn occupancy(air: &AirOutput, title: String, stations: &[Option<String>]) -> Occupancy {
    let mut holders: Vec<Holder> = Vec::new();
    // The place of each way's station among the holders.
    let mut of_ways = Vec::new();
    for way in &air.ways {
        let actor = stations[way.way].clone().unwrap_or_default();
        let at = holders.iter().position(|h| h.actor == actor).unwrap_or_else(|| {
            let shares = vec![Vec::new(); PURPOSES.len()];
            holders.push(Holder { actor, shares });
            holders.len() - 1
        });
        of_ways.push(at);
        add_shares(&mut holders[at], way, air.bin.as_secs_f64());
    }
    // Digits beyond that say nothing, and fill files.
    for share in holders.iter_mut().flat_map(|h| h.shares.iter_mut().flatten()) {
        *share = (*share * 1e5).round() / 1e5;
    }
    Occupancy {
        id: format!("air.{}", air.access),
        title,
        help:
            "One radio sends at a time; the others wait. The share of the time that each station's \
               packets held the air for, both ways."
                .to_owned(),
        kinds: purposes(&PURPOSES),
        free: "idle, or radios waiting for their turn".to_owned(),
        stretch: stretch(air, &of_ways),
        holders,
        bin_s: air.bin.as_secs_f64(),
    }
}

fn add_shares(holder: &mut Holder, way: &AirDirection, bin_s: f64) {
    for (number, bin) in way.bins.iter().enumerate() {
        for (shares, held) in holder.shares.iter_mut().zip(shares(bin, way.direction)) {
            if shares.len() <= number {
                shares.resize(number + 1, 0.0);
            }
            shares[number] += f64::from(held) / bin_s;
        }
    }
}

/// Use of the air in a bin by purpose, in the order of [`PURPOSES`].
fn shares(bin: &BinAirtime, direction: Direction) -> [f32; PURPOSES.len()] {
    let BinAirtime { fresh, repeated, lost, collided } = *bin;
    match direction {
        Direction::Down => [fresh, 0.0, repeated, lost, collided],
        Direction::Up => [0.0, fresh, repeated, lost, collided],
    }
}

fn stretch(air: &AirOutput, of_ways: &[usize]) -> Option<Stretch> {
    let (from, until) = air.stretch;
    if from >= until {
        return None;
    }
    let holds = air.attempts.iter().map(|(way, attempt)| Hold {
        holder: of_ways[*way],
        lane: u8::from(air.ways[*way].direction == Direction::Up),
        kind: became(attempt),
        start_s: attempt.from.as_secs_f64(),
        end_s: attempt.until.as_secs_f64(),
        note: note(attempt),
    });
    Some(Stretch {
        help: format!(
            "From {:.2} s on, each attempt with its answer: what is sent to the station above, from it \
             below. Point at one to read it.",
            from.as_secs_f64()
        ),
        start_s: from.as_secs_f64(),
        end_s: until.as_secs_f64(),
        lanes: ["to the station".to_owned(), "from the station".to_owned()],
        kinds: purposes(&BECAME),
        holds: holds.collect(),
    })
}

/// Outcome of an attempt, by its place in [`BECAME`].
fn became(attempt: &AirAttempt) -> u8 {
    match attempt.outcome {
        AttemptOutcome::Delivered(_) if attempt.repeated == 0 => 0,
        AttemptOutcome::Delivered(_) => 1,
        AttemptOutcome::Lost => 2,
        AttemptOutcome::Collided => 3,
    }
}

fn note(attempt: &AirAttempt) -> String {
    let frames = plural(attempt.frames as usize, "frame");
    let again = match attempt.repeated {
        0 => String::new(),
        n => format!(", {n} of them sent before"),
    };
    match attempt.outcome {
        AttemptOutcome::Delivered(came) if came < attempt.frames => {
            format!("{frames}{again}, {came} came")
        }
        _ => format!("{frames}{again}"),
    }
}

/// The share of the air that each station's packets are charged with.
pub(super) fn shares_over_time(output: &RunOutput, stations: &[Option<String>]) -> Panel {
    let mut panel = Panel::new("air", "Share of the air", "%", Draw::Line, 1).help(
        "What each station's packets are charged with, both ways, over the last two seconds: attempts, \
         and what contending for the air costs. All who take part in a collision pay for it, so that \
         the sum may be above 100 %.",
    );
    for (name, ways) in by_station(output, stations) {
        let rows: Vec<_> =
            ways.iter().filter_map(|way| way.air.as_ref()).map(|a| &a.rows).collect();
        let Some(first) = rows.first() else { continue };
        let sums = first.iter().enumerate().map(|(i, (at, _))| {
            let charged = rows.iter().filter_map(|rows| rows.get(i)).map(|row| row.1.as_secs_f64());
            (*at, charged.sum::<f64>())
        });
        let sums: Vec<_> = sums.collect();
        let points = over_window(
            SHARE_WINDOW_S,
            &sums,
            |row| row.0,
            |then, now, s| 100.0 * (now.1 - then.1) / s,
        );
        panel.series.push(series(name, points));
    }
    panel
}

/// Time that packets wait for each station's air, in the direction that carries more.
pub(super) fn waits(output: &RunOutput, stations: &[Option<String>], window_s: f64) -> Vec<Series> {
    let of = |(name, ways): (String, Vec<&DirectionOutput>)| {
        let busier = ways.into_iter().max_by_key(|way| way.report.carried_bytes)?;
        let points = over_window(
            window_s,
            &busier.rows,
            |r| r.at,
            |then, now, s| {
                let carried = now.carried_bytes.saturating_sub(then.carried_bytes) as f64;
                // Nothing waits and nothing went: no delay, not an unknown one.
                if now.queue_bytes == 0 { 0.0 } else { 1e3 * now.queue_bytes as f64 * s / carried }
            },
        );
        Some(series(name, points))
    };
    by_station(output, stations).into_iter().filter_map(of).collect()
}

/// The round trips that senders see.
pub(super) fn round_trips(output: &RunOutput) -> Panel {
    let mut panel = Panel::new("rtt", "Round trip", "ms", Draw::Line, 1).help(
        "What each sender measures, smoothed: the way there and back, with all that waits on it.",
    );
    for flow in output.flows() {
        let rtt = |s: &FlowSample| (s.at.as_secs_f64(), 1e3 * s.rtt_s.unwrap_or(f64::NAN));
        panel.series.push(series(flow.title, flow.samples.iter().map(rtt)));
    }
    panel
}

/// The ways of each station.
fn by_station<'a>(
    output: &'a RunOutput,
    stations: &[Option<String>],
) -> Vec<(String, Vec<&'a DirectionOutput>)> {
    let mut all: Vec<(String, Vec<&DirectionOutput>)> = Vec::new();
    for (way, name) in output.ways.iter().zip(stations) {
        let Some(name) = name else { continue };
        match all.iter_mut().find(|(known, _)| known == name) {
            Some((_, ways)) => ways.push(way),
            None => all.push((name.clone(), vec![way])),
        }
    }
    all
}
