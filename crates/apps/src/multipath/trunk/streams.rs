//! The streams of a trunk at one end, and the lines that carry them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use airlane_base::Time;
use airlane_congestion::Group;
use airlane_fbdt::Preference;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Bytes, BytesMut};

use super::acceptor::Bounds;
use super::budget::{Budget, Grant};
use super::channel::Channels;
use super::ended::{Ended, EndedStream};
use super::frame::{Body, Reason, TrunkFrame};
use super::line::{Asked, Line, LineTerms, Senders};
use super::seen::Seen;
use crate::multipath::error::MultipathError;
use crate::multipath::shared::{NewPath, Shared};
use crate::multipath::terms::Terms;
use crate::multipath::{MultipathStream, StreamConfig};

/// Windows that a stream's memory holds at least, where that is a share of what there is.
const MIN_WINDOWS: u64 = 4;

/// Between two looks at who is heard.
const LOOK: Duration = Duration::from_millis(250);
/// A line that carries streams is quiet if nothing came for so long.
const QUIET: Duration = Duration::from_secs(1);

/// What is done with a stream that the other end opens.
pub(super) type Begun = Box<dyn Fn(MultipathStream, Bytes) + Send + Sync>;

/// Limits of one trunk.
pub(super) struct StreamLimits {
    /// Memory and number of its streams.
    budget: Budget,
    max_lines: usize,
    stream: StreamConfig,
}

impl StreamLimits {
    /// Those of one more trunk, of whose memory all take a part of `all`.
    pub(super) fn of(all: &Budget, bounds: &Bounds) -> Self {
        Self {
            budget: all.part(bounds.streams_per_trunk, bounds.memory_per_trunk),
            max_lines: bounds.lines_per_trunk,
            stream: bounds.stream,
        }
    }
}

/// One end of a trunk.
pub(super) struct Streams {
    pub(super) runtime: RuntimeHandle,
    limits: StreamLimits,
    /// `None` at the end that opens streams.
    begun: Option<Begun>,
    /// The controllers of this end's lines, where these are coupled.
    group: Group,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    lines: BTreeMap<u8, Arc<Line>>,
    /// How many lines there ever were, which is the number of the newest.
    serial: u64,
    streams: BTreeMap<u32, Entry>,
    /// The number of the next stream that this end opens.
    next: u32,
    /// Numbers of streams that the other end has opened.
    seen: Seen,
    ended: Ended,
    is_over: bool,
    /// Whether it is looked at which lines are heard, since some are used where others are not.
    watches_lines: bool,
    /// Since when there is no line.
    dark_since: Time,
}

struct Entry {
    shared: Shared,
    /// What this end asks for, or what both have agreed on.
    terms: Terms,
    is_agreed: bool,
    request: Bytes,
    /// Of each radio, the newest line that has carried it.
    joined: BTreeMap<u8, u64>,
    _grant: Grant,
}

