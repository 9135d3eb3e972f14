//! A week in an hour: one server, while sessions come and go over every version of HTTP, clients
//! vanish or stop reading, certificates, titles and access logs are replaced, and the status page is
//! open. Whether its memory and its descriptors stay as they are, and whether anything fails.

mod certificates;
mod figures;
mod players;
mod series;
mod strangers;
mod upkeep;
mod viewers;
mod world;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Seed;
use airlane_runtime::RuntimeExt;
use airlane_runtime::real_time::TokioRuntime;

use self::players::Crowd;
use self::series::Series;
use self::world::{World, broke, sleep};
use crate::bar::{Figure, Problem, Setting};
use crate::clock::Watch;
use crate::process::{self, Scratch, Usage};
use crate::title;

/// Titles that are always there, besides the long one, and seconds of each.
const FILMS: usize = 6;
const FILM_S: u64 = 72;
/// A large file, and its size.
const BIG: &str = "/big.bin";
const BIG_BYTES: usize = 64 << 20;
/// The rate of half quality of the long title: a tenth of a film's, as it is long.
const LONG_HALF_QUALITY_BPS: f64 = title::HALF_QUALITY_BPS / 10.0;
/// Time for which clients stay that do not go on: beyond the 60 s for which the server is patient.
const HOLD: Duration = Duration::from_secs(75);
/// Interval at which players are looked after, and the server is looked at.
const TICK: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_secs(2);
/// Interval at which the figures are told while it runs.
const TELL: Duration = Duration::from_secs(60);
/// By how much memory and descriptors may change, in percent.
const FLAT: f64 = 5.0;

/// Duration of the soak, and intervals of its events.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// Too short for medians of the load to be the same.
    is_quick: bool,
    whole: Duration,
    /// Time for which the server may grow: until it has as much to remember as it ever will.
    warm_up: Duration,
    certificate_every: Duration,
    log_every: Duration,
    title_every: Duration,
    /// Duration of the longest sessions.
    long: Duration,
}

impl Plan {
    fn new(is_quick: bool) -> Self {
        let of = |full, quick| Duration::from_secs(if is_quick { quick } else { full });
        Self {
            is_quick,
            whole: of(3600, 180),
            warm_up: of(600, 90),
            certificate_every: of(120, 25),
            log_every: of(300, 40),
            title_every: of(210, 35),
            long: of(1140, 50),
        }
    }
}

/// Resources that the server used.
#[derive(Debug, Default)]
struct Used {
    resident: Series,
    anonymous: Series,
    descriptors: Series,
    threads: Series,
    sessions: Series,
    /// Of a core, over all of the time: the server, and the bench without the players.
    server: f64,
    bench: f64,
    peak_bytes: u64,
}

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let plan = Plan::new(setting.quick);
    let folder = Scratch::new("soak")?;
    furnish(&folder, plan).map_err(broke)?;
    certificates::renew(&folder)?;
    let [chain, key] = certificates::files(&folder);
    let arguments = [
        "--cert".into(),
        chain.into_os_string(),
        "--key".into(),
        key.into_os_string(),
        "--access-log".into(),
        folder.path(upkeep::LOG).into_os_string(),
    ];
    let served = process::serve_with(&folder, &arguments)?;
    let world = Arc::new(World::new(plan, folder, served));
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let threads = threads.worker_threads(1).enable_all().build().map_err(broke)?;
    let used = threads.block_on(run(&world));
    // Ends all that still asks, before the server does.
    drop(threads);
    let used = used?;
    let read = upkeep::read(&world, &world.folder.path(upkeep::LOG));
    world.expect("the access log", read);
    let lost = world.note(|account| account.metric("airlane_access_log_lost_lines_total"));
    if lost > 0.0 {
        world.fail(format_args!("{lost} lines of the access log were lost"));
    }
    let account = world.note(|account| account.clone());
    Ok(figures::figures(plan, &used, &account))
}

/// Writes the titles and files that are served.
fn furnish(folder: &Scratch, plan: Plan) -> std::io::Result<()> {
    for film in 0..FILMS {
        let there = folder.path(format!("www/film-{film}"));
        title::write(&there, FILM_S, title::HALF_QUALITY_BPS)?;
    }
    title::write(&folder.path(upkeep::WAITING), FILM_S, title::HALF_QUALITY_BPS)?;
    let long = plan.long.as_secs() + FILM_S;
    title::write(&folder.path("www/long"), long, LONG_HALF_QUALITY_BPS)?;
    std::fs::write(folder.path(format!("www{BIG}")), vec![0x5a; BIG_BYTES])
}

/// Lets it all happen, and watches the server.
async fn run(world: &Arc<World>) -> Result<Used, Problem> {
    let runtime = TokioRuntime::new(Seed(1));
    runtime.spawn("status page", viewers::watch_all(world.clone()));
    runtime.spawn("players of pages", viewers::keep_coming(world.clone()));
    runtime.spawn("strangers", strangers::keep_coming(world.clone()));
    runtime.spawn("certificates", certificates::keep_changing(world.clone()));
    runtime.spawn("access log", upkeep::keep_rotating(world.clone()));
    runtime.spawn("titles", upkeep::keep_moving(world.clone()));
    let mut crowd = Crowd::new(world.clone())?;
    let mut used = Used::default();
    let watch = Watch::start();
    let (mut look, mut tell) = (LOOK, TELL);
    while watch.elapsed() < world.plan.whole {
        sleep(TICK).await;
        crowd.on_tick(watch.elapsed())?;
        if watch.elapsed() >= look {
            used.look(world, watch.elapsed())?;
            look += LOOK;
        }
        if watch.elapsed() >= tell {
            // What is lost where nobody reads it, or a disk is full, does not end the hour.
            let _ = writeln!(std::io::stderr(), "      {}", used.line(world, watch.elapsed()));
            tell += TELL;
        }
    }
    let seconds = watch.elapsed().as_secs_f64();
    used.bench = Usage::own()?.cpu.as_secs_f64() / seconds;
    used.server = world.server.usage()?.cpu.as_secs_f64() / seconds;
    Ok(used)
}

impl Used {
    fn look(&mut self, world: &World, at: Duration) -> Result<(), Problem> {
        let gone = |e: Problem| broke(format_args!("the server is gone after {at:?}: {e}"));
        let at_s = at.as_secs_f64();
        let usage = world.server.usage().map_err(gone)?;
        self.resident.push(at_s, usage.resident_bytes as f64);
        self.anonymous.push(at_s, usage.anonymous_bytes as f64);
        self.threads.push(at_s, usage.threads as f64);
        self.peak_bytes = usage.peak_bytes;
        let descriptors = world.server.descriptors().map_err(gone)?;
        self.descriptors.push(at_s, descriptors as f64);
        self.sessions.push(at_s, world.note(|account| account.metric("airlane_sessions")));
        Ok(())
    }

    /// The last minute, for who waits.
    fn line(&self, world: &World, at: Duration) -> String {
        let at_s = at.as_secs_f64();
        let last = |series: &Series| series.median(at_s - TELL.as_secs_f64(), at_s);
        format!(
            "{:4.0} s: {:.1} MiB ({:.1} MiB anonymous), {:.0} descriptors, {:.0} threads, {:.0} \
             sessions, {} failures",
            at_s,
            mib(last(&self.resident)),
            mib(last(&self.anonymous)),
            last(&self.descriptors),
            last(&self.threads),
            last(&self.sessions),
            world.note(|account| account.failed)
        )
    }
}

fn mib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}
