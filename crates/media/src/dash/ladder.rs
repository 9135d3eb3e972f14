//! The one ladder of a title that a player takes.
//!
//! A manifest may have the same pictures in several codecs, containers, roles or protections, an
//! adaptation set for each. A player chooses one of them and switches within it to the end (ISO/IEC
//! 23009-1, section 4.3); what it then knows of chunks, their number and their times, holds for all
//! rungs of that one.

use std::time::Duration;

use super::{Kind, Presentation, Representation};

/// Greatest distance between the starts of chunks of two rungs, as a share of the chunk: clocks of
/// tracks differ by little, and chunks that are cut elsewhere by much.
const APART: f64 = 0.25;
/// Manifests round the length of a title, to the millisecond as a rule.
const ROUNDED: Duration = Duration::from_millis(1);
/// By how much the length of a title may differ from that of its chunks before it is worth a word.
const LENGTH_SLACK: Duration = Duration::from_millis(500);

/// Ways to cut the chunks of one ladder that are told apart.
const MAX_SHAPES: usize = 8;

/// Properties that the representations of one ladder have in common.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    mime: String,
    codec: String,
    role: Option<String>,
    language: Option<String>,
    is_protected: bool,
}

/// A ladder that may be chosen.
#[derive(Debug)]
struct Candidate {
    key: Key,
    /// Positions in the list of the kind.
    rungs: Vec<usize>,
    sets: Vec<usize>,
}

/// The codec of a representation, of those with one decoder the same: `avc1` of `avc1.64001f`, and
/// of `avc3.64001f`, which differs in where the parameters stand.
pub fn codec_family(codecs: &str) -> &str {
    let first = codecs.split(',').next().unwrap_or_default().trim();
    match first.split('.').next().unwrap_or_default() {
        "avc3" => "avc1",
        "hev1" => "hvc1",
        "dvhe" => "dvh1",
        "dvav" => "dva1",
        other => other,
    }
}

impl Presentation {
    /// Leaves of a kind the one ladder that a player takes, notes what it leaves out, and returns
    /// that. Of an adaptation set with several codecs one counts; sets of one representation each,
    /// as some packagers write every rung, are one ladder.
    ///
    /// Of several ladders it is the one that can be read (no index in WebM), then one without
    /// encryption, one of the main role, that with the most rungs, the first.
    pub fn choose(&mut self, kind: Kind) -> Vec<Representation> {
        let list = std::mem::take(self.list(kind));
        let candidates = candidates(&list);
        let readable = |c: &Candidate| {
            c.rungs.iter().all(|r| list[*r].webm().is_none() || list[*r].index.is_none())
        };
        let main = |c: &Candidate| c.key.role.as_deref().is_none_or(|r| r == "main");
        let rank = |c: &Candidate| (readable(c), !c.key.is_protected, main(c), c.rungs.len());
        // Of equals the first: the last of those that come in the reverse order.
        let best = (0..candidates.len()).rev().max_by_key(|at| rank(&candidates[*at]));
        let Some(best) = best else { return list };
        let others = candidates.iter().enumerate().filter(|(at, _)| *at != best);
        let others: Vec<String> = others.map(|(_, c)| c.described()).collect();
        if !others.is_empty() {
            self.notes.push(format!(
                "{} is in several encodings to choose from: {} is taken, and not {}",
                kind.name(),
                candidates[best].described(),
                others.join(", ")
            ));
        }
        let kept = &candidates[best].rungs;
        self.split(kind, list, |at, _| kept.contains(&at))
    }

    /// Leaves of a kind, once its indices are read, the representations whose chunks begin together,
    /// and of those the chunks that begin before the title ends. Notes what it leaves out, and where
    /// the chunks end long before the title. Returns the representations that it leaves out.
    pub fn align(&mut self, kind: Kind) -> Vec<Representation> {
        let mut list = std::mem::take(self.list(kind));
        if let Some(duration) = self.duration {
            let cut = list.iter_mut().map(|r| cut(r, duration)).max().unwrap_or(0);
            if cut > 0 {
                self.notes.push(format!(
                    "{}: left out: {cut} chunks that begin after the title's end at {:.3} s",
                    kind.name(),
                    duration.as_secs_f64()
                ));
            }
        }
        let Some(shape) = usual_shape(&list).cloned() else { return Vec::new() };
        for r in list.iter().filter(|r| !together(&shape, r)) {
            self.notes.push(format!(
                "Representation {:?}: left out: its {} chunks do not begin with the {} of the others",
                r.id,
                r.chunks.len(),
                shape.chunks.len()
            ));
        }
        for (at, gap) in holes(&shape).take(3) {
            self.notes.push(format!(
                "{}: the timeline has a hole of {:.3} s before {:.3} s",
                kind.name(),
                gap.as_secs_f64(),
                at.as_secs_f64()
            ));
        }
        let end = shape.end();
        if let Some(duration) = self.duration.filter(|d| d.saturating_sub(end) > LENGTH_SLACK) {
            self.notes.push(format!(
                "{}: the manifest says that the title is {:.3} s long, and its chunks end at {:.3} s",
                kind.name(),
                duration.as_secs_f64(),
                end.as_secs_f64()
            ));
        }
        self.split(kind, list, |_, r| together(&shape, r))
    }

