//! Congestion controllers in Python.

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_congestion::ControllerKind;
use airlane_congestion::controller::{self, Controller, Marked, Rtt, Sent};
use pyo3::prelude::*;

use super::{Kinds, fault, kept};

static KINDS: Kinds<PythonControllers> = Kinds::new();

/// The kind of a class of controllers that is called at an interval of so many seconds.
pub(super) fn kind(
    py: Python<'_>,
    name: &str,
    interval_s: f64,
    class: &Py<PyAny>,
) -> &'static PythonControllers {
    let interval = Duration::try_from_secs_f64(interval_s).unwrap_or_default();
    let is_same = |kind: &PythonControllers| kind.name == name && kind.interval == interval;
    let make = || PythonControllers { name: kept(name), interval, class: class.clone_ref(py) };
    KINDS.of(class, is_same, make)
}

/// Controllers of a class.
#[derive(Debug)]
pub(super) struct PythonControllers {
    name: &'static str,
    interval: Duration,
    class: Py<PyAny>,
}

impl ControllerKind for PythonControllers {
    fn name(&self) -> &'static str {
        self.name
    }

    fn build(&self, now: Time, mtu: u64, seed: Seed) -> Box<dyn Controller> {
        Python::attach(|py| {
            let object = self.class.call1(py, (mtu, seed.0));
            let object =
                object.unwrap_or_else(|e| fault::end(py, (self.name, "__init__"), Some(now), e));
            let mut controller = PythonController {
                name: self.name,
                interval: self.interval,
                object,
                min_window: 2 * mtu,
                window: 0,
                pacing_rate: None,
                called: None,
                acks: Acks::default(),
                losses: Losses::default(),
            };
            controller.ask(py, now);
            Box::new(controller) as Box<dyn Controller>
        })
    }
}

/// Acknowledgements since the last call of `on_ack`.
#[pyclass(frozen, get_all, module = "airlane._airlane")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Ack {
    /// Time, seconds from the start of the run.
    now_s: f64,
    /// Bytes that were acknowledged.
    acked_bytes: u64,
    /// Packets that were acknowledged.
    packets: u64,
    /// Bytes in flight.
    in_flight_bytes: u64,
    /// Round trip of the last packet, seconds.
    rtt_s: f64,
    /// Smoothed round trip, seconds.
    smoothed_rtt_s: f64,
    /// Smallest round trip, seconds.
    min_rtt_s: f64,
    /// Largest rate of delivery, bits/s; none if none was measured.
    delivery_rate_bps: Option<f64>,
    /// True if the application had nothing more to send when the last packet left.
    app_limited: bool,
}

/// Losses since the last call of `on_loss`.
#[pyclass(frozen, get_all, module = "airlane._airlane")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Loss {
    /// Time, seconds from the start of the run.
    now_s: f64,
    /// Bytes that were lost.
    lost_bytes: u64,
    /// Packets that were lost.
    packets: u64,
    /// Packets that arrived with a mark of congestion (ECN).
    marked_packets: u64,
    /// Bytes in flight.
    in_flight_bytes: u64,
    /// Time at which the last packet that was lost or marked had been sent, seconds.
    sent_s: f64,
    /// True if losses span more than the period of persistent congestion (RFC 9002, section 7.6).
    persistent: bool,
}

#[derive(Clone, Debug, Default)]
struct Acks {
    bytes: u64,
    packets: u64,
    rate: Option<f64>,
    last: Option<(Rtt, bool)>,
}

#[derive(Clone, Debug, Default)]
struct Losses {
    bytes: u64,
    packets: u64,
    marked: u64,
    in_flight: u64,
    sent: Time,
    persistent: bool,
}

impl Losses {
    fn is_empty(&self) -> bool {
        self.packets == 0 && self.marked == 0 && !self.persistent
    }
}

/// Controller of one connection.
#[derive(Debug)]
struct PythonController {
    name: &'static str,
    interval: Duration,
    object: Py<PyAny>,
    min_window: u64,
    window: u64,
    pacing_rate: Option<Rate>,
    /// Time of the last call.
    called: Option<Time>,
    acks: Acks,
    losses: Losses,
}

impl PythonController {
    fn is_due(&self, now: Time) -> bool {
        self.called.is_none_or(|called| now.since(called) >= self.interval)
    }

