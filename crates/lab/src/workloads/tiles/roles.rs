//! The roles: a server and a client per session, and a connection over each of its radios.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_multipath::{MultipathStream, StreamConfig};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use airlane_tiles::{self, PlannerConfig, SentGop, Show, ShownGop};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::content::HeadView;
use super::content_draws::Cache;
use super::{Entry, NAME, Output, RadioOutput, Rates, SchemeOptions, SessionOutput, Sessions};
use crate::multipath::{Ends, Opener, Radio, Sites};
use airlane_sim::LabError;
use airlane_sim::workload::{BoxFuture, Part, Running};
use airlane_sim::world::{OracleLink, RunContext};

/// Time of a session besides its GoPs, in GoPs: to connect, and to show the last.
const BESIDE: f64 = 2.0;

/// A session that runs.
struct RunningSession {
    name: String,
    counted_from: Time,
    watched: Arc<HeadView>,
    shown: SharedRecords<(Time, ShownGop)>,
    sent: SharedRecords<SentGop>,
    /// The end that watches, once it has begun.
    client: StreamSlot,
    ended: oneshot::Receiver<Option<String>>,
    radios: Vec<Radio>,
}

type StreamSlot = Arc<Mutex<Option<Arc<MultipathStream>>>>;

/// Records of a role so far.
struct SharedRecords<T>(Arc<Mutex<Vec<T>>>);

impl<T> SharedRecords<T> {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn shared(&self) -> Self {
        Self(self.0.clone())
    }

    fn add(&self, one: T) {
        self.0.lock().push(one);
    }

    fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// Sessions that run.
struct Roles(Vec<RunningSession>);

pub(super) fn start(
    traffic: &Sessions,
    context: &mut RunContext<'_>,
) -> Result<Box<dyn Running>, LabError> {
    let all = traffic.0.iter().enumerate();
    let roles: Result<Vec<_>, _> =
        all.map(|(number, session)| start_one(session, number, context)).collect();
    Ok(Box::new(Roles(roles?)))
}

fn start_one(
    session: &Entry,
    number: usize,
    context: &mut RunContext<'_>,
) -> Result<RunningSession, LabError> {
    let of_scheme = context.scheme().parts.of::<SchemeOptions>().cloned().unwrap_or_default();
    let watched = Cache::watched(context.caches, context.plan, context.key.case, number);
    let control = session.control.as_ref().unwrap_or(&context.scheme().control);
    let sites = Sites {
        owner: &session.name,
        server: "tiles.airlane",
        at: &session.at,
        only: None,
        seed: context.seed.split(NAME).split(&session.name),
    };
    let mut ends = Ends::new(context, &sites, control)?;
    let bytes = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let stream = StreamConfig {
        scheme: of_scheme.scheduler.scheme(&[]),
        max_segment_bytes: bytes(session.segment),
        max_window_bytes: bytes(of_scheme.window.min(session.memory).max(session.segment)),
        memory: Some(session.memory),
    };
    let sent = SharedRecords::new();
    let begin = Time::ZERO + session.start;
    let gops = gops(&watched, context.end - begin);
    let known_bps = match of_scheme.rates {
        Rates::Known => Some(known_rates(session, context, (begin, watched.title.gop(), gops))?),
        Rates::Reported => None,
    };
    let begun = {
        let (clock, watched, sent) = (ends.pair.server.clone(), watched.clone(), sent.shared());
        let config = PlannerConfig {
            method: of_scheme.planner,
            margin: of_scheme.margin,
            history: NonZeroUsize::new(of_scheme.history as usize).unwrap_or(NonZeroUsize::MIN),
            known_bps,
        };
        move |stream: MultipathStream| {
            let (clock_, sent) = (clock.clone(), sent.shared());
            let show = Show { title: watched.title.clone(), attention: watched.attention.clone() };
            let shows = BTreeMap::from([(watched.title.name().to_owned(), show)]);
            let config = config.clone();
            clock.spawn("tiles server", async move {
                let note = |gop| sent.add(gop);
                // An error says that the client is gone, which tells why itself.
                drop(airlane_tiles::serve(&stream, &clock_, &shows, config, note).await);
            });
        }
    };
    ends.serve(stream.clone(), begun);
    let shown = SharedRecords::new();
    let client = StreamSlot::default();
    let opener = (ends.opener(stream), client.clone());
    let Ends { pair, radios, .. } = ends;
    let times = (begin, context.end);
    let title = watched.title.name().to_owned();
    let ended = watch(&pair.client, times, (title, gops), opener, shown.shared());
    Ok(RunningSession {
        name: session.name.clone(),
        counted_from: begin + session.skip,
        watched,
        shown,
        sent,
        client,
        ended,
        radios,
    })
}

/// The rate that the accesses of a session have together in the time of each GoP, bits/s: of IP packets, with
/// their headers.
fn known_rates(
    session: &Entry,
    context: &RunContext<'_>,
    (begin, gop, gops): (Time, Duration, u32),
) -> Result<Arc<[f64]>, LabError> {
    let rtt = session.rtt.unwrap_or(context.scenario().network.rtt);
    let mut rates = vec![0.0; gops as usize];
    for access in &session.at {
        let link = OracleLink::of(context.plan, context.key, *access, rtt)?;
        for (number, rate) in (0..).zip(&mut rates) {
            let from = begin + gop * number;
            let bytes = link.bytes_until(from + gop) - link.bytes_until(from);
            *rate += bytes * 8.0 / gop.as_secs_f64();
        }
    }
    Ok(rates.into())
}

/// Number of GoPs that there is time for.
fn gops(watched: &HeadView, time: std::time::Duration) -> u32 {
    let fit = time.as_secs_f64() / watched.title.gop().as_secs_f64() - BESIDE;
    (fit as u32).clamp(1, airlane_tiles::wire::MAX_GOPS)
}

fn watch(
    clock: &RuntimeHandle,
    (begin, end): (Time, Time),
    (title, gops): (String, u32),
    (opener, keep): (Opener, StreamSlot),
    shown: SharedRecords<(Time, ShownGop)>,
) -> oneshot::Receiver<Option<String>> {
    let (done, ended) = oneshot::channel();
    let client = clock.clone();
    clock.spawn("tiles client", async move {
        client.sleep_until(begin).await;
        let failure = match opener.open() {
            Ok((_session, stream)) => {
                *keep.lock() = Some(stream.clone());
                let note = |gop| shown.add((client.now(), gop));
                let result = tokio::select! {
                    biased;
                    () = client.sleep_until(end) => Ok(()),
                    result = airlane_tiles::watch(&stream, &client, &title, gops, note) => result,
                };
                result.err().map(|e| e.to_string())
            }
            Err(e) => Some(e.to_string()),
        };
        // The receiver is gone if the world was stopped.
        drop(done.send(failure));
    });
    ended
}

impl Running for Roles {
    fn end(self: Box<Self>) -> BoxFuture<Box<dyn Part>> {
        Box::pin(async {
            let mut outputs = Vec::new();
            for session in self.0 {
                // Its task cannot be gone: a panic would have ended the world.
                let Ok(failure) = session.ended.await else { continue };
                let client = session.client.lock().take();
                let counts = client.map(|stream| stream.counts()).unwrap_or_default();
                let radios = session.radios.into_iter().map(|radio| {
                    let Radio { name, used } = radio;
                    let of = |number: u8| counts.paths.iter().find(|path| path.interface == number);
                    let first_bytes = used.as_ref().and_then(|(number, _)| of(*number));
                    RadioOutput {
                        name,
                        first_bytes: first_bytes.map_or(0, |path| path.first_bytes),
                        samples: used.map(|(_, tap)| tap.take()).unwrap_or_default(),
                    }
                });
                outputs.push(SessionOutput {
                    name: session.name,
                    counted_from: session.counted_from,
                    watched: session.watched,
                    shown: session.shown.take(),
                    sent: session.sent.take(),
                    failure,
                    radios: radios.collect(),
                });
            }
            Box::new(Output(outputs)) as Box<dyn Part>
        })
    }
}
