//! The end that watches, without a screen: it says what it could have shown.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use airlane_apps::live::wire::{Answer, Coding};
use airlane_apps::live::{self, LiveError, ReceivedLayer};
use airlane_base::{InputError, Seed, Time};
use airlane_quic::{Endpoint, Tls};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use tokio::net::lookup_host;

use super::output::{Taken, Times, WriteTo, Writing};
use super::record::Recorder;
use super::watched::{Report, Second, Watched};
use super::{path, paths, transport};
use crate::{DaemonError, client, date};

/// Whom to watch, and for how long.
#[derive(Clone, Debug)]
pub struct RecvRequest {
    /// The sender, or a relay in front of it: `HOST:PORT`.
    pub server: String,
    /// Accept any certificate, such as those for development.
    pub insecure: bool,
    /// Stop after so long; `None`: when the sender does.
    pub duration: Option<Duration>,
    /// Write what could be shown, as IVF.
    pub write: Option<WriteTo>,
    /// Write when which frame could be decoded, as CSV.
    pub times: Option<PathBuf>,
}

/// Watches until the time is over, `stop` is ready, or the sender ends. `second` hears of every second.
///
/// # Errors
/// If the sender cannot be reached, or sends something else.
pub async fn recv(
    request: &RecvRequest,
    stop: impl Future<Output = ()>,
    second: impl FnMut(&Second),
) -> Result<Report, DaemonError> {
    recv_on(&TokioRuntime::new(Seed(date::now_ms())), request, stop, second).await
}

/// Watches as a host of `runtime`'s world; the rest is as of [`recv`].
///
/// # Errors
/// As [`recv`].
pub async fn recv_on(
    runtime: &RuntimeHandle,
    request: &RecvRequest,
    stop: impl Future<Output = ()>,
    mut second: impl FnMut(&Second),
) -> Result<Report, DaemonError> {
    let server = address(&request.server).await?;
    let host = request.server.rsplit_once(':').map_or("", |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let trust = client::trust(request.insecure);
    let any = match server {
        SocketAddr::V4(_) => SocketAddr::from(([0, 0, 0, 0], 0)),
        SocketAddr::V6(_) => SocketAddr::from(([0_u16; 8], 0)),
    };
    let endpoint = Endpoint::client(runtime, any, transport(Tls { identity: None, trust }))?;
    let paths = paths(&endpoint, 1)?;
    let mut stop = pin!(stop);
    let opened = async {
        let connection = endpoint.connect(server, host).await?;
        let (path, answer) =
            paths.connect(&connection, &path(), &b""[..]).await.map_err(LiveError::from)?;
        Ok::<_, DaemonError>((connection, path, Answer::decode(&answer)?))
    };
    let (connection, path, answer) = tokio::select! {
        () = &mut stop => return Ok(Report::default()),
        opened = opened => opened?,
    };
    let begin = runtime.now();
    let mut kept = Kept::open(request, answer, date::now() - begin.since_start())?;
    let until = request.duration.map_or(Time::FAR_FUTURE, |duration| begin + duration);
    let watched = parking_lot::Mutex::new(Watched::new(begin, answer));
    let (failed, mut failure) = tokio::sync::oneshot::channel();
    let mut failed = Some(failed);
    let received = live::receive(&path, answer, until, |layer| {
        watched.lock().add(&layer);
        if failed.is_none() {
            return;
        }
        let ended = match kept.add(&layer) {
            Ok(true) => return,
            Ok(false) => Ok(()),
            Err(e) => Err(e),
        };
        // Nobody waits for it any more if all has ended.
        let _ = failed.take().map(|failed| failed.send(ended));
    });
    let seconds = async {
        loop {
            runtime.sleep(Duration::from_secs(1)).await;
            second(&watched.lock().second(runtime.now()));
        }
    };
    let ended: Result<(), DaemonError> = tokio::select! {
        () = stop => Ok(()),
        ended = received => match ended {
            Ok(()) | Err(LiveError::Ended) => Ok(()),
            Err(e) => Err(e.into()),
        },
        Ok(ended) = &mut failure => ended,
        _ = connection.closed() => Ok(()),
        () = seconds => Ok(()),
    };
    kept.finish()?;
    let report = watched.lock().report(runtime.now());
    connection.close(0, "done");
    drop((path, connection));
    endpoint.wait_idle().await;
    ended.map(|()| report)
}

/// What of a stream is written.
struct Kept {
    pictures: Option<(Recorder, Writing)>,
    times: Option<Times>,
}

impl Kept {
    fn open(request: &RecvRequest, answer: Answer, clock: Duration) -> Result<Self, DaemonError> {
        if request.write.is_some() && answer.coding == Coding::Pattern {
            let found = "the sender sends a pattern of bytes and no pictures";
            let expected = "have it send what airlane pack --layered makes, or leave out --write";
            return Err(InputError::new(found, expected).at_key("write").into());
        }
        let begin = |to: &WriteTo| Ok((Recorder::new(answer), Writing::start(to.open()?)?));
        let pictures = request.write.as_ref().map(begin).transpose();
        let pictures = pictures.map_err(|e: InputError| e)?;
        let times = request.times.clone().map(|path| Times::create(path, clock)).transpose()?;
        Ok(Self { pictures, times })
    }

    /// Takes a layer; whether anybody reads on.
    fn add(&mut self, layer: &ReceivedLayer) -> Result<bool, DaemonError> {
        if let Some(times) = &mut self.times {
            times.add(layer)?;
        }
        let Some((recorder, writing)) = &mut self.pictures else { return Ok(true) };
        let piece = recorder.add(&layer.header, &layer.body)?;
        if piece.is_empty() {
            return Ok(true);
        }
        let taken = writing.take(piece);
        if taken == Taken::No {
            recorder.lost();
        }
        Ok(taken != Taken::Ended)
    }

    /// Writes what is left.
    fn finish(self) -> Result<(), DaemonError> {
        if let Some(times) = self.times {
            times.finish()?;
        }
        let Some((mut recorder, writing)) = self.pictures else { return Ok(()) };
        let rest = recorder.finish()?;
        if !rest.is_empty() {
            writing.take(rest);
        }
        Ok(writing.finish()?)
    }
}

/// The first address that a name stands for.
async fn address(server: &str) -> Result<SocketAddr, DaemonError> {
    let wrong = |found: String| InputError::new(found, "expected HOST:PORT of a sender");
    let mut found = lookup_host(server).await.map_err(|e| wrong(format!("{server}: {e}")))?;
    found.next().ok_or_else(|| wrong(format!("{server}: no such host")).into())
}
