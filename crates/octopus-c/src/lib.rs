//! The C interface of [`airlane_octopus`]; `include/airlane_octopus.h` is its documentation.
//!
//! A null pointer where the header wants an object, and a call for an object that is in use, are
//! answered with numbers of their own (`object.rs`). Otherwise a pointer has to be what the header says:
//! that is the caller's affair, as in C.

mod object;

use std::ffi::{c_char, c_void};

use airlane_base::{Rate, Seed, Time};
use airlane_octopus::{Capacity, DropDecision, Dropped, Dropper, Header, Mark, Options, Queue};

pub use crate::object::Object;
use crate::object::{Fault, code};

/// `AIRLANE_OCTOPUS_PASS` and `AIRLANE_OCTOPUS_OK`.
const PASS: i32 = 0;

/// `airlane_octopus_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct COptions {
    /// Streams at most; 0 means the default.
    pub streams: u32,
    /// [`Options::slack`], if not 0.
    pub slack: u8,
    /// [`Options::headless`], if not 0.
    pub headless: u8,
    /// [`Options::seed`].
    pub seed: u64,
}

/// `airlane_octopus_mark`: a [`Mark`], opaque to C.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CMark([u64; 4]);

const _: () =
    assert!(size_of::<Mark>() <= size_of::<CMark>() && align_of::<Mark>() <= align_of::<CMark>());

/// `airlane_octopus_dropped`.
pub type CDropped =
    Option<unsafe extern "C" fn(user: *mut c_void, packet: *mut c_void, reason: i32)>;

/// `airlane_octopus_dropper`.
pub type CDropper = Object<Dropper>;

/// `airlane_octopus_queue`: a queue of pointers.
pub type CQueue = Object<Queue<*mut c_void>>;

fn options(options: Option<&COptions>) -> Options {
    let given = options.copied().unwrap_or_default();
    let streams = match given.streams {
        0 => Options::default().streams,
        n => n as usize,
    };
    Options {
        streams,
        slack: given.slack != 0,
        headless: given.headless != 0,
        seed: Seed(given.seed),
        ..Options::default()
    }
}

fn rate(bps: u64) -> Option<Rate> {
    (bps > 0).then(|| Rate::from_bps(bps))
}

/// The header of a payload, if it has one.
///
/// # Safety
/// `payload` is null or points to so many bytes.
unsafe fn header(payload: *const u8, bytes: usize) -> Option<Header> {
    if payload.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    Header::decode(unsafe { std::slice::from_raw_parts(payload, bytes) }).ok()
}

