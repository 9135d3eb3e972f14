//! Files that a participant without a browser sends: IVF, and Opus in Ogg.

use airlane_call_daemon::client::{Clip, Sound};

/// Any bytes as a file: an error, or media of which each part has its time.
pub fn clip(data: &[u8]) {
    if let Ok(clip) = Clip::read(data) {
        assert!(clip.frames() > 1 && clip.bitrate_bps().is_finite());
    }
    if let Ok(sound) = Sound::read(data) {
        assert!(!sound.duration().is_zero());
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let frame = |first: u8, time: u64| {
        let mut bytes = airlane_media::ivf::ivf_frame(40, time).to_vec();
        bytes.extend_from_slice(&[first; 40]);
        bytes
    };
    let mut video =
        b"DKIF\0\0\x20\0VP80\x40\x01\xf0\0\x19\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    (0..3).for_each(|n| video.extend(frame(u8::from(n > 0), n)));
    vec![video, sound()]
}

/// A file of Ogg with two packets of Opus, each on a page of its own (RFC 3533, section 6).
fn sound() -> Vec<u8> {
    let packets: [&[u8]; 4] = [b"OpusHead\x01\x02", b"OpusTags", &[0xf8, 1, 2], &[0xf8, 3, 4]];
    let mut file = Vec::new();
    for (n, packet) in packets.iter().enumerate() {
        let flags = if n == 0 { 2 } else { 4 * u8::from(n + 1 == packets.len()) };
        let mut page = b"OggS\0".to_vec();
        page.push(flags);
        page.extend_from_slice(&(960 * n as u64).to_le_bytes());
        page.extend_from_slice(&1u32.to_le_bytes());
        page.extend_from_slice(&(n as u32).to_le_bytes());
        page.extend_from_slice(&[0; 4]);
        page.extend_from_slice(&[1, packet.len() as u8]);
        page.extend_from_slice(packet);
        let checksum = checksum(&page);
        page[22..26].copy_from_slice(&checksum.to_le_bytes());
        file.extend(page);
    }
    file
}

/// Checksum of a page: CRC-32 with the polynomial 0x04c11db7, from 0, not reflected.
fn checksum(page: &[u8]) -> u32 {
    page.iter().fold(0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte) << 24, |crc, _| {
            let carry = if crc >> 31 == 1 { 0x04c1_1db7 } else { 0 };
            crc << 1 ^ carry
        })
    })
}
