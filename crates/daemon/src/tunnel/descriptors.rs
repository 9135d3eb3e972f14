//! What the serving end's descriptors are for, so that none of these uses can leave the others none.

use std::io;

/// Descriptors for what there is besides: listeners, figures, files, the standard ones.
const OTHERS: usize = 96;

/// Numbers of descriptors for each use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DescriptorPlan {
    /// TCP connections that have not knocked.
    pub(super) silent: usize,
    /// TCP connections that have: two of each line, and those that are still in their handshakes.
    pub(super) lines: usize,
    /// Sockets to targets.
    pub(super) targets: usize,
}

impl DescriptorPlan {
    /// Those of a process that may have `max` open.
    pub(super) fn of(max: usize) -> Self {
        let silent = (max / 8).clamp(4, 512);
        let lines = (max / 4).clamp(8, 8192);
        let targets = max.saturating_sub(OTHERS + silent + lines).clamp(8, 1 << 16);
        Self { silent, lines, targets }
    }
}

/// Whether an error says that there are no descriptors left, of the process or of the system.
pub(super) fn is_out_of_descriptors(e: &io::Error) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    cfg!(unix) && matches!(e.raw_os_error(), Some(ENFILE | EMFILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_uses_together_fit() {
        for max in [512, 1024, 4096, 65_536, usize::MAX] {
            let DescriptorPlan { silent, lines, targets } = DescriptorPlan::of(max);
            assert!(silent + lines + targets + OTHERS <= max, "{max}");
        }
        let usual = DescriptorPlan::of(1024);
        assert_eq!(usual, DescriptorPlan { silent: 128, lines: 256, targets: 544 });
    }
}
