//! Any bytes as an initialisation segment, as a chunk and as an index.
#![no_main]

use airlane_media::mp4::{Index, Init, fragments, retime};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = Index::read(data);
    if let Ok(init) = Init::read(data) {
        for fragment in fragments(data, &init).unwrap_or_default() {
            let _ = (fragment.earliest(), fragment.duration());
        }
    }
    let _ = retime(&mut data.to_vec(), 7, 1 << 40);
});
