//! Objects that C holds by pointers: one call at a time uses an object, which every call checks.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// A call that nothing came of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Fault {
    /// A null pointer.
    Null = -1,
    /// The object is in use: by the call whose callback made this one, or by another thread.
    Busy = -2,
}

/// An object that C holds.
#[derive(Debug)]
pub struct Object<T> {
    is_busy: AtomicBool,
    inner: UnsafeCell<T>,
}

impl<T> Object<T> {
    /// An object for C, which gives it back with [`Self::free`].
    pub(crate) fn give(inner: T) -> *mut Self {
        let is_busy = AtomicBool::new(false);
        Box::into_raw(Box::new(Self { is_busy, inner: UnsafeCell::new(inner) }))
    }

    /// Uses an object.
    ///
    /// # Safety
    /// `object` is null, or from [`Self::give`] and not freed.
    pub(crate) unsafe fn with<R>(
        object: *const Self,
        f: impl FnOnce(&mut T) -> R,
    ) -> Result<R, Fault> {
        // SAFETY: as the caller promises. The reference is a shared one: a callback may make another.
        let object = unsafe { object.as_ref() }.ok_or(Fault::Null)?;
        if object.is_busy.swap(true, Ordering::Acquire) {
            return Err(Fault::Busy);
        }
        // SAFETY: no other call uses it until it is no longer busy.
        let result = f(unsafe { &mut *object.inner.get() });
        object.is_busy.store(false, Ordering::Release);
        Ok(result)
    }

    /// Frees an object, unless it is in use. Nothing is done for a null pointer.
    ///
    /// # Safety
    /// As of [`Self::with`]; it is not used again.
    pub(crate) unsafe fn free(object: *mut Self) -> Result<(), Fault> {
        // SAFETY: as the caller promises.
        match unsafe { Self::with(object, |_| ()) } {
            Err(Fault::Null) => Ok(()),
            Err(Fault::Busy) => Err(Fault::Busy),
            Ok(()) => {
                // SAFETY: it is from `give`, and no call uses it.
                drop(unsafe { Box::from_raw(object) });
                Ok(())
            }
        }
    }
}

/// The number that C gets for a fault, or for what came of a call.
pub(crate) fn code(result: Result<i32, Fault>) -> i32 {
    result.unwrap_or_else(|fault| fault as i32)
}
