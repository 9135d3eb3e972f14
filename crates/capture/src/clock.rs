//! One axis of time for all records of a capture, although each interface has a clock of its own, and
//! clocks jump, stand still or run at a wrong speed.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::Time;

use crate::transmission::Precision;

/// How far a receiver's clock and the capturing machine's may move apart before one of them is said to
/// have jumped, nanoseconds.
const JUMP: i128 = 100_000_000;

/// How fast the two may move apart without a jump, as one part of so many: far beyond what crystals
/// differ by (IEEE 802.11-2020, 11.1.3.9: 100 ppm each), so that only what is no clock is found.
const MAX_DRIFT: i128 = 10;

/// How far time may go back without a clock having jumped: frames of aggregates and their responses come
/// out of order, and stamps of the capturing machine are that inexact.
pub(crate) const DISORDER: i128 = 20_000_000;

/// A receiver's clock that crept away so often, and more often than once in [`CREEP_INTERVAL`], runs at a
/// wrong speed: the machine's is used from then on.
const MAX_CREEPS: i128 = 3;
const CREEP_INTERVAL: i128 = 10_000_000_000;

/// Interfaces whose clocks are kept at most. Numbers grow from section to section of a file, and those of
/// sections that are over come no more: the lowest is forgotten.
const MAX_INTERFACES: usize = 512;

/// What a record says of its time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Interface of the capture.
    pub(crate) interface: u32,
    /// The receiver's clock, nanoseconds, and how long the PPDU had been in the air when it was read.
    pub(crate) device: Option<(i128, Duration)>,
    /// The machine's clock when the record was captured, nanoseconds since 1970.
    pub(crate) machine: Option<u64>,
    /// Time that the PPDU was in the air.
    pub(crate) duration: Duration,
}

/// One axis of time: zero is the first record, and time follows the receivers' clocks. Where one of them
/// jumps, time goes on by the machine's clock; where that goes back as well, from where it was.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    /// What is subtracted of the machine's clock.
    origin: Option<i128>,
    devices: BTreeMap<u32, Device>,
    /// The latest time so far.
    newest: i128,
    /// Times at which a receiver's clock was behind what it had been.
    pub(crate) steps_back: u64,
    /// Jumps of a clock, forward or back.
    pub(crate) jumps: u64,
    /// PPDUs at which a receiver's clock stood still, read zero, or had jumped too often to be one.
    pub(crate) unusable: u64,
}

/// The clock of one interface.
#[derive(Clone, Debug, Default)]
struct Device {
    /// What is added to it to have the axis.
    offset: Option<i128>,
    /// The machine's clock, less time by this clock, followed at the speed of [`MAX_DRIFT`].
    apart: i128,
    /// How far beyond that the two were apart at the last record.
    beyond: i128,
    /// The last reading that was one.
    last: Option<Told>,
    /// The machine's clock at the last record, and at the first.
    machine: Option<i128>,
    first: Option<i128>,
    /// Jumps that came little by little.
    creeps: i128,
    is_distrusted: bool,
}

/// A reading of a receiver's clock.
#[derive(Clone, Copy, Debug)]
struct Told {
    stamp: i128,
    /// The machine's clock when the reading came first, and how long that PPDU lasted.
    machine: Option<i128>,
    duration: i128,
}

