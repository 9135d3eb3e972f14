//! Folders, the embedded corpus, statistics and their table.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use airlane_base::Seed;
use airlane_media::statistics::{REAL, Spread};
use airlane_media::table::to_json;
use airlane_media::{Corpus, CorpusStatistics, Metric, Perceptual, synthetic};
use airlane_quality::Smoothness;
use airlane_quality::stats::Quartiles;

/// A fresh folder for one test.
fn folder(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    if dir.exists() {
        fs::remove_dir_all(&dir).unwrap();
    }
    fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn a_folder_is_read_in_the_order_of_its_files() {
    let dir = folder("order");
    let videos = synthetic::corpus(3, 30, Seed(1));
    for (v, file) in videos.iter().zip(["c.json", "a.json", "b.json"]) {
        fs::write(dir.join(file), to_json(v)).unwrap();
    }
    fs::write(dir.join("README.md"), "not a table").unwrap();
    fs::create_dir(dir.join("more.json")).unwrap();
    let corpus = Corpus::load_dir(&dir).unwrap();
    let names: Vec<&str> = corpus.videos().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["synthetic-1", "synthetic-2", "synthetic-0"]);
    assert_eq!(corpus.video("synthetic-2").map(|v| &**v), Some(&*videos[2]));
    assert_eq!(corpus.video("synthetic-3"), None);
    assert!(corpus.warnings().is_empty());
    let same = Corpus::from_videos("x", [1, 2, 0].map(|i| Arc::clone(&videos[i])).into()).unwrap();
    assert_eq!(corpus.content_hash(), same.content_hash());
}

#[test]
fn a_folder_of_packed_titles_is_one_of_tables() {
    let dir = folder("titles");
    for video in synthetic::corpus(2, 5, Seed(1)) {
        let title = dir.join(&video.name);
        fs::create_dir_all(title.join("video")).unwrap();
        fs::write(title.join("quality.json"), to_json(&video)).unwrap();
        fs::write(title.join("other.json"), "not a table").unwrap();
    }
    let corpus = Corpus::load_dir(&dir).unwrap();
    let names: Vec<&str> = corpus.videos().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["synthetic-0", "synthetic-1"]);
}

#[test]
fn errors_name_the_file() {
    let dir = folder("faults");
    let message = || Corpus::load_dir(&dir).unwrap_err().to_string();
    let at = |file: &str| dir.join(file).display().to_string();
    assert_eq!(
        message(),
        format!(
            "{}: no table in this folder; expected *.json, *.json.gz or */quality.json, see \
             docs/reference/chunk-tables.md",
            dir.display()
        )
    );
    let video = synthetic::flat("one", 5, 1e6);
    fs::write(dir.join("a.json"), to_json(&video)).unwrap();
    fs::write(dir.join("b.json"), to_json(&video)).unwrap();
    assert_eq!(
        message(),
        format!(
            "{}: video: \"one\" is the name of {} too; expected every video of a corpus to have a \
             name of its own",
            at("b.json"),
            at("a.json")
        )
    );
    fs::write(dir.join("b.json"), "{\n\n\"a\" 1}").unwrap();
    assert_eq!(
        message(),
        format!("{}:3: not valid JSON: expected `:`; expected a chunk table", at("b.json"))
    );
    let missing = Corpus::load_dir(dir.join("none")).unwrap_err().to_string();
    assert!(
        missing.starts_with(&format!("{}: cannot read the content folder: ", at("none"))),
        "{missing}"
    );
}

#[test]
fn the_embedded_corpus_is_sound_or_says_that_it_is_missing() {
    match Corpus::embedded() {
        Ok(corpus) => {
            corpus.videos().for_each(|v| v.check().unwrap());
            assert!(corpus.warnings().is_empty(), "{:?}", corpus.warnings());
            CorpusStatistics::of(&corpus, Metric::Vmaf).unwrap();
        }
        Err(e) => assert_eq!(
            e.to_string(),
            "this build has no content tables (corpus/tables was empty); name a folder with \
             --content DIR, or make the corpus and build again"
        ),
    }
}

#[test]
fn the_view_of_a_player_has_the_qualities_of_equation_one() {
    let video = Arc::clone(&synthetic::corpus(1, 20, Seed(2))[0]);
    let view = Perceptual::new(Arc::clone(&video), Metric::Vmaf).unwrap();
    assert_eq!(Some(view.p(3, 7)), video.quality(Metric::Vmaf, 3, 7));
    let (a, b) = (view.mean(2), view.mean(4));
    assert!((a - video.mean_quality(Metric::Vmaf, 2).unwrap()).abs() < 1e-9);
    assert_eq!(view.smooth_delta(Smoothness::MeanCurve, 4, 2, 5), b - a);
    assert_eq!(view.smooth_delta(Smoothness::MeanCurve, 4, 4, 5), 0.0);
    assert_eq!(view.smooth_delta(Smoothness::Chunk, 4, 2, 5), (view.p(4, 5) - view.p(2, 4)).abs());
    assert_eq!(view.smooth_delta(Smoothness::Chunk, 4, 2, 0), 0.0, "nothing before the first");
    assert_eq!(
        Perceptual::new(video, Metric::Ssim).unwrap_err().to_string(),
        "synthetic-0 has no usable ssim; its metrics are vmaf"
    );
}

