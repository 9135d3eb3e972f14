//! From fragments to messages.

use std::collections::BTreeMap;

use airlane_base::Time;
use airlane_octopus::Header;
use bytes::Bytes;

/// Limits of what a receiver holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveLimits {
    /// Messages that are not whole.
    pub messages: usize,
    /// Bytes of these. A message of more is never whole.
    pub bytes: usize,
}

impl Default for ReceiveLimits {
    /// 512 messages, 16 MiB.
    fn default() -> Self {
        Self { messages: 512, bytes: 16 << 20 }
    }
}

/// A message that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its stream.
    pub stream: u16,
    /// Its number in the stream.
    pub message: u32,
    /// Data of the message.
    pub data: Bytes,
    /// Time at which its first packet arrived.
    pub first_at: Time,
    /// Time at which it was complete.
    pub at: Time,
}

/// A message of which something has come.
#[derive(Debug)]
struct Partial {
    fragments: Vec<Option<Bytes>>,
    /// Fragments that have come, and their bytes.
    count: usize,
    bytes: usize,
    /// The number of the last fragment, once that has come.
    last: Option<usize>,
    first_at: Time,
    /// Its place in the order of coming.
    order: u64,
}

/// Messages that are not whole.
#[derive(Debug)]
pub(crate) struct Reassembly {
    limits: ReceiveLimits,
    partial: BTreeMap<(u16, u32), Partial>,
    /// By the order in which their first packets came.
    order: BTreeMap<u64, (u16, u32)>,
    next_order: u64,
    bytes: usize,
    /// Messages that were given up for want of room.
    given_up: u64,
}

/// A fragment costs its receiver at least this.
const FRAGMENT_COST: usize = 64;

impl Reassembly {
    pub(crate) fn new(limits: ReceiveLimits) -> Self {
        Self {
            limits,
            partial: BTreeMap::new(),
            order: BTreeMap::new(),
            next_order: 0,
            bytes: 0,
            given_up: 0,
        }
    }

    /// Messages that were given up for want of room.
    pub(crate) fn given_up(&self) -> u64 {
        self.given_up
    }

    /// A fragment has come. Its message, if it is whole now.
    pub(crate) fn add(
        &mut self,
        now: Time,
        header: &Header,
        fragment: u16,
        data: &[u8],
    ) -> Option<Delivered> {
        let (stream, message) = (header.stream, header.message);
        let fragment = usize::from(fragment);
        if header.first && header.last && fragment == 0 {
            let data = Bytes::copy_from_slice(data);
            return Some(Delivered { stream, message, data, first_at: now, at: now });
        }
        let key = (stream, message);
        let order = self.next_order;
        let partial = self.partial.entry(key).or_insert_with(|| {
            self.next_order += 1;
            self.order.insert(order, key);
            Partial { fragments: Vec::new(), count: 0, bytes: 0, last: None, first_at: now, order }
        });
        // Only a peer that errs has two last fragments, a fragment behind the last, or one twice.
        let ends = header.last.then_some(fragment).or(partial.last);
        let fits = ends.is_none_or(|last| fragment <= last && partial.fragments.len() <= last + 1)
            && partial.last.is_none_or(|last| Some(last) == ends)
            && partial.fragments.get(fragment).is_none_or(Option::is_none);
        if !fits {
            return None;
        }
        partial.last = ends;
        let slots = ends.map_or(fragment + 1, |last| last + 1).max(partial.fragments.len());
        let cost = data.len() + FRAGMENT_COST * (slots - partial.fragments.len());
        partial.fragments.resize(slots, None);
        partial.fragments[fragment] = Some(Bytes::copy_from_slice(data));
        partial.count += 1;
        partial.bytes += cost;
        self.bytes += cost;
        if partial.last.is_some_and(|last| partial.count == last + 1) {
            return self.remove(key).map(|whole| whole.deliver(stream, message, now));
        }
        self.make_room();
        None
    }

    fn remove(&mut self, key: (u16, u32)) -> Option<Partial> {
        let gone = self.partial.remove(&key)?;
        self.order.remove(&gone.order);
        self.bytes -= gone.bytes;
        Some(gone)
    }

    /// Gives up what began to come first: of that most is late or dropped.
    fn make_room(&mut self) {
        while self.partial.len() > self.limits.messages || self.bytes > self.limits.bytes {
            let Some((_, &key)) = self.order.first_key_value() else { return };
            self.remove(key);
            self.given_up += 1;
        }
    }
}

impl Partial {
    fn deliver(self, stream: u16, message: u32, at: Time) -> Delivered {
        let mut data = Vec::with_capacity(self.bytes);
        self.fragments.iter().flatten().for_each(|fragment| data.extend_from_slice(fragment));
        Delivered { stream, message, data: data.into(), first_at: self.first_at, at }
    }
}
