//! The chunks of one representation, from the elements that name them.

use std::time::Duration;

use airlane_base::InputError;

use super::template::{MAX_URL_BYTES, Template, Values};
use super::xml::Element;
use super::{ByteRange, Chunk, MAX_CHUNKS, Object};
use crate::url::resolve;

/// Elements of a period, an adaptation set and a representation, the innermost first.
pub(super) type Levels<'a> = [&'a Element; 3];

/// Values that chunks are made from besides the elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct About<'a> {
    pub(super) id: &'a str,
    pub(super) bandwidth: u64,
    /// The base of all URLs.
    pub(super) base: &'a str,
    /// The length of the period, above zero.
    pub(super) duration: Option<Duration>,
    /// True if the manifest says that the period has no length at all.
    pub(super) is_empty: bool,
}

/// Part of the limits that is left for the representations that follow.
#[derive(Debug)]
pub(super) struct Budget {
    chunks: usize,
    url_bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { chunks: 1_000_000, url_bytes: 256 << 20 }
    }
}

/// Segments that the elements name.
#[derive(Debug)]
pub(super) struct Segments {
    pub(super) init: Option<Object>,
    pub(super) index: Option<Object>,
    /// The file that the index is of, if it is not the one that the index is in.
    pub(super) indexed: Option<String>,
    pub(super) is_whole_file: bool,
    pub(super) timescale: u64,
    pub(super) time_offset: u64,
    pub(super) chunks: Vec<Chunk>,
}

/// The elements of one name at all levels, the innermost first: attributes are inherited one by
/// one, children as wholes.
struct Inherited<'a>(Vec<&'a Element>);

impl<'a> Inherited<'a> {
    fn new(levels: &Levels<'a>, name: &'static str) -> Option<Self> {
        let found: Vec<_> = levels.iter().filter_map(|l| l.first(name)).collect();
        (!found.is_empty()).then_some(Self(found))
    }

    /// The element that has the attribute, or the innermost.
    fn of(&self, attribute: &str) -> &'a Element {
        self.0.iter().find(|e| e.attribute(attribute).is_some()).unwrap_or(&self.0[0])
    }

    fn attribute(&self, name: &str) -> Option<&'a str> {
        self.of(name).attribute(name)
    }

    fn number(&self, name: &str) -> Result<Option<u64>, InputError> {
        self.of(name).number(name)
    }

    fn child(&self, name: &'static str) -> Option<&'a Element> {
        self.0.iter().find_map(|e| e.first(name))
    }
}

/// Lists the chunks of a representation.
pub(super) fn segments(
    levels: &Levels<'_>,
    about: About<'_>,
    budget: &mut Budget,
) -> Result<Segments, InputError> {
    let kinds = ["SegmentTemplate", "SegmentList", "SegmentBase"];
    // The innermost level that says anything decides for one of them.
    let kind = levels.iter().find_map(|l| kinds.into_iter().find(|k| l.first(k).is_some()));
    let Some((kind, elements)) = kind.and_then(|k| Some((k, Inherited::new(levels, k)?))) else {
        return whole_file(levels[0], about, None);
    };
    let timescale = elements.number("timescale")?.unwrap_or(1);
    if timescale == 0 || timescale > 1_000_000_000_000 {
        return Err(elements.of("timescale").wrong_attribute("timescale", "ticks per second"));
    }
    let time_offset = elements.number("presentationTimeOffset")?.unwrap_or(0);
    let mut found = Segments {
        init: initialization(&elements, about)?,
        index: None,
        indexed: None,
        is_whole_file: false,
        timescale,
        time_offset,
        chunks: Vec::new(),
    };
    match kind {
        "SegmentTemplate" => template(&elements, about, budget, &mut found)?,
        "SegmentList" => list(&elements, about, budget, &mut found)?,
        _ => return base(&elements, about, found),
    }
    Ok(found)
}

