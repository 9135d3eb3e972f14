//! Our own format: what is written comes back, and each fault has its message.

use std::io::Write;

use airlane_base::Seed;
use airlane_media::table::{parse, to_json, to_json_with};
use airlane_media::{Metric, Video, synthetic};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

const GOOD: &str = r#"{
"format": "airlane-chunks", "version": 1, "video": "talk", "chunk_s": 4.0,
"rungs": [
{"name": "240p", "width": 426, "height": 240, "nominal_bps": 300000,
 "size_bytes": [150000, 140000], "quality": {"vmaf": [50.5, 52], "psnr_db": [31, 32]}},
{"name": "720p", "width": 1280, "height": 720, "nominal_bps": 3000000,
 "size_bytes": [1500000, 1400000], "quality": {"vmaf": [90, 91.25], "psnr_db": [41, 42]}}
]}"#;

/// The message for the good table with `from` replaced by `to`.
fn error(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    parse(GOOD.replacen(from, to, 1).as_bytes()).unwrap_err().to_string()
}

#[test]
fn the_least_table_is_read_with_its_defaults() {
    let t = parse(GOOD.as_bytes()).unwrap();
    let v = &t.video;
    assert_eq!((v.name.as_str(), v.title.as_str(), v.character.as_str()), ("talk", "talk", ""));
    assert_eq!((v.chunks(), v.distinct_chunks, v.fps, v.chunk_s()), (2, 2, None, 4.0));
    assert_eq!(v.rungs[1].nominal.bps(), 3_000_000);
    assert_eq!(v.size_bytes(0, 1), 140_000);
    assert_eq!(v.quality(Metric::Vmaf, 1, 1), Some(91.25));
    assert_eq!(v.quality(Metric::Ssim, 1, 1), None);
    assert_eq!(v.mean_rate_bps(0), 290_000.0);
    assert_eq!(v.mean_curve(Metric::PsnrDb).unwrap().eval(290_000.0), 31.5);
    assert_eq!(t.traps, Default::default());
}

#[test]
fn what_is_written_comes_back_bit_for_bit_gzipped_or_not() {
    for video in synthetic::corpus(3, 40, Seed(5)) {
        let mut video = Video::clone(&video);
        video.fps = Some(30_000.0 / 1_001.0);
        video.chunk = std::time::Duration::from_nanos(2_002_000_000);
        video.title = "A \"title\", NaN, é".to_owned();
        let text = to_json(&video);
        let plain = parse(text.as_bytes()).unwrap();
        assert_eq!(plain.video, video);
        assert_eq!(plain.video.content_hash(), video.content_hash());
        let mut gz = GzEncoder::new(Vec::new(), Compression::default());
        gz.write_all(text.as_bytes()).unwrap();
        assert_eq!(parse(&gz.finish().unwrap()).unwrap(), plain);
    }
}

#[test]
fn how_a_table_was_made_is_written_and_left_alone() {
    let video = &synthetic::corpus(1, 3, Seed(5))[0];
    let text = to_json_with(video, &serde_json::json!({"by": "a test"}));
    assert!(text.contains("\"made\": {\"by\":\"a test\"}"), "{text}");
    assert_eq!(parse(text.as_bytes()), parse(to_json(video).as_bytes()));
}

#[test]
fn unknown_members_are_left_out_and_named() {
    let text = GOOD
        .replacen("\"version\"", "\"made\": {\"crf\": 3}, \"color\": 1, \"version\"", 1)
        .replacen("\"psnr_db\"", "\"vmaf_neg\": [1, 2], \"psnr_db\"", 1);
    let t = parse(text.as_bytes()).unwrap();
    assert_eq!(t.traps.unknown_keys, ["color", "rungs[0].quality.vmaf_neg"]);
    assert_eq!(t.video, parse(GOOD.as_bytes()).unwrap().video);
}

