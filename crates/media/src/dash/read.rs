//! From a document to a presentation.

use std::time::Duration;

use airlane_base::{InputError, Rate};

use super::segments::{About, Budget, segments};
use super::template::MAX_URL_BYTES;
use super::xml::{self, Element, shortened};
use super::{CHUNK_TABLE_SCHEME, FrameRate, Kind, Presentation, Representation, time};
use crate::url::resolve;

/// Properties that describe and can be passed over: colours, and what the pictures are projected on.
const HARMLESS: [&str; 2] = ["urn:mpeg:mpegB:cicp:", "urn:mpeg:mpegI:omaf:2017"];

/// Representations of a manifest: each inherits what its set and its period say.
const MAX_REPRESENTATIONS: usize = 1_000;
/// Bytes of an attribute that representations inherit.
const MAX_INHERITED_BYTES: usize = 1_024;

/// Ways to combine several `BaseURL`s that are told apart.
const MAX_ALTERNATIVES: usize = 16;
/// Notes of what was left out; more of them are not made.
const MAX_NOTES: usize = 20;
/// The scheme of roles of the standard (section 5.8.5.5).
pub(super) const ROLE_SCHEME: &str = "urn:mpeg:dash:role:2011";
/// The property that lets players switch to the sets of the ids in its value.
const SWITCHING_SCHEME: &str = "urn:mpeg:dash:adaptation-set-switching:2016";
/// URN that a remote element refers to if it is to be removed (section 5.5.3).
const RESOLVE_TO_ZERO: &str = "urn:mpeg:dash:resolve-to-zero:2013";
/// Elements that say nothing of chunks, whose references are not followed anyway.
const EVENTS: [&str; 2] = ["EventStream", "InbandEventStream"];

/// Reads a static manifest. URLs in the result are relative to the manifest unless the manifest
/// has absolute ones.
///
/// # Errors
/// [`InputError`] with line and element for what is no MPD, what is missing or wrong, and what
/// this module refuses (see its head); the caller adds the file.
pub fn parse(text: &str) -> Result<Presentation, InputError> {
    parse_alternative(text, 0)
}

/// The same title at another of the places that the manifest names: alternative `number`, from 0,
/// of [`Presentation::alternatives`]. Each level of the manifest may have several `BaseURL`s, of
/// which one is as good as another (section 5.6.5); the alternatives are their combinations, those
/// of the outermost level first.
///
/// # Errors
/// As [`parse`].
pub fn parse_alternative(text: &str, number: usize) -> Result<Presentation, InputError> {
    let mut mpd = xml::parse(text)?;
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
    mpd.retain(&mut is_here)?;
    let periods: Vec<&Element> = mpd.all("Period").collect();
    let [period] = periods[..] else {
        let found = format!("{} periods", periods.len());
        return Err(mpd.wrong(found, "expected one Period: titles of several are not supported"));
    };
    if let Some(scheme) = [&mpd, period].into_iter().find_map(unknown_property) {
        let found = format!("the essential property {:?}, which is not known here", scheme);
        return Err(period.wrong(found, "expected a manifest that does without"));
    }
    let said = [length(period, "duration")?, length(&mpd, "mediaPresentationDuration")?];
    let said = said.into_iter().flatten();
    // A length of nothing is one only if nothing else is said.
    let duration = said.clone().find(|d| !d.is_zero()).or(said.clone().next());
    let mut notes = Notes::default();
    if duration == Some(Duration::ZERO) {
        notes.add("the manifest says that the title has no length: its chunks say how long it is");
    }
    let table = mpd.all("SupplementalProperty");
    let table = table
        .filter(|p| p.attribute("schemeIdUri") == Some(CHUNK_TABLE_SCHEME))
        .find_map(|p| p.attribute("value"));
    let mut presentation = Presentation {
        duration: duration.filter(|d| !d.is_zero()),
        min_buffer: length(&mpd, "minBufferTime")?,
        chunk_table: table.map(|url| resolve("", url.trim())),
        ..Presentation::default()
    };
    let bases = Bases::new(&mpd, period, number);
    presentation.alternatives = bases.alternatives();
    let base = bases.of(1, period, &bases.of(0, &mpd, "")?)?;
    let sets: Vec<&Element> = period.all("AdaptationSet").collect();
    let mut budget = Budget::default();
    let mut representations = 0;
    for (number, element) in sets.iter().enumerate() {
        if let Some(scheme) = unknown_property(element) {
            notes.add(format!("AdaptationSet {number}: {}", essential(scheme)));
            continue;
        }
        let base = bases.of(2, element, &base)?;
        for inner in element.all("Representation") {
            let Some(kind) = kind(inner, element) else { continue };
            if let Some(scheme) = unknown_property(inner) {
                let id = inner.attribute("id").unwrap_or_default();
                notes.add(format!("Representation {:?}: {}", shortened(id), essential(scheme)));
                continue;
            }
            representations += 1;
            if representations > MAX_REPRESENTATIONS {
                let found = format!("more than {MAX_REPRESENTATIONS} representations");
                return Err(inner.wrong(found, "expected the ladder of a film"));
            }
            let base = bases.of(3, inner, &base)?;
            let context = Context {
                period,
                set: element,
                number: first_of_switched(&sets, number),
                kind,
                base: &base,
                duration: presentation.duration,
                is_empty: duration == Some(Duration::ZERO),
            };
            let read = representation(inner, &context, &mut budget, &mut notes)?;
            presentation.list(kind).push(read);
        }
    }
    for kind in Kind::ALL {
        presentation.list(kind).sort_by_key(|r| r.bandwidth);
    }
    presentation.notes = notes.0;
    if presentation.all().next().is_none() {
        let why = presentation.notes.join("; ");
        let found = match why.is_empty() {
            true => "no video, audio or text".to_owned(),
            false => format!("no video, audio or text is left ({why})"),
        };
        return Err(period.wrong(found, "expected a Representation that can be played"));
    }
    Ok(presentation)
}

