//! Any bytes as a stream of raw video: an error or whole pictures, never a panic, and no more memory than
//! the header may ask for.
#![no_main]

use airlane_media::y4m::{MAX_SIDE, Reader};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(mut reader) = Reader::new(data) else { return };
    let bytes = reader.header().picture_bytes();
    assert!(bytes <= (MAX_SIDE * MAX_SIDE) as usize * 3 / 2);
    let (mut picture, mut count) = (Vec::new(), 0);
    while let Ok(true) = reader.read(&mut picture) {
        assert_eq!(picture.len(), bytes);
        count += 1;
    }
    assert!(count * bytes <= data.len());
});
