//! What the parts of a soak share: the server, its addresses, and the account of what happened.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use airlane_base::Seed;
use airlane_http_client::{Client, Speak, Url};
use airlane_quic::Trust;
use airlane_runtime::RuntimeExt;
use airlane_runtime::real_time::TokioRuntime;
use parking_lot::Mutex;
use rustix::process::Signal;

use super::Plan;
use crate::bar::Problem;
use crate::clock::Watch;
use crate::metrics::Metrics;
use crate::process::{Running, Scratch};

/// Failures that are told in full.
const TOLD: usize = 5;
/// The first address of viewers on the loopback interface, and how many there are: each has its own as
/// long as no more are there at a time, so that what the server bounds by address is bounded for each.
const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 1, 0, 1);
const ADDRESSES: u32 = 60_000;
/// Bytes of an answer that is read as a whole.
pub(super) const MAX_BYTES: usize = 64 << 20;

/// The server and what is asked of it.
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) server: Running,
    /// `https://ADDR:PORT` for everybody, `http://ADDR:PORT` for operators.
    pub(super) address: String,
    pub(super) admin: String,
    pub(super) folder: Scratch,
    account: Mutex<Account>,
    /// Number of viewers so far that were given an address.
    viewers: AtomicU32,
}

/// Counts of what happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// Number of failures that should not have happened, and the first of them in words.
    pub(super) failed: u64,
    pub(super) failures: Vec<String>,
    /// Player processes that ended by themselves, were killed, were stopped and killed later.
    pub(super) ended: u64,
    pub(super) killed: u64,
    pub(super) frozen: u64,
    /// Sessions of those that ended by themselves, their chunks and how often they stalled.
    pub(super) played: u64,
    pub(super) chunks: u64,
    pub(super) stalls: u64,
    /// Sessions whose players asked for their figures, and how often.
    pub(super) viewers: u64,
    pub(super) views: u64,
    /// Clients that said nothing, or stopped reading.
    pub(super) silent: u64,
    pub(super) stalled: u64,
    /// Looks of the status page, and the last metrics.
    pub(super) pages: u64,
    pub(super) metrics: Metrics,
    /// Certificates that replaced others, how many of them were seen over QUIC and over TCP, and
    /// the longest that took.
    pub(super) certificates: u64,
    pub(super) seen: [u64; 2],
    pub(super) slowest: Duration,
    /// Titles that came and went again.
    pub(super) titles: u64,
    /// Access logs that were begun anew, and lines of all of them.
    pub(super) logs: u64,
    pub(super) lines: u64,
}

impl World {
    pub(super) fn new(
        plan: Plan,
        folder: Scratch,
        (server, address, admin): (Running, String, String),
    ) -> Self {
        let (account, viewers) = Default::default();
        Self { plan, server, address, admin, folder, account, viewers }
    }

    /// Notes something.
    pub(super) fn note<T>(&self, note: impl FnOnce(&mut Account) -> T) -> T {
        note(&mut self.account.lock())
    }

    /// Notes that something failed.
    pub(super) fn fail(&self, what: impl std::fmt::Display) {
        self.note(|account| account.fail(what.to_string()));
    }

    /// Notes it if `done` is an error.
    pub(super) fn expect<T, E: std::fmt::Display>(
        &self,
        what: impl std::fmt::Display,
        done: Result<T, E>,
    ) -> Option<T> {
        done.map_err(|e| self.fail(format_args!("{what}: {e}"))).ok()
    }

    /// The address of another viewer.
    pub(super) fn next_source(&self) -> IpAddr {
        let viewer = self.viewers.fetch_add(1, Ordering::Relaxed) % ADDRESSES;
        Ipv4Addr::from_bits(FIRST_ADDRESS.to_bits() + viewer).into()
    }

    /// A client of another viewer, who believes anybody.
    pub(super) fn client(&self, speak: Speak) -> Result<Client, Problem> {
        let runtime = TokioRuntime::new(Seed(1));
        Client::from_source(runtime, Trust::Anyone, speak, self.next_source()).map_err(broke)
    }

    /// A client of the operator's.
    pub(super) fn operator(&self) -> Result<Client, Problem> {
        client(Trust::Anyone, Speak::Http1)
    }

    /// The address of something that everybody may ask for.
    pub(super) fn url(&self, path: &str) -> Result<Url, Problem> {
        parse(&format!("{}{path}", self.address))
    }

    /// The address of something for operators.
    pub(super) fn admin_url(&self, path: &str) -> Result<Url, Problem> {
        parse(&format!("{}{path}", self.admin))
    }

    /// Has the server read certificates and titles again, and begin a new access log.
    pub(super) fn reload(&self) -> Result<(), Problem> {
        self.server.signal(Signal::HUP)
    }
}

impl Account {
    fn fail(&mut self, what: String) {
        self.failed += 1;
        if self.failures.len() < TOLD {
            self.failures.push(what);
        }
    }

    /// The sum of a metric over all of its labels.
    pub(super) fn metric(&self, name: &str) -> f64 {
        self.metrics.of(name, "").unwrap_or_default()
    }

    /// The sum of a metric where a label has this value.
    pub(super) fn metric_of(&self, name: &str, label: &str, value: &str) -> f64 {
        self.metrics.of(name, &format!("{label}=\"{value}\"")).unwrap_or_default()
    }
}

/// A client with a socket of its own.
pub(super) fn client(trust: Trust, speak: Speak) -> Result<Client, Problem> {
    Client::new(TokioRuntime::new(Seed(1)), trust, speak).map_err(broke)
}

pub(super) fn parse(url: &str) -> Result<Url, Problem> {
    Url::parse(url).map_err(broke)
}

pub(super) fn broke(e: impl std::fmt::Display) -> Problem {
    Problem::Broke(e.to_string())
}

pub(super) async fn sleep(time: Duration) {
    TokioRuntime::new(Seed(1)).sleep(time).await;
}

/// Tries something every half second until it is done, or for so long. How long that took.
pub(super) async fn until<A, E>(
    limit: Duration,
    mut attempt: impl FnMut() -> A,
) -> Result<Duration, Problem>
where
    A: Future<Output = Result<(), E>>,
    E: std::fmt::Display,
{
    let watch = Watch::start();
    loop {
        match attempt().await {
            Ok(()) => return Ok(watch.elapsed()),
            Err(e) if watch.elapsed() > limit => {
                return Err(broke(format_args!("not within {} s: {e}", limit.as_secs())));
            }
            Err(_) => sleep(Duration::from_millis(500)).await,
        }
    }
}

/// Puts a file in place of another, so that nobody ever sees a part of it.
pub(super) fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    std::fs::write(&beside, content)?;
    std::fs::rename(&beside, path)
}
