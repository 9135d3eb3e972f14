//! HLS playlists (RFC 8216) of a presentation in fragmented MP4.

use std::fmt::Write;
use std::time::Duration;

use airlane_base::Rate;

use crate::dash::{Chunk, Presentation, Representation};

/// The playlists of a title. They lie beside the manifest: their URLs are relative to the same
/// folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Playlists {
    /// The multivariant playlist.
    pub master: String,
    /// Name and text of each media playlist.
    pub media: Vec<(String, String)>,
}

/// Rates of a representation as HLS gives them (RFC 8216, section 4.3.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// The highest of a chunk.
    pub peak: Rate,
    /// That of all chunks.
    pub average: Rate,
}

/// Writes the playlists of a presentation: a variant per video representation with the audio as one
/// group of renditions, or a variant per audio representation if there is no video. Subtitles are
/// left out (HLS wants them in another form). `rates` tells those of a representation, if they are
/// known; [`Representation::bandwidth`] else counts as the peak.
///
/// A representation without chunks, as it is before its index was read, gets an empty playlist.
pub fn write(
    presentation: &Presentation,
    rates: &dyn Fn(&Representation) -> Option<Rates>,
) -> Playlists {
    let mut master = String::from("#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n");
    let mut media = Vec::new();
    let (variants, renditions) = match presentation.video.is_empty() {
        true => (&presentation.audio, &[][..]),
        false => (&presentation.video, &presentation.audio[..]),
    };
    let mut name = |r: &Representation, number: usize| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        // An identifier may be any text; the name of a file may not.
        let id = Some(&r.id).filter(|id| !id.is_empty() && id.chars().all(plain));
        let id = id.map_or_else(|| format!("_{number}"), Clone::clone);
        let name = format!("{}-{id}.m3u8", r.kind.name());
        media.push((name.clone(), media_playlist(r)));
        name
    };
    for (i, r) in renditions.iter().enumerate() {
        let mut line = String::from("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\"");
        let language = r.language.as_deref().unwrap_or("und");
        push(&mut line, "NAME", &quoted(&format!("{language} {}", i + 1)));
        if let Some(language) = &r.language {
            push(&mut line, "LANGUAGE", &quoted(language));
        }
        push(&mut line, "DEFAULT", if i == 0 { "YES" } else { "NO" });
        push(&mut line, "AUTOSELECT", "YES");
        if let Some(channels) = r.channels {
            push(&mut line, "CHANNELS", &quoted(&channels.to_string()));
        }
        push(&mut line, "URI", &quoted(&name(r, i)));
        master.push_str(&line);
        master.push('\n');
    }
    // A variant needs the rate of the dearest rendition of its group on top (section 4.3.4.2).
    let peak = |r: &Representation| rates(r).map_or(r.bandwidth, |r| r.peak).bps();
    let average = |r: &Representation| rates(r).map(|r| r.average.bps());
    let sound_peak = renditions.iter().map(peak).max().unwrap_or(0);
    let sound_average = renditions.iter().filter_map(average).max().unwrap_or(0);
    for (i, r) in variants.iter().enumerate() {
        let mut line = format!("#EXT-X-STREAM-INF:BANDWIDTH={}", peak(r) + sound_peak);
        if let Some(average) = average(r) {
            push(&mut line, "AVERAGE-BANDWIDTH", &(average + sound_average).to_string());
        }
        let mut codecs = vec![r.codecs.as_str()];
        for rendition in renditions {
            if !codecs.contains(&rendition.codecs.as_str()) {
                codecs.push(&rendition.codecs);
            }
        }
        if codecs.iter().all(|c| !c.is_empty()) {
            push(&mut line, "CODECS", &quoted(&codecs.join(",")));
        }
        if let (Some(width), Some(height)) = (r.width, r.height) {
            push(&mut line, "RESOLUTION", &format!("{width}x{height}"));
        }
        if let Some(rate) = r.frame_rate {
            push(&mut line, "FRAME-RATE", &format!("{:.3}", rate.as_f64()));
        }
        if !renditions.is_empty() {
            push(&mut line, "AUDIO", "\"audio\"");
        }
        let _ = write!(master, "{line}\n{}\n", name(r, i));
    }
    Playlists { master, media }
}

fn push(line: &mut String, name: &str, value: &str) {
    // Writing to a String cannot fail.
    let _ = write!(line, ",{name}={value}");
}

/// A quoted string, which cannot hold quotes or ends of lines (section 4.2).
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace(['"', '\n', '\r'], "'"))
}

fn media_playlist(r: &Representation) -> String {
    let lengths: Vec<Duration> = (0..r.chunks.len()).filter_map(|i| r.duration(i)).collect();
    // Rounded, no chunk is longer than the target (section 4.3.3.1).
    let target = lengths.iter().map(|d| d.as_secs_f64().round() as u64).max().unwrap_or(0).max(1);
    let mut out = format!(
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:{target}\n#EXT-X-MEDIA-SEQUENCE:1\n\
         #EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-INDEPENDENT-SEGMENTS\n"
    );
    if let Some(init) = &r.init {
        let _ = write!(out, "#EXT-X-MAP:URI={}", quoted(&init.url));
        if let Some(range) = init.range {
            let _ = write!(out, ",BYTERANGE=\"{}@{}\"", range.length, range.offset);
        }
        out.push('\n');
    }
    for (Chunk { object, .. }, length) in r.chunks.iter().zip(lengths) {
        let _ = writeln!(out, "#EXTINF:{:.6},", length.as_secs_f64());
        if let Some(range) = object.range {
            let _ = writeln!(out, "#EXT-X-BYTERANGE:{}@{}", range.length, range.offset);
        }
        // What would end the line cannot be in a URL.
        let _ = writeln!(out, "{}", object.url.replace(['\n', '\r'], ""));
    }
    out.push_str("#EXT-X-ENDLIST\n");
    out
}
