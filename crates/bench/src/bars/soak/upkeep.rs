//! What operators do: logs that are rotated, titles that come and go.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use airlane_http_client::Speak;
use serde::Deserialize;

use super::viewers::watch_own;
use super::world::{MAX_BYTES, World, broke, sleep, until};
use crate::bar::Problem;

/// The access log, in the soak's folder.
pub(super) const LOG: &str = "access.json";
/// Folder, in the soak's folder, of a title that is not always served.
pub(super) const WAITING: &str = "waiting";
/// Maximum time of a reload.
const LIMIT: Duration = Duration::from_secs(5);
/// Time for which answers that are under way still come to the old log.
const GRACE: Duration = Duration::from_secs(1);

/// Part of a line of the access log that is read.
#[derive(Debug, Deserialize)]
struct Line {
    path: String,
    status: u16,
}

#[derive(Debug, Deserialize)]
struct Titles {
    titles: Vec<serde_json::Value>,
}

/// Begins the access log anew, again and again.
pub(super) async fn keep_rotating(world: Arc<World>) {
    loop {
        sleep(world.plan.log_every).await;
        let rotated = rotate(&world).await;
        world.expect("the access log", rotated);
    }
}

async fn rotate(world: &World) -> Result<(), Problem> {
    let (log, old) = (world.folder.path(LOG), world.folder.path("access.1.json"));
    std::fs::rename(&log, &old).map_err(broke)?;
    world.reload()?;
    let is_written = || match std::fs::metadata(&log) {
        Ok(file) if file.len() > 0 => Ok(()),
        Ok(_) => Err("the new one is empty".to_owned()),
        Err(e) => Err(e.to_string()),
    };
    until(LIMIT, || async { is_written() }).await?;
    sleep(GRACE).await;
    read(world, &old)?;
    world.note(|account| account.logs += 1);
    std::fs::remove_file(&old).map_err(broke)
}

/// Counts the lines of a log, and notes answers with an error's status: clients ask for what there is,
/// but for the title that went.
pub(super) fn read(world: &World, log: &Path) -> Result<(), Problem> {
    let text = std::fs::read_to_string(log).map_err(broke)?;
    for line in text.lines() {
        let read = serde_json::from_str::<Line>(line);
        if let Some(Line { path, status: 400.. }) = world.expect("a line of the log", read)
            && !path.starts_with("/guest/")
        {
            world.fail(format_args!("the log: {line}"));
        }
        world.note(|account| account.lines += 1);
    }
    Ok(())
}

/// Has a title come, be watched, and go.
pub(super) async fn keep_moving(world: Arc<World>) {
    loop {
        sleep(world.plan.title_every).await;
        let moved = come_and_go(&world).await;
        world.expect("the title that comes and goes", moved);
    }
}

async fn come_and_go(world: &World) -> Result<(), Problem> {
    let (waiting, there) = (world.folder.path(WAITING), world.folder.path("www/guest"));
    let before = titles(world).await?;
    std::fs::rename(&waiting, &there).map_err(broke)?;
    world.reload()?;
    until(LIMIT, || counts(world, before + 1)).await?;
    for speak in [Speak::Http3, Speak::Tcp, Speak::Http1] {
        watch_own(world, "guest", speak).await?;
    }
    std::fs::rename(&there, &waiting).map_err(broke)?;
    world.reload()?;
    until(LIMIT, || counts(world, before)).await?;
    let url = world.url("/guest/manifest.mpd")?;
    if world.client(Speak::Http3)?.get_all(&url, None, MAX_BYTES).await.is_ok() {
        return Err(broke("it is still served"));
    }
    world.note(|account| account.titles += 1);
    Ok(())
}

async fn counts(world: &World, wanted: usize) -> Result<(), Problem> {
    match titles(world).await? {
        listed if listed == wanted => Ok(()),
        listed => Err(broke(format_args!("{listed} titles are listed instead of {wanted}"))),
    }
}

async fn titles(world: &World) -> Result<usize, Problem> {
    let url = world.admin_url("/airlane/titles")?;
    let asked = world.operator()?.get_all(&url, None, MAX_BYTES).await;
    let (text, _) = asked.map_err(broke)?;
    Ok(serde_json::from_slice::<Titles>(&text).map_err(broke)?.titles.len())
}
