//! Recorded heads: JSON of AVTrack, or a tar archive of Dragonfly's text files.

use airlane_media::heads;

/// Any bytes as recorded heads: an error, or samples at rising times.
pub fn heads(data: &[u8]) {
    for recording in heads::parse(data, "file").unwrap_or_default() {
        assert!(!recording.samples.is_empty());
        assert!(recording.samples.windows(2).all(|pair| pair[0].at < pair[1].at));
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let avtrack = br#"{"data": [{"filename": "2.mp4", "pitch_yaw_roll_data_hmd": [
{"sec": 0.25, "pitch": -13, "yaw": -7, "roll": 2}, {"sec": 0.5, "pitch": 1, "yaw": 179, "roll": -1}]}]}"#;
    vec![avtrack.to_vec(), archive("vid1_uid3_x.txt", "180.5,90\n181,91\n")]
}

/// A tar archive of one file.
fn archive(name: &str, text: &str) -> Vec<u8> {
    let mut header = [0; 512];
    let mut field =
        |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    field(0, name);
    field(124, &format!("{:011o}", text.len()));
    // The sum of the header's bytes, with spaces in the sum's own place.
    field(148, "        ");
    field(156, "0");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let padding = vec![0; text.len().next_multiple_of(512) - text.len() + 1024];
    [&header[..], text.as_bytes(), &padding].concat()
}
