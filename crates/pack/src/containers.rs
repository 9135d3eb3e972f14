//! What of a container has to be read here, as ffmpeg passes over it or does not say why it cannot go on.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use airlane_base::InputError;
use airlane_media::{mp4, y4m};

/// Boxes at the top of an MP4 file that are passed over to find `moov`, and the largest of these.
const MAX_BOXES: usize = 10_000;
const MAX_MOOV_BYTES: u64 = 256 << 20;

/// True for an MP4 with encrypted pictures.
pub(crate) fn is_encrypted(file: &Path) -> bool {
    let read = || -> std::io::Result<bool> {
        let mut file = File::open(file)?;
        for _ in 0..MAX_BOXES {
            let at = file.stream_position()?;
            let mut head = Vec::new();
            Read::by_ref(&mut file).take(16).read_to_end(&mut head)?;
            let Ok(Some(head)) = mp4::header(&head) else { return Ok(false) };
            let Some(bytes) = head.bytes else { return Ok(false) };
            if head.kind == *b"moov" && bytes <= MAX_MOOV_BYTES {
                let mut moov = Vec::new();
                file.seek(SeekFrom::Start(at + head.head_bytes))?;
                file.take(bytes - head.head_bytes).read_to_end(&mut moov)?;
                return Ok(mp4::has_encrypted_video(&moov));
            }
            file.seek(SeekFrom::Start(at.saturating_add(bytes)))?;
        }
        Ok(false)
    };
    // What cannot be read here ffmpeg says better.
    read().unwrap_or(false)
}

/// Reason for which ffmpeg, which says `reason` and ends there, could not read a file of
/// YUV4MPEG2 to its end; `None`: the file is something else.
pub(crate) fn y4m_fault(file: &Path, reason: &str) -> Option<InputError> {
    let mut from = BufReader::new(File::open(file).ok()?);
    let mut magic = vec![0; y4m::MAGIC.len()];
    from.read_exact(&mut magic).ok().filter(|()| magic == y4m::MAGIC)?;
    from.rewind().ok()?;
    let first = || -> Result<(), InputError> {
        let mut frames = y4m::Reader::new(from)?;
        let mut frame = Vec::new();
        while frames.read(&mut frame)? {}
        Ok(())
    };
    // What is right for this reader ffmpeg still could not read: two files, one after the other.
    let unread = || {
        InputError::new(format!("ffmpeg reads a part of it ({reason})"), "expected a whole file")
    };
    Some(first().err().unwrap_or_else(unread))
}
