//! What a client sends on its control stream, in one piece and in several.
#![no_main]

use airlane_quic::{ControlFault, ControlFrames, Priority};
use libfuzzer_sys::fuzz_target;

fn read(pieces: &[&[u8]]) -> Result<Vec<(u64, Priority)>, ControlFault> {
    let mut frames = ControlFrames::default();
    let mut found = Vec::new();
    for piece in pieces {
        frames.read(piece, |request, priority| found.push((request, priority)))?;
    }
    Ok(found)
}

fuzz_target!(|input: (Vec<u8>, usize)| {
    let (bytes, at) = input;
    let (one, other) = bytes.split_at(at.min(bytes.len()));
    assert_eq!(read(&[one, other]), read(&[&bytes]));
    // The same as a control stream, whatever the stream is.
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    let control: Vec<&[u8]> = [&[0][..]].into_iter().chain(single).collect();
    let _ = read(&control);
    assert!(Priority::parse(&bytes).urgency < 8);
});
