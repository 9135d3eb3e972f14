//! Which stream of a connection is written next, where several wait for room.
//!
//! Start-time fair queueing over groups of streams: each group has a weight, and a count of the bytes
//! that its streams were given, divided by that weight. The group with the lowest count is next. Within a
//! group streams go by their priority (RFC 9218, section 10).

use std::collections::BTreeMap;

use noq_proto::StreamId;

use crate::priority::Priority;

/// Bytes that a stream is given before it is looked again whose turn it is: more would send one
/// session's packets in bursts between those of another, less costs time.
pub(crate) const QUANTUM_BYTES: usize = 16 << 10;

/// Bytes by which a group that asked for nothing for a while may lag behind when it asks again: those
/// of a piece that its task was still reading are not lost to it.
const CREDIT_BYTES: f64 = 262_144.0;

/// Groups without streams that are remembered.
const MAX_IDLE_GROUPS: usize = 64;

/// Position of a stream among the others of its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendOrder {
    /// The group of streams with which it shares a weight.
    pub group: u64,
    /// True for a stream that is written before the streams of all groups: for what is short and
    /// waited for. Its bytes count for its group.
    pub first: bool,
    /// Its priority within the group.
    pub priority: Priority,
}

/// The groups and streams of a connection.
#[derive(Debug, Default)]
pub(crate) struct FairQueue {
    groups: BTreeMap<u64, Group>,
    streams: BTreeMap<StreamId, Stream>,
    /// The highest count of a group when it was next.
    clock: f64,
}

/// Rank of a stream that waits: lower is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    later: bool,
    start: u64,
    priority: (u8, bool, u64),
    id: StreamId,
}

#[derive(Debug)]
struct Group {
    weight: f64,
    /// Bytes given, divided by the weight that it had.
    served: f64,
    streams: usize,
}

#[derive(Debug)]
struct Stream {
    order: SendOrder,
    /// Bytes given.
    bytes: u64,
}

impl FairQueue {
    /// Sets the weight of a group, which is 1 at first. Ignores what is no positive number.
    pub(crate) fn set_weight(&mut self, group: u64, weight: f64) {
        if weight.is_finite() && weight > 0.0 {
            self.group(group).weight = weight;
        }
    }

    /// Puts a stream where `order` says.
    pub(crate) fn place(&mut self, id: StreamId, order: SendOrder) {
        let bytes = self.streams.get(&id).map_or(0, |s| s.bytes);
        self.remove(id);
        self.group(order.group).streams += 1;
        self.streams.insert(id, Stream { order, bytes });
    }

    /// Sets the priority of a stream that was placed.
    pub(crate) fn set_priority(&mut self, id: StreamId, priority: Priority) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.order.priority = priority;
        }
    }

    /// Forgets a stream.
    pub(crate) fn remove(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.remove(&id)
            && let Some(group) = self.groups.get_mut(&stream.order.group)
        {
            group.streams -= 1;
        }
    }

    /// Rank of a stream now: of those that wait the lowest one is next. Writing changes it, for the
    /// stream and others of its group, never to a lower one.
    pub(crate) fn rank(&self, id: StreamId) -> Rank {
        let Some(stream) = self.streams.get(&id) else {
            return Rank { later: false, start: 0, priority: (0, false, 0), id };
        };
        let SendOrder { group, first, priority } = stream.order;
        let start = self.groups.get(&group).map_or(0.0, |g| g.start(self.clock));
        Rank {
            later: !first,
            // Counts are not negative: their bits are in the same order.
            start: start.max(0.0).to_bits(),
            priority: priority.rank(id.index(), stream.bytes),
            id,
        }
    }

    /// The stream of this rank is next.
    pub(crate) fn on_next(&mut self, rank: Rank) {
        if rank.later {
            self.clock = self.clock.max(f64::from_bits(rank.start));
        }
    }

    /// `bytes` of a stream were written.
    pub(crate) fn on_written(&mut self, id: StreamId, bytes: u64) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.bytes += bytes;
        let clock = self.clock;
        if let Some(group) = self.groups.get_mut(&stream.order.group) {
            group.served = group.start(clock) + bytes as f64 / group.weight;
        }
    }

    fn group(&mut self, group: u64) -> &mut Group {
        if !self.groups.contains_key(&group) {
            self.forget_idle_group();
        }
        let clock = self.clock;
        self.groups.entry(group).or_insert(Group { weight: 1.0, served: clock, streams: 0 })
    }

    /// Makes room for another group: of those without streams the one that was served least goes,
    /// which is the one that stopped first.
    fn forget_idle_group(&mut self) {
        let idle = || self.groups.iter().filter(|(_, g)| g.streams == 0);
        if idle().count() >= MAX_IDLE_GROUPS
            && let Some((&group, _)) = idle().min_by(|(_, a), (_, b)| a.served.total_cmp(&b.served))
        {
            self.groups.remove(&group);
        }
    }
}

