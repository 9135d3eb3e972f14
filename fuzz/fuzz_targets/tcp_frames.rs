#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| airlane_fuzzed::tcp_frames(data));