    /// Tells the object what happened since the last call, and asks for its decision.
    fn call(&mut self, now: Time, in_flight: u64) {
        self.called = Some(now);
        let now_s = now.as_secs_f64();
        Python::attach(|py| {
            if !self.losses.is_empty() {
                let losses = std::mem::take(&mut self.losses);
                let loss = Loss {
                    now_s,
                    lost_bytes: losses.bytes,
                    packets: losses.packets,
                    marked_packets: losses.marked,
                    in_flight_bytes: losses.in_flight,
                    sent_s: losses.sent.as_secs_f64(),
                    persistent: losses.persistent,
                };
                self.method(py, now, "on_loss", loss);
            }
            if let Some((rtt, app_limited)) = self.acks.last {
                let acks = std::mem::take(&mut self.acks);
                let ack = Ack {
                    now_s,
                    acked_bytes: acks.bytes,
                    packets: acks.packets,
                    in_flight_bytes: in_flight,
                    rtt_s: rtt.latest.as_secs_f64(),
                    smoothed_rtt_s: rtt.smoothed.as_secs_f64(),
                    min_rtt_s: rtt.min.as_secs_f64(),
                    delivery_rate_bps: acks.rate,
                    app_limited,
                };
                self.method(py, now, "on_ack", ack);
            }
            self.ask(py, now);
        });
    }

    fn method<'py>(
        &self,
        py: Python<'py>,
        now: Time,
        name: &'static str,
        argument: impl IntoPyObject<'py>,
    ) {
        let called = self.object.bind(py).call_method1(name, (argument,));
        if let Err(error) = called {
            fault::end(py, (self.name, name), Some(now), error);
        }
    }

    /// Asks the object for its window and its rate.
    fn ask(&mut self, py: Python<'_>, now: Time) {
        let object = self.object.bind(py);
        let window = object.call_method0("window").and_then(|window| window.extract::<f64>());
        let window = window.unwrap_or_else(|e| fault::end(py, (self.name, "window"), Some(now), e));
        let rate =
            object.call_method0("pacing_rate").and_then(|rate| rate.extract::<Option<f64>>());
        let rate =
            rate.unwrap_or_else(|e| fault::end(py, (self.name, "pacing_rate"), Some(now), e));
        // Not a number becomes the smallest window; a rate of zero would never send again.
        self.window = (window as u64).max(self.min_window);
        self.pacing_rate =
            rate.filter(|bps| *bps > 0.0).map(|bps| Rate::from_bps_f64(bps.max(1e3)));
    }
}

impl Controller for PythonController {
    fn on_sent(&mut self, _: &Sent) {}

    fn on_ack(&mut self, ack: &controller::Ack) {
        self.acks.bytes += ack.bytes;
        self.acks.packets += 1;
        self.acks.last = Some((ack.rtt, ack.app_limited()));
        if let Some(sample) = ack.sample {
            let rate = sample.rate.as_f64();
            self.acks.rate = Some(self.acks.rate.map_or(rate, |known| known.max(rate)));
        }
    }

    fn on_ack_end(&mut self, now: Time, in_flight: u64) {
        if self.is_due(now) {
            self.call(now, in_flight);
        }
    }

    fn on_loss(&mut self, loss: &controller::Loss) {
        self.losses.bytes += loss.bytes;
        self.losses.packets += 1;
        self.losses.in_flight = loss.in_flight;
        self.losses.sent = self.losses.sent.max(loss.sent_at);
        if self.is_due(loss.now) {
            self.call(loss.now, loss.in_flight);
        }
    }

    fn on_marked(&mut self, marked: &Marked) {
        self.losses.marked += marked.packets;
        self.losses.in_flight = marked.in_flight;
        self.losses.sent = self.losses.sent.max(marked.sent_at);
        if self.is_due(marked.now) {
            self.call(marked.now, marked.in_flight);
        }
    }

    fn on_persistent_congestion(&mut self, now: Time) {
        self.losses.persistent = true;
        self.call(now, self.losses.in_flight);
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn takes_samples(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let object = Python::attach(|py| {
            let copied =
                py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (&self.object,)));
            let copied = copied.map(Bound::unbind);
            copied.unwrap_or_else(|e| fault::end(py, (self.name, "__deepcopy__"), self.called, e))
        });
        let (acks, losses) = (self.acks.clone(), self.losses.clone());
        Box::new(Self { object, acks, losses, ..*self })
    }
}
