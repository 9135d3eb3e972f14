//! What a key may hold, and how messages and the documentation say so.

use super::tree::plain;

/// The numbers that a key may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    /// Least; itself allowed.
    pub(crate) lo: f64,
    /// Greatest; itself allowed.
    pub(crate) hi: f64,
    /// A sensible value, for messages.
    pub(crate) such_as: &'static str,
}

/// The numbers from `lo` to `hi`, such as the example.
pub(crate) const fn range(lo: f64, hi: f64, such_as: &'static str) -> Range {
    Range { lo, hi, such_as }
}

/// A word that stands for a value.
pub(crate) trait Word: Copy + PartialEq + 'static {
    /// All words with what they stand for.
    const WORDS: &'static [(&'static str, Self)];

    /// The word that stands for it.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| *word)
    }
}

/// The unit that the suffix of a key names.
fn unit(key: &str) -> &'static str {
    const UNITS: [(&str, &str); 5] = [
        ("_bps", " bit/s"),
        ("_s", " s"),
        ("_bytes", " bytes"),
        ("_packets", " packets"),
        ("_bdp", " BDP"),
    ];
    UNITS.iter().find(|(suffix, _)| key.ends_with(suffix)).map_or("", |(_, unit)| unit)
}

pub(crate) fn number_kind(key: &str, range: Range) -> String {
    format!("number, {} to {}{}", plain(range.lo), plain(range.hi), unit(key))
}

pub(crate) fn expected_number(key: &str, range: Range) -> String {
    format!(
        "expected a number from {} to {}{}, such as {}",
        plain(range.lo),
        plain(range.hi),
        unit(key),
        range.such_as
    )
}
