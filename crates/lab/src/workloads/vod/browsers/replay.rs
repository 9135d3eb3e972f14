//! What browsers saw, as the output of a run.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_abr::PlayerModel;
use airlane_base::{InputError, Time};

use super::super::{Cache, ContentDraws, Output, ViewerOutput, Viewers};
use super::record::{Chunk, Kind, Player, Run};
use airlane_sim::plan::{Plan, RunKey};
use airlane_sim::workload::{Caches, Parts};
use airlane_sim::world::{FlowSample, RunOutput};

/// Between samples of a connection.
const SAMPLE_EVERY: Duration = Duration::from_millis(500);

/// A run of browsers as the run `key` of the plan. Nothing is known of packets: there are none in
/// it, and it has no hash.
///
/// # Errors
/// If a player's chunks are not those of its title.
pub(super) fn output(
    plan: &Plan,
    caches: &Caches,
    key: RunKey,
    run: &Run,
) -> Result<RunOutput, InputError> {
    let ended = Time::ZERO + plan.scenario.duration;
    let traffic = Viewers::of(&plan.scenario);
    let videos = ContentDraws::in_case(plan, key.case).map_or(&[][..], |watched| &watched.videos);
    let viewers = traffic.viewers.iter().zip(videos).zip(&run.players);
    let viewers = viewers.map(|((viewer, video), player)| {
        let setting = Cache::of(caches).and_then(|s| s.setting(traffic, viewer, &video.name));
        let setting = setting.ok_or_else(|| {
            let expected = "expected the quality table of each title beside browsers.json";
            InputError::new(format!("nothing is known of {}", video.name), expected)
        })?;
        let start = Time::from_secs_f64(player.began_s);
        let model = model(PlayerModel::new(setting.clone(), start), player, ended)?;
        Ok(ViewerOutput {
            name: viewer.name.clone(),
            model,
            failure: player.faults.first().cloned(),
            updates: Vec::new(),
            samples: samples(player, start, ended),
        })
    });
    Ok(RunOutput {
        key,
        ended,
        parts: Parts::new(vec![Box::new(Output(viewers.collect::<Result<_, InputError>>()?))]),
        ways: Vec::new(),
        airs: Vec::new(),
        packet_hash: None,
        packets: 0,
    })
}

/// A chunk that may have been fetched several times.
struct FetchedChunk {
    /// Request and arrival of the first copy: from then on the player had it.
    requested_s: f64,
    arrived_s: f64,
    /// Of the last copy, which took the place of the others.
    rung: usize,
    bytes: u64,
}

/// The chunks of video in order, up to the first that is missing or came after the end.
fn model(mut model: PlayerModel, player: &Player, ended: Time) -> Result<PlayerModel, InputError> {
    let chunk_s = model.setting().chunk_s();
    let mut fetched: BTreeMap<usize, FetchedChunk> = BTreeMap::new();
    let start = model.start();
    let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
    for c in player.chunks.iter().filter(|c| c.kind == Kind::Video && at(c.arrived_s) <= ended) {
        let number = (c.place_s / chunk_s).round() as usize;
        let Chunk { requested_s, arrived_s, rung, bytes, .. } = *c;
        let known =
            fetched.entry(number).or_insert(FetchedChunk { requested_s, arrived_s, rung, bytes });
        (known.rung, known.bytes) = (rung, bytes);
    }
    // A stall is charged to the chunk that was missing when it began.
    let mut stalled: BTreeMap<usize, f64> = BTreeMap::new();
    for stall in &player.stalls {
        let until = stall.to_s.unwrap_or((ended - start).as_secs_f64());
        let chunk = (stall.place_s / chunk_s).round() as usize;
        *stalled.entry(chunk).or_default() += (until - stall.from_s).max(0.0);
    }
    let Some(startup_s) = player.startup_s else { return Ok(model) };
    let mut waited_s = startup_s;
    for (number, chunk) in (0..model.setting().chunks()).map_while(|n| Some((n, fetched.get(&n)?)))
    {
        if chunk.rung >= model.setting().rungs() {
            let expected = format!("expected one of {}", model.setting().rungs());
            return Err(InputError::new(
                format!("rung {} of {}", chunk.rung, player.title),
                expected,
            ));
        }
        if number > 0 {
            waited_s += stalled.get(&number).copied().unwrap_or(0.0);
        }
        let download = Duration::from_secs_f64((chunk.arrived_s - chunk.requested_s).max(0.0));
        model.on_request(at(chunk.requested_s), chunk.rung);
        let begins = at(waited_s + number as f64 * chunk_s);
        model.on_chunk_shown(at(chunk.arrived_s), chunk.bytes, download, begins);
    }
    Ok(model)
}

/// The connection over time: bytes of bodies, each spread over the time of its transfer, and the
/// weight as the server noted it.
fn samples(player: &Player, start: Time, ended: Time) -> Vec<FlowSample> {
    let span_s = (ended - start).as_secs_f64();
    // The server was asked when the run ended.
    let server_start_s = player.server.now_s - span_s;
    let weights: Vec<(f64, f64)> = player
        .server
        .sessions
        .iter()
        .flat_map(|s| &s.history)
        .filter_map(|point| Some((point[0]? - server_start_s, point[2]?)))
        .collect();
    let steps = (span_s / SAMPLE_EVERY.as_secs_f64()).floor() as u32;
    let sample = |step: u32| {
        let t = (SAMPLE_EVERY * step).as_secs_f64();
        let bytes: f64 = player.chunks.iter().map(|c| arrived_bytes(c, t)).sum();
        let before = weights.partition_point(|(at, _)| *at <= t);
        let weight = before.checked_sub(1).map_or(1.0, |i| weights[i].1);
        FlowSample {
            at: start + SAMPLE_EVERY * step,
            acked_bytes: bytes as u64,
            sent_bytes: bytes as u64,
            lost_bytes: 0,
            window_bytes: 0,
            rtt_s: None,
            weight,
            busy: Duration::ZERO,
        }
    };
    (0..=steps).map(sample).collect()
}

fn arrived_bytes(chunk: &Chunk, t: f64) -> f64 {
    let took = (chunk.arrived_s - chunk.requested_s).max(1e-3);
    ((t - chunk.requested_s) / took).clamp(0.0, 1.0) * chunk.bytes as f64
}
