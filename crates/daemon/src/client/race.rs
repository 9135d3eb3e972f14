//! Attempts at several addresses, as RFC 8305 has them ("Happy Eyeballs"): one begins soon after
//! the other, and the first that succeeds wins.

use std::collections::VecDeque;
use std::future::pending;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use airlane_runtime::{RuntimeExt, RuntimeHandle};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

/// From one attempt to the next, unless one fails before (RFC 8305, section 5).
const DELAY: Duration = Duration::from_millis(250);
/// Addresses of a name that are tried. With [`DELAY`] between them the last one's turn comes well
/// before anybody has lost patience.
const MOST: usize = 8;

/// The addresses of a name in the order in which to try them: as they came, but IPv6 and IPv4 by
/// turns (RFC 8305, section 4), so that one that does not work costs one [`DELAY`].
pub(super) fn by_turns(addresses: impl IntoIterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let mut first = VecDeque::new();
    let mut second = VecDeque::new();
    for address in addresses {
        match first.front().is_none_or(|a: &SocketAddr| a.is_ipv6() == address.is_ipv6()) {
            true => first.push_back(address),
            false => second.push_back(address),
        }
    }
    let mut order = Vec::new();
    while order.len() < MOST && !(first.is_empty() && second.is_empty()) {
        order.extend(first.pop_front());
        order.extend(second.pop_front());
    }
    order.truncate(MOST);
    order
}

/// The result of the first attempt that succeeds. The others are dropped. Why each failed, in the
/// order in which they did, if all do.
pub(super) async fn first<T, E, F>(runtime: &RuntimeHandle, attempts: Vec<F>) -> Result<T, Vec<E>>
where
    F: Future<Output = Result<T, E>>,
{
    let mut waiting = attempts.into_iter();
    let mut under_way = FuturesUnordered::new();
    let mut failed = Vec::new();
    loop {
        match waiting.next() {
            Some(attempt) => under_way.push(attempt),
            None if under_way.is_empty() => return Err(failed),
            None => {}
        }
        let another = waiting.len() > 0;
        let mut turn = pin!(async {
            match another {
                true => runtime.sleep(DELAY).await,
                false => pending().await,
            }
        });
        tokio::select! {
            biased;
            Some(ended) = under_way.next() => match ended {
                Ok(value) => return Ok(value),
                Err(e) => failed.push(e),
            },
            () = &mut turn => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use airlane_runtime::RuntimeHandle;

    use super::*;
    use crate::virtual_time;

    /// An attempt that ends after so many milliseconds, or never.
    async fn attempt(
        runtime: RuntimeHandle,
        (name, ends): (&'static str, Option<(u64, bool)>),
    ) -> Result<&'static str, &'static str> {
        let Some((after, succeeds)) = ends else { return pending().await };
        runtime.sleep(Duration::from_millis(after)).await;
        if succeeds { Ok(name) } else { Err(name) }
    }

    #[test]
    fn the_first_that_succeeds_wins_and_silence_costs_a_quarter_of_a_second() {
        let race = |attempts: Vec<(&'static str, Option<(u64, bool)>)>| {
            virtual_time::run(|runtime| async move {
                let attempts = attempts.into_iter().map(|a| attempt(runtime.clone(), a)).collect();
                let result = first(&runtime, attempts).await;
                (result, runtime.now().as_nanos() / 1_000_000)
            })
        };
        let silent = |name| (name, None);
        assert_eq!(race(vec![("a", Some((10, true))), silent("b")]), (Ok("a"), 10));
        // Four that do not answer before one that does.
        let five = ["a", "b", "c", "d"].map(silent).into_iter().chain([("e", Some((10, true)))]);
        assert_eq!(race(five.collect()), (Ok("e"), 1010));
        // One that is slow still wins while the others are silent.
        assert_eq!(race(vec![("a", Some((600, true))), silent("b")]), (Ok("a"), 600));
        // One that fails does not have the next one wait.
        let refused = |name| (name, Some((5, false)));
        assert_eq!(race(vec![refused("a"), ("b", Some((5, true)))]), (Ok("b"), 10));
        assert_eq!(race(vec![refused("a"), refused("b")]), (Err(vec!["a", "b"]), 10));
        assert_eq!(race(Vec::new()), (Err(Vec::new()), 0));
    }

    #[test]
    fn addresses_of_both_kinds_take_turns() {
        let all = |texts: &[&str]| texts.iter().map(|t| t.parse().unwrap()).collect::<Vec<_>>();
        let came = all(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "1.1.1.2:1"]);
        let tried = all(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "1.1.1.2:1", "[::3]:1"]);
        assert_eq!(by_turns(came), tried);
        let came = all(&["1.1.1.1:1", "[::1]:1", "[::2]:1"]);
        assert_eq!(by_turns(came.clone()), came);
        let many = (0..1000).map(|port| SocketAddr::from(([1, 1, 1, 1], port)));
        assert_eq!(by_turns(many).len(), MOST);
    }
}
