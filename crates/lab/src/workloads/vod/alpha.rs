//! Minerva's alpha, where a scenario does not set it.

use airlane_minerva::ALPHA_PER_CONNECTION;

/// Calibrations: content hash of the corpus, alpha per plain connection. The curves stand in
/// `docs/design/minerva.md`.
pub(crate) const CALIBRATED: [(u64, f64); 2] =
    [(0x85d0_9684_67d8_d51f, ALPHA_PER_CONNECTION), (0x6ae0_f20c_9bef_7fa7, 1.055)];

/// Alpha per plain connection of the baseline at which viewers under Minerva take the share of as
/// many viewers of the same videos under the baseline: depends on what is watched.
pub(crate) fn per_connection(content_hash: u64) -> f64 {
    CALIBRATED
        .iter()
        .find(|(known, _)| *known == content_hash)
        .map_or(ALPHA_PER_CONNECTION, |(_, alpha)| *alpha)
}

#[cfg(test)]
mod tests {
    use airlane_media::Corpus;

    use super::*;

    #[test]
    fn the_embedded_corpus_is_a_calibrated_one() {
        let hash = Corpus::embedded().unwrap().content_hash();
        assert!(CALIBRATED.iter().any(|(known, _)| *known == hash), "{hash:016x}");
    }
}
