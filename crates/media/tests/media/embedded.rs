//! The corpus that comes with Airlane: whole, and spread as real content is.

use airlane_media::statistics::REAL;
use airlane_media::{Corpus, CorpusStatistics, Metric};

#[test]
fn the_embedded_corpus_spreads_as_real_content_does() {
    let corpus = Corpus::embedded().unwrap();
    let statistics = CorpusStatistics::of(&corpus, Metric::Vmaf).unwrap();
    assert!(statistics.at_least(75) >= 12, "{} videos", statistics.at_least(75));
    for (spread, real) in statistics.spread.iter().zip(&REAL) {
        assert!(spread.quartiles_are_real(real), "{spread:?} beside {real:?}");
        assert!(spread.adjacent_is_real(real), "{spread:?} beside {real:?}");
    }
    for video in corpus.videos() {
        assert!(video.distinct_chunks >= 25, "{}", video.name);
        assert_eq!(video.rungs.len(), 8, "{}", video.name);
        let top = video.mean_rate_bps(7);
        assert!(video.rungs[7].nominal.bps() >= 6_000_000, "{}: {top}", video.name);
        for metric in [Metric::Vmaf, Metric::PsnrDb, Metric::Ssim] {
            assert!(video.quality(metric, 0, 0).is_some(), "{} of {}", metric.name(), video.name);
        }
    }
    assert_eq!(statistics.warnings, [""; 0], "our own tables have no traps");
}
