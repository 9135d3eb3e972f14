//! Where the serving end is: addresses, or a name that is looked up again and again.

use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Time};
use airlane_multipath::MultipathError;
use airlane_runtime::{BoxFuture, RuntimeExt, RuntimeHandle};
use parking_lot::Mutex;
use tokio::net::lookup_host;
use tokio::sync::watch;

use super::request::Target;

/// From the beginning of one look-up to that of the next at least.
const LOOKUP_INTERVAL: Duration = Duration::from_secs(2);
/// An attempt waits no longer for a look-up when it knows addresses from an earlier one: the way to
/// the resolver may be what is broken.
const LOOKUP_WAIT: Duration = Duration::from_millis(500);

/// Address of the serving end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAddress {
    /// At one of these addresses.
    Addresses(Vec<SocketAddr>),
    /// At what this name stands for at the time.
    Name(Target),
}

impl From<SocketAddr> for ServerAddress {
    fn from(address: SocketAddr) -> Self {
        Self::Addresses(vec![address])
    }
}

impl FromStr for ServerAddress {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(address.into());
        }
        Target::parse(text).map(Self::Name).ok_or_else(|| {
            let expected = "expected HOST:PORT, such as vps.example.org:4434 or [2001:db8::1]:4434";
            InputError::new(format!("{text:?} is no address of a server"), expected)
        })
    }
}

/// Looks up a name.
type Resolve = dyn Fn(Target) -> BoxFuture<io::Result<Vec<SocketAddr>>> + Send + Sync;

/// The serving end's addresses as far as they are known. All interfaces share it.
pub(crate) struct ServerLookup {
    runtime: RuntimeHandle,
    address: ServerAddress,
    resolve: Box<Resolve>,
    state: Mutex<State>,
    /// Number of look-ups that have ended.
    ended: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    /// Those of the latest look-up that found any.
    known: Vec<SocketAddr>,
    /// Reason why the latest look-up found none; empty if it did.
    problem: String,
    /// Time at which the latest look-up began.
    begun: Option<Time>,
    is_running: bool,
}

impl ServerLookup {
    /// One that asks the system.
    pub(crate) fn new(runtime: &RuntimeHandle, address: ServerAddress) -> Arc<Self> {
        Self::with(runtime, address, |name: Target| {
            Box::pin(async move { Ok(lookup_host((&*name.host, name.port)).await?.collect()) })
        })
    }

