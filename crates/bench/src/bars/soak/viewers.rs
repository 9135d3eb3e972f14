//! Who looks at sessions: the operator's page, each second, and players at their own.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::Seed;
use airlane_http_client::Speak;
use airlane_origin::SESSION_FIELD;
use airlane_runtime::RuntimeExt;
use airlane_runtime::real_time::TokioRuntime;
use serde::Deserialize;

use super::FILMS;
use super::world::{MAX_BYTES, World, broke, sleep};
use crate::bar::Problem;
use crate::metrics::Metrics;

/// Interval at which pages ask.
const SECOND: Duration = Duration::from_secs(1);
/// Time between two arrivals of players that ask for their own session.
const EVERY: Duration = Duration::from_secs(2);
/// Chunks that each of them takes, a second apart.
const CHUNKS: u32 = 10;

/// Part of the sessions' data that a page reads.
#[derive(Debug, Deserialize)]
struct Sessions {
    sessions: Vec<One>,
}

#[derive(Debug, Deserialize)]
struct One {
    id: String,
    /// Points, of which the first number is the time.
    history: Vec<Vec<Option<f64>>>,
}

impl Sessions {
    /// The time of the newest point, or `since`.
    fn newest(&self, since: f64) -> f64 {
        let times = self.sessions.iter().flat_map(|s| &s.history).filter_map(|p| *p.first()?);
        times.fold(since, f64::max)
    }
}

/// Asks as the operator's page does, and for the metrics.
pub(super) async fn watch_all(world: Arc<World>) {
    let mut since = 0.0;
    let client = match world.operator() {
        Ok(client) => client,
        Err(e) => return world.fail(e),
    };
    let mut look = async || -> Result<(), Problem> {
        let sessions = world.admin_url(&format!("/airlane/sessions?since={since}"))?;
        let (text, _) = client.get_all(&sessions, None, MAX_BYTES).await.map_err(broke)?;
        since = serde_json::from_slice::<Sessions>(&text).map_err(broke)?.newest(since);
        let metrics = Metrics::read(&client, &world.admin).await?;
        world.note(|account| {
            account.pages += 1;
            account.metrics = metrics;
        });
        Ok(())
    };
    loop {
        let looked = look().await;
        world.expect("the status page", looked);
        sleep(SECOND).await;
    }
}

/// Has players come that ask for their own session.
pub(super) async fn keep_coming(world: Arc<World>) {
    let runtime = TokioRuntime::new(Seed(1));
    for number in 0_usize.. {
        let speak = [Speak::Http3, Speak::Tcp, Speak::Http1][number % 3];
        let film = format!("film-{}", number % FILMS);
        let player = world.clone();
        runtime.spawn("a player", async move {
            let watched = watch_own(&player, &film, speak).await;
            player.expect(format_args!("a player of {film} ({speak:?})"), watched);
        });
        sleep(EVERY).await;
    }
}

/// Plays a title a chunk a second, and asks for the figures of that session as often.
pub(super) async fn watch_own(world: &World, film: &str, speak: Speak) -> Result<(), Problem> {
    let client = world.client(speak)?;
    let manifest = world.url(&format!("/{film}/manifest.mpd"))?;
    client.get_all(&manifest, None, MAX_BYTES).await.map_err(broke)?;
    let id = world.note(|account| {
        account.viewers += 1;
        format!("viewer-{}", account.viewers)
    });
    let (mut token, mut since) = (String::new(), 0.0);
    for chunk in 0..CHUNKS {
        let argument = format!("CMCD=bl%3D8000%2Csid%3D%22{id}%22");
        let url = world.url(&format!("/{film}/v1/{chunk}.m4s"))?.with_argument(&argument);
        let (mut answer, there) = client.get(&url, None).await.map_err(broke)?;
        if let Some(shown) = answer.headers().get(SESSION_FIELD) {
            token = shown.to_str().map_err(broke)?.to_owned();
        }
        while client.next(&mut answer, &there).await.map_err(broke)?.is_some() {}
        // Over HTTP/1.1 the connection is free again then.
        drop(answer);
        let own = world.url(&format!("/airlane/session?token={token}&since={since}"))?;
        let (text, _) = client.get_all(&own, None, MAX_BYTES).await.map_err(broke)?;
        let sessions: Sessions = serde_json::from_slice(&text).map_err(broke)?;
        match sessions.sessions.as_slice() {
            [one] if one.id == id => since = sessions.newest(since),
            others => return Err(broke(format_args!("asked for {id}, was shown {others:?}"))),
        }
        world.note(|account| account.views += 1);
        sleep(SECOND).await;
    }
    Ok(())
}
