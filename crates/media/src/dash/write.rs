//! From a presentation to a document.

use std::collections::BTreeMap;
use std::fmt::Write;

use quick_xml::escape::escape;

use super::read::ROLE_SCHEME;
use super::template::MAX_URL_BYTES;
use super::{CHUNK_TABLE_SCHEME, Chunk, Object, Presentation, Representation, time};
use crate::url::relative;

/// Writes a manifest. [`super::parse`] reads it as an equal presentation, if that one is as
/// `parse` hands them out: lists in rising order of bandwidth, sets numbered from 0 without gaps,
/// each of one kind, one language and one role, URLs as [`crate::url::resolve`] leaves them, and
/// what initialises a file with an index to be named from beside that file. Whether something is
/// encrypted is not written, nor what was left out.
///
/// Chunks are named by a `SegmentTemplate` with `$Number$` where their URLs count up, and else by a
/// `SegmentList`; their times stand in a `SegmentTimeline`.
pub fn write(presentation: &Presentation) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    put(
        &mut out,
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" \
         profiles=\"urn:mpeg:dash:profile:isoff-live:2011\" type=\"static\"",
    );
    if let Some(duration) = presentation.duration {
        attribute(&mut out, "mediaPresentationDuration", &time::text(duration));
    }
    if let Some(buffer) = presentation.min_buffer {
        attribute(&mut out, "minBufferTime", &time::text(buffer));
    }
    put(&mut out, ">\n  <Period id=\"0\" start=\"PT0S\">\n");
    let mut sets: BTreeMap<usize, Vec<&Representation>> = BTreeMap::new();
    for representation in presentation.all() {
        sets.entry(representation.set).or_default().push(representation);
    }
    for (number, set) in sets {
        adaptation_set(&mut out, number, &set);
    }
    put(&mut out, "  </Period>\n");
    if let Some(url) = &presentation.chunk_table {
        put(&mut out, "  <SupplementalProperty");
        attribute(&mut out, "schemeIdUri", CHUNK_TABLE_SCHEME);
        attribute(&mut out, "value", url);
        put(&mut out, "/>\n");
    }
    put(&mut out, "</MPD>\n");
    out
}

fn put(out: &mut String, text: &str) {
    out.push_str(text);
}

fn attribute(out: &mut String, name: &str, value: &str) {
    // Writing to a String cannot fail. White space would be normalised away.
    let value = escape(value).replace('\n', "&#10;").replace('\r', "&#13;").replace('\t', "&#9;");
    let _ = write!(out, " {name}=\"{value}\"");
}

fn optional(out: &mut String, name: &str, value: Option<impl ToString>) {
    if let Some(value) = value {
        attribute(out, name, &value.to_string());
    }
}

fn adaptation_set(out: &mut String, number: usize, set: &[&Representation]) {
    let first = set[0];
    put(out, "    <AdaptationSet");
    attribute(out, "id", &number.to_string());
    attribute(out, "contentType", first.kind.name());
    optional(out, "lang", first.language.as_deref());
    if set.iter().all(|r| aligned(first, r)) {
        attribute(out, "segmentAlignment", "true");
        attribute(out, "startWithSAP", "1");
    }
    put(out, ">\n");
    if let Some(role) = &first.role {
        put(out, "      <Role");
        attribute(out, "schemeIdUri", ROLE_SCHEME);
        attribute(out, "value", role);
        put(out, "/>\n");
    }
    for r in set {
        representation(out, r);
    }
    put(out, "    </AdaptationSet>\n");
}

/// True if the chunks of two representations begin and end together.
fn aligned(a: &Representation, b: &Representation) -> bool {
    let times = |r: &Representation| -> Vec<_> {
        (0..r.chunks.len()).map(|i| (r.start(i), r.duration(i))).collect()
    };
    times(a) == times(b)
}

fn representation(out: &mut String, r: &Representation) {
    put(out, "      <Representation");
    attribute(out, "id", &r.id);
    if !r.mime.is_empty() {
        attribute(out, "mimeType", &r.mime);
    }
    if !r.codecs.is_empty() {
        attribute(out, "codecs", &r.codecs);
    }
    attribute(out, "bandwidth", &r.bandwidth.bps().to_string());
    optional(out, "width", r.width);
    optional(out, "height", r.height);
    optional(out, "frameRate", r.frame_rate);
    optional(out, "audioSamplingRate", r.sampling_hz);
    put(out, ">\n");
    if let Some(channels) = r.channels {
        put(out, "        <AudioChannelConfiguration");
        attribute(out, "schemeIdUri", "urn:mpeg:dash:23003:3:audio_channel_configuration:2011");
        // Configuration 7 is the one with 8 channels (ISO/IEC 23091-3).
        attribute(out, "value", &(if channels == 8 { 7 } else { channels }).to_string());
        put(out, "/>\n");
    }
    match (&r.index, numbered(&r.chunks)) {
        (Some(index), _) => base(out, r, index),
        (None, _) if r.is_whole_file => whole_file(out, r),
        (None, Some((media, start))) => template(out, r, &media, start),
        (None, None) => list(out, r),
    }
    put(out, "      </Representation>\n");
}

