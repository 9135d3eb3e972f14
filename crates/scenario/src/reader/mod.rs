//! Reads keys of a [`tree`](super::tree) and says what is wrong with them.
//!
//! Each key is read by one call, with its meaning, bounds and default. The call reads the key,
//! checks it, makes it known for suggestions ("did you mean"), and lists it in the documentation.
//! Reading does not stop at an error: it notes the error and goes on with some value. The caller
//! discards the result if anything was noted.

mod tables;

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::{InputError, Rate};

use super::bounds::{Range, Word, expected_number, number_kind};
use super::notes::{Notes, UNKNOWN_KEY};
use super::suggest;
use super::tree::{Data, Node, Origin, plain};
use super::{KeyDoc, Registry};

/// One table; an absent table is read like an empty one.
pub struct Reader<'a> {
    entries: Option<&'a BTreeMap<String, Node>>,
    /// The path of the table in messages: list entries by number.
    path: String,
    /// The path of the table in the documentation.
    listed: String,
    origin: Origin,
    asked: Vec<&'static str>,
    notes: &'a Notes,
}

impl<'a> Reader<'a> {
    /// Reads all of a document.
    pub(super) fn all<T>(root: &'a Node, notes: &'a Notes, read: impl FnOnce(&mut Self) -> T) -> T {
        let mut reader = Self::new(Some(root), String::new(), String::new(), notes);
        let value = read(&mut reader);
        reader.finish();
        value
    }

    fn new(node: Option<&'a Node>, path: String, listed: String, notes: &'a Notes) -> Self {
        let mut reader = Self {
            entries: None,
            path,
            listed,
            origin: node.map_or(Origin::Line(1), |n| n.origin),
            asked: Vec::new(),
            notes,
        };
        match node.map(|n| &n.data) {
            Some(Data::Table(entries)) => reader.entries = Some(entries),
            Some(other) => {
                let path = reader.path.clone();
                reader.note(reader.origin, path, found(other), "expected a table".to_owned());
            }
            None => {}
        }
        reader
    }

    fn note(&self, origin: Origin, key: String, found: String, expected: String) {
        self.notes.error(origin, origin.place(InputError::new(found, expected), key));
    }

    fn key_path(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// Notes an error about `key` of this table, whether it is given or missing.
    pub fn fail(&self, key: &str, found: impl Into<String>, expected: impl Into<String>) {
        let origin = self.entries.and_then(|e| e.get(key)).map_or(self.origin, |n| n.origin);
        self.note(origin, self.key_path(key), found.into(), expected.into());
    }

    /// Notes an error about each of `keys` that is given; whether one is.
    pub(super) fn refuse(&mut self, keys: &[&'static str], found: &str, expected: &str) -> bool {
        let given: Vec<&'static str> = keys.iter().copied().filter(|key| self.has(key)).collect();
        given.iter().for_each(|key| self.fail(key, found, expected));
        self.asked.extend(&given);
        !given.is_empty()
    }

    /// Notes an error about `key` of an entry of the list `list`, once the list has been read.
    pub(super) fn fail_in(
        &self,
        list: &str,
        entry: usize,
        key: &str,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) {
        let node = self.entries.and_then(|e| e.get(list)).and_then(|list| match &list.data {
            Data::List(items) => items.get(entry),
            _ => None,
        });
        let of_key = node.and_then(|node| match &node.data {
            Data::Table(entries) => entries.get(key),
            _ => None,
        });
        let origin = of_key.or(node).map_or(self.origin, |node| node.origin);
        let path = self.key_path(&format!("{list}.{entry}.{key}"));
        self.note(origin, path, found.into(), expected.into());
    }

    /// True if `key` is given.
    pub fn has(&self, key: &str) -> bool {
        self.entries.is_some_and(|e| e.contains_key(key))
    }

    fn ask(
        &mut self,
        key: &'static str,
        kind: String,
        default: String,
        doc: &str,
    ) -> Option<&'a Node> {
        self.asked.push(key);
        self.notes.key(|| KeyDoc {
            key: join(&self.listed, key),
            kind,
            default,
            doc: doc.to_owned(),
        });
        self.entries?.get(key)
    }

    fn wrong(&self, key: &str, data: &Data, expected: String) {
        self.fail(key, found(data), expected);
    }

    /// The registry that the scenario is read with.
    pub fn registry(&self) -> &'a Registry {
        self.notes.registry()
    }

    /// True if keys are listed instead of read.
    pub(super) fn is_listing(&self) -> bool {
        self.notes.is_listing()
    }

    /// A number, `None` if it is not given.
    pub fn number_or_none(
        &mut self,
        key: &'static str,
        range: Range,
        default: &str,
        doc: &str,
    ) -> Option<f64> {
        let node = self.ask(key, number_kind(key, range), default.to_owned(), doc)?;
        Some(self.number_in(key, &node.data, range))
    }

    fn number_in(&self, key: &str, data: &Data, range: Range) -> f64 {
        let value = match data {
            Data::Integer(i) => *i as f64,
            Data::Number(x) => *x,
            _ => f64::NAN,
        };
        if range.lo <= value && value <= range.hi {
            return value;
        }
        self.wrong(key, data, expected_number(key, range));
        range.lo
    }

