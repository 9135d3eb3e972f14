//! What a key may hold, and how messages and the documentation say so.

use super::tree::plain;

/// The numbers that a key may hold.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Least; itself allowed.
    pub lo: f64,
    /// Greatest; itself allowed.
    pub hi: f64,
    /// A sensible value, for messages.
    pub such_as: &'static str,
}

/// The numbers from `lo` to `hi`, such as the example.
pub const fn range(lo: f64, hi: f64, such_as: &'static str) -> Range {
    Range { lo, hi, such_as }
}

/// Value that a word stands for. `V` is a type of the crate that gives the words, so that it may give words to
/// types of others: [`words!`](crate::words) calls it `crate::Vocabulary`.
pub trait Word<V>: Copy + PartialEq + 'static {
    /// All words with what they stand for.
    const WORDS: &'static [(&'static str, Self)];

    /// The word that stands for it.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| *word)
    }
}

/// Implements [`Word`] for types: `Type: "word" => value, ...;`. The crate has a type `Vocabulary` at its root.
#[expect(clippy::crate_in_macro_def, reason = "the vocabulary is that of the crate which calls")]
#[macro_export]
macro_rules! words {
    ($($type:ty: $($word:literal => $value:expr),+;)+) => {
        $(impl $crate::Word<crate::Vocabulary> for $type {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value)),+];
        })+
    };
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

pub fn number_kind(key: &str, range: Range) -> String {
    format!("number, {} to {}{}", plain(range.lo), plain(range.hi), unit(key))
}

pub fn expected_number(key: &str, range: Range) -> String {
    format!(
        "expected a number from {} to {}{}, such as {}",
        plain(range.lo),
        plain(range.hi),
        unit(key),
        range.such_as
    )
}