#[test]
fn a_video_can_be_cut() {
    let video = &synthetic::corpus(1, 20, Seed(2))[0];
    let cut = video.cut_to(12);
    cut.check().unwrap();
    assert_eq!((cut.chunks(), cut.distinct_chunks), (12, 12));
    assert_eq!(cut.quality(Metric::Vmaf, 5, 11), video.quality(Metric::Vmaf, 5, 11));
    assert_eq!(cut.duration(), video.chunk * 12);
}

#[test]
fn statistics_of_flat_videos_have_closed_forms() {
    let videos = vec![synthetic::flat("easy", 80, 5e5), synthetic::flat("hard", 40, 2e6)];
    let corpus = Corpus::from_videos("flat", videos).unwrap();
    let s = CorpusStatistics::of(&corpus, Metric::Vmaf).unwrap();
    assert_eq!((s.at_least(40), s.at_least(50), s.at_least(81)), (2, 1, 0));
    let easy = &s.videos[0];
    let q = |r: f64| 100.0 * r / (r + 5e5);
    let between = (1e6 - 850e3) / (1300e3 - 850e3);
    let expected = q(850e3) + between * (q(1300e3) - q(850e3));
    assert!((easy.at[0].quality - expected).abs() < 1e-9);
    assert_eq!((easy.at[0].rung, easy.at[1].rung), (2, 4));
    assert!((easy.at[1].rung_quality - q(2000e3)).abs() < 1e-9);
    assert_eq!((easy.at[0].adjacent, easy.not_monotone, easy.constant.len()), (0.0, 0.0, 8));
    assert!(CorpusStatistics::of(&corpus, Metric::Ssim).unwrap_err().to_string().contains("ssim"));
}

#[test]
fn alike_means_within_the_slack() {
    let at = |shift: f64, adjacent: f64| {
        let q = REAL[0].vmaf;
        let quality =
            Quartiles { lower: q.lower + shift, median: q.median, upper: q.upper - shift };
        Spread { quality, rung_quality: quality, adjacent }
    };
    assert!(at(8.0, 7.0).quartiles_are_real(&REAL[0]));
    assert!(!at(8.1, 7.0).quartiles_are_real(&REAL[0]));
    assert!(!at(-8.1, 7.0).quartiles_are_real(&REAL[0]));
    for (adjacent, yes) in [(3.9, false), (4.0, true), (11.0, true), (11.1, false)] {
        assert_eq!(at(0.0, adjacent).adjacent_is_real(&REAL[0]), yes, "{adjacent}");
    }
}

#[test]
fn the_table_of_a_corpus_is_aligned() {
    let videos = vec![synthetic::flat("easy", 80, 5e5), synthetic::flat("hard", 40, 2e6)];
    let corpus = Corpus::from_videos("flat", videos).unwrap();
    let text = CorpusStatistics::of(&corpus, Metric::Vmaf).unwrap().to_string();
    let text = text.replace(&format!("{:016x}", corpus.content_hash()), "HASH");
    let expected = "\
flat: 2 videos, 1 of at least 50 chunks, 1 of at least 75; content HASH
at: vmaf at that many Mbit/s on the mean curve; rung: mean of the nearest rung; step: mean difference between its adjacent chunks

video  character  chunks  distinct  rungs     Mbit/s       vmaf  at 1  rung  step  at 2.5  rung  step
easy   synthetic      80        80      8  0.30-6.20  37.5-92.5  66.0  63.0   0.0    82.9  80.0   0.0
hard   synthetic      40        40      8  0.30-6.20  13.0-75.6  33.0  29.8   0.0    55.0  50.0   0.0

over the videos                                quartiles  real set  alike
mean at 1 Mbit/s, on the curve            41.3/49.5/57.8  59/69/77     no
mean at 1 Mbit/s, nearest rung            38.1/46.4/54.7
step between chunks at that rung, median             0.0       7-8     no
mean at 2.5 Mbit/s, on the curve          62.0/68.9/75.9  79/85/89     no
mean at 2.5 Mbit/s, nearest rung          57.5/65.0/72.5
step between chunks at that rung, median             0.0       7-8     no

traps
- vmaf is one constant at a rung below the top of 2 videos
- vmaf is one constant at the top rung of 2 videos
";
    assert_eq!(text, expected, "\n{text}");
}
