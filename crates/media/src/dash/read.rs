//! From a document to a presentation.

use std::time::Duration;

use airlane_base::{InputError, Rate};

use super::segments::{About, Budget, segments};
use super::template::MAX_URL_BYTES;
use super::xml::{self, Element};
use super::{CHUNK_TABLE_SCHEME, FrameRate, Kind, Presentation, Representation, time};
use crate::url::resolve;

/// Properties that describe and can be passed over: colours, and what the pictures are projected on.
const HARMLESS: [&str; 2] = ["urn:mpeg:mpegB:cicp:", "urn:mpeg:mpegI:omaf:2017"];

/// Representations of a manifest: each inherits what its set and its period say.
const MAX_REPRESENTATIONS: usize = 1_000;
/// Bytes of an attribute that representations inherit.
const MAX_INHERITED_BYTES: usize = 1_024;

/// Reads a static manifest. URLs in the result are relative to the manifest unless the manifest
/// has absolute ones.
///
/// # Errors
/// [`InputError`] with line and element for what is no MPD, what is missing or wrong, and what
/// this module refuses (see its head); the caller adds the file.
pub fn parse(text: &str) -> Result<Presentation, InputError> {
    let mpd = xml::parse(text)?;
    if mpd.name != "MPD" {
        return Err(mpd.wrong("not a manifest", "expected an MPD element at the top"));
    }
    match mpd.attribute("type") {
        None | Some("static") => {}
        Some("dynamic") => {
            return Err(mpd.wrong_attribute("type", "static: live titles are not supported"));
        }
        Some(_) => return Err(mpd.wrong_attribute("type", "static")),
    }
    let periods: Vec<&Element> = mpd.all("Period").collect();
    let [period] = periods[..] else {
        let found = format!("{} periods", periods.len());
        return Err(mpd.wrong(found, "expected one Period: titles of several are not supported"));
    };
    let duration = match length(period, "duration")? {
        Some(duration) => Some(duration),
        None => length(&mpd, "mediaPresentationDuration")?,
    };
    let table = mpd.all("SupplementalProperty");
    let table = table
        .filter(|p| p.attribute("schemeIdUri") == Some(CHUNK_TABLE_SCHEME))
        .find_map(|p| p.attribute("value"));
    let mut presentation = Presentation {
        duration,
        min_buffer: length(&mpd, "minBufferTime")?,
        chunk_table: table.map(|url| resolve("", url)),
        ..Presentation::default()
    };
    let base = base_url(period, &base_url(&mpd, "")?)?;
    let mut budget = Budget::default();
    let mut representations = 0;
    for (set, element) in period.all("AdaptationSet").enumerate() {
        if !understood(element) {
            continue;
        }
        let base = base_url(element, &base)?;
        for inner in element.all("Representation").filter(|r| understood(r)) {
            let Some(kind) = kind(inner, element) else { continue };
            representations += 1;
            if representations > MAX_REPRESENTATIONS {
                let found = format!("more than {MAX_REPRESENTATIONS} representations");
                return Err(inner.wrong(found, "expected the ladder of a film"));
            }
            let base = base_url(inner, &base)?;
            let context =
                Context { period, set: element, number: set, kind, base: &base, duration };
            let read = representation(inner, &context, &mut budget)?;
            match kind {
                Kind::Video => presentation.video.push(read),
                Kind::Audio => presentation.audio.push(read),
                Kind::Text => presentation.text.push(read),
            }
        }
    }
    let lists = [&mut presentation.video, &mut presentation.audio, &mut presentation.text];
    lists.into_iter().for_each(|list| list.sort_by_key(|r| r.bandwidth));
    if presentation.all().next().is_none() {
        return Err(period.wrong("no video, audio or text", "expected a Representation"));
    }
    Ok(presentation)
}

fn length(element: &Element, attribute: &str) -> Result<Option<Duration>, InputError> {
    let Some(text) = element.attribute(attribute) else { return Ok(None) };
    let expected = "a length such as PT1H2M3.5S, of at most 100 years";
    time::parse(text).map(Some).ok_or_else(|| element.wrong_attribute(attribute, expected))
}

/// The base of what is within an element; of several alternatives the first.
fn base_url(element: &Element, base: &str) -> Result<String, InputError> {
    let Some(url) = element.first("BaseURL") else { return Ok(base.to_owned()) };
    // Looked at before it is resolved too: what it is resolved to is copied for every chunk.
    let whole = (url.text.len() <= MAX_URL_BYTES).then(|| resolve(base, &url.text));
    whole.filter(|whole| whole.len() <= MAX_URL_BYTES).ok_or_else(|| {
        let found = format!("a base of more than {MAX_URL_BYTES} bytes");
        url.wrong(found, format!("expected at most {MAX_URL_BYTES} bytes with those around it"))
    })
}

/// Whether all essential properties of an element are known.
fn understood(element: &Element) -> bool {
    element.all("EssentialProperty").all(|p| {
        let scheme = p.attribute("schemeIdUri").unwrap_or_default();
        HARMLESS.iter().any(|known| scheme.starts_with(known))
    })
}

/// An attribute of a representation or, without, of its set.
fn either<'a>(name: &str, inner: &'a Element, set: &'a Element) -> Option<&'a str> {
    inner.attribute(name).or_else(|| set.attribute(name)).map(str::trim)
}

