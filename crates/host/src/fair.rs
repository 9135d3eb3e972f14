//! Permits that several holders share, so that none can have so many that nothing is left for the
//! others.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Permits of which each holder may have as many as it leaves: one alone half of them, two a third
/// each. Those who wait are served in order, but for those who have what they may.
#[derive(Debug)]
pub struct FairPermits<K: Ord + Copy> {
    max: usize,
    state: Mutex<State<K>>,
}

#[derive(Debug)]
struct State<K: Ord + Copy> {
    taken: usize,
    by_holder: BTreeMap<K, usize>,
    waiting: VecDeque<Waiting<K>>,
}

#[derive(Debug)]
struct Waiting<K: Ord + Copy> {
    holder: K,
    count: usize,
    to: oneshot::Sender<FairPermit<K>>,
}

/// Permits of one holder until this is dropped.
#[derive(Debug)]
pub struct FairPermit<K: Ord + Copy> {
    of: Arc<FairPermits<K>>,
    holder: K,
    count: usize,
}

impl<K: Ord + Copy> FairPermits<K> {
    /// So many permits in all.
    pub fn new(max: usize) -> Arc<Self> {
        let state = State { taken: 0, by_holder: BTreeMap::new(), waiting: VecDeque::new() };
        Arc::new(Self { max, state: Mutex::new(state) })
    }

    /// Permits if the holder may have so many more now.
    pub fn try_acquire(self: &Arc<Self>, holder: K, count: usize) -> Option<FairPermit<K>> {
        self.state.lock().take(self.max, holder, count).then(|| self.permit(holder, count))
    }

    /// Permits as soon as the holder may have so many more.
    pub async fn acquire(self: &Arc<Self>, holder: K, count: usize) -> FairPermit<K> {
        let waits = {
            let mut state = self.state.lock();
            // Whoever came first has the first turn.
            let is_first = !state.waiting.iter().any(|other| other.holder == holder);
            if is_first && state.take(self.max, holder, count) {
                None
            } else {
                let (to, waits) = oneshot::channel();
                state.waiting.push_back(Waiting { holder, count, to });
                Some(waits)
            }
        };
        match waits {
            None => self.permit(holder, count),
            Some(waits) => match waits.await {
                Ok(permit) => permit,
                // Nothing closes it before it is served.
                Err(_) => std::future::pending().await,
            },
        }
    }

    fn permit(self: &Arc<Self>, holder: K, count: usize) -> FairPermit<K> {
        FairPermit { of: self.clone(), holder, count }
    }

    /// Number of permits that are taken.
    pub fn taken(&self) -> usize {
        self.state.lock().taken
    }

    fn give_back(self: &Arc<Self>, holder: K, count: usize) {
        let mut served = Vec::new();
        {
            let mut state = self.state.lock();
            state.give_back(holder, count);
            for waiting in mem::take(&mut state.waiting) {
                if waiting.to.is_closed() {
                    continue;
                }
                match state.take(self.max, waiting.holder, waiting.count) {
                    true => served.push(waiting),
                    false => state.waiting.push_back(waiting),
                }
            }
        }
        for Waiting { holder, count, to } in served {
            // Of one that does not wait any more it comes back.
            let _ = to.send(self.permit(holder, count));
        }
    }
}

impl<K: Ord + Copy> State<K> {
    fn take(&mut self, max: usize, holder: K, count: usize) -> bool {
        let held = self.by_holder.get(&holder).copied().unwrap_or(0);
        let free = max - self.taken;
        // The last one that is free is nobody's alone.
        let may = held + count <= free && count <= free;
        if may {
            self.taken += count;
            self.by_holder.insert(holder, held + count);
        }
        may
    }

    fn give_back(&mut self, holder: K, count: usize) {
        self.taken -= count;
        if let Some(held) = self.by_holder.get_mut(&holder) {
            *held -= count;
            if *held == 0 {
                self.by_holder.remove(&holder);
            }
        }
    }
}

impl<K: Ord + Copy> Drop for FairPermit<K> {
    fn drop(&mut self) {
        self.of.give_back(self.holder, self.count);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn no_holder_leaves_nothing_for_the_others() {
        let permits = FairPermits::new(100);
        let take = |holder: u8| permits.try_acquire(holder, 1);
        let first: Vec<_> = std::iter::from_fn(|| take(1)).collect();
        assert_eq!(first.len(), 50);
        let second: Vec<_> = std::iter::from_fn(|| take(2)).collect();
        assert_eq!(second.len(), 25);
        let third: Vec<_> = std::iter::from_fn(|| take(3)).collect();
        assert!(third.len() >= 12 && permits.taken() < 100);
        drop((first, second, third));
        assert_eq!(permits.taken(), 0);
        assert!(permits.state.lock().by_holder.is_empty());
    }

    #[test]
    fn who_waits_is_served_in_order_and_holds_up_nobody_else() {
        let permits = FairPermits::new(4);
        let held = permits.acquire(1, 2).now_or_never().unwrap();
        let mut next = pin!(permits.acquire(1, 1));
        let mut last = pin!(permits.acquire(1, 1));
        assert!(next.as_mut().now_or_never().is_none() && last.as_mut().now_or_never().is_none());
        let other = permits.acquire(2, 1).now_or_never().unwrap();
        drop(held);
        let next = next.now_or_never().unwrap();
        // Three are taken or waited for: of the one that is free it has as many already.
        let last = last.now_or_never();
        assert_eq!(permits.taken(), 2 + usize::from(last.is_some()));
        drop((next, last, other));
        assert_eq!(permits.taken(), 0);
    }

    #[test]
    fn who_does_not_wait_any_more_takes_nothing() {
        let permits = FairPermits::new(2);
        let held = permits.try_acquire(1, 1).unwrap();
        let gone = permits.acquire(1, 1);
        {
            let mut gone = pin!(gone);
            assert!(gone.as_mut().now_or_never().is_none());
        }
        drop(held);
        assert_eq!(permits.taken(), 0);
        assert!(permits.acquire(1, 1).now_or_never().is_some());
    }
}