#[test]
fn each_fault_has_its_message() {
    for (from, to, message) in [
        (
            "\"video\": \"talk\"",
            "\"video\" \"talk\"",
            "line 2: not valid JSON: expected `:`; expected a chunk table",
        ),
        ("\"airlane-chunks\"", "\"chunks\"", "format: \"chunks\"; expected \"airlane-chunks\""),
        (
            "\"format\": \"airlane-chunks\",",
            "",
            "neither \"format\" nor \"representations\" is there; expected a table of the format \
             \"airlane-chunks\" or of the Comyco data set",
        ),
        (
            "\"version\": 1",
            "\"version\": 2",
            "version: 2; expected 1, the version that this airlane reads",
        ),
        (
            "\"video\": \"talk\", ",
            "",
            "video: missing; every table needs it, see docs/reference/chunk-tables.md",
        ),
        (
            "\"talk\"",
            "\"a/b\"",
            "video: the name is \"a/b\"; expected letters and digits of any script, '.', '_' and '-', at \
             most 200 bytes: it becomes part of URLs and paths",
        ),
        (
            "\"talk\"",
            "\"..\"",
            "video: the name is \"..\"; expected letters and digits of any script, '.', '_' and '-', at \
             most 200 bytes: it becomes part of URLs and paths",
        ),
        (
            "\"video\": \"talk\", ",
            "\"video\": \"talk\", \"video\": \"walk\", ",
            "line 2: not valid JSON: the member \"video\" is there twice; expected a chunk table",
        ),
        (
            "4.0",
            "0",
            "chunk_s: chunks of 0 s; expected a length between 0.001 and 3600 s, such as 4.0",
        ),
        ("4.0", "-4", "chunk_s: -4; expected the seconds of a chunk, such as 4.0"),
        ("4.0", "1e300", "chunk_s: 1e+300; expected the seconds of a chunk, such as 4.0"),
        ("4.0", "\"4\"", "chunk_s: \"4\"; expected a number"),
        (
            "4.0",
            "4.0, \"distinct_chunks\": 3",
            "distinct_chunks: 3 distinct chunks of 2; expected at least one and no more than \
             there are chunks",
        ),
        (
            "\"size_bytes\": [150000, 140000], ",
            "",
            "rungs[0].size_bytes: missing; every table needs it, see \
             docs/reference/chunk-tables.md",
        ),
        (
            "1500000, 1400000",
            "1500000, 0",
            "rungs[1].size_bytes[1]: 0; expected the bytes of a chunk, a whole number from 1 to \
             1099511627776",
        ),
        (
            "1500000, 1400000",
            "1500000, 1.5",
            "rungs[1].size_bytes[1]: 1.5; expected the bytes of a chunk, a whole number from 1 \
             to 1099511627776",
        ),
        (
            "1500000, 1400000",
            "1500000",
            "rungs[1].size_bytes: 1 values; expected 2, one per chunk, as in rungs[0].size_bytes",
        ),
        (
            "[90, 91.25]",
            "[90]",
            "rungs[1].quality.vmaf: 1 values; expected 2, one per chunk, as in \
             rungs[0].size_bytes",
        ),
        (
            "91.25",
            "NaN",
            "rungs[1].quality.vmaf[1]: NaN or null; expected a number: our tables have no gaps",
        ),
        ("91.25", "191.25", "rungs[1].quality.vmaf[1]: 191.25; expected a number from 0 to 100"),
        (
            "\"vmaf\": [90, 91.25], ",
            "",
            "rungs[1].quality: vmaf is missing; expected every rung to have the metrics of \
             rungs[0]",
        ),
        (
            "\"vmaf\": [50.5, 52], ",
            "",
            "rungs[1].quality.vmaf: vmaf is missing in rungs[0]; expected every rung to have the \
             same metrics",
        ),
        (
            "\"nominal_bps\": 3000000",
            "\"nominal_bps\": 300000",
            "rungs[1].nominal_bps: 300000 bit/s after 300000 bit/s; expected rungs in rising \
             order of their nominal rates",
        ),
        (
            "\"width\": 426",
            "\"width\": 0",
            "rungs[0].width: 0; expected a whole number from 1 to 65535",
        ),
    ] {
        assert_eq!(error(from, to), message);
    }
}

