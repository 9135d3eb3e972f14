//! Any bytes as a trace: an error or a value, never a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = airlane_net::Trace::parse(data, "fuzz").map(drop);
});
