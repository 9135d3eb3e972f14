//! Frames of media over TCP (RFC 4571).

use airlane_call_daemon::{FrameDecoder, MAX_FRAME_BYTES, frame_header};

/// Any bytes as a stream of frames, cut into pieces of the first byte's length: it is read to its end or to a frame that is
/// too long, no more than a frame waits, and what was read is written as it was.
pub fn tcp_frames(data: &[u8]) {
    let Some((first, stream)) = data.split_first() else { return };
    let mut decoder = FrameDecoder::default();
    let mut written = Vec::new();
    for piece in stream.chunks(usize::from(*first) + 1) {
        decoder.push(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(datagram)) => {
                    written.extend(frame_header(&datagram).expect("it was in a frame"));
                    written.extend_from_slice(&datagram);
                }
                Ok(None) => break,
                Err(_) => {
                    assert_eq!(stream.get(..written.len()), Some(&written[..]));
                    return;
                }
            }
        }
        assert!(decoder.waiting_bytes() < 2 + MAX_FRAME_BYTES);
    }
    assert_eq!(stream[..stream.len() - decoder.waiting_bytes()], written);
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let frame = |datagram: &[u8]| {
        let header = frame_header(datagram).expect("it is short");
        [&header[..], datagram].concat()
    };
    let stun = frame(&[&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[7; 12]].concat());
    let longest = frame(&[0x80; MAX_FRAME_BYTES]);
    vec![[&[2][..], &stun].concat(), [&[255][..], &stun, &frame(&[]), &longest, &stun].concat()]
}
