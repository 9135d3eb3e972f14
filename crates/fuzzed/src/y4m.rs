//! Raw video as ffmpeg pipes it (YUV4MPEG2).

use airlane_media::y4m::{MAX_SIDE, Reader};

/// Any bytes as a stream of raw video: an error or whole pictures, and no more memory than the header
/// may ask for.
pub fn y4m(data: &[u8]) {
    let Ok(mut reader) = Reader::new(data) else { return };
    let bytes = reader.header().picture_bytes();
    assert!(bytes <= (MAX_SIDE * MAX_SIDE) as usize * 3 / 2);
    let (mut picture, mut count) = (Vec::new(), 0);
    while let Ok(true) = reader.read(&mut picture) {
        assert_eq!(picture.len(), bytes);
        count += 1;
    }
    assert!(count * bytes <= data.len());
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let picture = [&b"FRAME\n"[..], &[128; 16 * 16 * 3 / 2]].concat();
    let headers = [
        "YUV4MPEG2 W16 H16 F30:1 Ip C420jpeg\n",
        "YUV4MPEG2 W16 H16 F25:1 Ip A16:15 C420jpeg XCOLORRANGE=FULL\n",
        "YUV4MPEG2 W16 H16 F30000:1001 Ip A1:1 C420mpeg2 XYSCSS=420MPEG2\n",
    ];
    headers.iter().map(|head| [head.as_bytes(), &picture, &picture].concat()).collect()
}
