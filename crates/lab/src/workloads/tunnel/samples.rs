//! What waits for what in a tunnel, sampled while it runs.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_multipath::MultipathStream;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use parking_lot::Mutex;

/// Time between samples.
pub(super) const EVERY: Duration = Duration::from_millis(100);

/// An end of a stream, once there is one.
pub(super) type StreamSlot = Arc<Mutex<Option<Arc<MultipathStream>>>>;

/// A tunnel at one time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) at: Time,
    /// Bytes at the receiver that wait for others before them.
    pub(super) waiting_bytes: u64,
    /// The number of the radio for whose segment they wait.
    pub(super) head: Option<u8>,
    /// Position at which the two ends of FBDT's last window met, as a share of it.
    pub(super) met: Option<f64>,
}

/// The samples so far.
pub(super) type Samples = Arc<Mutex<Vec<Sample>>>;

/// Looks at both ends of a tunnel every [`EVERY`] until `end`.
pub(super) fn start(
    clock: &RuntimeHandle,
    source: &StreamSlot,
    sink: &StreamSlot,
    end: Time,
) -> Samples {
    let samples = Samples::default();
    let (into, source, sink) = (samples.clone(), source.clone(), sink.clone());
    let runtime = clock.clone();
    clock.spawn("tunnel samples", async move {
        while runtime.now() < end {
            runtime.sleep(EVERY).await;
            let of = |end: &StreamSlot| {
                let end = end.lock();
                end.as_ref().map(|stream| stream.counts())
            };
            if let (Some(source), Some(sink)) = (of(&source), of(&sink)) {
                let sample = Sample {
                    at: runtime.now(),
                    waiting_bytes: sink.held_bytes,
                    head: source.head,
                    met: source.met,
                };
                into.lock().push(sample);
            }
        }
    });
    samples
}