    /// Keeps what is said to be kept, and returns the rest.
    fn split(
        &mut self,
        kind: Kind,
        list: Vec<Representation>,
        keep: impl Fn(usize, &Representation) -> bool,
    ) -> Vec<Representation> {
        let (kept, rest): (Vec<_>, Vec<_>) =
            list.into_iter().enumerate().partition(|(at, r)| keep(*at, r));
        *self.list(kind) = kept.into_iter().map(|(_, r)| r).collect();
        rest.into_iter().map(|(_, r)| r).collect()
    }
}

impl Candidate {
    /// In words, such as `"hvc1" (1)`.
    fn described(&self) -> String {
        let Key { mime, codec, role, language, is_protected } = &self.key;
        let mut words = format!("{:?}", if codec.is_empty() { mime } else { codec });
        if mime.ends_with("/webm") {
            words += " in WebM";
        }
        for word in role.iter().chain(language) {
            words += &format!(" {word:?}");
        }
        if *is_protected {
            words += " encrypted";
        }
        words + &format!(" ({})", self.rungs.len())
    }
}

/// The ladders of a list, in the order of their adaptation sets.
fn candidates(list: &[Representation]) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let mut order: Vec<usize> = (0..list.len()).collect();
    order.sort_by_key(|at| list[*at].set);
    for at in order {
        let r = &list[at];
        // A representation that does not say its codec has that of its set.
        let said = |o: &&Representation| o.set == r.set && !o.codecs.is_empty();
        let codecs = match r.codecs.as_str() {
            "" => list.iter().find(said).map_or("", |o| &o.codecs),
            own => own,
        };
        let key = Key {
            mime: r.mime.clone(),
            codec: codec_family(codecs).to_owned(),
            role: r.role.clone(),
            language: r.language.clone(),
            is_protected: r.is_protected,
        };
        match found.iter_mut().find(|c| c.key == key && c.sets == [r.set]) {
            Some(candidate) => candidate.rungs.push(at),
            None => found.push(Candidate { key, rungs: vec![at], sets: vec![r.set] }),
        }
    }
    // Sets of one representation each.
    let mut merged: Vec<Candidate> = Vec::new();
    for candidate in found {
        let alone = |c: &Candidate| c.rungs.len() == c.sets.len();
        let other =
            merged.iter_mut().find(|o| o.key == candidate.key && alone(o) && alone(&candidate));
        match other {
            Some(other) => {
                other.rungs.extend(candidate.rungs);
                other.sets.extend(candidate.sets);
            }
            None => merged.push(candidate),
        }
    }
    merged
}

/// Removes the chunks that begin when the title has ended, but the first; how many.
fn cut(r: &mut Representation, duration: Duration) -> usize {
    let before = r.chunks.len();
    let begins_within = |at: &usize| r.start(*at).is_some_and(|s| s + ROUNDED < duration);
    let within = (0..before).filter(begins_within).count();
    r.chunks.truncate(within.max(1));
    before - r.chunks.len()
}

/// True if two representations have as many chunks, and each begins with that of the other.
fn together(a: &Representation, b: &Representation) -> bool {
    let apart = |at: usize| {
        let (starts, length) = (a.start(at).zip(b.start(at)), a.duration(at));
        let away = starts.map_or(Duration::MAX, |(a, b)| a.abs_diff(b));
        away > length.unwrap_or_default().mul_f64(APART)
    };
    a.chunks.len() == b.chunks.len() && !(0..a.chunks.len()).any(apart)
}

/// The representation whose chunks begin together with those of most others; of equals the longest,
/// then the first.
fn usual_shape(list: &[Representation]) -> Option<&Representation> {
    let mut shapes: Vec<(&Representation, usize)> = Vec::new();
    for r in list {
        match shapes.iter().position(|(shape, _)| together(shape, r)) {
            Some(known) => shapes[known].1 += 1,
            None if shapes.len() < MAX_SHAPES => shapes.push((r, 1)),
            None => {}
        }
    }
    let best = shapes.iter().rev().max_by_key(|(shape, count)| (*count, shape.chunks.len()));
    best.map(|(shape, _)| *shape)
}

/// Holes between chunks that do not follow each other: the start of the later chunk, and the length
/// of the hole. A gap of more than half of the later chunk is a hole; clocks explain shorter ones.
fn holes(r: &Representation) -> impl Iterator<Item = (Duration, Duration)> {
    (0..r.chunks.len()).filter_map(|at| {
        let (start, length) = (r.start(at)?, r.duration(at)?);
        let before = match at.checked_sub(1) {
            Some(before) => r.start(before)? + r.duration(before)?,
            None => Duration::ZERO,
        };
        let gap = start.saturating_sub(before);
        (gap > length / 2).then_some((start, gap))
    })
}
