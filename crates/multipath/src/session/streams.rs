//! The streams of a session at one end, and the subflows that carry them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_congestion::Group;
use airlane_fbdt::Preference;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Bytes, BytesMut};
use parking_lot::{Mutex, MutexGuard};

use crate::MultipathStream;
use crate::error::{MultipathError, Reason};
use crate::session::ended::{EndedStream, EndedStreams};
use crate::session::limits::{StreamLimits, terms, window};
use crate::session::memory::MemoryShare;
use crate::session::used_numbers::UsedNumbers;
use crate::stream::shared::{NewPath, Shared};
use crate::subflow::channel::Channels;
use crate::subflow::frame::{Body, SubflowFrame};
use crate::subflow::{Senders, StreamRequest, Subflow, SubflowConfig};
use crate::terms::Terms;

/// Interval between two looks at which subflows answer.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Time without a frame after which a subflow that carries streams counts as unresponsive.
const UNRESPONSIVE_TIMEOUT: Duration = Duration::from_secs(1);

/// The receiver of streams that the other end opens.
pub(crate) type OnStream = Box<dyn Fn(MultipathStream, Bytes) + Send + Sync>;

/// One end of a session.
pub(crate) struct Streams {
    pub(crate) runtime: RuntimeHandle,
    limits: StreamLimits,
    /// `None` at the end that opens streams.
    on_stream: Option<OnStream>,
    /// The controllers of this end's subflows, where these are coupled.
    group: Group,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    subflows: BTreeMap<u8, Arc<Subflow>>,
    /// Number of subflows that there ever were, which is the serial number of the newest.
    serial: u64,
    streams: BTreeMap<u32, Entry>,
    /// The number of the next stream that this end opens.
    next: u32,
    /// Numbers of streams that the other end has opened.
    seen: UsedNumbers,
    ended: EndedStreams,
    is_over: bool,
    /// True if the session checks which subflows are heard, since some are used where others are
    /// not.
    watches_subflows: bool,
    /// Time since which there is no subflow.
    down_since: Time,
}

struct Entry {
    shared: Shared,
    /// Terms that this end asks for, or that both have agreed on.
    terms: Terms,
    is_agreed: bool,
    request: Bytes,
    /// Of each interface, the newest subflow that has carried it.
    joined: BTreeMap<u8, u64>,
    _grant: MemoryShare,
}

impl Streams {
    pub(crate) fn new(
        runtime: RuntimeHandle,
        limits: StreamLimits,
        on_stream: Option<OnStream>,
    ) -> Arc<Self> {
        let table = Mutex::new(Table { down_since: runtime.now(), ..Table::default() });
        Arc::new(Self { runtime, limits, on_stream, group: Group::new(), table })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }

    /// The subflows, by interface.
    pub(crate) fn subflows(&self) -> BTreeMap<u8, Arc<Subflow>> {
        self.table().subflows.clone()
    }

    /// True if there has been no subflow for so long.
    pub(crate) fn has_been_without_subflows(&self, now: Time, timeout: Duration) -> bool {
        let table = self.table();
        table.subflows.is_empty() && now - table.down_since > timeout
    }

    /// Since when there has been no subflow; `None` if there is one.
    pub(crate) fn down_since(&self) -> Option<Time> {
        let table = self.table();
        table.subflows.is_empty().then_some(table.down_since)
    }

    /// Number of streams.
    pub(crate) fn len(&self) -> usize {
        self.table().streams.len()
    }

    /// Opens a stream. It waits for the first subflow.
    pub(crate) fn open(
        self: &Arc<Self>,
        request: Bytes,
    ) -> Result<MultipathStream, MultipathError> {
        let full = || MultipathError::Reset(Reason::Full);
        let config = &self.limits.stream;
        let grant = self.limits.memory_pool.grant(config.memory).ok_or_else(full)?;
        let terms = terms(config, grant.bytes());
        let shared = Shared::new(self.runtime.clone(), config.scheme.clone());
        let mut table = self.table();
        if table.is_over {
            return Err(MultipathError::GivenUp);
        }
        let number = table.next;
        table.next = number.checked_add(1).ok_or_else(full)?;
        let entry = Entry {
            shared: shared.clone(),
            terms,
            is_agreed: false,
            request: request.clone(),
            joined: BTreeMap::new(),
            _grant: grant,
        };
        table.streams.insert(number, entry);
        for subflow in table.subflows.values() {
            let body = Body::Open { terms, request: request.clone() };
            subflow.post(number, body);
        }
        drop(table);
        self.watch(number, shared.clone());
        Ok(MultipathStream::new(shared))
    }