/// A representation that is one file without an index: one chunk, which begins with the period.
fn whole_file(
    element: &Element,
    about: About<'_>,
    init: Option<Object>,
) -> Result<Segments, InputError> {
    let duration = about.duration.ok_or_else(|| no_duration(element, about))?;
    let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    let object = Object { url: about.base.to_owned(), range: None };
    let chunks = vec![Chunk { object, time: 0, duration: nanos }];
    Ok(Segments {
        init,
        index: None,
        indexed: None,
        is_whole_file: true,
        timescale: 1_000_000_000,
        time_offset: 0,
        chunks,
    })
}

fn no_duration(element: &Element, about: About<'_>) -> InputError {
    let found = match about.is_empty {
        true => "a title of no length at all, on which the number of chunks depends",
        false => "no length of the title, on which the number of chunks depends",
    };
    element.wrong(found, "expected MPD@mediaPresentationDuration or Period@duration above 0")
}

/// The initialisation segment, by attribute or by element.
fn initialization(
    elements: &Inherited<'_>,
    about: About<'_>,
) -> Result<Option<Object>, InputError> {
    if let Some(text) = elements.attribute("initialization").map(str::trim) {
        let element = elements.of("initialization");
        let template = Template::parse(text).ok().filter(|t| !t.varies());
        let values = Values { id: about.id, bandwidth: about.bandwidth, number: 0, time: 0 };
        let url = template.and_then(|t| t.fill(values)).ok_or_else(|| {
            element.wrong_attribute("initialization", "a URL with $RepresentationID$ at most")
        })?;
        return Ok(Some(Object { url: resolve(about.base, &url), range: None }));
    }
    let Some(element) = elements.child("Initialization") else { return Ok(None) };
    object(element, "sourceURL", "range", about).map(Some)
}

/// Object that an element names by a URL and a range, both optional.
fn object(
    element: &Element,
    url: &str,
    range: &str,
    about: About<'_>,
) -> Result<Object, InputError> {
    let url_text = element.attribute(url).unwrap_or_default().trim();
    if url_text.len() > MAX_URL_BYTES {
        return Err(element.wrong_attribute(url, "a URL of at most 2048 bytes"));
    }
    let range = element.attribute(range).map(|text| {
        parse_range(text).ok_or_else(|| element.wrong_attribute(range, "a range such as 0-99"))
    });
    Ok(Object { url: resolve(about.base, url_text), range: range.transpose()? })
}

/// A range of bytes as HTTP has it.
fn parse_range(text: &str) -> Option<ByteRange> {
    let (first, last) = text.trim().split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let length = last.checked_sub(first)?.checked_add(1)?;
    (last < 1 << 63).then_some(ByteRange { offset: first, length })
}

fn base(
    elements: &Inherited<'_>,
    about: About<'_>,
    mut found: Segments,
) -> Result<Segments, InputError> {
    if let Some(element) = elements.child("RepresentationIndex") {
        let index = object(element, "sourceURL", "range", about)?;
        found.indexed = (index.url != about.base).then(|| about.base.to_owned());
        found.index = Some(index);
    } else if let Some(text) = elements.attribute("indexRange") {
        let element = elements.of("indexRange");
        let range = parse_range(text)
            .ok_or_else(|| element.wrong_attribute("indexRange", "a range such as 800-999"))?;
        found.index = Some(Object { url: about.base.to_owned(), range: Some(range) });
    } else {
        // An index may be found later: the offset counts for what it says.
        let nanos = u128::from(found.time_offset) * 1_000_000_000 / u128::from(found.timescale);
        let mut whole = whole_file(elements.0[0], about, found.init)?;
        whole.time_offset = u64::try_from(nanos).unwrap_or(u64::MAX);
        whole.chunks.iter_mut().for_each(|c| c.time = whole.time_offset);
        return Ok(whole);
    }
    Ok(found)
}

