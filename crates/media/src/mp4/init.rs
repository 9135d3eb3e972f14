//! Initialisation segments.

use airlane_base::InputError;

use super::boxes::{Fields, find, walk};
use super::codec::codec;

/// Beginning of files of WebM and Matroska.
const EBML: [u8; 4] = [0x1a, 0x45, 0xdf, 0xa3];

/// Kind of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// Pictures.
    Video {
        /// Width as coded, pixels.
        width: u16,
        /// Height as coded, pixels.
        height: u16,
    },
    /// Sound.
    Audio {
        /// Channels.
        channels: u16,
        /// Samples per second.
        sampling_hz: u32,
    },
    /// Anything else, such as subtitles.
    Other,
}

/// Properties of the one track of an initialisation segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Init {
    /// Ticks per second of the track.
    pub timescale: u32,
    /// The codec as RFC 6381 writes it, such as `avc1.64001f`; for codecs that are not known here
    /// the type of the sample entry alone.
    pub codec: String,
    /// Pictures or sound.
    pub track: Track,
    /// True if its samples are encrypted (ISO/IEC 14496-12, section 8.12).
    pub is_protected: bool,
    /// Position in the track's time at which the presentation begins, ticks (`elst`): what is
    /// before it, such as the samples that prime an audio decoder, is not presented.
    pub skipped: u64,
    /// The sample description: equal bytes mean that chunks of both can follow each other.
    pub description: Vec<u8>,
    /// Duration, size and flags of samples unless their fragment says otherwise: ticks, bytes,
    /// flags.
    pub(super) defaults: (u32, u32, u32),
}

impl Init {
    /// Reads an initialisation segment, or the beginning of a file that has one.
    ///
    /// # Errors
    /// Without a `moov` box of exactly one track, or with a broken one.
    pub fn read(bytes: &[u8]) -> Result<Self, InputError> {
        if bytes.starts_with(&EBML) {
            return Err(InputError::new("a WebM or Matroska file", "expected fragmented MP4"));
        }
        let moov = required(bytes, b"moov", "moov")?;
        let mut tracks = Vec::new();
        let mut defaults = (0, 0, 0);
        walk(moov, |kind, body, _| {
            match &kind {
                b"trak" => tracks.push(body),
                b"mvex" => {
                    if let Some(trex) = find(body, b"trex")? {
                        let mut fields = Fields::new("trex", trex);
                        fields.take(12)?;
                        defaults = (fields.u32()?, fields.u32()?, fields.u32()?);
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        let [track] = tracks[..] else {
            return Err(InputError::new(
                format!("{} tracks in one file", tracks.len()),
                "expected one track per representation",
            )
            .at_key("moov"));
        };
        let mdia = required(track, b"mdia", "mdia")?;
        let mut fields = Fields::new("mdhd", required(mdia, b"mdhd", "mdhd")?);
        let (version, _) = fields.version()?;
        fields.wide(version)?;
        fields.wide(version)?;
        let timescale = fields.u32()?;
        if timescale == 0 {
            return Err(
                InputError::new("a timescale of 0", "expected ticks per second").at_key("mdhd")
            );
        }
        let stbl = required(required(mdia, b"minf", "minf")?, b"stbl", "stbl")?;
        let stsd = required(stbl, b"stsd", "stsd")?;
        let mut hdlr = Fields::new("hdlr", required(mdia, b"hdlr", "hdlr")?);
        hdlr.take(8)?;
        let (codec, kind) = sample_entry(stsd, hdlr.take(4)?)?;
        let is_protected = ["encv", "enca", "enct", "encs"].contains(&codec.as_str());
        Ok(Self {
            timescale,
            codec,
            track: kind,
            is_protected,
            skipped: skipped(track)?,
            description: stsd.to_vec(),
            defaults,
        })
    }
}

fn required<'a>(
    bytes: &'a [u8],
    kind: &[u8; 4],
    key: &'static str,
) -> Result<&'a [u8], InputError> {
    find(bytes, kind)?.ok_or_else(|| {
        InputError::new("missing", "expected an initialisation segment of a fragmented MP4 file")
            .at_key(key)
    })
}

/// Codec and kind of the first sample entry.
fn sample_entry(stsd: &[u8], handler: &[u8]) -> Result<(String, Track), InputError> {
    let mut fields = Fields::new("stsd", stsd);
    fields.take(8)?;
    let mut first = None;
    walk(fields.rest(), |kind, body, _| {
        first.get_or_insert((kind, body));
        Ok(())
    })?;
    let (kind, entry) = first
        .ok_or_else(|| InputError::new("no sample entry", "expected a codec").at_key("stsd"))?;
    let mut fields = Fields::new("stsd", entry);
    fields.take(8)?;
    let track = match handler {
        b"vide" => {
            fields.take(16)?;
            let (width, height) = (fields.u16()?, fields.u16()?);
            fields.take(50)?;
            Track::Video { width, height }
        }
        b"soun" => {
            fields.take(8)?;
            let channels = fields.u16()?;
            fields.take(6)?;
            // Fixed point, 16 bits before the point.
            Track::Audio { channels, sampling_hz: fields.u32()? >> 16 }
        }
        _ => return Ok((super::boxes::name(kind), Track::Other)),
    };
    Ok((codec(kind, fields.rest())?, track))
}

/// True if the tracks in the body of a `moov` box have one of video whose samples are encrypted.
pub fn has_encrypted_video(moov: &[u8]) -> bool {
    let entries = |trak| -> Result<bool, InputError> {
        let mut at = trak;
        for kind in [b"mdia", b"minf", b"stbl", b"stsd"] {
            let Some(inner) = find(at, kind)? else { return Ok(false) };
            at = inner;
        }
        let mut fields = Fields::new("stsd", at);
        fields.take(8)?;
        Ok(find(fields.rest(), b"encv")?.is_some())
    };
    let mut found = false;
    // A broken box is told of elsewhere.
    let _ = walk(moov, |kind, body, _| {
        found |= kind == *b"trak" && entries(body).unwrap_or(false);
        Ok(())
    });
    found
}

/// The media time of the first edit that is not empty.
fn skipped(track: &[u8]) -> Result<u64, InputError> {
    let Some(edts) = find(track, b"edts")? else { return Ok(0) };
    let Some(elst) = find(edts, b"elst")? else { return Ok(0) };
    let mut fields = Fields::new("elst", elst);
    let (version, _) = fields.version()?;
    for _ in 0..fields.u32()? {
        fields.wide(version)?;
        let time = fields.wide(version)?;
        fields.take(4)?;
        let empty = if version == 0 { u64::from(u32::MAX) } else { u64::MAX };
        if time != empty {
            return Ok(time);
        }
    }
    Ok(0)
}