#[test]
fn a_ladder_has_two_rungs_and_a_metric() {
    let (head, rest) = GOOD.split_once("\n{\"name\": \"720p\"").unwrap();
    assert!(rest.ends_with("\n]}"));
    let one = format!("{}\n]}}", head.trim_end_matches(','));
    assert_eq!(
        parse(one.as_bytes()).unwrap_err().to_string(),
        "rungs: a ladder of 1 rungs; expected at least two, in rising order of their rates"
    );
    let bare = GOOD
        .replace("{\"vmaf\": [50.5, 52], \"psnr_db\": [31, 32]}", "{}")
        .replace("{\"vmaf\": [90, 91.25], \"psnr_db\": [41, 42]}", "{}");
    assert_eq!(
        parse(bare.as_bytes()).unwrap_err().to_string(),
        "rungs[0].quality: no quality was measured; expected at least one metric per rung, such \
         as vmaf"
    );
}

#[test]
fn what_is_no_text_is_refused() {
    let message = |bytes: &[u8]| parse(bytes).unwrap_err().to_string();
    assert_eq!(
        message(b"{\n\"a\": \"\xff\"}"),
        "line 2: bytes that are no UTF-8; expected a chunk table"
    );
    let mut gz = GzEncoder::new(Vec::new(), Compression::default());
    gz.write_all(GOOD.as_bytes()).unwrap();
    let whole = gz.finish().unwrap();
    assert!(message(&whole[..whole.len() / 2]).starts_with("not valid gzip: "));
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(&vec![b' '; 17 << 20]).unwrap();
    assert_eq!(message(&gz.finish().unwrap()), "more than 16 MiB of text; expected a chunk table");
    assert_eq!(message(b"[1]"), "a list of 1 items; expected an object in braces");
    assert!(message(b"").starts_with("line 1: not valid JSON: EOF while parsing"));
}

proptest! {
    #[test]
    fn a_damaged_table_is_refused_or_sound(
        cuts in prop::collection::vec((0..GOOD.len(), "[-0-9a-zN\\[\\]{}\",.:]{0,3}"), 1..4)
    ) {
        let mut text = GOOD.to_owned();
        for (at, what) in cuts {
            let at = at.min(text.len() - 1);
            text.replace_range(at..=at, &what);
        }
        if let Ok(t) = parse(text.as_bytes()) {
            prop_assert_eq!(t.video.check(), Ok(()));
        }
    }
}

#[test]
fn names_of_any_script_are_kept_and_underscores_of_older_tables_get_their_title() {
    let table = |name: &str, title: &str| {
        let rung = |name, bps| {
            format!(
                "{{\"name\": \"{name}\", \"width\": 160, \"height\": 90, \"nominal_bps\": {bps}, \
                 \"size_bytes\": [9000], \"quality\": {{\"ssim\": [0.9]}}}}"
            )
        };
        let rungs = format!("[{}, {}]", rung("a", 100_000), rung("b", 200_000));
        let text = format!(
            "{{\"format\": \"airlane-chunks\", \"version\": 1, \"video\": \"{name}\", \
             \"title\": \"{title}\", \"chunk_s\": 2.0, \"rungs\": {rungs}}}"
        );
        parse(text.as_bytes()).unwrap().video.name
    };
    assert_eq!(table("дом", "House"), "дом");
    assert_eq!(table("___", "кот"), "кот");
    assert_eq!(table("___", "my film"), "my_film");
    let marked = [b"\xef\xbb\xbf".as_slice(), b"{}"].concat();
    let said = parse(&marked).unwrap_err().to_string();
    assert!(said.contains("neither \"format\" nor"), "{said}");
}
