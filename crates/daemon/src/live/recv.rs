//! The end that watches, without a screen: it says what it could have shown.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use airlane_apps::live::wire::Answer;
use airlane_apps::live::{self, LiveError};
use airlane_base::{InputError, Seed, Time};
use airlane_quic::{Endpoint, Tls};
use airlane_runtime::RuntimeExt;
use airlane_runtime::real_time::TokioRuntime;
use tokio::net::lookup_host;

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
}

/// Watches until the time is over, `stop` is ready, or the sender ends. `second` hears of every second.
///
/// # Errors
/// If the sender cannot be reached, or sends something else.
pub async fn recv(
    request: &RecvRequest,
    stop: impl Future<Output = ()>,
    mut second: impl FnMut(&Second),
) -> Result<Report, DaemonError> {
    let server = address(&request.server).await?;
    let host = request.server.rsplit_once(':').map_or("", |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let trust = client::trust(request.insecure);
    let runtime = TokioRuntime::new(Seed(date::now_ms()));
    let any = match server {
        SocketAddr::V4(_) => SocketAddr::from(([0, 0, 0, 0], 0)),
        SocketAddr::V6(_) => SocketAddr::from(([0_u16; 8], 0)),
    };
    let endpoint = Endpoint::client(&runtime, any, transport(Tls { identity: None, trust }))?;
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
    let until = request.duration.map_or(Time::FAR_FUTURE, |duration| begin + duration);
    let watched = parking_lot::Mutex::new(Watched::new(begin, answer));
    let received =
        live::receive(&path, answer.structure, until, |layer| watched.lock().add(&layer));
    let seconds = async {
        loop {
            runtime.sleep(Duration::from_secs(1)).await;
            second(&watched.lock().second(runtime.now()));
        }
    };
    let ended = tokio::select! {
        () = stop => Ok(()),
        ended = received => ended,
        _ = connection.closed() => Ok(()),
        () = seconds => Ok(()),
    };
    let report = watched.lock().report(runtime.now());
    connection.close(0, "done");
    drop((path, connection));
    endpoint.wait_idle().await;
    match ended {
        Ok(()) | Err(LiveError::Ended) => Ok(report),
        Err(e) => Err(e.into()),
    }
}

/// The first address that a name stands for.
async fn address(server: &str) -> Result<SocketAddr, DaemonError> {
    let wrong = |found: String| InputError::new(found, "expected HOST:PORT of a sender");
    let mut found = lookup_host(server).await.map_err(|e| wrong(format!("{server}: {e}")))?;
    found.next().ok_or_else(|| wrong(format!("{server}: no such host")).into())
}