    /// A number with a default.
    pub fn number(&mut self, key: &'static str, range: Range, default: f64, doc: &str) -> f64 {
        self.number_or_none(key, range, &plain(default), doc).unwrap_or(default)
    }

    /// A time with a default, both in seconds.
    pub fn time(&mut self, key: &'static str, range: Range, default: f64, doc: &str) -> Duration {
        seconds(self.number(key, range, default, doc))
    }

    /// A time in seconds, `None` if it is not given.
    pub fn time_or_none(
        &mut self,
        key: &'static str,
        range: Range,
        default: &str,
        doc: &str,
    ) -> Option<Duration> {
        self.number_or_none(key, range, default, doc).map(seconds)
    }

    /// A rate in bits per second, `None` if it is not given.
    pub fn rate_or_none(
        &mut self,
        key: &'static str,
        range: Range,
        default: &str,
        doc: &str,
    ) -> Option<Rate> {
        self.number_or_none(key, range, default, doc).map(Rate::from_bps_f64)
    }

    /// A whole number, `None` if it is not given.
    pub fn count_or_none(
        &mut self,
        key: &'static str,
        (lo, hi): (u64, u64),
        default: &str,
        doc: &str,
    ) -> Option<u64> {
        let kind = format!("whole number, {lo} to {hi}");
        let node = self.ask(key, kind, default.to_owned(), doc)?;
        Some(self.count_in(key, &node.data, (lo, hi)))
    }

    fn count_in(&self, key: &str, data: &Data, (lo, hi): (u64, u64)) -> u64 {
        let value = match data {
            Data::Integer(i) => u64::try_from(*i).ok(),
            // 15e5 is how people write 1 500 000.
            Data::Number(x) if x.fract() == 0.0 && (0.0..1e15).contains(x) => Some(*x as u64),
            _ => None,
        };
        match value {
            Some(v) if lo <= v && v <= hi => v,
            _ => {
                self.wrong(key, data, format!("expected a whole number from {lo} to {hi}"));
                lo
            }
        }
    }

    /// A whole number with a default.
    pub fn count(&mut self, key: &'static str, bounds: (u64, u64), default: u64, doc: &str) -> u64 {
        self.count_or_none(key, bounds, &default.to_string(), doc).unwrap_or(default)
    }

    /// A list of whole numbers with a default.
    pub fn counts(
        &mut self,
        key: &'static str,
        bounds: (u64, u64),
        default: &[u64],
        doc: &str,
    ) -> Vec<u64> {
        let kind = format!("list of whole numbers, {} to {}", bounds.0, bounds.1);
        let node = self.ask(key, kind, format!("{default:?}"), doc);
        match node.map(|n| &n.data) {
            None => default.to_vec(),
            Some(Data::List(items)) => {
                items.iter().map(|item| self.count_in(key, &item.data, bounds)).collect()
            }
            Some(other) => {
                self.wrong(
                    key,
                    other,
                    "expected a list of whole numbers, such as [1, 2, 3]".to_owned(),
                );
                default.to_vec()
            }
        }
    }

