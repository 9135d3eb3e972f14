//! Any bytes as a stored normalisation.
#![no_main]

use airlane_minerva::StoredNormalisation;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(read) = StoredNormalisation::from_json(data) {
        assert!(read.normalisation.eval(0.0) > 0.0);
        assert_eq!(StoredNormalisation::from_json(read.to_json().as_bytes()), Ok(read));
    }
});