fn template(
    elements: &Inherited<'_>,
    about: About<'_>,
    budget: &mut Budget,
    found: &mut Segments,
) -> Result<(), InputError> {
    let element = elements.of("media");
    let text = elements.attribute("media").map(str::trim).ok_or_else(|| {
        element.wrong_attribute("media", "a URL with $Number$ or $Time$ for the chunks")
    })?;
    let template = Template::parse(text).map_err(|found| {
        element.wrong(format!("the identifier {found:?} in @media"), "expected $Number$ or $Time$")
    })?;
    let timing = timing(elements, about, found.timescale, found.time_offset)?;
    if !template.varies() && timing.len() > 1 {
        return Err(element.wrong_attribute("media", "a URL with $Number$ or $Time$"));
    }
    let start = elements.number("startNumber")?.unwrap_or(1);
    let last = elements.number("endNumber")?.unwrap_or(u64::MAX);
    for (i, (time, duration)) in timing.into_iter().enumerate() {
        let number = start.saturating_add(i as u64);
        if number > last {
            break;
        }
        let values = Values { id: about.id, bandwidth: about.bandwidth, number, time };
        let url = template
            .fill(values)
            .ok_or_else(|| element.wrong_attribute("media", "URLs of at most 2048 bytes"))?;
        let object = Object { url: resolve(about.base, &url), range: None };
        budget.spend(element, &object)?;
        found.chunks.push(Chunk { object, time, duration });
    }
    if found.chunks.is_empty() {
        return Err(element.wrong("no chunks", "expected at least one"));
    }
    Ok(())
}

fn list(
    elements: &Inherited<'_>,
    about: About<'_>,
    budget: &mut Budget,
    found: &mut Segments,
) -> Result<(), InputError> {
    let owner = elements.0.iter().find(|e| e.first("SegmentURL").is_some());
    let owner =
        owner.ok_or_else(|| elements.0[0].wrong("no SegmentURL", "expected one per chunk"))?;
    let count = owner.all("SegmentURL").count();
    let plain =
        elements.child("SegmentTimeline").is_none() && elements.attribute("duration").is_none();
    let timing = if plain && count == 1 {
        // One URL without a length is the whole period.
        let duration = about.duration.ok_or_else(|| no_duration(owner, about))?;
        vec![(found.time_offset, to_ticks(duration, found.timescale))]
    } else if elements.child("SegmentTimeline").is_some() {
        timing(elements, about, found.timescale, found.time_offset)?
    } else {
        let duration = chunk_duration(elements)?;
        // The URLs say how many there are; the length of the title cuts the last one.
        let end = about.duration.map(|d| to_ticks(d, found.timescale));
        spread(owner, duration, end, Some(count), found.time_offset)?
    };
    if timing.len() < count {
        return Err(owner.wrong(
            format!("{count} SegmentURL for {} lengths", timing.len()),
            "expected a length for each",
        ));
    }
    for (element, (time, duration)) in owner.all("SegmentURL").zip(timing) {
        let object = object(element, "media", "mediaRange", about)?;
        budget.spend(element, &object)?;
        found.chunks.push(Chunk { object, time, duration });
    }
    Ok(())
}

impl Budget {
    fn spend(&mut self, element: &Element, object: &Object) -> Result<(), InputError> {
        let chunks = self.chunks.checked_sub(1);
        let url_bytes = self.url_bytes.checked_sub(object.url.len());
        (self.chunks, self.url_bytes) = chunks.zip(url_bytes).ok_or_else(|| {
            element.wrong(
                "more than 1000000 chunks, or 256 MiB of their URLs, in all",
                "expected a manifest of a film",
            )
        })?;
        Ok(())
    }
}

/// Whole ticks, rounded to the nearest: lengths in manifests are rounded themselves.
fn to_ticks(time: Duration, timescale: u64) -> u64 {
    let ticks = (time.as_nanos() * u128::from(timescale) + 500_000_000) / 1_000_000_000;
    u64::try_from(ticks).unwrap_or(u64::MAX)
}

fn too_many(element: &Element) -> InputError {
    element.wrong(format!("more than {MAX_CHUNKS} chunks"), "expected a manifest of a film")
}

