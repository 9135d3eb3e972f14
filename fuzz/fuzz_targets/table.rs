//! Any bytes as a table: an error or a value, never a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = airlane_media::table::parse(data).map(drop);
});
