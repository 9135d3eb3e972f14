//! Samples of the sending side of a flow, taken while the world runs.

use std::sync::Arc;

use airlane_quic::ControlHandle;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use parking_lot::{Mutex, MutexGuard};

use super::SAMPLE_EVERY;
use super::output::FlowSample;

/// Tap that samples the sending side of one flow.
#[derive(Default)]
pub struct Tap(Mutex<TapState>);

#[derive(Default)]
struct TapState {
    source: Option<Source>,
    samples: Vec<FlowSample>,
}

/// Tells what a flow has done so far; `None` if it is gone.
type Source = Box<dyn Fn() -> Option<FlowSample> + Send>;

impl Tap {
    /// A tap whose samples are taken on `runtime` from now on.
    pub fn start(runtime: &RuntimeHandle) -> Arc<Self> {
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
    pub fn connect(&self, control: &ControlHandle) {
        let control = control.clone();
        let sample = move || {
            let stats = control.stats();
            Some(FlowSample {
                at: stats.now,
                acked_bytes: stats.acked_bytes,
                sent_bytes: stats.sent_bytes,
                lost_bytes: stats.lost_bytes,
                window_bytes: stats.window,
                rtt_s: stats.rtt.map(|r| r.smoothed.as_secs_f64()),
                weight: stats.weight,
                busy: stats.busy,
            })
        };
        self.lock().source = Some(Box::new(sample));
    }

    /// The flow is told of by `sample`.
    pub fn connect_to(&self, sample: impl Fn() -> Option<FlowSample> + Send + 'static) {
        self.lock().source = Some(Box::new(sample));
    }

    /// The samples.
    pub fn take(&self) -> Vec<FlowSample> {
        std::mem::take(&mut self.lock().samples)
    }

    fn sample(&self) {
        let mut seen = self.lock();
        let Some(sample) = seen.source.as_ref().and_then(|source| source()) else { return };
        seen.samples.push(sample);
    }

    fn lock(&self) -> MutexGuard<'_, TapState> {
        self.0.lock()
    }
}
