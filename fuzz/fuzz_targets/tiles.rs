//! Any bytes as a table of tiles: an error or a video that is sound, never a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(video) = airlane_media::tiles::parse(data, "file") {
        video.check().expect("what is read is sound");
    }
});
