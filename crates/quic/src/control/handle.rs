//! The handle to a running connection's controller: statistics, and signals such as the weight.

use std::fmt;
use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_congestion::{Grant, Group, Rtt, Signal};
use airlane_runtime::RuntimeHandle;

use super::core::Core;
use super::noq::{ControlledLink, Shared};
use crate::panics::{caught, message};

/// Statistics and limits of a connection's sending side. Counts cover 1-RTT packets that ask for
/// an acknowledgement, in bytes of UDP payload, since the connection began.
#[derive(Clone, Copy, Debug)]
pub struct ControlStats {
    /// Time at which the statistics were read.
    pub now: Time,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets acknowledged.
    pub acked_packets: u64,
    /// Bytes acknowledged.
    pub acked_bytes: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Bytes declared lost.
    pub lost_bytes: u64,
    /// Packets in flight when the connection moved to another path: noq does not report whether
    /// they arrived.
    pub abandoned_packets: u64,
    /// Times that all packets declared lost turned out to have arrived.
    pub spurious_losses: u64,
    /// Acknowledgements that reported packets marked as having met congestion (ECN-CE).
    pub mark_reports: u64,
    /// Datagrams received from the peer with the mark (ECN-CE).
    pub marks_received: u64,
    /// Time during which there was data to send: from when data could not leave at once, held
    /// back by window or pacing, until the last of it left. Idle gaps and the wait for the last
    /// acknowledgements do not count; see `docs/design/quic.md`.
    pub busy: Duration,
    /// True if there is data to send now.
    pub has_data: bool,
    /// Bytes in flight.
    pub in_flight: u64,
    /// The congestion window in bytes.
    pub window: u64,
    /// The slow-start threshold in bytes, where the controller has one.
    pub ssthresh: Option<u64>,
    /// The rate that the controller asks for, if it does.
    pub pacing_rate: Option<Rate>,
    /// The rate that the controller estimates the path to carry, if it estimates one.
    pub bandwidth: Option<Rate>,
    /// Round-trip times, once there is a sample.
    pub rtt: Option<Rtt>,
    /// Number of unweighted flows for which this flow counts.
    pub weight: f64,
    /// The controller's name.
    pub controller: &'static str,
}

/// The part of [`ControlStats`] that says how far a connection has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlProgress {
    /// Bytes acknowledged.
    pub acked_bytes: u64,
    /// Time during which there was data to send.
    pub busy: Duration,
    /// The smallest round trip, once there is a sample.
    pub min_rtt: Option<Duration>,
}

/// A handle to the congestion controller of a running connection. It does not keep the connection
/// alive, and its counts can be read when the connection is gone.
#[derive(Clone)]
pub struct ControlHandle {
    shared: Arc<Shared>,
    runtime: RuntimeHandle,
}

impl fmt::Debug for ControlHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlHandle").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl ControlHandle {
    pub(crate) fn new(shared: Arc<Shared>, runtime: RuntimeHandle) -> Self {
        Self { shared, runtime }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The connection, while there is one.
    fn link(&self) -> Option<Arc<dyn ControlledLink>> {
        self.shared.link.get()?.upgrade()
    }

    /// Counts and state as of now.
    ///
    /// # Panics
    /// If the controller does, which ends the connection.
    pub fn stats(&self) -> ControlStats {
        self.read(|core, now| stats(core, now, self.shared.marks()))
    }

    /// Progress of the connection as of now. It costs less than [`Self::stats`], for those who ask
    /// thousands of times a second: it does not ask the controller.
    ///
    /// # Panics
    /// If the state's bookkeeping does, which ends the connection.
    pub fn progress(&self) -> ControlProgress {
        self.read(|core, now| {
            let counts = core.counts(now);
            ControlProgress {
                acked_bytes: counts.acked_bytes,
                busy: counts.busy,
                min_rtt: core.rtt().map(|r| r.min),
            }
        })
    }

    /// The peer's address, which changes when the peer migrates; `None` when the connection is
    /// gone.
    pub fn remote_addr(&self) -> Option<SocketAddr> {
        self.link()?.remote()
    }

    /// Sets how many plain flows the connection counts for from now on. False if its controller has
    /// no weight.
    pub fn set_weight(&self, weight: f64) -> bool {
        self.signal(Signal::Weight(weight))
    }

    /// Sets the rate in bits of UDP payload. False if the controller decides the rate itself.
    pub fn set_rate(&self, rate: Rate) -> bool {
        self.signal(Signal::Rate(rate))
    }

    /// Passes on what the receiver granted (Cupid's report). False if the controller takes no such rates.
    pub fn grant(&self, grant: Grant) -> bool {
        self.signal(Signal::Grant(grant))
    }

    /// Couples the controller with those of other connections that carry the same stream. False if
    /// it goes alone in any case.
    ///
    /// # Panics
    /// If the controller does, which ends the connection.
    pub fn couple(&self, group: &Group) -> bool {
        self.guarded(|core| core.couple(group))
    }

    /// Passes a signal to the controller and wakes the connection, which sends at once what the new
    /// window or rate allows. False if the controller does not take signals of that kind.
    ///
    /// # Panics
    /// If the controller does, which ends the connection.
    pub fn signal(&self, signal: Signal) -> bool {
        let now = self.runtime.now();
        let accepted = self.guarded(|core| {
            let accepted = core.signal(now, signal);
            self.shared.publish(core);
            accepted
        });
        // Without this the connection would sleep until the pacer's timer, set at the old rate.
        if let Some(link) = self.link() {
            link.wake();
        }
        accepted
    }

    /// As [`Self::signal`], from within the driver's turn, which goes on with the connection.
    pub(crate) fn signal_in_turn(&self, now: Time, signal: Signal) {
        let mut core = self.shared.core.lock();
        if let Some(core) = core.as_mut() {
            core.signal(now, signal);
            self.shared.publish(core);
        }
    }

    /// Reads the state as of now.
    fn read<T>(&self, f: impl FnOnce(&Core, Time) -> T) -> T {
        let now = self.runtime.now();
        self.guarded(|core| {
            self.shared.report_waiting(core);
            f(core, now)
        })
    }

    /// Runs `f` on the state. A panic in `f` ends the connection and goes on in the caller.
    fn guarded<T>(&self, f: impl FnOnce(&mut Core) -> T) -> T {
        let result = {
            let mut core = self.shared.core.lock();
            let core = core.as_mut().expect("a connection has a controller");
            caught(|| f(core))
        };
        result.unwrap_or_else(|panic| {
            match self.link() {
                Some(link) => link.fail(&message(&panic)),
                None => self.shared.fail(),
            }
            resume_unwind(panic)
        })
    }
}

fn stats(core: &Core, now: Time, marks_received: u64) -> ControlStats {
    let c = core.counts(now);
    let controller = core.controller().expect("the last path of a connection stays");
    ControlStats {
        now,
        sent_packets: c.sent_packets,
        sent_bytes: c.sent_bytes,
        acked_packets: c.acked_packets,
        acked_bytes: c.acked_bytes,
        lost_packets: c.lost_packets,
        lost_bytes: c.lost_bytes,
        abandoned_packets: c.abandoned_packets,
        spurious_losses: c.spurious,
        mark_reports: c.mark_reports,
        marks_received,
        busy: c.busy,
        has_data: core.send().waiting(core.path()).is_some(),
        in_flight: core.in_flight(),
        window: controller.window(),
        ssthresh: controller.ssthresh(),
        pacing_rate: core.pacing_rate(),
        bandwidth: controller.bandwidth(),
        rtt: core.rtt(),
        weight: controller.weight(),
        controller: controller.name(),
    }
}
