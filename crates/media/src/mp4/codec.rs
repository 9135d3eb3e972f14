//! The names of codecs (RFC 6381) from what their sample entries say.

use airlane_base::InputError;

use super::boxes::{Fields, find, name};

/// The codec of a sample entry; `boxes` are those within it.
pub(super) fn codec(kind: [u8; 4], boxes: &[u8]) -> Result<String, InputError> {
    let plain = || Ok(name(kind));
    match &kind {
        b"avc1" | b"avc3" => {
            let Some(avcc) = find(boxes, b"avcC")? else { return plain() };
            let mut fields = Fields::new("avcC", avcc);
            fields.take(1)?;
            let profile = fields.number(3)?;
            Ok(format!("{}.{profile:06x}", name(kind)))
        }
        b"av01" => match find(boxes, b"av1C")? {
            Some(av1c) => av1(av1c),
            None => plain(),
        },
        b"vp09" => {
            let Some(vpcc) = find(boxes, b"vpcC")? else { return plain() };
            let mut fields = Fields::new("vpcC", vpcc);
            fields.version()?;
            let (profile, level) = (fields.u8()?, fields.u8()?);
            Ok(format!("vp09.{profile:02}.{level:02}.{:02}", fields.u8()? >> 4))
        }
        b"mp4a" => match find(boxes, b"esds")? {
            Some(esds) => mp4a(esds),
            None => plain(),
        },
        // As browsers want it (RFC 6381 says `Opus`, MSE's registry `opus`).
        b"Opus" => Ok("opus".to_owned()),
        _ => plain(),
    }
}

/// `av01.P.LLT.DD` (AV1 Codec ISO Media File Format Binding, section 5).
fn av1(av1c: &[u8]) -> Result<String, InputError> {
    let mut fields = Fields::new("av1C", av1c);
    fields.take(1)?;
    let (levels, depths) = (fields.u8()?, fields.u8()?);
    let (profile, level) = (levels >> 5, levels & 0x1f);
    let tier = if depths & 0x80 == 0 { 'M' } else { 'H' };
    let depth = match (depths & 0x40 != 0, profile == 2 && depths & 0x20 != 0) {
        (true, true) => 12,
        (true, false) => 10,
        (false, _) => 8,
    };
    Ok(format!("av01.{profile}.{level:02}{tier}.{depth:02}"))
}

/// `mp4a.40.N` out of the descriptors of ISO/IEC 14496-1, section 7.2.6.
fn mp4a(esds: &[u8]) -> Result<String, InputError> {
    const ES: u8 = 3;
    const DECODER_CONFIG: u8 = 4;
    const DECODER_SPECIFIC: u8 = 5;
    let mut fields = Fields::new("esds", esds);
    fields.version()?;
    let mut object_type = None;
    while !fields.rest().is_empty() {
        let tag = fields.u8()?;
        // The length, seven bits per byte: what is within follows, so that it need not be known.
        while fields.u8()? & 0x80 != 0 {}
        match tag {
            ES => {
                fields.take(2)?;
                let flags = fields.u8()?;
                fields.take(if flags & 0x80 != 0 { 2 } else { 0 })?;
                let url = if flags & 0x40 != 0 { usize::from(fields.u8()?) } else { 0 };
                fields.take(url)?;
                fields.take(if flags & 0x20 != 0 { 2 } else { 0 })?;
            }
            DECODER_CONFIG => {
                object_type = Some(fields.u8()?);
                fields.take(12)?;
            }
            DECODER_SPECIFIC => {
                let first = fields.u16()?;
                let audio = match first >> 11 {
                    31 => 32 + (first >> 5 & 0x3f),
                    other => other,
                };
                return Ok(format!("mp4a.{:x}.{audio}", object_type.unwrap_or(0x40)));
            }
            _ => break,
        }
    }
    Ok(object_type.map_or_else(|| "mp4a".to_owned(), |o| format!("mp4a.{o:x}")))
}
