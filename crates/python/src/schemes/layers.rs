//! Rules in Python by which the server of a call gives layers to receivers.

use airlane_call::wire::Track;
use airlane_call::{CustomAllocator, LayerAllocator, ReceiverView as View};
use pyo3::prelude::*;

use super::{Kinds, fault, kept};

static KINDS: Kinds<PythonAllocator> = Kinds::new();

/// The rule of a class.
pub(super) fn kind(py: Python<'_>, name: &str, class: &Py<PyAny>) -> CustomAllocator {
    let make = || PythonAllocator { name: kept(name), class: class.clone_ref(py) };
    let rule = KINDS.of(class, |kind: &PythonAllocator| kind.name == name, make);
    CustomAllocator { name: rule.name, rule }
}

/// Rule that asks a class. It has no state: each division follows from what the server knows.
#[derive(Debug)]
pub(super) struct PythonAllocator {
    name: &'static str,
    class: Py<PyAny>,
}

/// View of a receiver of a call whose downlink is divided.
#[pyclass(frozen, get_all, module = "airlane._airlane")]
pub(crate) struct ReceiverView {
    /// Name of the participant.
    name: String,
    /// Time, seconds from the start of the run.
    now_s: f64,
    /// Bitrate that the videos may have together, bits/s.
    budget_bps: f64,
    /// Bytes that wait to be sent to it.
    pending_bytes: u64,
    /// Videos that there are.
    videos: Vec<Py<VideoView>>,
}

/// View of a video that a receiver may get.
#[pyclass(frozen, get_all, module = "airlane._airlane")]
pub(crate) struct VideoView {
    /// Number of the participant whose video it is.
    participant: u16,
    /// True of a screen, false of a camera.
    is_screen: bool,
    /// Bitrate of each level from 1 on, bits/s.
    rates_bps: Vec<f64>,
    /// Level before; 0 is a pause.
    level: usize,
    /// Place in the order of importance: lower ones come first.
    tier: u8,
}

impl LayerAllocator for PythonAllocator {
    fn levels(&self, receiver: &View<'_>) -> Vec<usize> {
        Python::attach(|py| {
            let levels = view(py, receiver).and_then(|view| {
                let object = self.class.bind(py).call0()?;
                object.call_method1("allocate", (view,))?.extract::<Vec<i64>>()
            });
            let levels = levels
                .unwrap_or_else(|e| fault::end(py, (self.name, "allocate"), Some(receiver.now), e));
            levels.into_iter().map(|level| usize::try_from(level).unwrap_or(0)).collect()
        })
    }
}

fn view(py: Python<'_>, receiver: &View<'_>) -> PyResult<ReceiverView> {
    let videos = receiver.videos.iter().map(|video| {
        let (participant, track) = video.stream;
        let view = VideoView {
            participant: participant.0,
            is_screen: track == Track::Screen,
            rates_bps: video.rates.clone(),
            level: video.level,
            tier: video.tier,
        };
        Py::new(py, view)
    });
    Ok(ReceiverView {
        name: receiver.name.to_owned(),
        now_s: receiver.now.as_secs_f64(),
        budget_bps: receiver.budget.rate,
        pending_bytes: receiver.budget.pending_bytes,
        videos: videos.collect::<PyResult<_>>()?,
    })
}
