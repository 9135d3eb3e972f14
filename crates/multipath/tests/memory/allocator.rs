//! An allocator that counts, so that what docs promise of memory can be held to a byte.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

/// The system's allocator, and what is allocated.
pub struct Counting {
    live: AtomicUsize,
    peak: AtomicUsize,
}

#[global_allocator]
static ALLOCATOR: Counting = Counting { live: AtomicUsize::new(0), peak: AtomicUsize::new(0) };

/// All tests of the program share one count.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl Counting {
    fn add(&self, bytes: usize) {
        let live = self.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(live, Ordering::Relaxed);
    }
}

#[expect(
    unsafe_code,
    reason = "the trait of an allocator is unsafe; each call goes to the system's"
)]
// SAFETY: each call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: the caller's promises are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        self.live.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are the system's.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Keeps other tests of the program from running meanwhile.
pub fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock()
}

/// What was allocated when a measurement began.
#[derive(Clone, Copy)]
pub struct Before(usize);

impl Before {
    /// Begins a measurement.
    pub fn now() -> Self {
        let before = ALLOCATOR.live.load(Ordering::Relaxed);
        ALLOCATOR.peak.store(before, Ordering::Relaxed);
        Self(before)
    }

    /// Bytes that are allocated beyond those before.
    pub fn live(self) -> usize {
        ALLOCATOR.live.load(Ordering::Relaxed).saturating_sub(self.0)
    }

    /// Most bytes beyond those before that were allocated at once.
    pub fn peak(self) -> usize {
        ALLOCATOR.peak.load(Ordering::Relaxed).saturating_sub(self.0)
    }
}