/// True if an element is in the manifest, false if it is to be removed.
///
/// # Errors
/// If it is elsewhere.
fn is_here(element: &Element) -> Result<bool, InputError> {
    match element.prefixed("href") {
        Some(RESOLVE_TO_ZERO) => Ok(false),
        Some(href) if !EVENTS.contains(&element.name.as_str()) => Err(element.wrong(
            format!("a remote element (xlink:href={:?}), which is not fetched", shortened(href)),
            "expected a manifest that is whole",
        )),
        _ => Ok(true),
    }
}

/// Notes for people on what was left out.
#[derive(Debug, Default)]
struct Notes(Vec<String>);

impl Notes {
    fn add(&mut self, note: impl Into<String>) {
        if self.0.len() < MAX_NOTES {
            self.0.push(note.into());
        }
    }
}

fn essential(scheme: &str) -> String {
    format!("left out: its essential property {:?} is not known here", shortened(scheme))
}

/// The first of the sets between which players may switch if they may to the set of that number.
fn first_of_switched(sets: &[&Element], number: usize) -> usize {
    let own = sets[number].attribute("id");
    let named = |of: &Element, id: &str| {
        of.all("SupplementalProperty")
            .filter(|p| p.attribute("schemeIdUri") == Some(SWITCHING_SCHEME))
            .filter_map(|p| p.attribute("value"))
            .any(|value| value.split(',').any(|v| v.trim() == id))
    };
    let linked = |other: &Element| {
        own.is_some_and(|id| named(other, id))
            || other.attribute("id").is_some_and(|id| named(sets[number], id))
    };
    sets[..number].iter().position(|other| linked(other)).unwrap_or(number)
}

/// Choice of a `BaseURL` where a level has several.
#[derive(Debug)]
struct Bases {
    /// The most that an element of each level has: MPD, period, adaptation set, representation.
    counts: [usize; 4],
    chosen: [usize; 4],
}

impl Bases {
    fn new(mpd: &Element, period: &Element, number: usize) -> Self {
        let count = |of: &Element| of.all("BaseURL").count().max(1);
        let mut counts = [count(mpd), count(period), 1, 1];
        for set in period.all("AdaptationSet") {
            counts[2] = counts[2].max(count(set));
            let inner = set.all("Representation").map(count).max();
            counts[3] = counts[3].max(inner.unwrap_or(1));
        }
        let mut rest = number;
        let chosen = counts.map(|count| {
            let digit = rest % count;
            rest /= count;
            digit
        });
        Self { counts, chosen }
    }

    fn alternatives(&self) -> usize {
        let all = self.counts.iter().try_fold(1_usize, |all, n| all.checked_mul(*n));
        all.unwrap_or(usize::MAX).min(MAX_ALTERNATIVES)
    }

    /// The base of what is within an element of a level.
    fn of(&self, level: usize, element: &Element, base: &str) -> Result<String, InputError> {
        let mut urls = element.all("BaseURL");
        let Some(url) = urls.nth(self.chosen[level]).or_else(|| element.all("BaseURL").last())
        else {
            return Ok(base.to_owned());
        };
        // Looked at before it is resolved too: what it is resolved to is copied for every chunk.
        let whole = (url.text.len() <= MAX_URL_BYTES).then(|| resolve(base, &url.text));
        whole.filter(|whole| whole.len() <= MAX_URL_BYTES).ok_or_else(|| {
            let found = format!("a base of more than {MAX_URL_BYTES} bytes");
            url.wrong(found, format!("expected at most {MAX_URL_BYTES} bytes with those around it"))
        })
    }
}

