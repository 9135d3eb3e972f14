//! Which machine this is.

use std::fs;

/// A name that machines of one fleet do not share and that stays over restarts: the machine's id
/// and its host name (machines made from one image may have one id). Empty where the system tells
/// neither.
pub(crate) fn name() -> String {
    let files = ["/etc/machine-id", "/proc/sys/kernel/hostname"];
    let read = files.map(|file| fs::read_to_string(file).unwrap_or_default());
    read.each_ref().map(|text| text.trim()).join(" ").trim().to_owned()
}
