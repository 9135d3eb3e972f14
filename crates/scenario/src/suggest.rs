//! Suggests a known word for an unknown one.

use super::KeyDoc;

/// The candidate closest to `word`, if one is close enough to be a slip of it.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    // Longer words than any key cannot be a slip of one, and would only cost time.
    if word.len() > 64 {
        return None;
    }
    let most = |candidate: &str| (candidate.len().max(word.len()) / 3).max(1);
    candidates
        .map(|candidate| (distance(&word, candidate), candidate))
        .filter(|(d, candidate)| *d <= most(candidate) || extends(candidate, &word))
        .min()
        .map(|(_, candidate)| candidate)
}

/// True if the two differ by a unit only: `rate` for `rate_bps`, `rtt_ms` for `rtt_s`.
fn extends(candidate: &str, word: &str) -> bool {
    let stem =
        |s: &str| s.rsplit_once('_').map_or_else(|| s.to_owned(), |(stem, _)| stem.to_owned());
    stem(candidate) == stem(word) || stem(candidate) == word || candidate == stem(word)
}

/// The key that `unknown` may be a slip of: one of the same table, or one of another table as a
/// whole path.
pub(super) fn key(
    unknown: &str,
    siblings: &[&'static str],
    table: &str,
    all: impl FnOnce() -> Vec<KeyDoc>,
) -> Option<String> {
    if let Some(near) = nearest(unknown, siblings.iter().copied()) {
        return Some(near.to_owned());
    }
    let elsewhere = all().into_iter().find(|k| k.key.rsplit('.').next() == Some(unknown))?;
    (elsewhere.key != format!("{table}.{unknown}")).then_some(elsewhere.key)
}

/// The number of letters to insert, delete, replace or swap with a neighbour to get from `a` to
/// `b` (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        rows[i][0] = i;
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let keys = ["rate_bps", "rtt_s", "queue", "jitter_s"];
        let near = |word| nearest(word, keys.into_iter());
        assert_eq!(near("rate_bsp"), Some("rate_bps"));
        assert_eq!(near("rate"), Some("rate_bps"));
        assert_eq!(near("rtt_ms"), Some("rtt_s"));
        assert_eq!(near("Queue"), Some("queue"));
        assert_eq!(near("weight"), None);
        assert_eq!(near(""), None);
    }

    #[test]
    fn a_swap_counts_once() {
        assert_eq!(distance("abcd", "acbd"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}
