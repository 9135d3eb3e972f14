//! Samples of the sending side of a flow, taken while the world runs.

use std::sync::{Arc, Mutex, PoisonError};

use airlane_apps::vod::{OriginEvents, Visitor};
use airlane_minerva::Update;
use airlane_quic::ControlHandle;
use airlane_runtime::{RuntimeExt, RuntimeHandle};

use super::SAMPLE_EVERY;
use super::output::FlowSample;

/// What is known of one flow's sending side.
#[derive(Debug, Default)]
pub(super) struct Tap(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    control: Option<ControlHandle>,
    updates: Vec<Update>,
    samples: Vec<FlowSample>,
}

impl Tap {
    /// A tap whose samples are taken on `runtime` from now on.
    pub(super) fn start(runtime: &RuntimeHandle) -> Arc<Self> {
        let tap = Arc::new(Self::default());
        let (sampled, clock) = (tap.clone(), runtime.clone());
        runtime.spawn("flow samples", async move {
            loop {
                sampled.sample();
                clock.sleep(SAMPLE_EVERY).await;
            }
        });
        tap
    }

    /// The flow's connection came.
    pub(super) fn connect(&self, control: &ControlHandle) {
        self.lock().control = Some(control.clone());
    }

    /// What was seen: Minerva's updates and the samples.
    pub(super) fn take(&self) -> (Vec<Update>, Vec<FlowSample>) {
        let mut seen = self.lock();
        (std::mem::take(&mut seen.updates), std::mem::take(&mut seen.samples))
    }

    fn sample(&self) {
        let mut seen = self.lock();
        let Some(stats) = seen.control.as_ref().map(ControlHandle::stats) else { return };
        seen.samples.push(FlowSample {
            at: stats.now,
            acked_bytes: stats.acked_bytes,
            sent_bytes: stats.sent_bytes,
            lost_bytes: stats.lost_bytes,
            window_bytes: stats.window,
            rtt_s: stats.rtt.map(|r| r.smoothed.as_secs_f64()),
            weight: stats.weight,
            busy: stats.busy,
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The origin's events of one flow.
pub(super) struct TapEvents(pub(super) Arc<Tap>);

impl OriginEvents for TapEvents {
    fn connected(&self, _: &Visitor, control: Option<&ControlHandle>) {
        if let Some(control) = control {
            self.0.connect(control);
        }
    }

    fn weighed(&self, _: &Visitor, _: &str, update: &Update) {
        self.0.lock().updates.push(*update);
    }
}
