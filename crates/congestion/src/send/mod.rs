//! The sending side of a connection, for any transport: packets in flight, controller, pacer,
//! delivery-rate samples and busy time of each path.
//!
//! Pure: time is an argument. A transport reports to a [`SendState`] what it sends and what is
//! acknowledged or lost, and asks what holds the next packet back.

mod path;
mod table;

use std::ops::AddAssign;
use std::time::Duration;

use airlane_base::Time;

use self::path::Path;
pub use self::table::InFlight;
use crate::controller::{Controller, LastSignals, Rtt, Signal};
use crate::group::Group;
use crate::{Pacer, Reno};

/// A path of a connection, by a number that the transport gives and never gives again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathId(pub u32);

/// Readiness of a path to send its next packet: what holds it back, if anything does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendReadiness {
    /// Nothing: it may leave now.
    Open,
    /// The pacer, until this time: the transport has to ask again then.
    Paced(Time),
    /// The window, until something is acknowledged or lost.
    Window,
    /// There is none.
    NothingToSend,
}

/// An acknowledged packet.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Its number.
    pub pn: u64,
    /// The smoothed round-trip time as the transport estimates it (RFC 9002, section 5.3).
    pub smoothed_rtt: Duration,
}

/// Sums since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets sent. Each is in flight, acknowledged, lost or abandoned.
    pub sent_packets: u64,
    /// Their bytes of UDP payload.
    pub sent_bytes: u64,
    /// Packets acknowledged.
    pub acked_packets: u64,
    /// Their bytes.
    pub acked_bytes: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Their bytes.
    pub lost_bytes: u64,
    /// Packets in flight on a path when it was closed: the transport does not report them any more.
    pub abandoned_packets: u64,
    /// Times that all packets declared lost turned out to have arrived.
    pub spurious: u64,
    /// Acknowledgements that reported packets marked as having met congestion (ECN-CE).
    pub mark_reports: u64,
    /// Time with data to send: from when data could not leave at once until the last of it left.
    pub busy: Duration,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.sent_packets += other.sent_packets;
        self.sent_bytes += other.sent_bytes;
        self.acked_packets += other.acked_packets;
        self.acked_bytes += other.acked_bytes;
        self.lost_packets += other.lost_packets;
        self.lost_bytes += other.lost_bytes;
        self.abandoned_packets += other.abandoned_packets;
        self.spurious += other.spurious;
        self.mark_reports += other.mark_reports;
        self.busy += other.busy;
    }
}

/// The sending side of one connection, over any number of paths.
///
/// For each packet that may leave, [`next`](Self::next) and, if it does,
/// [`on_sent`](Self::on_sent); [`begin`](Self::begin) before a run of them. For each
/// acknowledgement frame [`on_acked`](Self::on_acked) per packet that it newly acknowledges and
/// then [`on_ack_end`](Self::on_ack_end); [`on_lost`](Self::on_lost) per packet declared lost, in
/// the order of packet numbers, and then [`on_losses_end`](Self::on_losses_end). Packets are known
/// by path and number: numbers rise on a path, and paths may use the same ones.
///
/// A report about a path that is not open changes nothing. A `now` before the last one counts as
/// the last one.
#[derive(Debug)]
pub struct SendState {
    /// In the order of opening. Mostly one.
    paths: Vec<Path>,
    /// The counts of paths that were closed.
    closed: Counts,
    now: Time,
}

impl SendState {
    /// A connection without a path.
    pub fn new(now: Time) -> Self {
        Self { paths: Vec::with_capacity(1), closed: Counts::default(), now }
    }

    /// Opens a path with a fresh controller, for packets of `payload_bytes` of UDP payload. The
    /// controller gets the last signals of the newest path's controller, and joins its group.
    pub fn open(
        &mut self,
        now: Time,
        path: PathId,
        mut controller: Box<dyn Controller>,
        payload_bytes: u64,
    ) {
        let now = self.tick(now);
        if let Some(last) = self.paths.last() {
            for signal in last.controller.last_signals().signals() {
                controller.on_signal(now, signal);
            }
            if let Some(group) = last.controller.group() {
                controller.couple(group);
            }
        }
        let mut path = Path::new(path, controller, payload_bytes);
        path.follow(now);
        self.paths.push(path);
    }

    /// Opens a path that is `old` under another address (a NAT gave the peer another port): a copy
    /// of its controller, of what its samples count from and of its round-trip times goes on, with
    /// nothing in flight.
    pub fn open_like(&mut self, now: Time, path: PathId, old: PathId) {
        self.tick(now);
        if let Some(new) = self.path(old).map(|old| old.successor(path)) {
            self.paths.push(new);
        }
    }

