//! Any bytes as a radiotap header: an error or a value, never a panic; what is read lies inside.
#![no_main]

use airlane_capture::Radiotap;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(tap) = Radiotap::parse(data) else { return };
    assert!(tap.len <= data.len());
    if let Some(vector) = tap.vector {
        assert!(vector.is_valid());
        assert!(!vector.duration(1_500).is_zero());
    }
});
