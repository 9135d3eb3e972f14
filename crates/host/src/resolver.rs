//! Addresses of names, by the system's resolver. It keeps a thread of its own for each name until it
//! knows, which can take a minute: so their number is bounded, of all and of each who asks.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use airlane_runtime::{RuntimeExt, RuntimeHandle};

use crate::fair::FairPermits;

/// Names that are looked up at once at most: an eighth of the threads that tokio has for what blocks.
const MAX_LOOKUPS: usize = 64;

/// Function that looks a name up, and blocks meanwhile.
pub type Lookup = Arc<dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync>;

/// Looks names up for those who ask, known by `K`.
pub struct Resolver<K: Ord + Copy> {
    runtime: RuntimeHandle,
    lookup: Lookup,
    permits: Arc<FairPermits<K>>,
}

impl<K: Ord + Copy + Send + Sync + 'static> Resolver<K> {
    /// The system's.
    pub fn system(runtime: RuntimeHandle) -> Self {
        let lookup = |host: &str, port| (host, port).to_socket_addrs().map(Iterator::collect);
        Self::with(runtime, Arc::new(lookup))
    }

    /// Another one.
    pub fn with(runtime: RuntimeHandle, lookup: Lookup) -> Self {
        Self { runtime, lookup, permits: FairPermits::new(MAX_LOOKUPS) }
    }

    /// The addresses of a host, if they are known within `timeout`: its turn included, for whoever asks
    /// for many waits for its own.
    ///
    /// # Errors
    /// If there are none, or they are not known by then.
    pub async fn addresses(
        &self,
        holder: K,
        (host, port): (&str, u16),
        timeout: Duration,
    ) -> io::Result<Vec<SocketAddr>> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let found = async {
            let permit = self.permits.acquire(holder, 1).await;
            let (lookup, host) = (self.lookup.clone(), host.to_owned());
            let looking = tokio::task::spawn_blocking(move || {
                let found = lookup(&host, port);
                // Not before: the thread is taken for as long, whoever still waits.
                drop(permit);
                found
            });
            looking.await.unwrap_or_else(|e| Err(io::Error::other(e)))
        };
        tokio::select! {
            biased;
            found = found => found,
            () = self.runtime.sleep(timeout) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use airlane_base::Seed;
    use airlane_runtime::real_time::TokioRuntime;
    use parking_lot::Mutex;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn names_that_hang_hold_up_who_asked_for_them_and_nobody_else() {
        let (release, hangs) = mpsc::channel::<()>();
        let (hangs, asked) = (Mutex::new(hangs), Arc::new(AtomicUsize::new(0)));
        let counted = asked.clone();
        let lookup = move |host: &str, port| {
            counted.fetch_add(1, Ordering::Relaxed);
            if host == "hangs.example" {
                // Until the test is over.
                let _ = hangs.lock().recv();
            }
            Ok(vec![SocketAddr::from(([192, 0, 2, 1], port))])
        };
        let runtime = TokioRuntime::new(Seed(1));
        let resolver = Arc::new(Resolver::with(runtime.clone(), Arc::new(lookup)));
        let long = Duration::from_secs(600);
        for _ in 0..1000 {
            let resolver = resolver.clone();
            runtime.spawn("asks", async move {
                drop(resolver.addresses(1, ("hangs.example", 80), long).await);
            });
        }
        while asked.load(Ordering::Relaxed) < MAX_LOOKUPS / 2 {
            tokio::task::yield_now().await;
        }
        // Neither who asks for another name nor an address waits for them.
        let found = resolver.addresses(2, ("other.example", 80), long).await.unwrap();
        assert_eq!(found, ["192.0.2.1:80".parse().unwrap()]);
        let found = resolver.addresses(1, ("192.0.2.9", 80), long).await.unwrap();
        assert_eq!(found, ["192.0.2.9:80".parse().unwrap()]);
        // Its own others have a time-out; no more threads are taken, and those that are stay so.
        let late = resolver.addresses(1, ("other.example", 80), Duration::from_millis(1)).await;
        assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(resolver.permits.taken(), MAX_LOOKUPS / 2);
        assert_eq!(asked.load(Ordering::Relaxed), MAX_LOOKUPS / 2 + 1);
        drop(release);
    }
}