    /// Closes a path: its packets in flight count as abandoned.
    pub fn close(&mut self, path: PathId) {
        let Some(i) = self.paths.iter().position(|p| p.id == path) else { return };
        let mut gone = self.paths.remove(i);
        gone.no_data_waits(self.now);
        gone.abandon();
        self.closed += gone.counts;
    }

    /// Number of open paths.
    pub fn paths(&self) -> usize {
        self.paths.len()
    }

    /// The path that was opened last of those that are open.
    pub fn newest(&self) -> Option<PathId> {
        self.paths.last().map(|p| p.id)
    }

    #[inline]
    fn path(&self, id: PathId) -> Option<&Path> {
        self.paths.iter().rev().find(|p| p.id == id)
    }

    #[inline]
    fn path_mut(&mut self, id: PathId) -> Option<&mut Path> {
        self.paths.iter_mut().rev().find(|p| p.id == id)
    }

    /// `now` as controllers may hear it: never going back. Whoever reaches in from outside may have
    /// read the clock after the transport did.
    fn tick(&mut self, now: Time) -> Time {
        self.now = self.now.max(now);
        self.now
    }

    /// The latest time of any call.
    pub fn now(&self) -> Time {
        self.now
    }

    // Sending.

    /// The transport begins to look at what may leave.
    pub fn begin(&mut self, path: PathId) {
        if let Some(path) = self.path_mut(path) {
            path.pacer.begin();
        }
    }

    /// Readiness of a path to send its next packet; `bytes` is its size, `None` if there is
    /// none.
    pub fn next(&mut self, now: Time, path: PathId, bytes: Option<u64>) -> SendReadiness {
        let now = self.tick(now);
        let Some(path) = self.path_mut(path) else { return SendReadiness::NothingToSend };
        let Some(bytes) = bytes else {
            path.no_data_waits(now);
            path.ran_dry();
            return SendReadiness::NothingToSend;
        };
        path.data_waits(now);
        match path.gate(bytes) {
            None => SendReadiness::Window,
            Some(at) if at > now => {
                path.pacer.hold();
                SendReadiness::Paced(at)
            }
            Some(_) => SendReadiness::Open,
        }
    }

    /// Time at which a packet of `bytes` may leave on a path; `None` while the window holds it. For
    /// transports that ask beforehand.
    pub fn gate(&self, path: PathId, bytes: u64) -> Option<Time> {
        self.path(path)?.gate(bytes)
    }

    /// The window in bytes: the controller's, but room for a packet at least.
    pub fn window(&self, path: PathId) -> u64 {
        self.path(path).map_or(0, Path::window)
    }

    /// Data has waited for the path since then. [`next`](Self::next) says it by itself.
    pub fn data_waits(&mut self, path: PathId, since: Time) {
        if let Some(path) = self.path_mut(path) {
            path.data_waits(since);
        }
    }

    /// The data that waited for the path is gone: sent, or withdrawn.
    pub fn no_data_waits(&mut self, now: Time, path: PathId) {
        let now = self.tick(now);
        if let Some(path) = self.path_mut(path) {
            path.no_data_waits(now);
        }
    }

    /// Since when data waits for the path.
    pub fn waiting(&self, path: PathId) -> Option<Time> {
        self.path(path)?.waiting()
    }

    /// The transport leaves off though more might leave: what waits meanwhile is late, as if the
    /// pacer had held it.
    pub fn cut(&mut self, path: PathId) {
        if let Some(path) = self.path_mut(path) {
            path.pacer.hold();
        }
    }

    /// The path's pacer.
    pub fn pacer(&self, path: PathId) -> Option<&Pacer> {
        self.path(path).map(|p| &p.pacer)
    }

    /// A packet left. False if its number does not rise: it is then not tracked.
    pub fn on_sent(&mut self, now: Time, path: PathId, pn: u64, bytes: u16) -> bool {
        let ticked = self.tick(now);
        // Packets are kept by the transport's own time, which it repeats with the acknowledgement:
        // what controllers have heard may be later.
        self.path_mut(path).is_some_and(|p| p.on_sent(ticked, now, pn, bytes))
    }

    // Hearing.

    /// A packet was acknowledged. It is returned, if it was in flight.
    pub fn on_acked(&mut self, now: Time, path: PathId, acked: &Acked) -> Option<InFlight> {
        self.on_acked_if(now, path, acked, |_| true)
    }

    /// The same, if what is in flight under that number `is` it.
    pub fn on_acked_if(
        &mut self,
        now: Time,
        path: PathId,
        acked: &Acked,
        is: impl FnOnce(&InFlight) -> bool,
    ) -> Option<InFlight> {
        let now = self.tick(now);
        self.path_mut(path)?.on_acked(now, acked, is)
    }

    /// All packets that one acknowledgement frame covers were told. Whether there were any.
    pub fn on_ack_end(&mut self, now: Time, path: PathId) -> bool {
        let now = self.tick(now);
        self.path_mut(path).is_some_and(|p| p.on_ack_end(now))
    }

