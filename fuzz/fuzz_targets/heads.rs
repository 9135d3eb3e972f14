//! Any bytes as recorded heads: an error or samples at rising times, never a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    for recording in airlane_media::heads::parse(data, "file").unwrap_or_default() {
        assert!(!recording.samples.is_empty());
        assert!(recording.samples.windows(2).all(|pair| pair[0].at < pair[1].at));
    }
});