impl Group {
    /// Its count, where it asked for nothing for a while.
    fn start(&self, clock: f64) -> f64 {
        self.served.max(clock - CREDIT_BYTES / self.weight)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use noq_proto::{Dir, Side};
    use proptest::prelude::*;

    use super::*;

    fn id(n: u64) -> StreamId {
        StreamId::new(Side::Client, Dir::Bi, n)
    }

    fn order(group: u64) -> SendOrder {
        SendOrder { group, ..SendOrder::default() }
    }

    /// Gives what there is room for, `QUANTUM_BYTES` at a time, to streams that always wait. The bytes
    /// of each.
    fn serve(
        queue: &mut FairQueue,
        waiting: &[StreamId],
        quanta: usize,
    ) -> BTreeMap<StreamId, u64> {
        let mut given = BTreeMap::new();
        for _ in 0..quanta {
            let rank = waiting.iter().map(|id| queue.rank(*id)).min().unwrap();
            let next = rank.id;
            queue.on_next(rank);
            queue.on_written(next, QUANTUM_BYTES as u64);
            *given.entry(next).or_default() += QUANTUM_BYTES as u64;
        }
        given
    }

    #[test]
    fn what_is_first_goes_first_and_counts_for_its_group() {
        let mut queue = FairQueue::default();
        queue.place(id(0), order(1));
        queue.place(id(1), order(2));
        queue.place(id(2), SendOrder { first: true, ..order(1) });
        let all = [id(0), id(1), id(2)];
        let given = serve(&mut queue, &all, 4);
        assert_eq!(given.get(&id(2)), Some(&(4 * QUANTUM_BYTES as u64)));
        // The other group has its turn until it has as much.
        let given = serve(&mut queue, &all[..2], 4);
        assert_eq!(given.get(&id(0)), None);
    }

    #[test]
    fn within_a_group_priorities_decide() {
        let mut queue = FairQueue::default();
        let with = |urgency, incremental| SendOrder {
            priority: Priority { urgency, incremental },
            ..order(1)
        };
        queue.place(id(0), with(3, false));
        queue.place(id(1), with(3, false));
        queue.place(id(2), with(1, true));
        queue.place(id(3), with(1, true));
        let all: Vec<_> = (0..4).map(id).collect();
        let given = serve(&mut queue, &all, 8);
        // Incremental ones of one urgency share, and come before those of a lower one.
        assert_eq!(given.values().copied().collect::<Vec<_>>(), [4 * QUANTUM_BYTES as u64; 2]);
        // Others go one after another.
        assert_eq!(serve(&mut queue, &all[..2], 8).len(), 1);
        queue.set_priority(id(1), Priority { urgency: 0, incremental: false });
        assert!(serve(&mut queue, &all, 8).keys().eq([&id(1)]));
    }

    #[test]
    fn a_group_that_paused_takes_back_a_bounded_amount() {
        let mut queue = FairQueue::default();
        queue.place(id(0), order(1));
        queue.place(id(1), order(2));
        serve(&mut queue, &[id(0)], 1000);
        let given = serve(&mut queue, &[id(0), id(1)], 40);
        let [one, other] = [given[&id(0)], given[&id(1)]].map(|b| b as f64);
        assert!(other - one <= CREDIT_BYTES + QUANTUM_BYTES as f64, "{one} {other}");
    }

    #[test]
    fn groups_are_bounded() {
        let mut queue = FairQueue::default();
        for n in 0..10_000 {
            queue.place(id(n), order(n));
            queue.set_weight(n + 1_000_000, 2.0);
            queue.remove(id(n));
        }
        assert!(queue.groups.len() <= MAX_IDLE_GROUPS + 1, "{}", queue.groups.len());
        assert!(queue.streams.is_empty());
    }

    proptest! {
        /// Bytes are in proportion to weights, whatever comes and goes in between.
        #[test]
        fn groups_are_served_by_weight(
            weights in prop::collection::vec(0.1f64..10.0, 2..8),
            pauses in prop::collection::vec((0usize..8, 1usize..50), 0..10),
        ) {
            let mut queue = FairQueue::default();
            let streams: Vec<_> = (0..weights.len() as u64).map(id).collect();
            for (n, weight) in weights.iter().enumerate() {
                queue.set_weight(n as u64, *weight);
                queue.place(streams[n], order(n as u64));
            }
            for (n, quanta) in pauses {
                let others = streams.iter().enumerate().filter(|(m, _)| *m != n % streams.len());
                serve(&mut queue, &others.map(|(_, id)| *id).collect::<Vec<_>>(), quanta);
            }
            // What was missed is caught up with, as far as it is.
            serve(&mut queue, &streams, 3000);
            let quanta = 20_000;
            let given = serve(&mut queue, &streams, quanta);
            let sum: f64 = weights.iter().sum();
            for (n, weight) in weights.iter().enumerate() {
                let due = quanta as f64 * weight / sum;
                let got = given[&streams[n]] as f64 / QUANTUM_BYTES as f64;
                prop_assert!((got - due).abs() < 2.0 + due * 0.01, "{n}: {got} of {due}");
            }
        }
    }
}
