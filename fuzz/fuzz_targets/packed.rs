//! Any bytes as a packed layered video, and as frames of VP9: an error or what can be used, never a panic.
#![no_main]

use airlane_media::layers::Packed;
use airlane_media::vp9;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(video) = Packed::read(std::io::Cursor::new(data)) {
        let table = video.video().quality.as_ref().expect("it has layers of quality");
        for encoding in 0..table.encodings.len() {
            assert_eq!(video.frame(encoding, 0).expect("its bytes are there").len(), table.layers);
        }
    }
    for frame in vp9::frames_of(data).unwrap_or_default() {
        if let Ok(hidden) = vp9::hide(frame, 1280) {
            assert!(hidden.len() <= frame.len() + 1);
        }
    }
});
