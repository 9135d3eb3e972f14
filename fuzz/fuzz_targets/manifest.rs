//! Any bytes as a DASH manifest: an error or a value that can be written as DASH and as HLS.
#![no_main]

use airlane_media::{dash, hls};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(read) = dash::parse(&String::from_utf8_lossy(data)) {
        dash::write(&read);
        hls::write(&read, &|_| None);
    }
});
