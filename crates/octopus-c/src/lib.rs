//! The C interface of [`airlane_octopus`]; `include/airlane_octopus.h` is its documentation.
//!
//! Null pointers do nothing. Otherwise a pointer has to be what the header says: that is the caller's
//! affair, as in C.

use std::ffi::c_void;

use airlane_base::{Rate, Seed, Time};
use airlane_octopus::{Capacity, Dropped, Dropper, Header, Mark, Options, Queue, Verdict};

const PASS: i32 = 0;
const INVALID: i32 = -1;

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

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_dropper_new(given: *const COptions) -> *mut Dropper {
    // SAFETY: null, or a pointer to options.
    Box::into_raw(Box::new(Dropper::new(options(unsafe { given.as_ref() }))))
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_dropper_free(dropper: *mut Dropper) {
    if !dropper.is_null() {
        // SAFETY: it is from `airlane_octopus_dropper_new`, and not used again.
        drop(unsafe { Box::from_raw(dropper) });
    }
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_dropper_enqueue(
    dropper: *mut Dropper,
    now_ns: u64,
    flow: u64,
    payload: *const u8,
    payload_bytes: usize,
    ip_bytes: u32,
    mark: *mut CMark,
) -> i32 {
    // SAFETY: null, or a dropper that nobody else uses now.
    let Some(dropper) = (unsafe { dropper.as_mut() }).filter(|_| !mark.is_null()) else {
        return INVALID;
    };
    // SAFETY: the payload is null or has so many bytes.
    let header = unsafe { header(payload, payload_bytes) };
    match dropper.enqueue(Time::from_nanos(now_ns), flow, header.as_ref(), ip_bytes) {
        Ok(made) => {
            // SAFETY: a mark has room for it, as is asserted above.
            unsafe { mark.cast::<Mark>().write(made) };
            PASS
        }
        Err(reason) => reason as i32,
    }
}

/// The dropper and the mark, if both are there.
///
/// # Safety
/// Each is null or what it is called; nobody else uses the dropper now; the mark was made by it.
unsafe fn both<'a>(
    dropper: *mut Dropper,
    mark: *const CMark,
) -> Option<(&'a mut Dropper, &'a Mark)> {
    // SAFETY: as the caller promises.
    unsafe { Some((dropper.as_mut()?, mark.cast::<Mark>().as_ref()?)) }
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_dropper_refuse(dropper: *mut Dropper, mark: *const CMark) {
    // SAFETY: as the C header asks for.
    if let Some((dropper, mark)) = unsafe { both(dropper, mark) } {
        dropper.refuse(mark);
    }
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_dropper_dequeue(
    dropper: *mut Dropper,
    now_ns: u64,
    mark: *const CMark,
) -> i32 {
    // SAFETY: as the C header asks for.
    let Some((dropper, mark)) = (unsafe { both(dropper, mark) }) else { return INVALID };
    match dropper.dequeue(Time::from_nanos(now_ns), mark) {
        Verdict::Pass => PASS,
        Verdict::Drop(reason) => reason as i32,
    }
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_dropper_remove(dropper: *mut Dropper, mark: *const CMark) {
    // SAFETY: as the C header asks for.
    if let Some((dropper, mark)) = unsafe { both(dropper, mark) } {
        dropper.remove(mark);
    }
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_dropper_set_bandwidth(dropper: *mut Dropper, bps: u64) {
    // SAFETY: null, or a dropper that nobody else uses now.
    if let Some(dropper) = unsafe { dropper.as_mut() } {
        dropper.set_bandwidth(rate(bps));
    }
}

/// The queue of C: of pointers.
pub type CQueue = Queue<*mut c_void>;

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
    Box::into_raw(Box::new(Queue::new(Capacity { packets, ip_bytes }, options)))
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_queue_free(queue: *mut CQueue) {
    if !queue.is_null() {
        // SAFETY: it is from `airlane_octopus_queue_new`, and not used again.
        drop(unsafe { Box::from_raw(queue) });
    }
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
) {
    // SAFETY: null, or a queue that nobody else uses now.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return };
    // SAFETY: the payload is null or has so many bytes.
    let header = unsafe { header(payload, payload_bytes) };
    let now = Time::from_nanos(now_ns);
    queue.enqueue(now, flow, header.as_ref(), ip_bytes, packet, teller(dropped, user));
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_queue_dequeue(
    queue: *mut CQueue,
    now_ns: u64,
    dropped: CDropped,
    user: *mut c_void,
) -> *mut c_void {
    // SAFETY: null, or a queue that nobody else uses now.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return std::ptr::null_mut() };
    let next = queue.dequeue(Time::from_nanos(now_ns), teller(dropped, user));
    next.unwrap_or(std::ptr::null_mut())
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_queue_packets(queue: *const CQueue) -> usize {
    // SAFETY: null, or a queue.
    unsafe { queue.as_ref() }.map_or(0, Queue::len)
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_queue_ip_bytes(queue: *const CQueue) -> u64 {
    // SAFETY: null, or a queue.
    unsafe { queue.as_ref() }.map_or(0, Queue::ip_bytes)
}

/// # Safety
/// As the C header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlane_octopus_queue_set_bandwidth(queue: *mut CQueue, bps: u64) {
    // SAFETY: null, or a queue that nobody else uses now.
    if let Some(queue) = unsafe { queue.as_mut() } {
        queue.set_bandwidth(rate(bps));
    }
}
