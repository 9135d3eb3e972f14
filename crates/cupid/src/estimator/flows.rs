//! Flows: what is usual of a sender and a receiver, and frames that were missed, as sequence numbers tell.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_wifi::{Address, Format, Frame, Ppdu, Vector, mac};

use super::nanos;

/// The most flows that are kept apart.
const MAX_FLOWS: usize = 2_048;
/// Gain of the means of what is usual.
const GAIN: f64 = 1.0 / 8.0;
/// Decay of a flow's largest aggregate towards the newest, per aggregate.
const FULL_DECAY: f64 = 1.0 / 512.0;

/// Transmitter, receiver, traffic identifier.
pub(super) type Key = (Address, Address, u8);

/// One flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    /// The sequence number that is expected next, once one was heard.
    pub expected: Option<u16>,
    /// End of its last exchange, and the charge until then, in all and to nobody.
    pub last_end: u64,
    pub total: f64,
    pub anonymous: f64,
    /// Means over PPDUs: their size, MPDUs that were new, and nanoseconds of the whole exchange.
    pub usual: PpduSize,
    pub fresh: f64,
    pub exchange: f64,
    /// Share of its PPDUs behind RTS and CTS, 0 to 1.
    pub protection: f64,
    /// The largest aggregate of late.
    pub full: f64,
    pub aggregates: bool,
    /// Mean fill of its aggregates, 0 to 1.
    fill: Option<f64>,
    /// New MPDUs of exchanges that were announced and of which nothing else was heard.
    pub promised: f64,
    /// MPDUs of the last PPDU that were not decoded.
    slack: u32,
    pub station: Option<Address>,
    pub is_down: bool,
    pub is_foreign: bool,
}

/// The size of a PPDU.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PpduSize {
    pub mpdus: f64,
    /// Mean bytes of an MPDU.
    pub bytes: f64,
    /// Nanoseconds of its data, and of its preamble.
    pub data: f64,
    pub preamble: f64,
    pub aggregate: bool,
}

impl PpduSize {
    /// The size of a PPDU of so many MPDUs that was in the air for so long.
    pub fn new(
        vector: &Vector,
        airtime: Duration,
        mpdus: f64,
        bytes: f64,
        is_aggregate: bool,
    ) -> Self {
        let preamble = vector.preamble().min(airtime);
        let data = nanos(airtime - preamble) as f64;
        // VHT and HE have nothing but aggregates, if need be of one.
        let aggregate = is_aggregate || matches!(vector.format, Format::Vht | Format::He);
        Self { mpdus, bytes, data, preamble: nanos(preamble) as f64, aggregate }
    }

    /// The size of a PPDU of which frames were decoded.
    pub fn of(ppdu: &Ppdu, vector: &Vector) -> Self {
        let count = f64::from(ppdu.mpdus);
        let bytes = ppdu.bytes as f64 / count;
        let fitting = fitting(vector, ppdu.duration, bytes).max(count);
        let mpdus = if ppdu.is_aggregate { fitting } else { 1.0 };
        Self::new(vector, ppdu.duration, mpdus, bytes, ppdu.is_aggregate)
    }
}

/// Number of MPDUs of so many bytes in a PPDU of this duration: the fewest that need it.
pub(super) fn fitting(vector: &Vector, airtime: Duration, bytes: f64) -> f64 {
    let each = mac::in_aggregate(bytes.clamp(1.0, 65_535.0).round() as u32);
    let below = vector.max_bytes(airtime.saturating_sub(Duration::from_nanos(1)));
    f64::from(below / each + 1).min(1_024.0)
}

/// New MPDUs of which nothing was heard before a PPDU that tells of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Missed {
    pub mpdus: f64,
    /// Of these, those that did not come: they are sent again.
    pub failed: f64,
    /// All that is sent again in the PPDU that tells of them.
    pub repeated: f64,
}

/// Takes a value into a mean of what is usual.
fn mean(old: &mut f64, new: f64) {
    *old += GAIN * (new - *old);
}

/// The longest run of MPDUs that are not made out by chance, where a `part` is: one is longer in a hundred.
fn longest_run(part: f64) -> u32 {
    let lost = 1.0 - part;
    if lost <= 0.0 { 0 } else { (0.01_f64.ln() / lost.min(0.999).ln()).ceil() as u32 }
}

/// The sequence number behind one, of 12 bits.
fn after(sequence: u16) -> u16 {
    sequence.wrapping_add(1) & 0xfff
}

impl Flow {
    fn new(size: &PpduSize) -> Self {
        let (usual, aggregates) = (*size, size.aggregate);
        Self { usual, fresh: size.mpdus, full: size.mpdus, aggregates, ..Self::default() }
    }

    /// Nanoseconds of a PPDU's data of so many MPDUs.
    pub fn data_of(&self, mpdus: f64) -> f64 {
        self.usual.data / self.usual.mpdus.max(1.0) * mpdus
    }

    /// One of its aggregates was so full.
    pub fn on_fill(&mut self, fill: f64) {
        mean(self.fill.get_or_insert(fill), fill);
    }