    /// Rows of numbers, one range per column; `None` if the key is not given.
    pub fn rows<const N: usize>(
        &mut self,
        key: &'static str,
        columns: [(&'static str, Range); N],
        such_as: &str,
        doc: &str,
    ) -> Option<Vec<[f64; N]>> {
        let names = columns.map(|(name, _)| name).join(", ");
        let node = self.ask(key, format!("list of [{names}]"), NONE.to_owned(), doc)?;
        let expected = || format!("expected a list of [{names}], such as {such_as}");
        let Data::List(rows) = &node.data else {
            self.wrong(key, &node.data, expected());
            return Some(Vec::new());
        };
        let mut values = Vec::new();
        for row in rows {
            let Data::List(cells) = &row.data else {
                self.note(row.origin, self.key_path(key), found(&row.data), expected());
                continue;
            };
            let Ok(cells) = <&[Node; N]>::try_from(cells.as_slice()) else {
                let what = format!("found a row of {}", cells.len());
                self.note(row.origin, self.key_path(key), what, expected());
                continue;
            };
            let mut value = [0.0; N];
            for ((cell, (_, range)), v) in cells.iter().zip(columns).zip(&mut value) {
                *v = self.number_in(key, &cell.data, range);
            }
            values.push(value);
        }
        Some(values)
    }

    /// A text, `None` if it is not given.
    pub fn text_or_none(&mut self, key: &'static str, default: &str, doc: &str) -> Option<String> {
        let node = self.ask(key, "text".to_owned(), default.to_owned(), doc)?;
        match &node.data {
            Data::Text(s) if !s.trim().is_empty() => Some(s.clone()),
            // A name such as `12` set on the command line reads as a number.
            Data::Integer(i) if !matches!(node.origin, Origin::Line(_)) => Some(i.to_string()),
            other => {
                self.wrong(key, other, "expected a text".to_owned());
                None
            }
        }
    }

    /// A text that is the name of a thing, of a file, of a row: letters, digits, `-`, `_`, `.`.
    pub fn name_or_none(&mut self, key: &'static str, default: &str, doc: &str) -> Option<String> {
        let name = self.text_or_none(key, default, doc)?;
        let sound = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.len() > 64 || !name.chars().all(sound) || name.starts_with(['.', '-']) {
            let found = format!("found \"{}\"", name.escape_debug());
            self.fail(
                key,
                found,
                "expected a name of at most 64 letters, digits, '-', '_' and '.'",
            );
        }
        Some(name)
    }

    /// One text or a list of them, `None` if it is not given.
    pub(super) fn names_or_none(
        &mut self,
        key: &'static str,
        default: &str,
        doc: &str,
    ) -> Option<Vec<String>> {
        let kind = "text or list of texts".to_owned();
        let node = self.ask(key, kind, default.to_owned(), doc)?;
        let items = match &node.data {
            Data::List(items) => items.iter().collect(),
            _ => vec![node],
        };
        let mut names = Vec::new();
        for item in items {
            match &item.data {
                Data::Text(name) => names.push(name.clone()),
                other => self.wrong(key, other, "expected a text or a list of texts".to_owned()),
            }
        }
        Some(names)
    }

    /// One of several words, `None` if it is not given.
    pub fn word_or_none<V, T: Word<V>>(
        &mut self,
        key: &'static str,
        default: &str,
        doc: &str,
    ) -> Option<T> {
        self.choice_or_none(key, T::WORDS, default, doc)
    }

    /// One of several words or a list of them, each once; `None` if it is not given.
    pub fn words_or_none<V, T: Word<V> + PartialEq>(
        &mut self,
        key: &'static str,
        default: &str,
        doc: &str,
    ) -> Option<Vec<T>> {
        let words: Vec<String> = T::WORDS.iter().map(|(w, _)| format!("\"{w}\"")).collect();
        let kind = format!("list of {}, or one of them", words.join(", "));
        let node = self.ask(key, kind, default.to_owned(), doc)?;
        let items = match &node.data {
            Data::List(items) => items.iter().collect(),
            _ => vec![node],
        };
        let mut values = Vec::new();
        for item in items {
            let given = match &item.data {
                Data::Text(s) => T::WORDS.iter().find(|(w, _)| w == s),
                _ => None,
            };
            match given {
                Some((word, value)) if values.contains(value) => {
                    self.fail(key, format!("found \"{word}\" twice"), "expected each once");
                }
                Some((_, value)) => values.push(*value),
                None => {
                    let expected = format!("expected one of {}, or several", words.join(", "));
                    self.wrong(key, &item.data, expected);
                }
            }
        }
        Some(values)
    }

    /// One of several words that are known when a scenario is read, `None` if it is not given.
    pub fn choice_or_none<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
        default: &str,
        doc: &str,
    ) -> Option<T> {
        let words: Vec<String> = choices.iter().map(|(w, _)| format!("\"{w}\"")).collect();
        let node = self.ask(key, words.join(", "), default.to_owned(), doc)?;
        let given = match &node.data {
            Data::Text(s) => choices.iter().find(|(w, _)| w == s),
            _ => None,
        };
        if given.is_none() {
            let mut expected = format!("expected one of {}", words.join(", "));
            if let Data::Text(s) = &node.data
                && let Some(near) = suggest::nearest(s, choices.iter().map(|(w, _)| *w))
            {
                expected = format!("{expected}: did you mean \"{near}\"?");
            }
            self.wrong(key, &node.data, expected);
        }
        given.map(|(_, value)| *value)
    }

    /// One of several words with a default.
    pub fn word<V, T: Word<V>>(&mut self, key: &'static str, default: T, doc: &str) -> T {
        let name = default.word();
        self.word_or_none(key, &format!("\"{name}\""), doc).unwrap_or(default)
    }

    /// A flag, or nothing if the key is absent.
    pub fn flag_or_none(&mut self, key: &'static str, default: &str, doc: &str) -> Option<bool> {
        let node = self.ask(key, "true or false".to_owned(), default.to_owned(), doc)?;
        match &node.data {
            Data::Flag(given) => Some(*given),
            other => {
                self.fail(key, format!("found {}", other.describe()), "expected true or false");
                None
            }
        }
    }

    /// Notes every key of the table that was not read.
    fn finish(&self) {
        for (key, node) in self.entries.into_iter().flatten() {
            if self.asked.iter().any(|asked| asked == key) {
                continue;
            }
            let expected =
                match suggest::key(key, &self.asked, &self.listed, || self.notes.known_keys()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("expected one of {}", self.asked.join(", ")),
                };
            self.note(node.origin, self.key_path(key), UNKNOWN_KEY.to_owned(), expected);
        }
    }
}

/// The default of a key that may be absent.
pub const NONE: &str = "none";

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn found(data: &Data) -> String {
    format!("found {}", data.describe())
}

fn seconds(s: f64) -> Duration {
    Duration::from_nanos((s * 1e9).round() as u64)
}
