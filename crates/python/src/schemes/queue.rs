//! Queueing disciplines in Python.

use std::collections::BTreeMap;

use airlane_base::{DropReason, Ecn, Packet, Seed, Time};
use airlane_net::queue::{Capacity, QueueKind};
use airlane_net::{Dequeued, Dropped, Queue};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::{Kinds, fault, kept};

static KINDS: Kinds<PythonQueues> = Kinds::new();

/// The kind of a class of queues.
pub(super) fn kind(py: Python<'_>, name: &str, class: &Py<PyAny>) -> &'static PythonQueues {
    let make = || PythonQueues { name: kept(name), class: class.clone_ref(py) };
    KINDS.of(class, |kind: &PythonQueues| kind.name == name, make)
}

/// Queues of a class.
#[derive(Debug)]
pub(super) struct PythonQueues {
    name: &'static str,
    class: Py<PyAny>,
}

impl QueueKind for PythonQueues {
    fn name(&self) -> &'static str {
        self.name
    }

    fn build(&self, capacity: Capacity, seed: Seed) -> Box<dyn Queue> {
        Python::attach(|py| {
            let object = self.class.call1(py, (seed.0,));
            let object =
                object.unwrap_or_else(|e| fault::end(py, (self.name, "__init__"), None, e));
            let drops = object
                .getattr(py, "_dropped")
                .and_then(|drops| drops.extract::<Py<PyList>>(py).map_err(PyErr::from));
            let drops = drops.unwrap_or_else(|e| fault::end(py, (self.name, "__init__"), None, e));
            let (name, held) = (self.name, BTreeMap::new());
            Box::new(PythonQueue { name, capacity, object, drops, held, ip_bytes: 0 })
                as Box<dyn Queue>
        })
    }
}

/// A packet as a queue in Python knows it.
#[pyclass(module = "airlane._airlane")]
pub(crate) struct QueuedPacket {
    /// Number of the packet in its run.
    #[pyo3(get)]
    id: u64,
    /// Number of its flow.
    #[pyo3(get)]
    flow: u32,
    /// Its size, bytes of IP.
    #[pyo3(get)]
    ip_bytes: u32,
    /// Time at which it entered the queue, seconds from the start of the run.
    #[pyo3(get)]
    enqueued_s: f64,
    /// True if it may be marked instead of dropped (ECN).
    #[pyo3(get)]
    is_ecn_capable: bool,
    /// Set it to have the packet leave with a mark of congestion.
    #[pyo3(get, set)]
    marked: bool,
}

/// Queue of a link.
struct PythonQueue {
    name: &'static str,
    capacity: Capacity,
    object: Py<PyAny>,
    /// Packets that the object has given up since the last call.
    drops: Py<PyList>,
    held: BTreeMap<u64, Box<Packet>>,
    ip_bytes: u64,
}

impl PythonQueue {
    /// Takes a packet out that the object names.
    fn take(&mut self, packet: &Bound<'_, PyAny>) -> PyResult<Box<Packet>> {
        let packet = packet.cast::<QueuedPacket>().map_err(|_| {
            PyTypeError::new_err("expected a packet that enqueue was given, None or a time")
        })?;
        let packet = packet.borrow();
        let gone = || PyValueError::new_err(format!("packet {} is not in the queue", packet.id));
        let mut taken = self.held.remove(&packet.id).ok_or_else(gone)?;
        self.ip_bytes -= u64::from(taken.ip_bytes());
        if packet.marked && packet.is_ecn_capable {
            taken.ecn = Ecn::Ce;
        }
        Ok(taken)
    }

    /// Takes out what the object has given up since the last call.
    fn collect(&mut self, py: Python<'_>, drops: &mut Vec<Dropped>) -> PyResult<()> {
        let list = self.drops.clone_ref(py).into_bound(py);
        if list.is_empty() {
            return Ok(());
        }
        for packet in list.iter() {
            drops.push(Dropped { packet: self.take(&packet)?, reason: DropReason::Aqm });
        }
        list.call_method0("clear").map(drop)
    }

    fn enqueued(&mut self, py: Python<'_>, now: Time, packet: Box<Packet>) -> PyResult<()> {
        let queued = QueuedPacket {
            id: packet.id,
            flow: packet.flow.0,
            ip_bytes: packet.ip_bytes(),
            enqueued_s: now.as_secs_f64(),
            is_ecn_capable: packet.ecn != Ecn::NotEct,
            marked: false,
        };
        self.ip_bytes += u64::from(packet.ip_bytes());
        self.held.insert(packet.id, packet);
        self.object.bind(py).call_method1("enqueue", (now.as_secs_f64(), queued)).map(drop)
    }

    fn dequeued(&mut self, py: Python<'_>, now: Time) -> PyResult<Dequeued> {
        let answer = self.object.bind(py).call_method1("dequeue", (now.as_secs_f64(),))?;
        if answer.is_none() {
            return Ok(Dequeued::Empty);
        }
        if !answer.is_instance_of::<QueuedPacket>()
            && let Ok(at_s) = answer.extract::<f64>()
        {
            let at = if at_s.is_finite() { Time::from_secs_f64(at_s.max(0.0)) } else { Time::ZERO };
            let refused = || PyValueError::new_err(format!("{at_s} s is not after now"));
            return if at > now { Ok(Dequeued::NotBefore(at)) } else { Err(refused()) };
        }
        Ok(Dequeued::Packet(self.take(&answer)?))
    }
}

impl Queue for PythonQueue {
    fn enqueue(&mut self, now: Time, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        let bytes = self.ip_bytes + u64::from(packet.ip_bytes());
        if self.capacity.exceeded_by(self.held.len() + 1, bytes) {
            drops.push(Dropped { packet, reason: DropReason::Overflow });
            return;
        }
        Python::attach(|py| {
            let done = self.enqueued(py, now, packet).and_then(|()| self.collect(py, drops));
            if let Err(error) = done {
                fault::end(py, (self.name, "enqueue"), Some(now), error);
            }
        });
    }

    fn dequeue(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Dequeued {
        if self.held.is_empty() {
            return Dequeued::Empty;
        }
        Python::attach(|py| {
            let answer = self.dequeued(py, now).and_then(|answer| {
                self.collect(py, drops)?;
                Ok(answer)
            });
            answer.unwrap_or_else(|e| fault::end(py, (self.name, "dequeue"), Some(now), e))
        })
    }

    fn len(&self) -> usize {
        self.held.len()
    }

    fn bytes(&self) -> u64 {
        self.ip_bytes
    }

    fn name(&self) -> &'static str {
        self.name
    }
}
