//! Any bytes as popularities.
#![no_main]

use std::path::Path;

use airlane_lab::workloads::vod::popularity::Popularity;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(read) = Popularity::parse(data, Path::new("any.csv")) {
        let _ = read.of(["news", "cave"], &["news", "cave", "short"], "content");
    }
});
