//! Packed layered videos (`docs/reference/layer-tables.md`), and frames of VP9.

use std::io::Cursor;

use airlane_media::layers::{Packed, write_head};
use airlane_media::vp9;

/// Any bytes as a packed layered video, and as frames of VP9: an error, or what can be used.
pub fn packed(data: &[u8]) {
    if let Ok(video) = Packed::read(Cursor::new(data)) {
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
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let table = r#"{"format":"airlane-layers","version":1,"video":"a","fps":30,"quality":{
"gop":2,"layers":2,"encodings":[
{"bytes":[[1,2],[3,1],[1,1]],"ssim_db":[[5,6],[5,6],[5,6]]},
{"bytes":[[2,2],[3,3],[2,2]],"ssim_db":[[7,8],[7,8],[7,8]]}]}}"#;
    let mut video = Vec::new();
    write_head(&mut video, table).expect("memory takes it");
    video.extend(0..23);
    // A key frame and one that refers to it, both shown and error resilient, of 0 bits otherwise.
    let key = [&[0x83, 0x49, 0x83, 0x42][..], &[0; 28]].concat();
    let inter = [&[0x87][..], &[0; 31]].concat();
    let joined = vp9::superframe(&[key, inter]).expect("two frames can be joined");
    vec![video, joined]
}