fn timing(out: &mut String, r: &Representation) {
    attribute(out, "timescale", &r.timescale.to_string());
    if r.time_offset > 0 {
        attribute(out, "presentationTimeOffset", &r.time_offset.to_string());
    }
}

fn object(out: &mut String, name: &str, url: &str, range: &str, object: &Object) {
    put(out, &format!("          <{name}"));
    attribute(out, url, &object.url);
    optional(out, range, object.range);
    put(out, "/>\n");
}

fn base_url(out: &mut String, url: &str) {
    put(out, "        <BaseURL>");
    put(out, &escape(url));
    put(out, "</BaseURL>\n");
}

fn base(out: &mut String, r: &Representation, index: &Object) {
    let media = r.indexed.as_ref().unwrap_or(&index.url);
    base_url(out, media);
    let beside = |object: &Object| Object {
        url: relative(media, &object.url).unwrap_or_else(|| object.url.clone()),
        range: object.range,
    };
    put(out, "        <SegmentBase");
    timing(out, r);
    put(out, ">\n");
    if let Some(init) = &r.init {
        object(out, "Initialization", "sourceURL", "range", &beside(init));
    }
    object(out, "RepresentationIndex", "sourceURL", "range", &beside(index));
    put(out, "        </SegmentBase>\n");
}

fn whole_file(out: &mut String, r: &Representation) {
    let Some(chunk) = r.chunks.first() else { return };
    base_url(out, &chunk.object.url);
    let Some(init) = &r.init else { return };
    let url = relative(&chunk.object.url, &init.url).unwrap_or_else(|| init.url.clone());
    put(out, "        <SegmentBase>\n");
    object(out, "Initialization", "sourceURL", "range", &Object { url, range: init.range });
    put(out, "        </SegmentBase>\n");
}

fn template(out: &mut String, r: &Representation, media: &str, start: u64) {
    put(out, "        <SegmentTemplate");
    timing(out, r);
    attribute(out, "startNumber", &start.to_string());
    let init = r.init.as_ref();
    if let Some(whole) = init.filter(|i| i.range.is_none()) {
        attribute(out, "initialization", &whole.url.replace('$', "$$"));
    }
    attribute(out, "media", media);
    put(out, ">\n");
    if let Some(part) = init.filter(|i| i.range.is_some()) {
        object(out, "Initialization", "sourceURL", "range", part);
    }
    timeline(out, &r.chunks);
    put(out, "        </SegmentTemplate>\n");
}

fn list(out: &mut String, r: &Representation) {
    put(out, "        <SegmentList");
    timing(out, r);
    put(out, ">\n");
    if let Some(init) = &r.init {
        object(out, "Initialization", "sourceURL", "range", init);
    }
    timeline(out, &r.chunks);
    for chunk in &r.chunks {
        object(out, "SegmentURL", "media", "mediaRange", &chunk.object);
    }
    put(out, "        </SegmentList>\n");
}

/// Times and lengths, with equal lengths one after the other as repetitions.
fn timeline(out: &mut String, chunks: &[Chunk]) {
    put(out, "          <SegmentTimeline>\n");
    let mut next = 0;
    let mut rest = chunks;
    while let Some(first) = rest.first() {
        let mut end = first.time;
        let run = rest
            .iter()
            .take_while(|c| {
                let follows = c.time == end && c.duration == first.duration;
                end = end.saturating_add(c.duration);
                follows
            })
            .count()
            .max(1);
        put(out, "            <S");
        if first.time != next || rest.len() == chunks.len() {
            attribute(out, "t", &first.time.to_string());
        }
        attribute(out, "d", &first.duration.to_string());
        if run > 1 {
            attribute(out, "r", &(run - 1).to_string());
        }
        put(out, "/>\n");
        let last = &rest[run - 1];
        next = last.time.saturating_add(last.duration);
        rest = &rest[run..];
    }
    put(out, "          </SegmentTimeline>\n");
}

/// The template and the first number of chunks whose URLs count up by one, without leading zeros.
fn numbered(chunks: &[Chunk]) -> Option<(String, u64)> {
    let first = &chunks.first()?.object.url;
    let file = first.rfind('/').map_or(0, |slash| slash + 1);
    // A number in the name of the file rather than in that of a folder.
    let (folders, files): (Vec<_>, Vec<_>) = numbers(first).partition(|n| n.0 < file);
    files.into_iter().chain(folders).find_map(|(start, end)| {
        let (before, after) = (&first[..start], &first[end..]);
        let number: u64 = first[start..end].parse().ok()?;
        let counts = chunks.iter().enumerate().all(|(i, chunk)| {
            let expected = || format!("{before}{}{after}", number.saturating_add(i as u64));
            chunk.object.range.is_none() && chunk.object.url == expected()
        });
        let escape = |text: &str| text.replace('$', "$$");
        let fits = chunks.last().is_some_and(|c| c.object.url.len() <= MAX_URL_BYTES);
        (counts && fits).then(|| (format!("{}$Number${}", escape(before), escape(after)), number))
    })
}

/// Positions of the runs of digits in a text: start and end of each.
fn numbers(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let digit = |c: char| c.is_ascii_digit();
        let start = from + text[from..].find(digit)?;
        let end = text[start..].find(|c| !digit(c)).map_or(text.len(), |n| start + n);
        from = end;
        Some((start, end))
    })
}