fn length(element: &Element, attribute: &str) -> Result<Option<Duration>, InputError> {
    let Some(text) = element.attribute(attribute) else { return Ok(None) };
    let expected = "a length such as PT1H2M3.5S, of at most 100 years";
    time::parse(text).map(Some).ok_or_else(|| element.wrong_attribute(attribute, expected))
}

/// The scheme of the first essential property of an element that is not known.
fn unknown_property(element: &Element) -> Option<&str> {
    let schemes =
        element.all("EssentialProperty").map(|p| p.attribute("schemeIdUri").unwrap_or_default());
    schemes.into_iter().find(|scheme| !HARMLESS.iter().any(|known| scheme.starts_with(known)))
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

/// Surroundings of a representation in the manifest: its period, adaptation set and base URL.
struct Context<'a> {
    period: &'a Element,
    set: &'a Element,
    number: usize,
    kind: Kind,
    base: &'a str,
    /// Above zero.
    duration: Option<Duration>,
    is_empty: bool,
}

fn representation(
    element: &Element,
    context: &Context<'_>,
    budget: &mut Budget,
    notes: &mut Notes,
) -> Result<Representation, InputError> {
    let set = context.set;
    let bandwidth = element.number("bandwidth")?.filter(|b| (1..=1_000_000_000_000).contains(b));
    let bandwidth = bandwidth
        .ok_or_else(|| element.wrong_attribute("bandwidth", "bits per second, 1 to 10^12"))?;
    let id = element.attribute("id").ok_or_else(|| element.wrong_attribute("id", "a name"))?;
    let levels = [element, set, context.period];
    let Context { base, duration, is_empty, .. } = *context;
    let about = About { id, bandwidth, base, duration, is_empty };
    let segments = segments(&levels, about, budget)?;
    // What only describes is left out if it makes no sense.
    let mut nonsense = |holder: &Element, name: &str, text: &str| {
        let place = format!("Representation {:?}: {}@{name}", shortened(id), holder.name);
        notes.add(format!("{place} {:?} makes no sense and is left out", shortened(text)));
    };
    let mut number = |name: &str| -> Option<u32> {
        let holder = if element.attribute(name).is_some() { element } else { set };
        // Some packagers give a range of rates, of which the least is meant.
        let text = holder.attribute(name)?;
        let found = text.split_whitespace().next()?.parse().ok().filter(|n| *n > 0);
        if found.is_none() {
            nonsense(holder, name, text);
        }
        found
    };
    let (width, height) = (number("width"), number("height"));
    let sampling_hz = number("audioSamplingRate");
    let holder = if element.attribute("frameRate").is_some() { element } else { set };
    let rate_text = holder.attribute("frameRate");
    let frame_rate = rate_text.and_then(frame_rate);
    if let Some(text) = rate_text.filter(|_| frame_rate.is_none()) {
        nonsense(holder, "frameRate", text);
    }
    let protected = [element, set].iter().any(|e| e.first("ContentProtection").is_some());
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
        width,
        height,
        frame_rate,
        sampling_hz,
        channels: channels(element).or_else(|| channels(set)),
        language: kept("lang", element, set)?.map(str::to_owned),
        role: role(set).map(str::to_owned),
        is_protected: protected,
        init: segments.init,
        timescale: segments.timescale,
        time_offset: segments.time_offset,
        index: segments.index,
        indexed: segments.indexed,
        is_whole_file: segments.is_whole_file,
        chunks: segments.chunks,
    })
}

/// The role of a set in the standard's scheme; one that is too long to be one is none.
fn role(set: &Element) -> Option<&str> {
    let roles = set.all("Role").filter(|r| r.attribute("schemeIdUri") == Some(ROLE_SCHEME));
    roles.filter_map(|r| r.attribute("value")).map(str::trim).find(|r| r.len() <= 64)
}

/// `25`, `30000/1001`, or as some write it `29.97`.
fn frame_rate(text: &str) -> Option<FrameRate> {
    let text = text.trim();
    let rate = match text.split_once('/') {
        Some((frames, seconds)) => frames.parse().ok().zip(seconds.parse().ok()),
        None if text.contains('.') => {
            let rate = text.parse().ok().filter(|r: &f64| (0.001..1e6).contains(r));
            rate.map(|r| ((r * 1000.0).round() as u32, 1000))
        }
        None => text.parse().ok().map(|frames| (frames, 1)),
    };
    let rate = rate.filter(|(frames, seconds)| *frames > 0 && *seconds > 0);
    rate.map(|(frames, seconds)| FrameRate { frames, seconds })
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
