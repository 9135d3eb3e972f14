//! The Comyco form: made-up tables for each trap, then the real ones.

use airlane_media::table::parse;
use airlane_media::{Corpus, CorpusStatistics, Metric};

/// A table of four rungs and `chunks` chunks in which chunk c of rung r has `1000 * (r + 1) + c`
/// bytes and the quality `20 * (r + 1)` in every metric.
fn table(chunks: usize, edit: impl Fn(&mut serde_json::Value)) -> String {
    let rungs: Vec<serde_json::Value> = (0..4)
        .map(|r| {
            let sizes: Vec<usize> = (0..chunks).map(|c| 1000 * (r + 1) + c).collect();
            let quality = vec![20.0 * (r + 1) as f64; chunks];
            serde_json::json!({
                "name": format!("320x240_fps30_420_{r}k"), "width": 320, "height": 240,
                "nominal_kbps": 100 << r, "chunk_bytes": sizes,
                "vmaf": quality, "vmaf_4k": quality, "vmaf_phone": quality,
            })
        })
        .collect();
    let mut t = serde_json::json!({
        "video": "news/7", "chunk_seconds": 4, "representations": rungs,
    });
    edit(&mut t);
    // What the tables have is NaN, which the library cannot write.
    t.to_string().replace("null", "NaN")
}

fn error(edit: impl Fn(&mut serde_json::Value)) -> String {
    parse(table(50, edit).as_bytes()).unwrap_err().to_string()
}

#[test]
fn name_character_and_frame_rate_come_from_the_table() {
    let t = parse(table(10, |_| ()).as_bytes()).unwrap();
    let v = &t.video;
    assert_eq!(
        (v.name.as_str(), v.title.as_str(), v.character.as_str()),
        ("news_7", "news/7", "news")
    );
    assert_eq!((v.fps, v.chunk_s(), v.chunks(), v.distinct_chunks), (Some(30.0), 4.0, 10, 10));
    assert_eq!(v.rungs[2].nominal.bps(), 400_000);
    assert!([Metric::Vmaf, Metric::VmafPhone, Metric::Vmaf4k].into_iter().all(|m| v.has(m)));
    assert_eq!(t.traps, Default::default());
}

#[test]
fn nan_is_interpolated_over_the_rungs() {
    let t = parse(
        table(50, |t| {
            t["representations"][1]["vmaf"][7] = serde_json::Value::Null;
            t["representations"][3]["vmaf_4k"][9] = serde_json::Value::Null;
        })
        .as_bytes(),
    )
    .unwrap();
    // The nominal rates double from rung to rung: half-way in the logarithm is half-way.
    assert!((t.video.quality(Metric::Vmaf, 1, 7).unwrap() - 40.0).abs() < 1e-9);
    assert_eq!(t.video.quality(Metric::Vmaf4k, 3, 9), Some(60.0), "the nearest at an end");
    assert_eq!((t.traps.interpolated_values, t.traps.interpolated_chunks), (2, 2));
    t.video.check().unwrap();
}

#[test]
fn too_much_nan_is_refused() {
    let nan = |t: &mut serde_json::Value, chunks: std::ops::Range<usize>| {
        for c in chunks {
            t["representations"][2]["vmaf"][c] = serde_json::Value::Null;
        }
    };
    assert!(parse(table(50, |t| nan(t, 0..2)).as_bytes()).is_ok());
    assert_eq!(
        error(|t| nan(t, 0..3)),
        "representations[*].vmaf: 3 of 200 values are NaN; expected at most 1 %, which can be \
         interpolated"
    );
    let all = table(200, |t| {
        for r in 0..4 {
            t["representations"][r]["vmaf"][5] = serde_json::Value::Null;
        }
    });
    assert_eq!(
        parse(all.as_bytes()).unwrap_err().to_string(),
        "representations[*].vmaf[5]: chunk 5 is NaN in every rung; expected a measured rung to \
         interpolate from"
    );
}

#[test]
fn a_short_last_chunk_is_dropped_and_only_that() {
    let short = |chunks: &'static [usize]| {
        let t = table(50, |t| {
            for r in 0..4 {
                for c in chunks {
                    t["representations"][r]["chunk_bytes"][*c] = 90.into();
                }
            }
        });
        parse(t.as_bytes()).unwrap()
    };
    let t = short(&[49]);
    assert_eq!((t.video.chunks(), t.video.distinct_chunks, t.traps.dropped_chunks), (49, 49, 1));
    t.video.check().unwrap();
    let t = short(&[20, 48]);
    assert_eq!((t.video.chunks(), t.traps.dropped_chunks), (50, 0), "others are really easy");
    let t = short(&[48, 49]);
    assert_eq!((t.video.chunks(), t.traps.dropped_chunks), (49, 1), "one chunk can be cut short");
}

