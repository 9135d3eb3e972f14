//! Any bytes and any text as a value curve that a player sent.
#![no_main]

use airlane_minerva::SentCurve;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = SentCurve::from_text(&String::from_utf8_lossy(data));
    if let Ok(read) = SentCurve::from_bytes(data) {
        // What was understood once is understood again.
        assert!(SentCurve::from_bytes(&read.to_bytes()).is_ok_and(|again| again == read));
    }
});
