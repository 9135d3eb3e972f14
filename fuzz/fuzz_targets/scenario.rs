//! Any bytes as a scenario: an error or a value, never a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = airlane_lab::scenario::Scenario::from_bytes(data, std::path::Path::new("fuzz.toml"), &[]).map(drop);
});
