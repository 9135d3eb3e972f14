//! Which machine this is.

use std::fs;

/// A name that machines of one fleet do not share and that stays over restarts: the machine's id
/// and its host name (machines made from one image may have one id). Empty where the system tells
/// neither.
pub fn name() -> String {
    let files = ["/etc/machine-id", "/proc/sys/kernel/hostname"];
    let read = files.map(|file| fs::read_to_string(file).unwrap_or_default());
    read.each_ref().map(|text| text.trim()).join(" ").trim().to_owned()
}

/// Lets this process have as many descriptors as the system grants it; how many that are. `None`:
/// the system does not tell.
#[cfg(target_os = "linux")]
pub fn raise_descriptors() -> Option<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let there = if raised.is_ok() { maximum } else { current };
    // Without a bound: as many as can be counted.
    Some(there.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX)))
}

/// The same where it is not looked at.
#[cfg(not(target_os = "linux"))]
pub fn raise_descriptors() -> Option<usize> {
    None
}