    /// The open frames of the streams that the other end has not accepted yet. If it was started again,
    /// it takes them for no others; those that it had accepted it must not open anew.
    pub(crate) fn new_opens(&self) -> Vec<Bytes> {
        let table = self.table();
        let new = table.streams.iter().filter(|(_, entry)| !entry.is_agreed);
        let open = |(number, entry): (&u32, &Entry)| {
            let body = Body::Open { terms: entry.terms, request: entry.request.clone() };
            SubflowFrame { stream: *number, body }.encode()
        };
        new.map(open).collect()
    }

    /// Removes a stream when it is over or has failed, and tells the other end of a failure.
    fn watch(self: &Arc<Self>, number: u32, shared: Shared) {
        let streams = self.clone();
        self.runtime.spawn("session stream", async move {
            let ended = shared.supervise().await;
            let subflows = {
                let mut table = streams.table();
                let removed = table.streams.remove(&number);
                if let (Some(entry), Some(frames)) = (removed, shared.end_frames()) {
                    let Entry { terms, request, .. } = entry;
                    let (newest_subflow, at) = (table.serial, streams.runtime.now());
                    let ended = EndedStream { number, terms, request, frames, newest_subflow, at };
                    table.ended.add(ended);
                }
                table.subflows.clone()
            };
            let reason = match ended {
                // The other end knows.
                Ok(()) | Err(MultipathError::Reset(_)) => return,
                Err(MultipathError::GivenUp | MultipathError::Panicked) => Reason::GivenUp,
                Err(MultipathError::NoPath(_)) => Reason::NoPath,
                Err(_) => Reason::Protocol,
            };
            for subflow in subflows.into_values() {
                subflow.post(number, Body::Reset(reason));
            }
        });
    }

    /// Tells the other end on a subflow of the end of a stream, which it has asked for or accepted there.
    fn tell_end(&self, subflow: &Subflow, stream: &EndedStream) {
        let accepted = self.on_stream.is_some().then_some(stream.terms);
        subflow.post_end(stream.number, accepted, &stream.frames);
    }

    /// Puts a subflow into service, in the place of the interface's older one; runs it until it ends.
    /// `buffer` is what came behind the first message.
    pub(crate) async fn run(
        self: &Arc<Self>,
        (interface, config): (u8, SubflowConfig),
        channels: Channels,
        buffer: BytesMut,
        started: impl FnOnce(&Arc<Subflow>),
    ) -> MultipathError {
        let Channels { low_latency, bulk, guard, .. } = channels;
        // The low-latency channel carries too little for its window to tell of its path.
        if let Some(control) = &bulk.control {
            control.couple(&self.group);
        }
        let subflow = {
            let mut table = self.table();
            if table.is_over {
                return MultipathError::GivenUp;
            }
            if table.subflows.len() >= self.limits.max_subflows
                && !table.subflows.contains_key(&interface)
            {
                return MultipathError::Protocol("one subflow too many");
            }
            table.serial += 1;
            let runtime = self.runtime.clone();
            let serial = table.serial;
            let subflow = Subflow::new(
                runtime,
                (interface, serial),
                config,
                Senders {
                    low_latency: low_latency.sender,
                    bulk: bulk.sender,
                    control: bulk.control,
                },
            );
            if config.preference != Preference::default() && !table.watches_subflows {
                table.watches_subflows = true;
                self.runtime.spawn("session watch", self.clone().watch_subflows());
            }
            if let Some(older) = table.subflows.insert(interface, subflow.clone()) {
                older.end();
            }
            // This end's streams are to be carried by it too.
            if self.on_stream.is_none() {
                let open = table.streams.iter().map(|(n, entry)| (*n, entry.terms, &entry.request));
                // Of these the other end may not have heard the last acknowledgement.
                let ended = table.ended.awaited(self.runtime.now());
                let ended = ended.map(|stream| (stream.number, stream.terms, &stream.request));
                for (number, terms, request) in open.chain(ended) {
                    subflow.post(number, Body::Open { terms, request: request.clone() });
                }
            }
            subflow
        };
        let _in_service = InService { streams: self, subflow: &subflow };
        started(&subflow);
        self.runtime.spawn("session answers", subflow.clone().answer());
        self.runtime.spawn("session frames", subflow.clone().send_posted());
        let bulk = {
            let (streams, on) = (self.clone(), subflow.clone());
            let ask = move |asked| streams.on_asked(&on, asked);
            let listening = subflow.clone().listen(bulk.receiver, false, BytesMut::new(), ask);
            async move {
                let ended = listening.await;
                tracing::debug!(interface, "the bulk channel ended: {ended}");
            }
        };
        self.runtime.spawn("session bulk channel", bulk);
        let ask = |asked| self.on_asked(&subflow, asked);
        let ended = subflow.clone().listen(low_latency.receiver, true, buffer, ask).await;
        drop(guard);
        ended
    }

