//! Bitrate rules in Python.

use airlane_abr::{Abr, CustomAbr, PlayerState, TitleModel};
use pyo3::prelude::*;

use super::{Kinds, fault, kept};

static KINDS: Kinds<PythonAbr> = Kinds::new();

/// The rule of a class.
pub(super) fn kind(py: Python<'_>, name: &str, class: &Py<PyAny>) -> CustomAbr {
    let make = || PythonAbr { name: kept(name), class: class.clone_ref(py) };
    let abr = KINDS.of(class, |kind: &PythonAbr| kind.name == name, make);
    CustomAbr { name: abr.name, abr }
}

/// Rule that asks a class. It has no state: each choice follows from what the player knows.
#[derive(Debug)]
pub(super) struct PythonAbr {
    name: &'static str,
    class: Py<PyAny>,
}

/// View of a player that asks for a segment.
#[pyclass(frozen, get_all, module = "airlane._airlane")]
pub(crate) struct PlayerView {
    /// Number of the segment, from 0.
    segment: usize,
    /// Number of segments of the title.
    segments: usize,
    /// Duration of a segment, seconds.
    segment_s: f64,
    /// Video that is held and not yet played, seconds.
    buffer_s: f64,
    /// Maximum of the buffer, seconds.
    max_buffer_s: f64,
    /// Rung of the segment before.
    last_rung: Option<usize>,
    /// Throughput of the last segments, at most eight, the newest last, bits/s.
    throughput_bps: Vec<f64>,
    /// Size of the segment at each rung, the lowest first, bits.
    size_bits: Vec<f64>,
    /// Quality of the segment at each rung.
    quality: Vec<f64>,
    /// Mean rate of each rung, bits/s.
    mean_rate_bps: Vec<f64>,
}

impl Abr for PythonAbr {
    fn choose(&self, setting: &TitleModel, state: &PlayerState) -> usize {
        let view = PlayerView {
            segment: state.next_chunk,
            segments: setting.chunks(),
            segment_s: setting.chunk_s(),
            buffer_s: state.buffer_s,
            max_buffer_s: setting.player().buffer_cap.as_secs_f64(),
            last_rung: state.last_rung,
            throughput_bps: state.history.throughput_bps().to_vec(),
            size_bits: setting.bits(state.next_chunk).to_vec(),
            quality: setting.quality(state.next_chunk).to_vec(),
            mean_rate_bps: setting.mean_rate_bps().to_vec(),
        };
        Python::attach(|py| {
            let object = self.class.bind(py).call0();
            let rung = object.and_then(|object| object.call_method1("choose", (view,)));
            let rung = rung.and_then(|rung| rung.extract::<i64>());
            let rung = rung.unwrap_or_else(|e| fault::end(py, (self.name, "choose"), None, e));
            usize::try_from(rung).unwrap_or(0).min(setting.rungs() - 1)
        })
    }
}
