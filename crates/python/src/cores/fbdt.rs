//! FBDT: one stream of bytes over several paths.

use airlane_fbdt::wire::Segment;
use airlane_fbdt::{Config, PathId, Receiver, Sender};
use bytes::Bytes;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::time;

fn config(segment_bytes: u32, window_bytes: u32, receive_memory: u64) -> PyResult<Config> {
    let fits = segment_bytes > 0 && segment_bytes <= window_bytes;
    if !fits || u64::from(window_bytes) > receive_memory {
        let expected = "expected segment_bytes <= window_bytes <= receive_bytes, all above 0";
        return Err(PyValueError::new_err(expected));
    }
    Ok(Config { segment_bytes, window_bytes, receive_memory })
}

/// Segment of a stream: window, number in it, number of segments in the window, bytes.
type Fields<'py> = (u64, u32, u32, Bound<'py, PyBytes>);

/// Sending end.
#[pyclass(module = "airlane._airlane")]
pub(crate) struct FbdtSender {
    sender: Sender,
    /// By the number that Python has.
    paths: Vec<PathId>,
}

impl FbdtSender {
    fn path(&self, path: usize) -> PyResult<PathId> {
        let found = self.paths.get(path).copied();
        found.ok_or_else(|| PyIndexError::new_err(format!("no path {path}")))
    }
}

#[pymethods]
impl FbdtSender {
    #[new]
    fn new(segment_bytes: u32, window_bytes: u32, memory: u64, paths: usize) -> PyResult<Self> {
        let config = config(segment_bytes, window_bytes, memory)?;
        let mut sender = Sender::new(config, memory);
        let now = airlane_base::Time::ZERO;
        let opened: Option<Vec<PathId>> = (0..paths).map(|_| sender.open(now)).collect();
        let too_many = || PyValueError::new_err(format!("{paths} paths; expected 1 to 16"));
        Ok(Self { paths: opened.filter(|p| !p.is_empty()).ok_or_else(too_many)?, sender })
    }

    /// Adds bytes to the stream; the number of those for which there was room.
    fn push(&mut self, data: &[u8]) -> usize {
        let mut bytes = Bytes::copy_from_slice(data);
        self.sender.push(&mut bytes);
        data.len() - bytes.len()
    }

    fn finish(&mut self) {
        self.sender.finish();
    }

    /// The next segment that a path sends; none if there is nothing to send on it now.
    fn next<'py>(
        &mut self,
        py: Python<'py>,
        now_s: f64,
        path: usize,
    ) -> PyResult<Option<Fields<'py>>> {
        let path = self.path(path)?;
        let segment = self.sender.next(time(now_s)?, path);
        let fields = |s: Segment| (s.window, s.index, s.count, PyBytes::new(py, &s.payload));
        Ok(segment.map(fields))
    }

    /// Time at which a path that has nothing to send now may have something, seconds.
    fn next_event_s(&self, now_s: f64, path: usize) -> PyResult<Option<f64>> {
        let at = self.sender.next_event(time(now_s)?, self.path(path)?);
        Ok(at.map(|at| at.as_secs_f64()))
    }

    /// Takes the acknowledgement that the receiver gives for a path on which so many bytes came.
    fn on_ack(
        &mut self,
        now_s: f64,
        path: usize,
        receiver: &FbdtReceiver,
        received_bytes: u64,
    ) -> PyResult<()> {
        let (now, path) = (time(now_s)?, self.path(path)?);
        let ack = receiver.0.ack(received_bytes);
        self.sender.on_ack(now, path, &ack).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    fn is_done(&self) -> bool {
        self.sender.is_done()
    }
}

/// Receiving end.
#[pyclass(module = "airlane._airlane")]
pub(crate) struct FbdtReceiver(Receiver);

#[pymethods]
impl FbdtReceiver {
    #[new]
    fn new(segment_bytes: u32, window_bytes: u32, memory: u64) -> PyResult<Self> {
        Ok(Self(Receiver::new(config(segment_bytes, window_bytes, memory)?)))
    }

    /// Takes a segment; true if it is new.
    fn on_segment(&mut self, now_s: f64, fields: Fields<'_>) -> PyResult<bool> {
        let (window, index, count, payload) = fields;
        let payload = Bytes::copy_from_slice(payload.as_bytes());
        let segment = Segment { window, index, count, payload };
        let taken = self.0.on_segment(time(now_s)?, segment);
        taken.map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The next bytes in order; none if they have not arrived.
    fn read<'py>(&mut self, py: Python<'py>, now_s: f64) -> PyResult<Option<Bound<'py, PyBytes>>> {
        Ok(self.0.read(time(now_s)?).map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Bytes that have arrived and wait for earlier ones.
    fn held_bytes(&self) -> u64 {
        self.0.held_bytes()
    }
}