    /// Takes a PPDU into account. Returns what was missed since the last one.
    pub fn on_ppdu(&mut self, frames: &[Frame], size: &PpduSize) -> Missed {
        let expected =
            self.expected.unwrap_or_else(|| frames.first().map_or(0, |f| f.sequence & 0xfff));
        // Distances ahead of what is expected; what lies behind was sent before.
        let ahead = |frame: &Frame| frame.sequence.wrapping_sub(expected) & 0xfff;
        let news = || frames.iter().filter(|frame| ahead(frame) < 2_048);
        let fresh = news().filter(|frame| !frame.is_retry).map(ahead).min();
        let last = news().map(ahead).max();
        let span = last.map_or(0, |last| last - news().map(ahead).min().unwrap_or(last) + 1);
        // MPDUs that this PPDU may have before the first or behind the last that was made out.
        let others =
            (size.mpdus.round() as u32).saturating_sub(u32::from(span).max(frames.len() as u32));
        let part = frames.len() as f64 / size.mpdus.max(1.0);
        let unseen = others.min(longest_run(part));
        let (attempted, edges) = match (self.expected, fresh, last) {
            (None, ..) | (_, None, None) => (0, 0),
            (_, Some(first), _) => (u32::from(first), unseen + self.slack),
            // Only repeats, of what was never heard: the first attempt was missed.
            (_, None, Some(last)) => (u32::from(last) + 1, self.slack),
        };
        let mut missed = Missed::default();
        if attempted > edges {
            let all = |count: usize| (count as f64 / part.min(1.0)).min(size.mpdus);
            missed.mpdus = f64::from(attempted);
            missed.failed = all(news().filter(|frame| frame.is_retry).count()).min(missed.mpdus);
            missed.repeated = all(frames.iter().filter(|frame| frame.is_retry).count());
        }
        self.slack = if attempted > edges { 0 } else { unseen };
        if let Some(last) = last {
            self.expected = Some(after(expected + last));
        } else if self.expected.is_none() {
            self.expected = frames.last().map(|f| after(f.sequence));
        } else if frames.iter().any(|frame| !frame.is_retry) {
            // New frames far from what is expected: the counter began anew.
            self.expected = frames.last().map(|f| after(f.sequence));
        }
        self.on_size(size);
        if news().next().is_some() {
            let repeats = frames.iter().filter(|f| f.is_retry && ahead(f) >= 2_048).count() as f64;
            mean(&mut self.fresh, (size.mpdus - repeats).max(1.0));
        }
        missed
    }

    /// One of its PPDUs was so large.
    pub fn on_size(&mut self, size: &PpduSize) {
        mean(&mut self.usual.mpdus, size.mpdus);
        mean(&mut self.usual.bytes, size.bytes);
        mean(&mut self.usual.data, size.data);
        mean(&mut self.usual.preamble, size.preamble);
        self.full = size.mpdus.max(self.full - FULL_DECAY * (self.full - size.mpdus));
        self.aggregates |= size.aggregate;
    }

    /// A block acknowledgement told that frames up to this number came in a PPDU that was not heard.
    pub fn on_acknowledged(&mut self, highest: u16) {
        let Some(expected) = self.expected else { return };
        let next = after(highest);
        if next.wrapping_sub(expected) & 0xfff < 2_048 {
            self.expected = Some(next);
        }
    }

    /// Its exchange took so long, and began with RTS or CTS or did not.
    pub fn on_exchange(&mut self, nanos: f64) {
        let usual = if self.exchange == 0.0 { nanos } else { self.exchange };
        self.exchange = usual + GAIN * (nanos - usual);
    }

    pub fn on_protection(&mut self, is_protected: bool) {
        self.protection += (f64::from(u8::from(is_protected)) - self.protection) / 16.0;
    }
}

#[derive(Clone, Debug)]
pub(super) struct Flows {
    all: BTreeMap<Key, Flow>,
    memory: u64,
    swept: u64,
    crowded: u64,
}

impl Flows {
    pub fn new(memory: u64) -> Self {
        Self { all: BTreeMap::new(), memory, swept: 0, crowded: 0 }
    }

    pub fn crowded(&self) -> u64 {
        self.crowded
    }

    pub fn get(&mut self, key: Key) -> Option<&mut Flow> {
        self.all.get_mut(&key)
    }

    pub fn get_or_new(&mut self, key: Key, now: u64, size: &PpduSize) -> Option<&mut Flow> {
        if !self.all.contains_key(&key) && self.all.len() >= MAX_FLOWS {
            if now.saturating_sub(self.swept) > 100_000_000 {
                self.swept = now;
                let memory = self.memory;
                self.all.retain(|_, flow| now.saturating_sub(flow.last_end) <= memory);
            }
            if self.all.len() >= MAX_FLOWS {
                self.crowded += 1;
                return None;
            }
        }
        Some(self.all.entry(key).or_insert_with(|| Flow::new(size)))
    }

    /// Mean fill of the aggregates of the flow that goes the opposite way and has frames of more than `big`
    /// bytes.
    pub fn fill_of_opposite(&self, (from, to, _): Key, big: f64) -> Option<f64> {
        let all = self.all.range((to, from, 0)..=(to, from, u8::MAX)).map(|(_, flow)| flow);
        let latest = all.filter(|flow| flow.usual.bytes > big).max_by_key(|flow| flow.last_end);
        latest.and_then(|flow| flow.fill)
    }

    /// The flow from `from` that sent last, to `to` if that is known.
    pub fn latest(&self, from: Address, to: Option<Address>) -> Option<Key> {
        let (first, last) = match to {
            Some(to) => ((from, to, 0), (from, to, u8::MAX)),
            None => ((from, Address([0; 6]), 0), (from, Address([0xff; 6]), u8::MAX)),
        };
        let of = self.all.range(first..=last);
        of.max_by_key(|(_, flow)| flow.last_end).map(|(key, _)| *key)
    }
}