#[test]
fn each_fault_has_its_message() {
    assert_eq!(
        error(|t| t["representations"][2]["chunk_bytes"][3] = 0.into()),
        "representations[2].chunk_bytes[3]: 0; expected the bytes of a chunk, a whole number \
         from 1 to 1099511627776"
    );
    assert_eq!(
        error(|t| {
            t["representations"][2]["chunk_bytes"].as_array_mut().unwrap().pop();
        }),
        "representations[2].chunk_bytes: 49 values; expected 50, one per chunk, as in \
         representations[0].chunk_bytes"
    );
    assert_eq!(
        error(|t| {
            t["representations"][1]["vmaf"].as_array_mut().unwrap().pop();
        }),
        "representations[1].vmaf: 49 values; expected 50, one per chunk, as in \
         representations[0].chunk_bytes"
    );
    assert_eq!(
        error(|t| {
            t["representations"][1].as_object_mut().unwrap().remove("vmaf_phone");
        }),
        "representations[1].vmaf_phone: missing; every table needs it, see \
         docs/reference/chunk-tables.md"
    );
    assert_eq!(
        error(|t| t["representations"][3]["nominal_kbps"] = 400.into()),
        "representations[3].nominal_kbps: 400; expected more than the 400 of the rung before: \
         rungs rise"
    );
    assert_eq!(
        error(|t| t["representations"] = serde_json::json!([])),
        "rungs: a ladder of 0 rungs; expected at least two, in rising order of their rates"
    );
}

/// The real tables, or `None` with a word about it.
fn real() -> Option<Corpus> {
    Some(Corpus::load_dir(crate::shared("video/comyco")?).unwrap())
}

#[test]
fn the_real_tables_are_what_is_known_of_them() {
    let Some(corpus) = real() else { return };
    let s = CorpusStatistics::of(&corpus, Metric::Vmaf).unwrap();
    assert_eq!(s.videos.len(), 56);
    assert_eq!(56 - s.at_least(50), 23);
    assert_eq!(s.at_least(75), 12);
    let mended: Vec<(&str, usize, usize)> = s
        .videos
        .iter()
        .filter(|v| v.traps.interpolated_values > 0)
        .map(|v| (v.name.as_str(), v.traps.interpolated_chunks, v.traps.interpolated_values))
        .collect();
    assert_eq!(mended, [("movies_0", 1, 6), ("musics_17", 1, 3), ("musics_19", 1, 6)]);
    assert_eq!(s.videos.iter().filter(|v| v.traps.dropped_chunks == 1).count(), 32);
    assert!(s.videos.iter().all(|v| v.rate_bps.len() == 9 && v.traps.dropped_chunks <= 1));
    assert!(s.videos.iter().all(|v| v.traps.unknown_keys.is_empty()));

    let top = |m| s.videos.iter().filter(|v| v.constant.contains(&(m, 8))).count();
    assert_eq!((top(Metric::VmafPhone), top(Metric::Vmaf4k), top(Metric::Vmaf)), (56, 51, 0));
    let chunks: f64 = s.videos.iter().map(|v| v.chunks as f64).sum();
    let falling: f64 = s.videos.iter().map(|v| v.not_monotone * v.chunks as f64).sum();
    assert!((falling / chunks - 0.21).abs() < 0.01, "{}", falling / chunks);
}

#[test]
fn the_real_tables_spread_as_the_constants_say() {
    let Some(corpus) = real() else { return };
    let s = CorpusStatistics::of(&corpus, Metric::Vmaf).unwrap();
    for (spread, real) in s.spread.iter().zip(&airlane_media::statistics::REAL) {
        assert!(spread.quartiles_are_real(real) && spread.adjacent_is_real(real), "{spread:?}");
        let near = |a: f64, b: f64| assert!((a - b).abs() < 2.0, "{spread:?} {real:?}");
        near(spread.quality.lower, real.vmaf.lower);
        near(spread.quality.median, real.vmaf.median);
        near(spread.quality.upper, real.vmaf.upper);
    }
    let curves = corpus.videos().map(|v| v.mean_curve(Metric::Vmaf).unwrap());
    for (curve, v) in curves.zip(corpus.videos()) {
        assert_eq!(curve.points().len(), 9, "{}", v.name);
        let raised = (0..9).any(|r| {
            (curve.eval(v.mean_rate_bps(r)) - v.mean_quality(Metric::Vmaf, r).unwrap()).abs() > 1e-6
        });
        assert!(!raised, "{}: the mean curve is monotone as measured", v.name);
    }
}