    /// A packet was declared lost. It is returned, if it was in flight.
    pub fn on_lost(&mut self, now: Time, path: PathId, pn: u64) -> Option<InFlight> {
        self.on_lost_if(now, path, pn, |_| true)
    }

    /// A packet was dropped on purpose by a queue in the network, as its sender allowed: it is no
    /// longer in flight, it counts as lost, and the controller does not hear of it. It is returned, if
    /// it was in flight.
    pub fn on_dropped(&mut self, now: Time, path: PathId, pn: u64) -> Option<InFlight> {
        let now = self.tick(now);
        self.path_mut(path)?.on_dropped(now, pn)
    }

    /// The same, if what is in flight under that number `is` it.
    pub fn on_lost_if(
        &mut self,
        now: Time,
        path: PathId,
        pn: u64,
        is: impl FnOnce(&InFlight) -> bool,
    ) -> Option<InFlight> {
        let now = self.tick(now);
        self.path_mut(path)?.on_lost(now, pn, is)
    }

    /// A batch of losses is complete; `persistent`: it spans the persistent congestion period (RFC
    /// 9002, section 7.6). Whether the controller was told so: there has to be a loss.
    pub fn on_losses_end(&mut self, now: Time, path: PathId, persistent: bool) -> bool {
        let now = self.tick(now);
        self.path_mut(path).is_some_and(|p| p.on_losses_end(now, persistent))
    }

    /// The acknowledgement that was read last reports more packets marked as having met congestion
    /// than the ones before it: so many, or one where the transport is told only that there are.
    pub fn on_marked(&mut self, now: Time, path: PathId, packets: u64) {
        let now = self.tick(now);
        if let Some(path) = self.path_mut(path) {
            path.on_marked(now, packets);
        }
    }

    /// All packets that were declared lost have arrived after all.
    pub fn on_spurious(&mut self, now: Time, path: PathId) {
        let now = self.tick(now);
        if let Some(path) = self.path_mut(path) {
            path.on_spurious(now);
        }
    }

    /// The largest UDP payload of the path changed.
    pub fn on_mtu(&mut self, now: Time, path: PathId, bytes: u64) {
        let now = self.tick(now);
        if let Some(path) = self.path_mut(path) {
            path.on_mtu(now, bytes);
        }
    }

    /// The transport counts what is in flight itself, with packets that were never told here.
    pub fn set_in_flight(&mut self, path: PathId, bytes: u64) {
        if let Some(path) = self.path_mut(path) {
            path.in_flight = bytes;
        }
    }

    // Signals.

    /// Passes a signal to the controllers of all paths. Returns whether any takes signals of that
    /// kind.
    pub fn signal(&mut self, now: Time, signal: Signal) -> bool {
        let now = self.tick(now);
        let mut accepted = false;
        for path in &mut self.paths {
            accepted |= path.controller.on_signal(now, signal);
            path.follow(now);
        }
        accepted
    }

    /// Couples the controllers of all paths with a group. Returns whether any can be.
    pub fn couple(&mut self, group: &Group) -> bool {
        let mut any = false;
        for path in &mut self.paths {
            any |= path.controller.couple(group);
        }
        any
    }

    /// The last signals that the controller of the newest path took.
    pub fn last_signals(&self) -> LastSignals {
        self.paths.last().map(|p| p.controller.last_signals()).unwrap_or_default()
    }

    /// One of the controllers has failed: replaces all of them by new ones and returns the old
    /// ones. Nothing is in flight any more; the counts stay.
    pub fn retire(&mut self) -> Vec<Box<dyn Controller>> {
        let now = self.now;
        let replace = |path: &mut Path| {
            let failed = path.replace(Box::new(Reno::new(crate::DEFAULT_MTU_BYTES)));
            path.follow(now);
            failed
        };
        self.paths.iter_mut().map(replace).collect()
    }

    /// The controller of a path.
    pub fn controller(&self, path: PathId) -> Option<&dyn Controller> {
        self.path(path).map(|p| &*p.controller)
    }

    /// Bytes in flight on a path.
    pub fn in_flight(&self, path: PathId) -> u64 {
        self.path(path).map_or(0, |p| p.in_flight)
    }

    /// Round-trip times of a path, once there is a sample.
    pub fn rtt(&self, path: PathId) -> Option<Rtt> {
        self.path(path)?.rtt()
    }

    /// The counts of one path up to `now`.
    pub fn counts(&self, now: Time, path: PathId) -> Counts {
        self.path(path).map(|p| p.counts(now)).unwrap_or_default()
    }

    /// The counts of all paths, those that were closed included.
    pub fn total(&self, now: Time) -> Counts {
        let mut total = self.closed;
        self.paths.iter().for_each(|p| total += p.counts(now));
        total
    }
}
