//! Octopus: which messages of real-time streams a queue drops.

use airlane_base::{Rate, Time};
use airlane_octopus::{Capacity, Dropped, Header, Marking, Options, Queue, Reason};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::time;

/// Name of a reason for which packets are dropped.
fn name(reason: Reason) -> &'static str {
    match reason {
        Reason::Newer => "newer",
        Reason::Bitrate => "bitrate",
        Reason::Headless => "headless",
        Reason::Overflow => "overflow",
    }
}

/// Fields of a header: stream, message, priority, drops, bitrate in kbit/s, slack in ms, first, last.
type Fields = (u16, u32, u8, Option<u8>, u32, u16, bool, bool);

fn header(fields: Fields) -> PyResult<Header> {
    let (stream, message, priority, drops, bitrate_kbps, slack_ms, first, last) = fields;
    let marking = Marking { priority, drops, bitrate_kbps, slack_ms };
    let header = Header { stream, message, marking, first, last };
    marking.check().map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(header)
}

/// The 12 bytes of a header.
#[pyfunction]
pub(crate) fn octopus_encode<'py>(
    py: Python<'py>,
    fields: Fields,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = header(fields)?.encode().map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Fields of the header at the start of a packet.
#[pyfunction]
pub(crate) fn octopus_decode(packet: &[u8]) -> PyResult<Fields> {
    let header = Header::decode(packet).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let Header { stream, message, marking, first, last } = header;
    let Marking { priority, drops, bitrate_kbps, slack_ms } = marking;
    Ok((stream, message, priority, drops, bitrate_kbps, slack_ms, first, last))
}

/// Queue of packets, whatever they are.
#[pyclass(module = "airlane._airlane")]
pub(crate) struct OctopusQueue(Queue<Py<PyAny>>);

/// Packets that were dropped, each with the reason.
type Drops = Vec<(Py<PyAny>, &'static str)>;

fn add(drops: &mut Drops) -> impl FnMut(Dropped<Py<PyAny>>) + '_ {
    |Dropped { packet, reason }| drops.push((packet, name(reason)))
}

#[pymethods]
impl OctopusQueue {
    #[new]
    fn new(packets: usize, ip_bytes: u64, streams: usize, slack: bool, headless: bool) -> Self {
        let options =
            Options { streams: streams.clamp(1, 1 << 16), slack, headless, ..Options::default() };
        Self(Queue::new(Capacity { packets, ip_bytes }, options))
    }

    /// Takes a packet; what is dropped.
    #[pyo3(signature = (now_s, packet, ip_bytes, flow, fields))]
    fn enqueue(
        &mut self,
        now_s: f64,
        packet: Py<PyAny>,
        ip_bytes: u32,
        flow: u64,
        fields: Option<Fields>,
    ) -> PyResult<Drops> {
        let (now, header): (Time, Option<Header>) = (time(now_s)?, fields.map(header).transpose()?);
        let mut drops = Vec::new();
        self.0.enqueue(now, flow, header.as_ref(), ip_bytes, packet, add(&mut drops));
        Ok(drops)
    }

    /// The next packet to leave, and what is dropped.
    fn dequeue(&mut self, now_s: f64) -> PyResult<(Option<Py<PyAny>>, Drops)> {
        let mut drops = Vec::new();
        let packet = self.0.dequeue(time(now_s)?, add(&mut drops));
        Ok((packet, drops))
    }

    /// Sets the rate of the link, bits/s; none: it is estimated.
    #[pyo3(signature = (rate_bps))]
    fn set_bandwidth(&mut self, rate_bps: Option<f64>) {
        self.0.set_bandwidth(rate_bps.map(Rate::from_bps_f64));
    }

    fn ip_bytes(&self) -> u64 {
        self.0.ip_bytes()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}
