//! The roles: an origin and a player each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use airlane_base::Time;
use airlane_minerva::Update;
use airlane_origin::cmcd::Cmcd;
use airlane_origin::{
    ClientConnection, FetchPattern, Origin, OriginEvents, Player, Policy, Session,
};
use airlane_quic::ControlHandle;
use airlane_runtime::RuntimeExt;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::cache::{Cache, abr_of};
use super::content_draws::{ContentDraws, ViewingDraw};
use super::types::{Reports, Value, Viewer, Viewers};
use super::{Output, ViewerOutput, minerva_of};
use airlane_sim::LabError;
use airlane_sim::workload::{BoxFuture, Part, Running};
use airlane_sim::world::{RunContext, Tap};

/// Host name that viewers use for their origins.
const HOST: &str = "video.airlane";

/// A viewer's session that runs.
struct Role {
    name: String,
    session: oneshot::Receiver<Session>,
    seen: Arc<ConnectionRecord>,
}

/// Record of one viewer's connection.
struct ConnectionRecord {
    tap: Arc<Tap>,
    updates: Mutex<Vec<Update>>,
}

impl OriginEvents for ConnectionRecord {
    fn connected(&self, _: &ClientConnection, control: Option<&ControlHandle>) {
        if let Some(control) = control {
            self.tap.connect(control);
        }
    }

    fn weight_set(&self, _: &ClientConnection, _: &str, update: &Update) {
        self.updates.lock().push(*update);
    }
}

struct Roles {
    roles: Vec<Role>,
    /// True if viewers come one by one: the run ends with the last of them.
    arriving: bool,
    /// Viewers whose session has not ended.
    watching: Arc<AtomicUsize>,
}

impl Running for Roles {
    fn is_over(&self) -> bool {
        self.arriving && self.watching.load(Ordering::Relaxed) == 0
    }

    fn end(self: Box<Self>) -> BoxFuture<Box<dyn Part>> {
        Box::pin(async {
            let mut viewers = Vec::new();
            for Role { name, session, seen } in self.roles {
                // Its task cannot be gone: a panic would have ended the world.
                let Ok(session) = session.await else { continue };
                let mut updates = seen.updates.lock();
                viewers.push(ViewerOutput {
                    name,
                    model: session.model,
                    failure: session.failure.map(|e| e.to_string()),
                    updates: std::mem::take(&mut updates),
                    samples: seen.tap.take(),
                });
            }
            Box::new(Output(viewers)) as Box<dyn Part>
        })
    }
}

pub(super) fn start(
    traffic: &Viewers,
    context: &mut RunContext<'_>,
) -> Result<Box<dyn Running>, LabError> {
    let watching = Arc::new(AtomicUsize::new(traffic.viewers.len()));
    let mut roles = Vec::new();
    if let (Some(ViewingDraw { videos, starts }), Some(cache)) =
        (ContentDraws::in_case(context.plan, context.key.case), Cache::of(context.caches))
    {
        let watched = videos.iter().zip(starts);
        for (number, (viewer, watched)) in traffic.viewers.iter().zip(watched).enumerate() {
            roles.push(view(traffic, (number, viewer), watched, cache, context, &watching)?);
        }
    }
    Ok(Box::new(Roles { roles, arriving: traffic.arrivals.is_some(), watching }))
}

/// Starts the roles of one viewer.
fn view(
    traffic: &Viewers,
    (number, viewer): (usize, &Viewer),
    (video, begin): (&Arc<airlane_media::Video>, &Duration),
    cache: &Cache,
    context: &mut RunContext<'_>,
    watching: &Arc<AtomicUsize>,
) -> Result<Role, LabError> {
    let pair = context.attach()?;
    let seen = Arc::new(ConnectionRecord { tap: context.tap(&pair), updates: Mutex::default() });
    let policy = match cache.provider(context.key.scheme, viewer) {
        Some(p) => Policy::Minerva(p.clone()),
        None => Policy::Plain,
    };
    let origin = Origin::new(cache.library.clone(), policy, seen.clone());
    let control = viewer.control.as_ref().unwrap_or(&context.scheme().control);
    let listen = context.server(&pair, context.transport(control))?;
    pair.server.spawn("origin", origin.serve(listen));
    let abr = abr_of(traffic, viewer);
    let Some(setting) = cache.setting(traffic, viewer, &video.name) else {
        return Err(LabError::fault(format!("no setting for {}", video.name)));
    };
    let player = Player {
        setting: setting.clone(),
        abr_name: abr.to_string(),
        abr: Arc::new(abr),
        metric_name: viewer.metric.map(|m| m.name().to_owned()),
        session_id: format!("{:08x}-{number}", context.key.seed),
        send_value: value_sent(context, viewer),
        lie: lie(viewer.reports),
        until: Some(context.end),
    };
    let caller = context.client(&pair, context.client_transport())?;
    let (done, session) = oneshot::channel();
    let (begin, clock, watching) = (Time::ZERO + *begin, pair.client.clone(), watching.clone());
    let (server, video) = (pair.address, video.clone());
    let opening = traffic.player.opening_bytes.len();
    let before = Cmcd {
        session: Some(player.session_id.clone()),
        content: Some(video.name.clone()),
        ..Cmcd::default()
    };
    pair.client.spawn("player", async move {
        clock.sleep_until(begin).await;
        let connect = async {
            let mut fetch = FetchPattern::connect(&caller, server, HOST, video).await?;
            fetch.open(opening, &before).await?;
            Ok(fetch)
        };
        let session = player.watch(&clock, connect, |_| {}).await;
        watching.fetch_sub(1, Ordering::Relaxed);
        // The receiver is gone if the world was stopped.
        drop(done.send(session));
    });
    Ok(Role { name: viewer.name.clone(), session, seen })
}

/// Chunks that the value function looks ahead which a viewer sends, if the scheme wants it to.
fn value_sent(context: &RunContext<'_>, viewer: &Viewer) -> Option<usize> {
    let minerva = minerva_of(context.scheme())?;
    let sent = minerva.value == Some(Value::Sent) && viewer.control.is_none();
    sent.then(|| minerva.horizon.unwrap_or_else(|| airlane_minerva::Blend::default().horizon))
}

fn lie(reports: Reports) -> Option<fn(&mut Cmcd)> {
    const PER_CHUNK: Duration = Duration::from_secs(8);
    match reports {
        Reports::Truth => None,
        Reports::EmptyBuffer => Some(|c| c.buffer = Some(Duration::ZERO)),
        Reports::Stalls => Some(|c| {
            let chunks = u32::try_from(c.chunks_played.unwrap_or(0)).unwrap_or(u32::MAX);
            c.stalled = Some(c.stalled.unwrap_or_default() + PER_CHUNK.saturating_mul(chunks));
        }),
    }
}
