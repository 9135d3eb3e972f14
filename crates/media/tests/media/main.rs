//! Tests of the crate as one program: each of several would link all that is below once more.

mod airlane_tables;
mod clouds;
mod comyco_tables;
mod corpora;
mod embedded;
mod heads;
mod ladders;
mod layers;
mod manifest_limits;
mod manifests;
mod manifests_written;
mod segments;
mod tiles;

use std::path::PathBuf;

/// A folder of the shared data, or `None` with a word about it.
fn shared(folder: &str) -> Option<PathBuf> {
    let data = std::env::var_os("AIRLANE_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let dir = data.join(folder);
    if dir.is_dir() {
        return Some(dir);
    }
    let strict = std::env::var_os("AIRLANE_STRICT").is_some_and(|v| v == "1");
    assert!(!strict, "AIRLANE_STRICT=1 and {} is missing", dir.display());
    println!("left out: {folder} ({} is missing)", dir.display());
    None
}
