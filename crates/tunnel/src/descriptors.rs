//! What the serving end's descriptors are for, so that none of these uses can leave the others none.

use std::io;

/// Descriptors for what there is besides: listeners, figures, files, the standard ones.
const OTHERS: usize = 96;

/// Numbers of descriptors for each use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DescriptorPlan {
    /// TCP connections that are not authorised yet.
    pub(crate) silent: usize,
    /// TCP connections that have: two of each subflow, and those that are still in their handshakes.
    pub(crate) subflows: usize,
    /// Sockets to targets.
    pub(crate) targets: usize,
}

impl DescriptorPlan {
    /// Those of a process that may have `max` open.
    pub(crate) fn of(max: usize) -> Self {
        let silent = (max / 8).clamp(4, 512);
        let subflows = (max / 4).clamp(8, 8192);
        let targets = max.saturating_sub(OTHERS + silent + subflows).clamp(8, 1 << 16);
        Self { silent, subflows, targets }
    }
}

/// True if an error says that there are no descriptors left, of the process or of the system.
pub(crate) fn is_out_of_descriptors(e: &io::Error) -> bool {
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
            let DescriptorPlan { silent, subflows, targets } = DescriptorPlan::of(max);
            assert!(silent + subflows + targets + OTHERS <= max, "{max}");
        }
        let usual = DescriptorPlan::of(1024);
        assert_eq!(usual, DescriptorPlan { silent: 128, subflows: 256, targets: 544 });
    }
}
