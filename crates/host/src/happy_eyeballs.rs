//! Happy Eyeballs (RFC 8305): connection attempts at the addresses of a name, of both families by
//! turns, one soon after the other; the first that succeeds wins, and the others are cancelled.
//!
//! What an attempt is, its caller decides: a TCP connection, a QUIC handshake, a whole line of a
//! tunnel.

use std::collections::VecDeque;
use std::future::pending;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use airlane_runtime::{RuntimeExt, RuntimeHandle};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

/// Connection Attempt Delay (RFC 8305, sections 5 and 8): time from one attempt to the next, unless
/// one fails before.
pub const CONNECTION_ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// Number of a name's addresses that are tried. With [`CONNECTION_ATTEMPT_DELAY`] between them the
/// last one's turn comes after 1.75 s.
pub const MAX_ADDRESSES: usize = 8;

/// Addresses of a name in the order in which to try them (RFC 8305, section 4, with a First Address
/// Family Count of 1): in the order of the resolver, but IPv6 and IPv4 by turns, so that a family
/// that does not work costs one [`CONNECTION_ATTEMPT_DELAY`]. An address that is there twice is tried
/// once.
pub fn interleave(addresses: impl IntoIterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let (mut first, mut second): (VecDeque<SocketAddr>, VecDeque<SocketAddr>) = Default::default();
    for address in addresses {
        let is_first = first.front().is_none_or(|a| a.is_ipv6() == address.is_ipv6());
        let family = if is_first { &mut first } else { &mut second };
        if family.len() < MAX_ADDRESSES && !family.contains(&address) {
            family.push_back(address);
        }
    }
    let mut order = Vec::new();
    while order.len() < MAX_ADDRESSES && !(first.is_empty() && second.is_empty()) {
        order.extend(first.pop_front());
        order.extend(second.pop_front());
    }
    order.truncate(MAX_ADDRESSES);
    order
}

/// Makes an attempt at each of `addresses`, in their order, until the first succeeds; its result.
/// The other attempts are dropped, which has to cancel them.
///
/// # Errors
/// If all fail: why each did, in the order in which they did. No address gives no reason.
pub async fn race<T, E, F>(
    runtime: &RuntimeHandle,
    addresses: &[SocketAddr],
    attempt: impl Fn(SocketAddr) -> F,
) -> Result<T, Vec<E>>
where
    F: Future<Output = Result<T, E>>,
{
    let mut waiting = addresses.iter().copied();
    let mut under_way = FuturesUnordered::new();
    let mut failed = Vec::new();
    loop {
        match waiting.next() {
            Some(address) => under_way.push(attempt(address)),
            None if under_way.is_empty() => return Err(failed),
            None => {}
        }
        let is_last = waiting.len() == 0;
        let mut turn = pin!(async {
            match is_last {
                true => pending().await,
                false => runtime.sleep(CONNECTION_ATTEMPT_DELAY).await,
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use airlane_runtime::virtual_time;

    /// Milliseconds until an attempt ends, and whether it succeeds; `None` never ends.
    type Ends = Option<(u64, bool)>;

    /// Counts the attempts that are under way.
    struct UnderWay(Arc<AtomicUsize>);

    impl UnderWay {
        fn new(count: &Arc<AtomicUsize>) -> Self {
            count.fetch_add(1, Ordering::Relaxed);
            Self(count.clone())
        }
    }

    impl Drop for UnderWay {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The port of the address that won, or those that failed, and the milliseconds that it took.
    fn raced(ends: &'static [Ends]) -> (Result<u16, Vec<u16>>, u64) {
        virtual_time::run_alone(move |runtime| async move {
            let addresses: Vec<_> =
                (0..ends.len()).map(|i| SocketAddr::from(([10, 0, 0, 1], i as u16))).collect();
            let count = Arc::default();
            let result = race(&runtime, &addresses, |address| {
                let (runtime, under_way) = (runtime.clone(), UnderWay::new(&count));
                async move {
                    let _under_way = under_way;
                    let port = address.port();
                    let Some((after, succeeds)) = ends[usize::from(port)] else {
                        return pending().await;
                    };
                    runtime.sleep(Duration::from_millis(after)).await;
                    if succeeds { Ok(port) } else { Err(port) }
                }
            });
            let result = result.await;
            assert_eq!(count.load(Ordering::Relaxed), 0, "an attempt that lost goes on");
            (result, runtime.now().as_nanos() / 1_000_000)
        })
    }

    #[test]
    fn the_first_that_succeeds_wins_and_silence_costs_a_quarter_of_a_second() {
        const GOOD: Ends = Some((10, true));
        const REFUSED: Ends = Some((5, false));
        assert_eq!(raced(&[GOOD, None]), (Ok(0), 10));
        // Four that do not answer before one that does.
        assert_eq!(raced(&[None, None, None, None, GOOD]), (Ok(4), 1010));
        // One that is slow still wins while the others are silent.
        assert_eq!(raced(&[Some((600, true)), None]), (Ok(0), 600));
        // One that fails does not have the next one wait.
        assert_eq!(raced(&[REFUSED, GOOD]), (Ok(1), 15));
        assert_eq!(raced(&[REFUSED, REFUSED]), (Err(vec![0, 1]), 10));
        assert_eq!(raced(&[]), (Err(Vec::new()), 0));
    }

    #[test]
    fn addresses_of_both_families_take_turns() {
        let all = |texts: &[&str]| texts.iter().map(|t| t.parse().unwrap()).collect::<Vec<_>>();
        let came = all(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "1.1.1.2:1"]);
        let tried = all(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "1.1.1.2:1", "[::3]:1"]);
        assert_eq!(interleave(came), tried);
        let came = all(&["1.1.1.1:1", "[::1]:1", "[::2]:1"]);
        assert_eq!(interleave(came.clone()), came);
        let twice = all(&["[::1]:1", "[::1]:1", "1.1.1.1:1", "[::1]:1", "1.1.1.1:1"]);
        assert_eq!(interleave(twice), all(&["[::1]:1", "1.1.1.1:1"]));
    }

    #[test]
    fn a_name_with_many_addresses_costs_few_attempts_of_both_families() {
        let many = (0..1000).map(|port| SocketAddr::from(([1, 1, 1, 1], port)));
        let last = ["[::1]:1".parse().unwrap()];
        let order = interleave(many.chain(last));
        assert_eq!(order.len(), MAX_ADDRESSES);
        assert_eq!(order[1], last[0], "the family that came last has the second turn");
    }
}
