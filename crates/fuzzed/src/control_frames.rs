//! The control stream of HTTP/3 (RFC 9114, section 6.2.1), with priorities (RFC 9218).

use airlane_quic::{ControlFault, ControlFrames, Priority};

/// Checks the reader of a client's control stream: read in two pieces it is the same as in one.
///
/// The input's first two bytes say where it is cut.
pub fn control_frames(data: &[u8]) {
    let [high, low, bytes @ ..] = data else { return };
    let cut = usize::from(u16::from_be_bytes([*high, *low])).min(bytes.len());
    let (one, other) = bytes.split_at(cut);
    assert_eq!(read(&[one, other]), read(&[bytes]));
    // The same as a control stream, whatever the stream is.
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    let control: Vec<&[u8]> = [&[0][..]].into_iter().chain(single).collect();
    let _ = read(&control);
    assert!(Priority::parse(bytes).urgency < 8);
}

fn read(pieces: &[&[u8]]) -> Result<Vec<(u64, Priority)>, ControlFault> {
    let mut frames = ControlFrames::default();
    let mut found = Vec::new();
    for piece in pieces {
        frames.read(piece, |request, priority| found.push((request, priority)))?;
    }
    Ok(found)
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    // PRIORITY_UPDATE for the request on stream 4.
    let update = |value: &str| {
        [&[0x80, 0x0f, 0x07, 0x00, value.len() as u8 + 1, 4], value.as_bytes()].concat()
    };
    let (urgent, lazy) = (update("u=1"), update("u=7, i=?0"));
    // A control stream: settings, a reserved frame between two updates, GOAWAY.
    let parts = [&[0, 4, 2, 6, 10], &urgent[..], &[0x21, 3, 1, 2, 3], &lazy, &[7, 1, 8]];
    vec![
        [&[0, 9][..], &parts.concat()].concat(),
        // Without the stream's type, and as a stream of another type.
        [&[0, 3][..], &urgent, &lazy].concat(),
        [&[0, 1, 2][..], &urgent].concat(),
        b"\0\x02u=3, i".to_vec(),
    ]
}
