//! What a server with many sessions keeps and shows of them: memory, and how long a request waits
//! while the histories grow, the status page is open and every player asks each second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_minerva::Progress;
use airlane_origin::Carrier;
use airlane_origin::cmcd::Cmcd;
use airlane_origin::sessions::{PartRequest, SessionKey, SharedSessions};
use airlane_origin::store::{Part, PartRole};
use airlane_origin_daemon::serve::{Points, Registry};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use serde::{Deserialize, Serialize};

use crate::bar::{Figure, Problem, Rule, Setting};
use crate::clock::Watch;
use crate::process::{Usage, run_child};

/// Seconds of history of each session: all that is kept.
const HISTORY_S: u64 = 600;
/// Number of bursts per second in which players ask, all together.
const BURSTS: u32 = 1000;
/// Between two slices of a look at all sessions, as the server has it.
const BREATH: Duration = Duration::from_millis(1);

/// Cost of so many sessions, told by the process that had them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// Memory that the process had resident in addition: with all histories, and at the most.
    full_bytes: u64,
    #[serde(rename = "most_bytes")]
    max_bytes: u64,
    /// Requests of players.
    requests: usize,
    /// Times that they waited, seconds.
    median_s: f64,
    p999_s: f64,
    longest_s: f64,
    /// The longest while there were neither histories to add to nor a page.
    alone_s: f64,
}

/// Holds so many sessions, and asks for them for so long, in this process, which should do nothing else
/// and should have done nothing before: memory that it freed would count for less.
pub(crate) fn child(count: usize, seconds: u32) -> Result<Cost, Problem> {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let threads = threads.worker_threads(1).enable_all().build();
    let threads = threads.map_err(|e| Problem::Broke(e.to_string()))?;
    let runtime = {
        let _within = threads.enter();
        TokioRuntime::new(Seed(1))
    };
    let before = Usage::own()?.resident_bytes;
    let sessions = SharedSessions::default();
    let keys = begin(&sessions, count)?;
    let registry = Arc::new(Registry::new(sessions.clone(), false));
    for second in 1..=HISTORY_S {
        let mut behind = None;
        loop {
            behind = registry.on_tick_of(at(second), behind.as_ref());
            if behind.is_none() {
                break;
            }
        }
    }
    let full = Usage::own()?.resident_bytes;
    let alone = players(&runtime, &registry, &sessions, &keys, seconds / 4 + 1);
    let alone = threads.block_on(alone);
    let stop = Arc::new(AtomicBool::new(false));
    threads.spawn(tick(runtime.clone(), registry.clone(), stop.clone()));
    threads.spawn(status_page(runtime.clone(), (registry.clone(), count), stop.clone()));
    let waits = players(&runtime, &registry, &sessions, &keys, seconds);
    let mut waits = threads.block_on(waits);
    stop.store(true, Ordering::Relaxed);
    let most = Usage::own()?.peak_bytes;
    waits.sort_unstable();
    let of = |q: f64| waits[((waits.len() - 1) as f64 * q) as usize].as_secs_f64();
    Ok(Cost {
        full_bytes: full.saturating_sub(before),
        max_bytes: most.saturating_sub(before),
        requests: waits.len(),
        median_s: of(0.5),
        p999_s: of(0.999),
        longest_s: of(1.0),
        alone_s: alone.into_iter().max().unwrap_or_default().as_secs_f64(),
    })
}

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let (count, seconds) = if setting.quick { (2_000, 2) } else { (20_000, 20) };
    let cost: Cost =
        run_child(&[format!("--child-registry={count}"), format!("--child-seconds={seconds}")])?;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    Ok(vec![
        Figure {
            bar: "registry.memory".into(),
            ours: mib(cost.max_bytes),
            peer: None,
            unit: "MiB",
            rule: Rule::AtMost(300.0),
            note: format!(
                "{count} sessions with {HISTORY_S} points of history each, at its highest while \
                 the status page is open; {:.0} MiB before that",
                mib(cost.full_bytes)
            ),
        },
        Figure {
            bar: "registry.wait".into(),
            ours: cost.longest_s * 1e3,
            peer: None,
            unit: "ms",
            rule: Rule::AtMost(5.0),
            note: format!(
                "the longest of {} requests of players about their own sessions, of which each \
                 asks once a second, with the lock that every request takes; 99.9 % within {:.3} \
                 ms, half within {:.4} ms; the longest with neither histories nor page {:.3} ms",
                cost.requests,
                cost.p999_s * 1e3,
                cost.median_s * 1e3,
                cost.alone_s * 1e3
            ),
        },
    ])
}

