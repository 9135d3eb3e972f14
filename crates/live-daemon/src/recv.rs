//! The end that watches, without a screen: it says what it could have shown.

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use airlane_base::{InputError, Seed, Time};
use airlane_live::wire::{Answer, Coding};
use airlane_live::{LiveError, ReceivedLayer};
use airlane_quic::QuicError;
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::numbering::Numbering;
use super::opened::{Opened, Peer};
use super::output::{Taken, Times, WriteTo, Writing};
use super::record::Recorder;
use super::silence::{LOOK_INTERVAL, Silence};
use super::stream_stats::{Report, Second, StreamStats};
use super::{ENDED, FAILED};
use airlane_host::date;

use crate::DaemonError;

/// Silence of a sender after which another session is tried beside the one that there is.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Silence of a sender after which it is given up.
const LOST_TIMEOUT: Duration = Duration::from_secs(30);
/// From one attempt at a session to the next, how long each lasts, and how many there are at a time.
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(500);
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
const MAX_ATTEMPTS: usize = 4;

/// Configuration of a receiver: its sender, and for how long.
#[derive(Clone, Debug)]
pub struct ReceiverConfig {
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

/// Watches until the time is over, `stop` is ready, or the sender ends or is lost. `second` hears of every
/// second.
///
/// # Errors
/// If the sender cannot be reached, or sends something else.
pub async fn recv(
    config: &ReceiverConfig,
    stop: impl Future<Output = ()>,
    second: impl FnMut(&Second),
) -> Result<Report, DaemonError> {
    recv_on(&TokioRuntime::new(Seed(date::now_ms())), config, stop, second).await
}

/// Watches as a host of `runtime`'s world; the rest is as of [`recv`].
///
/// # Errors
/// As [`recv`].
pub async fn recv_on(
    runtime: &RuntimeHandle,
    config: &ReceiverConfig,
    stop: impl Future<Output = ()>,
    mut second: impl FnMut(&Second),
) -> Result<Report, DaemonError> {
    let (server, insecure) = (config.server.clone(), config.insecure);
    let peer = Peer { runtime: runtime.clone(), server, insecure };
    peer.check()?;
    let mut stop = pin!(stop);
    let opened = tokio::select! {
        () = &mut stop => return Ok(Report::default()),
        opened = peer.open() => opened?,
    };
    let begin = runtime.now();
    let answer = opened.answer;
    let kept = Kept::open(config, answer, date::now() - begin.since_start())?;
    let (failed, mut failure) = oneshot::channel();
    let view = Mutex::new(View {
        stats: StreamStats::new(begin, answer),
        numbering: Numbering::new(&answer),
        kept,
        failed: Some(failed),
    });
    let until = config.duration.map_or(Time::FAR_FUTURE, |duration| begin + duration);
    let mut current = Some(opened);
    let watching = async {
        loop {
            let Some(session) = &current else { return Ok(Ending::default()) };
            match watch(&peer, session, until, &view).await? {
                Next::End(ending) => return Ok(ending),
                Next::Session(next) if next.answer != answer => {
                    let lost = "the sender has come back with another video".to_owned();
                    return Ok(Ending { lost: Some(lost), silent: Duration::ZERO });
                }
                Next::Session(next) => {
                    tracing::info!("the sender is back, in another session");
                    view.lock().numbering.restart();
                    if let Some(before) = current.replace(*next) {
                        before.leave();
                    }
                }
            }
        }
    };
    let seconds = async {
        loop {
            runtime.sleep(Duration::from_secs(1)).await;
            second(&view.lock().stats.second(runtime.now()));
        }
    };
    let ended: Result<Ending, DaemonError> = tokio::select! {
        () = stop => Ok(Ending::default()),
        ended = watching => ended,
        Ok(ended) = &mut failure => ended.map(|()| Ending::default()),
        () = seconds => Ok(Ending::default()),
    };
    let View { stats, kept, .. } = view.into_inner();
    kept.finish()?;
    let now = runtime.now();
    if let Some(Opened { path, connection, endpoint, .. }) = current {
        connection.close(ENDED, "done");
        drop((path, connection));
        endpoint.wait_idle().await;
    }
    let Ending { lost, silent } = ended?;
    Ok(Report { lost, ..stats.report(now, silent) })
}

/// Receiver of what comes: it numbers, measures and keeps it.
struct View {
    stats: StreamStats,
    numbering: Numbering,
    kept: Kept,
    /// Hears once that nothing more can be kept, and why.
    failed: Option<oneshot::Sender<Result<(), DaemonError>>>,
}

impl View {
    fn add(&mut self, mut layer: ReceivedLayer) {
        self.numbering.number(&mut layer);
        self.stats.add(&layer);
        if self.failed.is_none() {
            return;
        }
        let ended = match self.kept.add(&layer) {
            Ok(true) => return,
            Ok(false) => Ok(()),
            Err(e) => Err(e),
        };
        // Nobody waits for it any more if all has ended.
        let _ = self.failed.take().map(|failed| failed.send(ended));
    }
}

/// Continuation of a session: its end, or another one.
enum Next {
    /// It ended.
    End(Ending),
    /// Another took its place.
    Session(Box<Opened>),
}

/// End of watching.
#[derive(Debug, Default)]
struct Ending {
    /// Reason for which the sender counts as lost, if it does.
    lost: Option<String>,
    /// Time for which the sender had been silent.
    silent: Duration,
}

/// Watches one session. While the sender is silent, or has gone, another session is tried beside it.
async fn watch(
    peer: &Peer,
    session: &Opened,
    until: Time,
    view: &Mutex<View>,
) -> Result<Next, DaemonError> {
    let runtime = &peer.runtime;
    let mut received =
        pin!(airlane_live::receive(&session.path, session.answer, until, |layer| view
            .lock()
            .add(layer)));
    let mut closed = pin!(session.connection.closed());
    let mut silence = Silence::new(runtime.now());
    let mut attempts = Attempts::new(peer);
    // Why nothing more can come of this session.
    let mut gone: Option<String> = None;
    loop {
        tokio::select! {
            biased;
            ended = &mut received, if gone.is_none() => match ended {
                Ok(()) => {}
                Err(LiveError::Ended) => gone = Some(LiveError::Ended.to_string()),
                Err(e) => return Err(e.into()),
            },
            why = &mut closed, if gone.is_none() => match why {
                QuicError::ClosedByPeer { code, .. } if code == u64::from(ENDED) => {
                    return Ok(Next::End(Ending::default()));
                }
                QuicError::ClosedByPeer { code, reason } if code == u64::from(FAILED) => {
                    return Ok(Next::End(Ending { lost: Some(reason), silent: Duration::ZERO }));
                }
                why => gone = Some(why.to_string()),
            },
            opened = attempts.next() => return Ok(Next::Session(Box::new(opened))),
            () = runtime.sleep(LOOK_INTERVAL) => {}
        }
        let now = runtime.now();
        let silent = silence.look(now, session.path.look(|session, _| session.heard_at()));
        let is_missed = gone.is_some() || silent >= RECONNECT_TIMEOUT;
        if (now >= until && is_missed) || silent >= LOST_TIMEOUT {
            let last = attempts.last_error.or(gone).map(|e| format!(" ({e})")).unwrap_or_default();
            let silent_s = silent.as_secs_f64();
            let lost = format!("nothing has come from {} for {silent_s:.0} s{last}", peer.server);
            return Ok(Next::End(Ending { lost: Some(lost), silent }));
        }
        if now >= until {
            return Ok(Next::End(Ending::default()));
        }
        attempts.keep(now, is_missed);
    }
}

/// Attempts at another session.
struct Attempts<'a> {
    peer: &'a Peer,
    under_way: FuturesUnordered<BoxFuture<'a, Result<Opened, DaemonError>>>,
    begun_at: Option<Time>,
    last_error: Option<String>,
}

