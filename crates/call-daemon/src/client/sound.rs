//! Encoded audio of a file, which a client plays again and again.

use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use ogg::PacketReader;

/// Duration of an Opus packet at most (RFC 6716, section 3.2.5).
const MAX_PACKET: Duration = Duration::from_millis(120);

/// Reason for which a file is no sound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SoundError {
    /// It is no file of Ogg, or a damaged one.
    #[error("no Ogg file: {0}")]
    Ogg(String),
    /// It has something other than Opus.
    #[error("no Opus in Ogg; expected a file as ffmpeg -c:a libopus FILE.opus makes it")]
    Codec,
    /// A packet of audio that is none, from 0.
    #[error("packet {0} is no Opus")]
    Packet(usize),
    /// It has no packet of audio.
    #[error("there is no audio in it")]
    Empty,
}

/// Encoded audio of a file.
#[derive(Clone, Debug)]
pub struct Sound {
    pub(super) packets: Vec<SoundPacket>,
}

/// Packet of audio.
#[derive(Clone, Debug)]
pub(super) struct SoundPacket {
    pub(super) data: Arc<[u8]>,
    pub(super) duration: Duration,
}

impl Sound {
    /// Reads a file of Ogg with Opus (RFC 7845).
    ///
    /// # Errors
    /// If it is none.
    pub fn read(bytes: &[u8]) -> Result<Self, SoundError> {
        let mut reader = PacketReader::new(Cursor::new(bytes));
        let mut next = || {
            let packet = reader.read_packet().map_err(|e| SoundError::Ogg(e.to_string()))?;
            Ok(packet.map(|packet| packet.data))
        };
        if !next()?.is_some_and(|head| head.starts_with(b"OpusHead")) {
            return Err(SoundError::Codec);
        }
        if !next()?.is_some_and(|tags| tags.starts_with(b"OpusTags")) {
            return Err(SoundError::Codec);
        }
        let mut packets = Vec::new();
        while let Some(data) = next()? {
            let duration = duration(&data).ok_or(SoundError::Packet(packets.len()))?;
            packets.push(SoundPacket { data: data.into(), duration });
        }
        if packets.is_empty() { Err(SoundError::Empty) } else { Ok(Self { packets }) }
    }

    /// Duration of the audio.
    pub fn duration(&self) -> Duration {
        self.packets.iter().map(|packet| packet.duration).sum()
    }
}

/// Duration of an Opus packet, by its first bytes (RFC 6716, section 3.1).
fn duration(packet: &[u8]) -> Option<Duration> {
    let first = *packet.first()?;
    let configuration = first >> 3;
    let of_frame = match configuration {
        0..12 => [10_000, 20_000, 40_000, 60_000][usize::from(configuration & 3)],
        12..16 => [10_000, 20_000][usize::from(configuration & 1)],
        _ => [2_500, 5_000, 10_000, 20_000][usize::from(configuration & 3)],
    };
    let frames = match first & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => u32::from(packet.get(1)? & 0x3f),
    };
    let duration = Duration::from_micros(of_frame) * frames;
    (frames > 0 && duration <= MAX_PACKET).then_some(duration)
}

#[cfg(test)]
mod tests {
    use ogg::{PacketWriteEndInfo, PacketWriter};

    use super::*;

    fn file(packets: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = PacketWriter::new(&mut bytes);
        for (n, packet) in packets.iter().enumerate() {
            let is_last = n + 1 == packets.len();
            let end =
                if is_last { PacketWriteEndInfo::EndStream } else { PacketWriteEndInfo::EndPage };
            writer.write_packet(packet.to_vec(), 1, end, n as u64 * 960).unwrap();
        }
        bytes
    }

    #[test]
    fn the_durations_of_packets_are_those_of_their_frames() {
        let of = |bytes: &[u8]| duration(bytes).map(|duration| duration.as_micros());
        assert_eq!(of(&[0x78]), Some(20_000));
        assert_eq!(of(&[0xf8 | 1]), Some(40_000));
        assert_eq!(of(&[0x80 | 3, 4]), Some(10_000));
        assert_eq!(of(&[0x18 | 3, 2]), Some(120_000));
        assert_eq!(of(&[0x18 | 3, 3]), None);
        assert_eq!((of(&[3]), of(&[3, 0]), of(&[])), (None, None, None));
    }

    #[test]
    fn a_file_is_read_packet_by_packet() {
        let sound =
            Sound::read(&file(&[b"OpusHead", b"OpusTags", &[0xf8, 1], &[0xf8, 2]])).unwrap();
        assert_eq!(sound.duration(), Duration::from_millis(40));
        assert_eq!(&*sound.packets[1].data, [0xf8, 2]);
    }

    #[test]
    fn what_is_no_sound_is_refused() {
        let error = |bytes: &[u8]| Sound::read(bytes).unwrap_err();
        assert!(matches!(error(b"RIFF, which is no Ogg at all"), SoundError::Ogg(_)));
        assert_eq!(error(&file(&[b"vorbis", b"OpusTags"])), SoundError::Codec);
        assert_eq!(error(&file(&[b"OpusHead", b"OpusTags"])), SoundError::Empty);
        assert_eq!(error(&file(&[b"OpusHead", b"OpusTags", &[3, 0]])), SoundError::Packet(0));
    }
}