impl Clock {
    /// When a PPDU began, nanoseconds, and how exactly that is known: by the receiver's clock if it has a
    /// usable one, else by the machine's, else the latest time so far.
    pub(crate) fn time(&mut self, reading: &Reading) -> (i128, Precision) {
        if self.devices.len() >= MAX_INTERFACES && !self.devices.contains_key(&reading.interface) {
            self.devices.pop_first();
        }
        let machine = reading.machine.map(i128::from);
        // The machine has the time of a PPDU's end, and zero is where the first begins.
        let lead = if reading.device.is_none() { nanos(reading.duration) } else { 0 };
        let by_machine = machine.map(|m| m - *self.origin.get_or_insert(m - lead));
        let device = self.devices.entry(reading.interface).or_default();
        let before = device.machine;
        device.machine = machine.or(before);
        device.first = device.first.or(machine);
        let duration = nanos(reading.duration);
        let stamp = device.stamp(reading, machine);
        self.unusable += u64::from(reading.device.is_some() && stamp.is_none());
        let Some((stamp, elapsed)) = stamp else {
            let mut end = by_machine.map_or(self.newest, |by_machine| by_machine - device.apart);
            if end < self.newest - DISORDER {
                self.jumps += 1;
                self.origin = self.origin.map(|origin| origin - (self.newest - end));
                end = self.newest;
            }
            self.newest = self.newest.max(end);
            return (end - duration, Precision::Machine);
        };
        self.steps_back += u64::from(device.last.is_some_and(|last| stamp < last.stamp));
        let is_new = device.last.is_none_or(|last| last.stamp != stamp);
        if is_new {
            device.last = Some(Told { stamp, machine, duration });
        }
        // A machine's clock that stands still while the receiver's goes on says nothing.
        let by_machine = by_machine.filter(|_| !is_new || before.is_none() || machine != before);
        let passed = machine.zip(before).map_or(0, |(now, before)| now - before);
        let (mut at, has_jumped) = device.by_stamp(stamp - elapsed, by_machine, passed);
        self.jumps += u64::from(has_jumped);
        if at < self.newest - DISORDER {
            let back = self.newest - at;
            self.jumps += 1;
            device.offset = device.offset.map(|offset| offset + back);
            device.apart -= back;
            at = self.newest;
        }
        self.newest = self.newest.max(at);
        (at, Precision::Receiver)
    }
}

impl Device {
    /// The reading of this clock, if it is one, and how long the PPDU had been in the air.
    fn stamp(&self, reading: &Reading, machine: Option<i128>) -> Option<(i128, i128)> {
        let (stamp, elapsed) = reading.device.filter(|_| !self.is_distrusted)?;
        let usable = (stamp, nanos(elapsed));
        let Some(last) = self.last else { return Some(usable) };
        // Drivers write zero where they have no time.
        let is_unknown = stamp == 0 && last.stamp != 0;
        // No two PPDUs begin together of which the first was over when the second came.
        let passed = machine.zip(last.machine).map_or(0, |(now, before)| now - before);
        let stands = stamp == last.stamp && passed > last.duration;
        (!is_unknown && !stands).then_some(usable)
    }

    /// The time of a reading, and whether a clock jumped; the machine's clock moved by `passed`.
    fn by_stamp(&mut self, stamp: i128, by_machine: Option<i128>, passed: i128) -> (i128, bool) {
        let Some(offset) = self.offset else {
            let at = by_machine.map_or(0, |by_machine| by_machine - self.apart);
            self.offset = Some(at - stamp);
            return (at, false);
        };
        let at = stamp + offset;
        let Some(by_machine) = by_machine else { return (at, false) };
        let beyond = by_machine - at - self.apart;
        let step = beyond - self.beyond;
        self.beyond = beyond;
        if beyond.abs() > JUMP {
            if step.abs() < JUMP / 2 {
                self.creeps += 1;
                let elapsed = self.machine.zip(self.first).map_or(0, |(now, first)| now - first);
                self.is_distrusted =
                    self.creeps > MAX_CREEPS && elapsed < self.creeps * CREEP_INTERVAL;
            }
            (self.offset, self.apart, self.beyond) = (Some(by_machine - stamp), 0, 0);
            return (by_machine, true);
        }
        let drift = passed.abs() / MAX_DRIFT;
        let followed = beyond.clamp(-drift, drift);
        self.apart += followed;
        self.beyond -= followed;
        (at, false)
    }
}

fn nanos(duration: Duration) -> i128 {
    duration.as_nanos() as i128
}

/// A point on the axis; what would be before its beginning is its beginning.
pub(crate) fn point(nanos: i128) -> Time {
    Time::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
}
