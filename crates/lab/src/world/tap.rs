//! Samples of the sending side of a flow, taken while the world runs.

use std::sync::{Arc, Mutex, PoisonError};

use airlane_quic::ControlHandle;
use airlane_runtime::{RuntimeExt, RuntimeHandle};

use super::SAMPLE_EVERY;
use super::output::FlowSample;

/// What is known of one flow's sending side.
#[derive(Debug, Default)]
pub(crate) struct Tap(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    control: Option<ControlHandle>,
    samples: Vec<FlowSample>,
}

impl Tap {
    /// A tap whose samples are taken on `runtime` from now on.
    pub(crate) fn start(runtime: &RuntimeHandle) -> Arc<Self> {
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
    pub(crate) fn connect(&self, control: &ControlHandle) {
        self.lock().control = Some(control.clone());
    }

    /// The samples.
    pub(crate) fn take(&self) -> Vec<FlowSample> {
        std::mem::take(&mut self.lock().samples)
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
