//! Players without a screen: the laboratory's player against any DASH server, one or many.

mod fetch;
mod result;
mod sources;
mod title;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use airlane_abr::{AbrKind, PlayerConfig, TitleModel};
use airlane_base::{Seed, Time};
use airlane_cupid_agent::AirAgent;
use airlane_media::{Metric, Perceptual};
use airlane_origin::Player;
use airlane_quality::QoeParams;
use airlane_quic::Trust;
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use tokio::sync::mpsc;

use self::fetch::FetchUrl;
pub use self::result::{PlayResult, PlayedView};
use self::title::Title;
use crate::error::DaemonError;
use airlane_cupid_agent::AirInterface;
use airlane_host::date;
use airlane_http_client::{Client, Speak, Url};

/// The settings of players.
#[derive(Clone, Debug)]
pub struct PlayRequest {
    /// Manifests: sessions take them in turn.
    pub urls: Vec<String>,
    /// Number of sessions.
    pub sessions: usize,
    /// Time between the beginnings of two sessions.
    pub stagger: Duration,
    /// The algorithm that chooses the rungs.
    pub abr: AbrKind,
    /// The largest buffer.
    pub buffer: Duration,
    /// The pause between a response and the next request.
    pub pause: Duration,
    /// Time after which to stop, if not at the end of the title.
    pub duration: Option<Duration>,
    /// The version of HTTP.
    pub speak: Speak,
    /// Accept certificates of any authority, or of none.
    pub insecure: bool,
    /// The measure of quality; `None`: VMAF where it was measured, else what was.
    pub metric: Option<Metric>,
    /// Send no CMCD.
    pub silent: bool,
    /// Report what Cupid grants by what this interface hears, to servers that take it.
    pub air: Option<AirInterface>,
}

/// Plays; `done` gets each session's result as it ends. `stop` ends all of them early.
///
/// # Errors
/// If nothing can be tried at all: a socket, the system's certificates.
pub async fn play(
    request: PlayRequest,
    stop: impl Future<Output = ()>,
    mut done: impl FnMut(PlayResult),
) -> Result<(), DaemonError> {
    let runtime = TokioRuntime::new(Seed(date::now_ms()));
    let trust = airlane_certificate::trust(request.insecure);
    let air =
        request.air.as_ref().map(|air| airlane_cupid_agent::agent(&runtime, air)).transpose()?;
    let request = Arc::new(request);
    let (results, mut ended) = mpsc::unbounded_channel();
    let until = request.duration.map(|d| runtime.now() + d);
    for number in 0..request.sessions {
        let (rt, request, trust) = (runtime.clone(), request.clone(), trust.clone());
        let air = air.clone();
        let results = results.clone();
        runtime.spawn("player", async move {
            rt.sleep(request.stagger * u32::try_from(number).unwrap_or(u32::MAX)).await;
            let result = session(&rt, &request, (trust, air), number, until).await;
            // Nobody waits any more if all were stopped.
            let _ = results.send(result);
        });
    }
    drop(results);
    tokio::pin!(stop);
    loop {
        tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            result = ended.recv() => match result {
                Some(result) => done(result),
                None => return Ok(()),
            },
        }
    }
}

/// One session, from the manifest to the last chunk.
async fn session(
    runtime: &RuntimeHandle,
    request: &PlayRequest,
    with: (Trust, Option<AirAgent>),
    number: usize,
    until: Option<Time>,
) -> PlayResult {
    let url = request.urls[number % request.urls.len().max(1)].clone();
    let id = format!("{:016x}-{number}", runtime.seed().split(&url).index(number as u64).0);
    let mut result = PlayResult::new(number, id.clone(), url.clone());
    if let Err(e) = watch(runtime, request, with, &mut result, until).await {
        result.failure = Some(e.to_string());
    }
    result
}

async fn watch(
    runtime: &RuntimeHandle,
    request: &PlayRequest,
    (trust, air): (Trust, Option<AirAgent>),
    result: &mut PlayResult,
    until: Option<Time>,
) -> Result<(), DaemonError> {
    let client = Arc::new(Client::on_air(runtime.clone(), trust, request.speak, air.as_ref())?);
    let url = Url::parse(&result.url)?;
    let title = Arc::new(Title::load(&client, &url, request.metric).await?);
    result.carrier = client.carrier(&title.url).await;
    (result.of, result.metric) = (title.video.chunks(), title.metric_name);
    let view = Perceptual::new(title.video.clone(), title.metric)?;
    let player = PlayerConfig { buffer_cap: request.buffer, chunk_overhead: request.pause };
    let qoe = title.metric.penalties(QoeParams::default());
    let setting = Arc::new(TitleModel::new(view, qoe, player)?);
    let player = Player {
        setting: setting.clone(),
        abr: Arc::new(request.abr),
        abr_name: request.abr.to_string(),
        session_id: result.session.clone(),
        metric_name: title.metric_name.map(str::to_owned),
        send_value: None,
        lie: None,
        until,
    };
    let counts = Arc::new(fetch::Counts::default());
    let fetch = FetchUrl::new(client.clone(), title.clone(), request.silent, counts.clone());
    let session = player.watch(runtime, async { Ok(fetch) }, |_| {}).await;
    result.carrier = client.carrier(&title.url).await.or(result.carrier);
    result.take(&session, title.metric_name.is_some(), &title, &counts);
    Ok(())
}

/// Writes the timeline of all sessions to a file, as JSON.
///
/// # Errors
/// If the file cannot be written.
pub fn dump(path: &PathBuf, results: &[PlayResult]) -> Result<(), DaemonError> {
    let text = serde_json::to_vec_pretty(results).unwrap_or_default();
    std::fs::write(path, text)
        .map_err(|e| airlane_base::InputError::io(path, "write the timeline", &e).into())
}