    /// Tells the streams on which subflows the other end is not heard: it speaks at least four times a
    /// second on a subflow that carries streams.
    async fn watch_subflows(self: Arc<Self>) {
        loop {
            self.runtime.sleep(CHECK_INTERVAL).await;
            let subflows = {
                let table = self.table();
                if table.is_over {
                    return;
                }
                table.subflows.clone()
            };
            let now = self.runtime.now();
            for subflow in subflows.into_values() {
                let (heard, rtt) = (subflow.liveness.heard(), subflow.liveness.rtt());
                let usual = CHECK_INTERVAL + rtt.unwrap_or_default() * 2;
                subflow.set_unresponsive(
                    subflow.is_in_use() && now - heard > UNRESPONSIVE_TIMEOUT.max(usual),
                );
            }
        }
    }

    fn on_asked(self: &Arc<Self>, subflow: &Arc<Subflow>, asked: StreamRequest) {
        match asked {
            StreamRequest::Open { stream, terms, request } => {
                if let Err(reason) = self.on_open(subflow, stream, terms, request) {
                    subflow.post(stream, Body::Reset(reason));
                }
            }
            StreamRequest::Accept { stream, terms } => self.on_accept(subflow, stream, terms),
            StreamRequest::Reset { stream, reason } => {
                let found = self.table().streams.get(&stream).map(|entry| entry.shared.clone());
                if let Some(shared) = found {
                    shared.fail(MultipathError::Reset(reason));
                }
            }
            StreamRequest::Broken { stream } => subflow.post(stream, Body::Reset(Reason::Protocol)),
        }
    }

    /// The other end has a stream for this subflow to carry.
    fn on_open(
        self: &Arc<Self>,
        subflow: &Arc<Subflow>,
        stream: u32,
        wanted: Terms,
        request: Bytes,
    ) -> Result<(), Reason> {
        let Some(on_stream) = &self.on_stream else { return Err(Reason::Protocol) };
        let config = &self.limits.stream;
        if wanted.protocol != config.scheme.protocol() {
            return Err(Reason::Protocol);
        }
        let mut table = self.table();
        if table.is_over {
            return Err(Reason::Unknown);
        }
        if let Some(ended) = table.ended.get(stream) {
            self.tell_end(subflow, ended);
            return Ok(());
        }
        let mut new = None;
        if !table.streams.contains_key(&stream) {
            if !table.seen.is_new(stream) {
                return Err(Reason::Unknown);
            }
            let grant = self.limits.memory_pool.grant(config.memory).ok_or(Reason::Full)?;
            let receive_memory = wanted.receive_memory.min(grant.bytes());
            let window_bytes = wanted.window_bytes.min(window(config, receive_memory));
            let segment_bytes = wanted.segment_bytes.min(window_bytes);
            let terms = Terms { receive_memory, window_bytes, segment_bytes, ..wanted };
            let shared = Shared::new(self.runtime.clone(), config.scheme.clone());
            new = Some((MultipathStream::new(shared.clone()), request.clone()));
            let entry = Entry {
                shared: shared.clone(),
                terms,
                is_agreed: true,
                request,
                joined: BTreeMap::new(),
                _grant: grant,
            };
            table.streams.insert(stream, entry);
            self.watch(stream, shared);
        }
        let Table { subflows, streams, .. } = &mut *table;
        let Some(entry) = streams.get_mut(&stream) else { return Err(Reason::Unknown) };
        self.join((subflow, subflows), stream, entry, true);
        drop(table);
        if let Some((opened, request)) = new {
            on_stream(opened, request);
        }
        Ok(())
    }