fn chunk_duration(elements: &Inherited<'_>) -> Result<u64, InputError> {
    let wrong = || {
        elements.of("duration").wrong_attribute(
            "duration",
            "the length of a chunk in ticks, above 0, or a SegmentTimeline",
        )
    };
    elements.number("duration")?.filter(|d| *d > 0).ok_or_else(wrong)
}

/// Time and length of each chunk of a template.
fn timing(
    elements: &Inherited<'_>,
    about: About<'_>,
    timescale: u64,
    time_offset: u64,
) -> Result<Vec<(u64, u64)>, InputError> {
    let end = about.duration.map(|d| to_ticks(d, timescale));
    if let Some(element) = elements.child("SegmentTimeline") {
        return timeline(element, end.map(|e| time_offset.saturating_add(e)));
    }
    let duration = chunk_duration(elements)?;
    let element = elements.of("duration");
    let end = end.ok_or_else(|| no_duration(element, about))?;
    // The length of the title is rounded, to the millisecond as a rule: so little at its end is no
    // chunk of its own.
    let slack = (timescale / 1000).min(duration - 1);
    let count = end.saturating_sub(slack).div_ceil(duration).max(1);
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    spread(element, duration, Some(end), Some(count), time_offset)
}

/// Chunks of equal length; the last one ends where the title does, if it says where.
fn spread(
    element: &Element,
    duration: u64,
    end: Option<u64>,
    count: Option<usize>,
    time_offset: u64,
) -> Result<Vec<(u64, u64)>, InputError> {
    let count = count.filter(|n| *n <= MAX_CHUNKS).ok_or_else(|| too_many(element))?;
    let mut out = Vec::with_capacity(count);
    for i in 0..count {
        let beyond = || element.wrong_attribute("duration", "a length within the range of times");
        let start = (i as u64).checked_mul(duration).ok_or_else(beyond)?;
        let time = time_offset.checked_add(start).ok_or_else(beyond)?;
        let left = end.map_or(duration, |e| e.saturating_sub(start));
        let last = i + 1 == count && left > 0;
        out.push((time, if last { left.min(duration) } else { duration }));
    }
    Ok(out)
}

/// The entries of a `SegmentTimeline`; `end` is the tick at which the period ends.
fn timeline(element: &Element, end: Option<u64>) -> Result<Vec<(u64, u64)>, InputError> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    let mut next = 0;
    let mut entries = element.all("S").peekable();
    while let Some(entry) = entries.next() {
        let time = entry.number("t")?.unwrap_or(next);
        if out.last().is_some_and(|(before, _)| time < *before) {
            return Err(entry.wrong_attribute("t", "times that do not go back"));
        }
        let duration = entry.number("d")?.filter(|d| *d > 0);
        let duration =
            duration.ok_or_else(|| entry.wrong_attribute("d", "a length in ticks, above 0"))?;
        if entry.attribute("k").is_some_and(|k| k != "1") {
            return Err(entry.wrong_attribute("k", "chunks that are not split further"));
        }
        let repeat = entry.attribute("r").map_or(Some(0), |r| r.trim().parse::<i64>().ok());
        let repeat = repeat.ok_or_else(|| entry.wrong_attribute("r", "a whole number"))?;
        let count = match u64::try_from(repeat) {
            Ok(repeat) => repeat.saturating_add(1),
            // Up to the next entry or to the end.
            Err(_) => {
                let until = entries.peek().map_or(Ok(end), |e| e.number("t"))?;
                let until = until.ok_or_else(|| {
                    entry.wrong_attribute("r", "a time at which the repetition ends: the next S@t, or the length of the title")
                })?;
                until.saturating_sub(time).div_ceil(duration)
            }
        };
        if count > (MAX_CHUNKS - out.len()) as u64 {
            return Err(too_many(entry));
        }
        next = time;
        for _ in 0..count {
            out.push((next, duration));
            next = next
                .checked_add(duration)
                .ok_or_else(|| entry.wrong_attribute("d", "a length within the range of times"))?;
        }
    }
    if out.is_empty() {
        return Err(element.wrong("no chunks", "expected at least one S"));
    }
    Ok(out)
}