/// The version of the library, as in the header.
#[unsafe(no_mangle)]
pub extern "C" fn airlane_octopus_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_dropper_new(given: *const COptions) -> *mut CDropper {
    // SAFETY: null, or a pointer to options.
    Object::give(Dropper::new(options(unsafe { given.as_ref() })))
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_dropper_free(dropper: *mut CDropper) -> i32 {
    // SAFETY: null, or from `airlane_octopus_dropper_new` and not used again.
    code(unsafe { Object::free(dropper) }.map(|()| PASS))
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_dropper_enqueue(
    dropper: *mut CDropper,
    now_ns: u64,
    flow: u64,
    payload: *const u8,
    payload_bytes: usize,
    ip_bytes: u32,
    mark: *mut CMark,
) -> i32 {
    if mark.is_null() {
        return Fault::Null as i32;
    }
    // SAFETY: the payload is null or has so many bytes.
    let header = unsafe { header(payload, payload_bytes) };
    let enqueue = |dropper: &mut Dropper| {
        match dropper.enqueue(Time::from_nanos(now_ns), flow, header.as_ref(), ip_bytes) {
            Ok(made) => {
                // SAFETY: a mark has room for it, as is asserted above.
                unsafe { mark.cast::<Mark>().write(made) };
                PASS
            }
            Err(reason) => reason as i32,
        }
    };
    // SAFETY: null, or a dropper.
    code(unsafe { Object::with(dropper, enqueue) })
}

/// Uses a dropper and a mark that it made.
///
/// # Safety
/// Each is null or what it is called.
unsafe fn with_mark(
    dropper: *mut CDropper,
    mark: *const CMark,
    f: impl FnOnce(&mut Dropper, &Mark) -> i32,
) -> i32 {
    // SAFETY: as the caller promises.
    let Some(mark) = (unsafe { mark.cast::<Mark>().as_ref() }) else { return Fault::Null as i32 };
    // SAFETY: as the caller promises.
    code(unsafe { Object::with(dropper, |dropper| f(dropper, mark)) })
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_dropper_refuse(
    dropper: *mut CDropper,
    mark: *const CMark,
) -> i32 {
    let refuse = |dropper: &mut Dropper, mark: &Mark| {
        dropper.refuse(mark);
        PASS
    };
    // SAFETY: as the C header asks for.
    unsafe { with_mark(dropper, mark, refuse) }
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_dropper_dequeue(
    dropper: *mut CDropper,
    now_ns: u64,
    mark: *const CMark,
) -> i32 {
    let dequeue = |dropper: &mut Dropper, mark: &Mark| match dropper
        .dequeue(Time::from_nanos(now_ns), mark)
    {
        DropDecision::Pass => PASS,
        DropDecision::Drop(reason) => reason as i32,
    };
    // SAFETY: as the C header asks for.
    unsafe { with_mark(dropper, mark, dequeue) }
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_dropper_remove(
    dropper: *mut CDropper,
    mark: *const CMark,
) -> i32 {
    let remove = |dropper: &mut Dropper, mark: &Mark| {
        dropper.remove(mark);
        PASS
    };
    // SAFETY: as the C header asks for.
    unsafe { with_mark(dropper, mark, remove) }
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_dropper_set_bandwidth(
    dropper: *mut CDropper,
    bps: u64,
) -> i32 {
    // SAFETY: null, or a dropper.
    let set = unsafe { Object::with(dropper, |dropper| dropper.set_bandwidth(rate(bps))) };
    code(set.map(|()| PASS))
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_queue_new(
    given: *const COptions,
    packets: usize,
    ip_bytes: u64,
) -> *mut CQueue {
    // SAFETY: null, or a pointer to options.
    let options = options(unsafe { given.as_ref() });
    Object::give(Queue::new(Capacity { packets, ip_bytes }, options))
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_queue_free(queue: *mut CQueue) -> i32 {
    // SAFETY: null, or from `airlane_octopus_queue_new` and not used again.
    code(unsafe { Object::free(queue) }.map(|()| PASS))
}

/// Tells C of what is dropped.
fn teller(dropped: CDropped, user: *mut c_void) -> impl FnMut(Dropped<*mut c_void>) {
    move |Dropped { packet, reason }| {
        if let Some(dropped) = dropped {
            // SAFETY: the caller's own function, with what the caller gave for it.
            unsafe { dropped(user, packet, reason as i32) };
        }
    }
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_queue_enqueue(
    queue: *mut CQueue,
    now_ns: u64,
    flow: u64,
    payload: *const u8,
    payload_bytes: usize,
    ip_bytes: u32,
    packet: *mut c_void,
    dropped: CDropped,
    user: *mut c_void,
) -> i32 {
    // SAFETY: the payload is null or has so many bytes.
    let header = unsafe { header(payload, payload_bytes) };
    let now = Time::from_nanos(now_ns);
    let enqueue = |queue: &mut Queue<*mut c_void>| {
        queue.enqueue(now, flow, header.as_ref(), ip_bytes, packet, teller(dropped, user));
        PASS
    };
    // SAFETY: null, or a queue.
    code(unsafe { Object::with(queue, enqueue) })
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_queue_dequeue(
    queue: *mut CQueue,
    now_ns: u64,
    packet: *mut *mut c_void,
    dropped: CDropped,
    user: *mut c_void,
) -> i32 {
    if packet.is_null() {
        return Fault::Null as i32;
    }
    let dequeue = |queue: &mut Queue<*mut c_void>| {
        queue.dequeue(Time::from_nanos(now_ns), teller(dropped, user))
    };
    // SAFETY: null, or a queue.
    let next = unsafe { Object::with(queue, dequeue) };
    // SAFETY: it points to a pointer.
    unsafe { *packet = next.ok().flatten().unwrap_or(std::ptr::null_mut()) };
    code(next.map(|_| PASS))
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_queue_waiting(
    queue: *const CQueue,
    packets: *mut usize,
    ip_bytes: *mut u64,
) -> i32 {
    // SAFETY: null, or a queue.
    let waiting = unsafe { Object::with(queue, |queue| (queue.len(), queue.ip_bytes())) };
    let (all, bytes) = waiting.unwrap_or_default();
    // SAFETY: each is null, or points to a number.
    if let Some(packets) = unsafe { packets.as_mut() } {
        *packets = all;
    }
    // SAFETY: likewise.
    if let Some(ip_bytes) = unsafe { ip_bytes.as_mut() } {
        *ip_bytes = bytes;
    }
    code(waiting.map(|_| PASS))
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_queue_set_bandwidth(queue: *mut CQueue, bps: u64) -> i32 {
    // SAFETY: null, or a queue.
    let set = unsafe { Object::with(queue, |queue| queue.set_bandwidth(rate(bps))) };
    code(set.map(|()| PASS))
}