    /// The other end carries a stream of this end on the subflow.
    fn on_accept(self: &Arc<Self>, subflow: &Arc<Subflow>, stream: u32, terms: Terms) {
        let mut table = self.table();
        let Table { subflows, streams, ended, .. } = &mut *table;
        let Some(entry) = streams.get_mut(&stream) else {
            // On the subflows that there were then it has been told.
            let is_new =
                |of: &&EndedStream| subflow.serial > of.newest_subflow && self.on_stream.is_none();
            if let Some(ended) = ended.get(stream).filter(is_new) {
                self.tell_end(subflow, ended);
            }
            return;
        };
        let asked = entry.terms;
        let is_sound = match entry.is_agreed {
            true => terms == asked,
            false => {
                terms.protocol == asked.protocol
                    && terms.segment_bytes <= asked.segment_bytes
                    && terms.window_bytes <= asked.window_bytes
                    && terms.receive_memory <= asked.receive_memory
            }
        };
        if self.on_stream.is_some() || !is_sound {
            let broken =
                MultipathError::Protocol("a stream accepted on other terms than asked for");
            entry.shared.fail(broken);
            return;
        }
        (entry.terms, entry.is_agreed) = (terms, true);
        self.join((subflow, subflows), stream, entry, false);
    }

    /// Has the subflow carry the stream, unless it does already or one has that took its place: what is
    /// late on a dead subflow must not end its interface's path. `accepts` if the other end is to be told.
    /// `subflows` are all that there are.
    fn join(
        self: &Arc<Self>,
        (subflow, subflows): (&Arc<Subflow>, &BTreeMap<u8, Arc<Subflow>>),
        stream: u32,
        entry: &mut Entry,
        accepts: bool,
    ) {
        let newest = entry.joined.entry(subflow.interface).or_default();
        if subflow.serial <= *newest {
            return;
        }
        *newest = subflow.serial;
        let is_to_join = |other: &&Arc<Subflow>| {
            let joined = entry.joined.get(&other.interface).copied().unwrap_or(0);
            joined < other.serial
                && other.preference < subflow.preference
                && !other.is_unresponsive()
        };
        let expected = subflows.values().filter(is_to_join).map(|other| other.preference).min();
        let terms = entry.terms;
        let new =
            NewPath { interface: subflow.interface, preference: subflow.preference, expected };
        // If it has failed, whoever watches it tells the other end.
        let Ok(attached) = entry.shared.attach(new, terms, subflow.control.as_ref()) else {
            return;
        };
        subflow.add(stream, &attached);
        let carry = subflow.clone().carry(stream, attached, accepts.then_some(terms));
        self.runtime.spawn("session carrier", carry);
    }

    /// The other end was started again, and knows of no stream that it had accepted.
    pub(crate) fn on_restart(&self) {
        let mut table = self.table();
        table.ended.clear();
        for (_, entry) in table.streams.extract_if(.., |_, entry| entry.is_agreed) {
            entry.shared.fail(MultipathError::Reset(Reason::Unknown));
        }
    }

    /// Gives up all streams, of which the other end is told.
    pub(crate) fn give_up(&self) {
        let mut table = self.table();
        table.is_over = true;
        for entry in table.streams.values() {
            entry.shared.fail(MultipathError::GivenUp);
        }
    }

    /// Ends all streams and subflows.
    pub(crate) fn end(&self) {
        self.give_up();
        let mut table = self.table();
        for subflow in std::mem::take(&mut table.subflows).into_values() {
            subflow.end();
        }
    }
}

/// A subflow that is in service until this is dropped, however its reader ends: by a panic, too.
struct InService<'a> {
    streams: &'a Streams,
    subflow: &'a Arc<Subflow>,
}

impl Drop for InService<'_> {
    fn drop(&mut self) {
        self.subflow.end();
        let mut table = self.streams.table();
        let Table { subflows, down_since, .. } = &mut *table;
        if subflows.get(&self.subflow.interface).is_some_and(|of| of.serial == self.subflow.serial)
        {
            subflows.remove(&self.subflow.interface);
            *down_since = self.streams.runtime.now();
        }
    }
}