impl<'a> Attempts<'a> {
    fn new(peer: &'a Peer) -> Self {
        Self { peer, under_way: FuturesUnordered::new(), begun_at: None, last_error: None }
    }

    /// Begins one if it is time, while they are wanted; otherwise ends those that there are.
    fn keep(&mut self, now: Time, wanted: bool) {
        if !wanted {
            self.under_way.clear();
            self.begun_at = None;
            return;
        }
        let is_due = self.begun_at.is_none_or(|at| now.since(at) >= ATTEMPT_INTERVAL);
        if is_due && self.under_way.len() < MAX_ATTEMPTS {
            if self.begun_at.is_none() {
                tracing::info!("nothing comes from the sender: trying another session");
            }
            self.begun_at = Some(now);
            let peer = self.peer;
            self.under_way.push(Box::pin(async move {
                tokio::select! {
                    opened = peer.open() => opened,
                    () = peer.runtime.sleep(ATTEMPT_TIMEOUT) => Err(QuicError::TimedOut.into()),
                }
            }));
        }
    }

    /// The first session that is opened.
    async fn next(&mut self) -> Opened {
        loop {
            match self.under_way.next().await {
                Some(Ok(opened)) => return opened,
                Some(Err(why)) => self.last_error = Some(why.to_string()),
                None => std::future::pending().await,
            }
        }
    }
}

/// Files in which a stream is kept.
struct Kept {
    pictures: Option<(Recorder, Writing)>,
    times: Option<Times>,
}

impl Kept {
    fn open(config: &ReceiverConfig, answer: Answer, clock: Duration) -> Result<Self, DaemonError> {
        if config.write.is_some() && answer.coding == Coding::Pattern {
            let found = "the sender sends a pattern of bytes and no pictures";
            let expected = "have it send what airlane pack --layered makes, or leave out --write";
            return Err(InputError::new(found, expected).at_key("write").into());
        }
        let begin = |to: &WriteTo| Ok((Recorder::new(answer), Writing::start(to.open()?)?));
        let pictures = config.write.as_ref().map(begin).transpose();
        let pictures = pictures.map_err(|e: InputError| e)?;
        let times = config.times.clone().map(|path| Times::create(path, clock)).transpose()?;
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
