//! Viewers: an origin and a player each.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use airlane_apps::cmcd::Cmcd;
use airlane_apps::vod::{FetchPattern, Origin, Player, Policy};
use airlane_base::Time;
use airlane_runtime::RuntimeExt;
use tokio::sync::oneshot;

use super::super::provider::abr_of;
use super::super::tap::{Tap, TapEvents};
use super::{CLIENT_CONTROL, Flows, PORT, Pair, Start};
use crate::error::LabError;
use crate::scenario::Reports;

/// What viewers call their origins.
const HOST: &str = "video.airlane";

pub(super) fn spawn(
    start: &Start<'_>,
    pairs: &mut impl Iterator<Item = Pair>,
    flows: &mut Flows,
) -> Result<(), LabError> {
    let (scenario, content) = (start.scenario(), start.content);
    let scheme = &scenario.schemes[start.key.scheme];
    let case = &start.plan.cases[start.key.case];
    for (i, viewer) in scenario.viewers.iter().enumerate() {
        let (Some(video), Some(begin)) = (case.videos.get(i), case.starts.get(i)) else { break };
        let Some((server, client, ip)) = pairs.next() else { break };
        let tap = Tap::start(&server);
        let policy = match content.provider(start.key.scheme, viewer) {
            Some(p) => Policy::Minerva(p.clone()),
            None => Policy::Plain,
        };
        let events = Arc::new(TapEvents(tap.clone()));
        let origin = Origin::new(content.library.clone(), policy, events);
        let control = viewer.control.as_ref().unwrap_or(&scheme.control);
        let listen = start.server(&server, start.transport(control))?;
        server.spawn("origin", origin.serve(listen));
        let abr = abr_of(scenario, viewer);
        let Some(setting) = content.setting(scenario, viewer, &video.name) else {
            return Err(LabError::fault(format!("no setting for {}", video.name)));
        };
        let player = Player {
            setting: setting.clone(),
            abr_name: abr.to_string(),
            abr: Arc::new(abr),
            metric_name: viewer.metric.map(|m| m.name().to_owned()),
            session_id: format!("{:08x}-{i}", start.key.seed),
            send_value: start.value_sent(viewer),
            lie: lie(viewer.reports),
            until: Some(start.end),
        };
        let caller = Arc::new(start.client(&client, start.transport(&CLIENT_CONTROL))?);
        flows.endpoints.push(caller.clone());
        let (done, session) = oneshot::channel();
        let (begin, clock, watching) =
            (Time::ZERO + *begin, client.clone(), flows.watching.clone());
        let (server, video) = (SocketAddr::new(ip, PORT), video.clone());
        let opening = scenario.player.opening_bytes.len();
        let before = Cmcd {
            session: Some(player.session_id.clone()),
            content: Some(video.name.clone()),
            ..Cmcd::default()
        };
        client.spawn("player", async move {
            clock.sleep_until(begin).await;
            let connect = async {
                let mut fetch = FetchPattern::connect(&caller, server, HOST, video).await?;
                fetch.open(opening, &before).await?;
                Ok(fetch)
            };
            let session = player.watch(&clock, connect, |_| {}).await;
            watching.fetch_sub(1, Ordering::Relaxed);
            // Nobody waits for it any more if the world was stopped.
            drop(done.send(session));
        });
        flows.viewers.push((viewer.name.clone(), session, tap));
    }
    Ok(())
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
