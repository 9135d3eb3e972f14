//! The lowest round trip: the default scheduler of out-of-tree Linux (mptcp v0.9x).

use super::View;

/// Of the usable paths that `is_asked_for`, the one with the lowest smoothed round trip; one
/// without a sample comes first, as its round trip counts as zero, and of equal ones the first.
pub(crate) fn lowest_rtt(paths: &[View], is_asked_for: impl Fn(&View) -> bool) -> Option<&View> {
    paths.iter().filter(|p| p.is_usable && is_asked_for(p)).min_by_key(|p| p.srtt)
}