fn at(second: u64) -> Time {
    Time::ZERO + Duration::from_secs(second)
}

/// Sessions that each ask for a chunk, which is on its way from then on.
fn begin(sessions: &SharedSessions, count: usize) -> Result<Vec<SessionKey>, Problem> {
    let mut sessions = sessions.lock();
    let part = Part { title: "film".into(), role: PartRole::Picture { rung: 1, chunk: 1 } };
    let mut keys = Vec::new();
    for n in 0..count {
        let client = sessions.on_connect(([192, 0, 2, 1], 443).into(), Carrier::Http3, Some(1.0));
        let id = format!("{n:08x}-5e55-4000-8000-{n:012x}");
        let cmcd = Cmcd::parse(&format!("sid=\"{id}\",bl=12000"));
        let request = PartRequest { part: &part, cmcd: &cmcd, token: None };
        let begun = sessions.on_request(Time::ZERO, client.id, Progress::default(), request, None);
        begun.ok_or_else(|| Problem::Broke("a session did not begin".into()))?;
        keys.push(SessionKey::of(&id, client.id));
    }
    Ok(keys)
}

/// Adds a point to each history once a second, after those that there are.
async fn tick(runtime: RuntimeHandle, registry: Arc<Registry>, stop: Arc<AtomicBool>) {
    let began = runtime.now();
    while !stop.load(Ordering::Relaxed) {
        let mut behind = None;
        loop {
            let now = at(HISTORY_S) + (runtime.now() - began);
            behind = registry.on_tick_of(now, behind.as_ref());
            if behind.is_none() {
                break;
            }
            runtime.sleep(BREATH).await;
        }
        runtime.sleep(Duration::from_secs(1)).await;
    }
}

/// Asks for all sessions, with the newest points of each, once a second.
async fn status_page(
    runtime: RuntimeHandle,
    (registry, sessions): (Arc<Registry>, usize),
    stop: Arc<AtomicBool>,
) {
    while !stop.load(Ordering::Relaxed) {
        // As the server has it.
        let mut text = Vec::with_capacity(sessions * 600);
        // The first look, with most of what it may hold.
        let points = Points { since_s: -1.0, most: 200_000 / sessions };
        let add = |view| {
            // Writing to memory cannot fail.
            let _ = serde_json::to_writer(&mut text, &view);
        };
        registry.view_all(&runtime, points, add).await;
        runtime.sleep(Duration::from_secs(1)).await;
    }
}

/// Has every player ask for its session once a second, and tells how long each had to wait.
async fn players(
    runtime: &RuntimeHandle,
    registry: &Registry,
    sessions: &SharedSessions,
    keys: &[SessionKey],
    seconds: u32,
) -> Vec<Duration> {
    let mut waits = Vec::new();
    let watch = Watch::start();
    for burst in 0..seconds * BURSTS {
        let due = Duration::from_secs(1) * burst / BURSTS;
        runtime.sleep(due.saturating_sub(watch.elapsed())).await;
        let now = at(HISTORY_S) + watch.elapsed();
        let points = Points { since_s: now.as_secs_f64() - 1.0, most: usize::MAX };
        for key in keys.iter().skip((burst % BURSTS) as usize).step_by(BURSTS as usize) {
            let asked = watch.elapsed();
            drop(sessions.lock());
            std::hint::black_box(registry.view(now, key, points));
            waits.push(watch.elapsed() - asked);
        }
    }
    waits
}