/// The same, to be kept: each representation has a copy of it.
fn kept<'a>(
    name: &str,
    inner: &'a Element,
    set: &'a Element,
) -> Result<Option<&'a str>, InputError> {
    let found = either(name, inner, set);
    if found.is_some_and(|text| text.len() > MAX_INHERITED_BYTES) {
        let holder = if inner.attribute(name).is_some() { inner } else { set };
        let expected = format!("text of at most {MAX_INHERITED_BYTES} bytes");
        return Err(holder.wrong_attribute(name, &expected));
    }
    Ok(found)
}

fn kind(inner: &Element, set: &Element) -> Option<Kind> {
    let by_name = |name: &str| Kind::ALL.into_iter().find(|k| k.name() == name);
    if let Some(kind) = set.attribute("contentType").and_then(by_name) {
        return Some(kind);
    }
    let codecs = either("codecs", inner, set).unwrap_or_default();
    match either("mimeType", inner, set).and_then(|m| m.split_once('/')) {
        Some(("application", "ttml+xml")) => Some(Kind::Text),
        Some(("application", "mp4"))
            if codecs.starts_with("stpp") || codecs.starts_with("wvtt") =>
        {
            Some(Kind::Text)
        }
        Some((major, _)) => by_name(major),
        None if either("width", inner, set).is_some() => Some(Kind::Video),
        None if either("audioSamplingRate", inner, set).is_some() => Some(Kind::Audio),
        None => None,
    }
}

/// What a representation is within.
struct Context<'a> {
    period: &'a Element,
    set: &'a Element,
    number: usize,
    kind: Kind,
    base: &'a str,
    duration: Option<Duration>,
}

fn representation(
    element: &Element,
    context: &Context<'_>,
    budget: &mut Budget,
) -> Result<Representation, InputError> {
    let set = context.set;
    let bandwidth = element.number("bandwidth")?.filter(|b| (1..=1_000_000_000_000).contains(b));
    let bandwidth = bandwidth
        .ok_or_else(|| element.wrong_attribute("bandwidth", "bits per second, 1 to 10^12"))?;
    let id = element.attribute("id").ok_or_else(|| element.wrong_attribute("id", "a name"))?;
    let levels = [element, set, context.period];
    for level in levels {
        if level.attribute("xlink:href").is_some() {
            return Err(level.wrong("a remote element", "expected a manifest that is whole"));
        }
    }
    let about = About { id, bandwidth, base: context.base, duration: context.duration };
    let segments = segments(&levels, about, budget)?;
    let number = |name: &str| -> Result<Option<u32>, InputError> {
        let holder = if element.attribute(name).is_some() { element } else { set };
        // Some packagers give a range of rates, of which the least is meant.
        let text = holder.attribute(name).and_then(|t| t.split_whitespace().next());
        let parse = |t: &str| t.parse().ok().filter(|n| *n > 0);
        text.map(|t| parse(t).ok_or_else(|| holder.wrong_attribute(name, "a whole number above 0")))
            .transpose()
    };
    Ok(Representation {
        id: id.to_owned(),
        set: context.number,
        kind: context.kind,
        mime: kept("mimeType", element, set)?
            .map_or("", |m| m.split(';').next().unwrap_or(m))
            .trim()
            .to_owned(),
        codecs: kept("codecs", element, set)?.unwrap_or_default().to_owned(),
        bandwidth: Rate::from_bps(bandwidth),
        width: number("width")?,
        height: number("height")?,
        frame_rate: frame_rate(element, set)?,
        sampling_hz: number("audioSamplingRate")?,
        channels: channels(element).or_else(|| channels(set)),
        language: kept("lang", element, set)?.map(str::to_owned),
        init: segments.init,
        timescale: segments.timescale,
        time_offset: segments.time_offset,
        index: segments.index,
        chunks: segments.chunks,
    })
}

/// `25`, `30000/1001`, or as some write it `29.97`.
fn frame_rate(element: &Element, set: &Element) -> Result<Option<FrameRate>, InputError> {
    let holder = if element.attribute("frameRate").is_some() { element } else { set };
    let Some(text) = holder.attribute("frameRate").map(str::trim) else { return Ok(None) };
    let rate = match text.split_once('/') {
        Some((frames, seconds)) => frames.parse().ok().zip(seconds.parse().ok()),
        None if text.contains('.') => {
            let rate = text.parse().ok().filter(|r: &f64| (0.001..1e6).contains(r));
            rate.map(|r| ((r * 1000.0).round() as u32, 1000))
        }
        None => text.parse().ok().map(|frames| (frames, 1)),
    };
    let rate = rate.filter(|(frames, seconds)| *frames > 0 && *seconds > 0);
    let (frames, seconds) = rate
        .ok_or_else(|| holder.wrong_attribute("frameRate", "frames per second, as 30000/1001"))?;
    Ok(Some(FrameRate { frames, seconds }))
}

/// The number of channels, where the scheme is one that says it in plain numbers.
fn channels(element: &Element) -> Option<u32> {
    let config = element.all("AudioChannelConfiguration").find(|c| {
        c.attribute("schemeIdUri").is_some_and(|s| {
            s == "urn:mpeg:dash:23003:3:audio_channel_configuration:2011"
                || s == "urn:mpeg:mpegB:cicp:ChannelConfiguration"
        })
    })?;
    // Of the configurations (ISO/IEC 23091-3) the first six are named by their channels.
    match config.attribute("value")?.trim().parse().ok()? {
        7 => Some(8),
        n @ 1..=6 => Some(n),
        _ => None,
    }
}