impl Streams {
    pub(super) fn new(
        runtime: RuntimeHandle,
        limits: StreamLimits,
        begun: Option<Begun>,
    ) -> Arc<Self> {
        let table = Mutex::new(Table { dark_since: runtime.now(), ..Table::default() });
        Arc::new(Self { runtime, limits, begun, group: Group::new(), table })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lines, by radio.
    pub(super) fn lines(&self) -> BTreeMap<u8, Arc<Line>> {
        self.table().lines.clone()
    }

    /// Whether there has been no line for so long.
    pub(super) fn has_been_without_lines(&self, now: Time, patience: Duration) -> bool {
        let table = self.table();
        table.lines.is_empty() && now - table.dark_since > patience
    }

    /// Since when there has been no line; `None` if there is one.
    pub(super) fn dark_since(&self) -> Option<Time> {
        let table = self.table();
        table.lines.is_empty().then_some(table.dark_since)
    }

    /// How many streams there are.
    pub(super) fn len(&self) -> usize {
        self.table().streams.len()
    }

    /// Opens a stream. It waits for the first line.
    pub(super) fn open(
        self: &Arc<Self>,
        request: Bytes,
    ) -> Result<MultipathStream, MultipathError> {
        let full = || MultipathError::Reset(Reason::Full);
        let config = &self.limits.stream;
        let grant = self.limits.budget.grant(config.memory).ok_or_else(full)?;
        let terms = terms(config, grant.bytes());
        let shared = Shared::new(self.runtime.clone(), config.scheme);
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
        for line in table.lines.values() {
            let body = Body::Open { terms, request: request.clone() };
            line.post(number, body);
        }
        drop(table);
        self.watch(number, shared.clone());
        Ok(MultipathStream::new(shared))
    }

    /// The open frames of the streams that the other end has not accepted yet. If it was started again,
    /// it takes them for no others; those that it had accepted it must not open anew.
    pub(super) fn new_opens(&self) -> Vec<Bytes> {
        let table = self.table();
        let new = table.streams.iter().filter(|(_, entry)| !entry.is_agreed);
        let open = |(number, entry): (&u32, &Entry)| {
            let body = Body::Open { terms: entry.terms, request: entry.request.clone() };
            TrunkFrame { stream: *number, body }.encode()
        };
        new.map(open).collect()
    }

    /// Removes a stream when it is over or has failed, and tells the other end of a failure.
    fn watch(self: &Arc<Self>, number: u32, shared: Shared) {
        let streams = self.clone();
        self.runtime.spawn("trunk stream", async move {
            let ended = shared.supervise().await;
            let lines = {
                let mut table = streams.table();
                let removed = table.streams.remove(&number);
                if let (Some(entry), Some(frames)) = (removed, shared.end_frames()) {
                    let Entry { terms, request, .. } = entry;
                    let (newest_line, at) = (table.serial, streams.runtime.now());
                    let ended = EndedStream { number, terms, request, frames, newest_line, at };
                    table.ended.add(ended);
                }
                table.lines.clone()
            };
            let reason = match ended {
                // The other end knows.
                Ok(()) | Err(MultipathError::Reset(_)) => return,
                Err(MultipathError::GivenUp | MultipathError::Panicked) => Reason::GivenUp,
                Err(MultipathError::NoPath(_)) => Reason::NoPath,
                Err(_) => Reason::Protocol,
            };
            for line in lines.into_values() {
                line.post(number, Body::Reset(reason));
            }
        });
    }

    /// Tells the other end on a line of the end of a stream, which it has asked for or accepted there.
    fn tell_end(&self, line: &Line, stream: &EndedStream) {
        let accepted = self.begun.is_some().then_some(stream.terms);
        line.post_end(stream.number, accepted, &stream.frames);
    }

    /// Puts a line into service, in the place of the radio's older one; runs it until it ends.
    /// `buffer` is what came behind the first message.
    pub(super) async fn run(
        self: &Arc<Self>,
        (radio, of_line): (u8, LineTerms),
        channels: Channels,
        buffer: BytesMut,
        started: impl FnOnce(&Arc<Line>),
    ) -> MultipathError {
        let Channels { express, bulk, guard, .. } = channels;
        // The express channel carries too little for its window to tell of its path.
        if let Some(control) = &bulk.control {
            control.couple(&self.group);
        }
        let line = {
            let mut table = self.table();
            if table.is_over {
                return MultipathError::GivenUp;
            }
            if table.lines.len() >= self.limits.max_lines && !table.lines.contains_key(&radio) {
                return MultipathError::Protocol("one line too many");
            }
            table.serial += 1;
            let runtime = self.runtime.clone();
            let serial = table.serial;
            let line = Line::new(
                runtime,
                (radio, serial),
                of_line,
                Senders { express: express.sender, bulk: bulk.sender, control: bulk.control },
            );
            if of_line.preference != Preference::default() && !table.watches_lines {
                table.watches_lines = true;
                self.runtime.spawn("trunk watch", self.clone().watch_lines());
            }
            if let Some(older) = table.lines.insert(radio, line.clone()) {
                older.end();
            }
            // This end's streams are to be carried by it too.
            if self.begun.is_none() {
                let open = table.streams.iter().map(|(n, entry)| (*n, entry.terms, &entry.request));
                // Of these the other end may not have heard the last acknowledgement.
                let ended = table.ended.awaited(self.runtime.now());
                let ended = ended.map(|stream| (stream.number, stream.terms, &stream.request));
                for (number, terms, request) in open.chain(ended) {
                    line.post(number, Body::Open { terms, request: request.clone() });
                }
            }
            line
        };
        let _in_service = InService { streams: self, line: &line };
        started(&line);
        self.runtime.spawn("trunk answers", line.clone().answer());
        self.runtime.spawn("trunk frames", line.clone().send_posted());
        let bulk = {
            let (streams, on) = (self.clone(), line.clone());
            let ask = move |asked| streams.on_asked(&on, asked);
            let listening = line.clone().listen(bulk.receiver, false, BytesMut::new(), ask);
            async move {
                let ended = listening.await;
                tracing::debug!(radio, "the bulk channel ended: {ended}");
            }
        };
        self.runtime.spawn("trunk bulk channel", bulk);
        let ask = |asked| self.on_asked(&line, asked);
        let ended = line.clone().listen(express.receiver, true, buffer, ask).await;
        drop(guard);
        ended
    }

    /// Tells the streams on which lines the other end is not heard: it speaks at least four times a
    /// second on a line that carries streams.
    async fn watch_lines(self: Arc<Self>) {
        loop {
            self.runtime.sleep(LOOK).await;
            let lines = {
                let table = self.table();
                if table.is_over {
                    return;
                }
                table.lines.clone()
            };
            let now = self.runtime.now();
            for line in lines.into_values() {
                let (heard, rtt) = (line.pulse.heard(), line.pulse.rtt());
                let usual = LOOK + rtt.unwrap_or_default() * 2;
                line.set_quiet(line.is_in_use() && now - heard > QUIET.max(usual));
            }
        }
    }

    fn on_asked(self: &Arc<Self>, line: &Arc<Line>, asked: Asked) {
        match asked {
            Asked::Open { stream, terms, request } => {
                if let Err(reason) = self.on_open(line, stream, terms, request) {
                    line.post(stream, Body::Reset(reason));
                }
            }
            Asked::Accept { stream, terms } => self.on_accept(line, stream, terms),
            Asked::Reset { stream, reason } => {
                let found = self.table().streams.get(&stream).map(|entry| entry.shared.clone());
                if let Some(shared) = found {
                    shared.fail(MultipathError::Reset(reason));
                }
            }
            Asked::Broken { stream } => line.post(stream, Body::Reset(Reason::Protocol)),
        }
    }

    /// The other end has a stream for this line to carry.
    fn on_open(
        self: &Arc<Self>,
        line: &Arc<Line>,
        stream: u32,
        wanted: Terms,
        request: Bytes,
    ) -> Result<(), Reason> {
        let Some(begun) = &self.begun else { return Err(Reason::Protocol) };
        let config = &self.limits.stream;
        if wanted.protocol != config.scheme.protocol() {
            return Err(Reason::Protocol);
        }
        let mut table = self.table();
        if table.is_over {
            return Err(Reason::Unknown);
        }
        if let Some(ended) = table.ended.get(stream) {
            self.tell_end(line, ended);
            return Ok(());
        }
        let mut new = None;
        if !table.streams.contains_key(&stream) {
            if !table.seen.is_new(stream) {
                return Err(Reason::Unknown);
            }
            let grant = self.limits.budget.grant(config.memory).ok_or(Reason::Full)?;
            let receive_memory = wanted.receive_memory.min(grant.bytes());
            let window_bytes = wanted.window_bytes.min(window(config, receive_memory));
            let segment_bytes = wanted.segment_bytes.min(window_bytes);
            let terms = Terms { receive_memory, window_bytes, segment_bytes, ..wanted };
            let shared = Shared::new(self.runtime.clone(), config.scheme);
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
        let Table { lines, streams, .. } = &mut *table;
        let Some(entry) = streams.get_mut(&stream) else { return Err(Reason::Unknown) };
        self.join((line, lines), stream, entry, true);
        drop(table);
        if let Some((opened, request)) = new {
            begun(opened, request);
        }
        Ok(())
    }

    /// The other end carries a stream of this end on the line.
    fn on_accept(self: &Arc<Self>, line: &Arc<Line>, stream: u32, terms: Terms) {
        let mut table = self.table();
        let Table { lines, streams, ended, .. } = &mut *table;
        let Some(entry) = streams.get_mut(&stream) else {
            // On the lines that there were then it has been told.
            let is_new = |of: &&EndedStream| line.serial > of.newest_line && self.begun.is_none();
            if let Some(ended) = ended.get(stream).filter(is_new) {
                self.tell_end(line, ended);
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
        if self.begun.is_some() || !is_sound {
            let broken =
                MultipathError::Protocol("a stream accepted on other terms than asked for");
            entry.shared.fail(broken);
            return;
        }
        (entry.terms, entry.is_agreed) = (terms, true);
        self.join((line, lines), stream, entry, false);
    }

    /// Has the line carry the stream, unless it does already or one has that took its place: what is
    /// late on a dead line must not end its radio's path. `accepts` if the other end is to be told.
    /// `lines` are all that there are.
    fn join(
        self: &Arc<Self>,
        (line, lines): (&Arc<Line>, &BTreeMap<u8, Arc<Line>>),
        stream: u32,
        entry: &mut Entry,
        accepts: bool,
    ) {
        let newest = entry.joined.entry(line.radio).or_default();
        if line.serial <= *newest {
            return;
        }
        *newest = line.serial;
        let is_to_join = |other: &&Arc<Line>| {
            let joined = entry.joined.get(&other.radio).copied().unwrap_or(0);
            joined < other.serial && other.preference < line.preference && !other.is_quiet()
        };
        let expected = lines.values().filter(is_to_join).map(|other| other.preference).min();
        let terms = entry.terms;
        let new = NewPath { radio: line.radio, preference: line.preference, expected };
        // If it has failed, whoever watches it tells the other end.
        let Ok(attached) = entry.shared.attach(new, terms, line.control.as_ref()) else { return };
        line.add(stream, &attached);
        let carry = line.clone().carry(stream, attached, accepts.then_some(terms));
        self.runtime.spawn("trunk carrier", carry);
    }

    /// The other end was started again, and knows of no stream that it had accepted.
    pub(super) fn on_restart(&self) {
        let mut table = self.table();
        table.ended.clear();
        for (_, entry) in table.streams.extract_if(.., |_, entry| entry.is_agreed) {
            entry.shared.fail(MultipathError::Reset(Reason::Unknown));
        }
    }

    /// Gives up all streams, of which the other end is told.
    pub(super) fn give_up(&self) {
        let mut table = self.table();
        table.is_over = true;
        for entry in table.streams.values() {
            entry.shared.fail(MultipathError::GivenUp);
        }
    }

    /// Ends all streams and lines.
    pub(super) fn end(&self) {
        self.give_up();
        let mut table = self.table();
        for line in std::mem::take(&mut table.lines).into_values() {
            line.end();
        }
    }
}

/// A line that is in service until this is dropped, however its reader ends: by a panic, too.
struct InService<'a> {
    streams: &'a Streams,
    line: &'a Arc<Line>,
}

impl Drop for InService<'_> {
    fn drop(&mut self) {
        self.line.end();
        let mut table = self.streams.table();
        let Table { lines, dark_since, .. } = &mut *table;
        if lines.get(&self.line.radio).is_some_and(|of| of.serial == self.line.serial) {
            lines.remove(&self.line.radio);
            *dark_since = self.streams.runtime.now();
        }
    }
}

/// The terms that a stream with so much memory asks for.
fn terms(config: &StreamConfig, receive_memory: u64) -> Terms {
    let window_bytes = window(config, receive_memory);
    let segment_bytes = config.max_segment_bytes.min(window_bytes);
    Terms { protocol: config.scheme.protocol(), segment_bytes, window_bytes, receive_memory }
}

/// The length of a window that fits a memory, bytes.
fn window(config: &StreamConfig, receive_memory: u64) -> u32 {
    let windows = if config.memory.is_some() { 1 } else { MIN_WINDOWS };
    u32::try_from(receive_memory / windows).unwrap_or(u32::MAX).min(config.max_window_bytes)
}