    fn with(
        runtime: &RuntimeHandle,
        address: ServerAddress,
        resolve: impl Fn(Target) -> BoxFuture<io::Result<Vec<SocketAddr>>> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            runtime: runtime.clone(),
            address,
            resolve: Box::new(resolve),
            state: Mutex::default(),
            ended: watch::Sender::new(0),
        })
    }

    /// The addresses for an attempt to connect. Nothing has answered, or there would be no attempt: a
    /// name is looked up again, unless it just was.
    ///
    /// # Errors
    /// If the name stands for none, and did not before either.
    pub(crate) async fn addresses(self: &Arc<Self>) -> Result<Vec<SocketAddr>, MultipathError> {
        let name = match &self.address {
            ServerAddress::Addresses(all) => return Ok(all.clone()),
            ServerAddress::Name(name) => name,
        };
        let mut ended = self.ended.subscribe();
        let now = self.runtime.now();
        let waited_for = {
            let mut state = self.state.lock();
            let is_due = state.begun.is_none_or(|begun| now - begun >= LOOKUP_INTERVAL);
            if is_due && !state.is_running {
                state.begun = Some(now);
                state.is_running = true;
                let lookup = self.clone();
                let found = (self.resolve)(name.clone());
                self.runtime.spawn("tunnel name", async move { lookup.note(found.await) });
            }
            state.is_running.then_some((state.begun, state.known.is_empty()))
        };
        match waited_for {
            // The attempt that waits has an end of its own.
            Some((_, true)) => drop(ended.changed().await),
            Some((begun, false)) => {
                let until = begun.unwrap_or(now) + LOOKUP_WAIT;
                tokio::select! {
                    biased;
                    _ = ended.changed() => {}
                    () = self.runtime.sleep_until(until) => {}
                }
            }
            None => {}
        }
        let state = self.state.lock();
        match state.known.is_empty() {
            true => Err(MultipathError::Io(format!("{name}: {}", state.problem))),
            false => Ok(state.known.clone()),
        }
    }

    fn note(&self, found: io::Result<Vec<SocketAddr>>) {
        let mut state = self.state.lock();
        state.is_running = false;
        match found {
            Ok(found) if !found.is_empty() => {
                state.known = found;
                state.problem.clear();
            }
            Ok(_) => "the name has no address".clone_into(&mut state.problem),
            Err(e) => state.problem = e.to_string(),
        }
        drop(state);
        self.ended.send_modify(|ended| *ended += 1);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use airlane_runtime::virtual_time;

    fn at(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 4434))
    }

    /// Result of the n-th look-up; `None`: it never ends.
    type Finds = fn(usize) -> Option<io::Result<Vec<SocketAddr>>>;

    fn lookup(runtime: &RuntimeHandle, finds: Finds) -> (Arc<ServerLookup>, Arc<AtomicUsize>) {
        let asked: Arc<AtomicUsize> = Arc::default();
        let count = asked.clone();
        let name = "vps.example:4434".parse().unwrap();
        let lookup = ServerLookup::with(runtime, name, move |_| {
            let found = finds(count.fetch_add(1, Ordering::Relaxed));
            Box::pin(async move {
                match found {
                    Some(found) => found,
                    None => pending().await,
                }
            })
        });
        (lookup, asked)
    }

    #[test]
    fn a_name_that_is_missing_at_first_is_found_later_and_followed_when_it_moves() {
        virtual_time::run_alone(|runtime| async move {
            let (lookup, asked) = lookup(&runtime, |n| {
                Some(match n {
                    0 => Err(io::Error::other("no such name")),
                    1 => Ok(Vec::new()),
                    2 => Ok(vec![at(1)]),
                    3 => Err(io::Error::other("no resolver")),
                    _ => Ok(vec![at(2), at(3)]),
                })
            });
            let mut seen = Vec::new();
            // As often as an interface tries to connect.
            for _ in 0..40 {
                seen.push(lookup.addresses().await.map_err(|e| e.to_string()));
                runtime.sleep(Duration::from_millis(250)).await;
            }
            seen.dedup();
            let why = |text: &str| Err(format!("a path ended: vps.example:4434: {text}"));
            let [no, none, one, two] = &seen[..] else { panic!("{seen:?}") };
            assert_eq!((no, none), (&why("no such name"), &why("the name has no address")));
            assert_eq!((one, two), (&Ok(vec![at(1)]), &Ok(vec![at(2), at(3)])));
            assert_eq!(asked.load(Ordering::Relaxed), 5, "one look-up in two seconds");
        });
    }

    #[test]
    fn a_resolver_that_hangs_holds_up_attempts_at_known_addresses_once_and_shortly() {
        virtual_time::run_alone(|runtime| async move {
            let (lookup, asked) = lookup(&runtime, |n| (n == 0).then(|| Ok(vec![at(1)])));
            assert_eq!(lookup.addresses().await.unwrap(), [at(1)]);
            runtime.sleep(LOOKUP_INTERVAL).await;
            let begun = runtime.now();
            for _ in 0..100 {
                assert_eq!(lookup.addresses().await.unwrap(), [at(1)]);
            }
            assert_eq!(runtime.now() - begun, LOOKUP_WAIT);
            runtime.sleep(10 * LOOKUP_INTERVAL).await;
            lookup.addresses().await.unwrap();
            assert_eq!(asked.load(Ordering::Relaxed), 2, "one look-up at a time");
        });
    }

    #[test]
    fn servers_are_addresses_or_names() {
        let read = |text: &str| text.parse::<ServerAddress>();
        assert_eq!(read("10.0.0.1:4434").unwrap(), at(1).into());
        assert!(matches!(read("[::1]:4434"), Ok(ServerAddress::Addresses(_))));
        assert!(matches!(read("vps.example.org:4434"), Ok(ServerAddress::Name(_))));
        for bad in ["", "vps.example.org", ":4434", "vps:0", "::1:4434"] {
            let e = read(bad).unwrap_err().to_string();
            assert!(e.contains("expected HOST:PORT"), "{bad}: {e}");
        }
    }
}
