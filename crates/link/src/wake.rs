//! Waking a thread that waits for packets.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};

use crate::error::LinkError;

/// A wake-up event (both ends): the thread that waits for packets waits for it too.
#[derive(Clone, Debug)]
pub(crate) struct Bell(Arc<OwnedFd>);

impl Bell {
    pub(crate) fn new() -> Result<Self, LinkError> {
        let fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
        fd.map(|fd| Self(Arc::new(fd))).map_err(LinkError::system("make an eventfd"))
    }

    /// Rings.
    pub(crate) fn ring(&self) {
        // Fails only if it rings already.
        let _ = write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Silences it.
    pub(crate) fn answer(&self) {
        // Fails only if it does not ring.
        let _ = read(&*self.0, &mut [0_u8; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
