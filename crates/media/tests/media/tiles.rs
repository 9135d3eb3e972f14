//! Tables of tiles: our own format, sizes of the 360-Video-DASH data set, and the model between.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use airlane_media::tiles::{Distortion, Tile, TileLevel, model, parse, to_json};
use airlane_media::{TileContent, TiledVideo};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Two GoPs of 3x2 tiles with 4 levels: a tile `busy` times the mean has sizes and distortions on
/// power laws that are known.
fn video() -> TiledVideo {
    let tile = |gop: usize, number: usize| {
        let busy = (1.0 + number as f64) * (1.0 + gop as f64 / 2.0);
        let level = |level: i32| TileLevel {
            bytes: (1e6 * busy * 2f64.powi(level)) as u64,
            mse: 80.0 * busy.powf(0.5) * 2f64.powf(-0.75 * f64::from(level)),
        };
        Tile {
            levels: (0..4).map(level).collect(),
            change_mse: 100.0 * busy,
            grey_mse: 2000.0 * busy.powf(0.25),
        }
    };
    TiledVideo {
        name: "lake".into(),
        title: "A lake".into(),
        source: "made up".into(),
        columns: 3,
        rows: 2,
        gop: Duration::from_secs(1),
        levels: ["a", "b", "c", "d"].map(str::to_owned).into(),
        distortion: Distortion::Measured,
        gops: (0..2).map(|gop| (0..6).map(|number| tile(gop, number)).collect()).collect(),
    }
}

/// The error of the table above after an edit.
fn error(edit: impl Fn(&mut Value)) -> String {
    let mut table: Value = serde_json::from_str(&to_json(&video())).unwrap();
    edit(&mut table);
    parse(table.to_string().as_bytes(), "file").unwrap_err().to_string()
}

#[test]
fn what_is_written_is_read_back_bit_for_bit() {
    let video = video();
    let read = parse(to_json(&video).as_bytes(), "file").unwrap();
    assert_eq!(read, video);
    assert_eq!(read.content_hash(), video.content_hash());
    assert_eq!(read.gop(5), &read.gops[1][..]);
    let bytes: u64 = video.gops.iter().flatten().map(|tile| tile.levels[2].bytes).sum();
    assert!((video.rate_bps(2) - bytes as f64 * 4.0).abs() < 1.0);
}

#[test]
fn every_size_and_distortion_is_in_the_hash() {
    let base = video();
    let mut others = Vec::new();
    for edit in [
        |tile: &mut Tile| tile.levels[0].bytes += 1,
        |tile: &mut Tile| tile.levels[3].mse += 1.0,
        |tile: &mut Tile| tile.change_mse += 1.0,
        |tile: &mut Tile| tile.grey_mse += 1.0,
    ] {
        let mut other = base.clone();
        edit(&mut other.gops[1][4]);
        others.push(other.content_hash());
    }
    others.push(base.content_hash());
    others.sort_unstable();
    others.dedup();
    assert_eq!(others.len(), 5);
}

#[test]
fn errors_name_the_key() {
    for (edit, expected) in [
        (
            (|t| t["version"] = json!(2)) as fn(&mut Value),
            "version: 2; expected 1, the version that this airlane reads",
        ),
        (
            |t| drop(t.as_object_mut().unwrap().remove("gop_s")),
            "gop_s: missing; every table needs it, see docs/reference/tile-tables.md",
        ),
        (|t| t["gop_s"] = json!(-1), "gop_s: -1; expected the seconds of a GoP, such as 1"),
        (|t| t["gop_s"] = json!(61), "gop_s: 61; expected 0.001 to 60"),
        (|t| t["columns"] = json!(65), "columns: 65; expected a whole number from 1 to 64"),
        (
            |t| t["video"] = json!("a/b"),
            "video: \"a/b\"; expected letters and digits of any script, '.', '_' and '-', at most 200 bytes: \
             it becomes part of URLs and paths",
        ),
        (|t| t["gops"] = json!([]), "gops: a list of 0 items; expected 1 to 10000 GoPs"),
        (
            |t| drop(t["gops"][1]["bytes"].as_array_mut().unwrap().pop()),
            "gops[1].bytes: a list of 5 items; expected a list of 6 items",
        ),
        (
            |t| drop(t["gops"][1]["mse"][3].as_array_mut().unwrap().pop()),
            "gops[1].mse[3]: a list of 3 items; expected a list of 4 items",
        ),
        (
            |t| t["gops"][0]["bytes"][2][1] = json!(0),
            "gops[0].bytes[2][1]: 0; expected the bytes of a tile, a whole number from 1 to \
             1099511627776",
        ),
        (
            |t| t["gops"][0]["grey_mse"][5] = json!(-0.5),
            "gops[0].grey_mse[5]: -0.5; expected a mean squared error, a number from 0 to 65025",
        ),
    ] {
        assert_eq!(error(edit), expected);
    }
    let swapped = error(|t| {
        for gop in t["gops"].as_array_mut().unwrap() {
            for tile in gop["bytes"].as_array_mut().unwrap() {
                tile.as_array_mut().unwrap().swap(1, 2);
            }
        }
    });
    assert!(swapped.starts_with("levels[2]: a mean of "), "{swapped}");
    assert_eq!(
        parse(b"{\n\"a\" 1}", "file").unwrap_err().to_string(),
        "line 2: not valid JSON: expected `:`; expected a table of tiles"
    );
    assert_eq!(
        parse(b"{\"a\": 1}", "file").unwrap_err().to_string(),
        "neither \"format\" nor a tiling such as \"8x5\" is there; expected a table of the format \
         \"airlane-tiles\" or tile sizes, see docs/reference/tile-tables.md"
    );
}

/// A file of sizes: tilings 2x1 and 1x1, two segment lengths, two rates. Segment s of tile t at the
/// rate r has `1000 r + 100 t + s` bytes; the second tile has a last segment more.
fn sizes() -> Value {
    let track = |rate: u64, tile: u64| -> Value {
        let segments = (1..=2 + tile).map(|s| (s.to_string(), json!(1000 * rate + 100 * tile + s)));
        Value::Object(segments.collect())
    };
    let tracks = |rate: u64, tiles: u64| -> Value {
        let mut all = serde_json::Map::new();
        all.insert("1".into(), json!({"1": 7}));
        (0..tiles).for_each(|tile| drop(all.insert((tile + 2).to_string(), track(rate, tile))));
        Value::Object(all)
    };
    let rates = |tiles: u64| json!({"9000": tracks(2, tiles), "10000": tracks(3, tiles)});
    json!({
        "1x1": {"1000": rates(1)},
        "2x1": {"4000": {"1": {}}, "1000": rates(2)},
    })
}

#[test]
fn sizes_are_those_of_the_finest_tiling_and_of_a_second() {
    let video = parse(sizes().to_string().as_bytes(), "clip").unwrap();
    assert_eq!((video.name.as_str(), video.columns, video.rows), ("clip", 2, 1));
    assert_eq!((video.gop, video.distortion), (Duration::from_secs(1), Distortion::Modelled));
    assert_eq!(video.levels, ["9000bps", "10000bps"]);
    let bytes: Vec<Vec<Vec<u64>>> = video
        .gops
        .iter()
        .map(|tiles| {
            tiles.iter().map(|tile| tile.levels.iter().map(|level| level.bytes).collect()).collect()
        })
        .collect();
    let expected: [[[u64; 2]; 2]; 2] = [[[2001, 3001], [2101, 3101]], [[2002, 3002], [2102, 3102]]];
    assert_eq!(bytes, expected);
    for tile in video.gops.iter().flatten() {
        assert!(tile.levels[1].mse < tile.levels[0].mse, "{tile:?}");
        assert!(tile.levels[0].mse < tile.change_mse, "{tile:?}");
    }
}

#[test]
fn errors_of_sizes_name_the_key() {
    let error = |edit: fn(&mut Value)| {
        let mut table = sizes();
        edit(&mut table);
        parse(table.to_string().as_bytes(), "clip").unwrap_err().to_string()
    };
    assert_eq!(
        error(|t| drop(t["2x1"]["1000"]["9000"].as_object_mut().unwrap().remove("3"))),
        "2x1.1000.9000.3: missing; every table needs it, see docs/reference/tile-tables.md"
    );
    assert_eq!(
        error(|t| t["2x1"]["1000"]["fast"] = json!({})),
        "2x1.1000: the key \"fast\"; expected a target rate in bits/s"
    );
    assert_eq!(
        error(|t| t["2x1"]["1000"]["9000"]["2"] = json!({})),
        "2x1.1000.9000.2: an object; expected the segments of a tile"
    );
    assert_eq!(
        error(|t| t["2x1"]["1000"]["9000"]["2"]["2"] = json!("x")),
        "2x1.1000.9000.2.2: \"x\"; expected a whole number from 1 to 1099511627776"
    );
}

#[test]
fn the_fit_finds_the_power_laws_that_made_a_video() {
    let found = model::fit([&video()].into_iter());
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-3, "{a} is not {b}");
    near(found.slope, 0.75);
    near(found.coded.busy, 0.5);
    near(found.change.busy, 1.0);
    near(found.grey.busy, 0.25);
    near(found.coded.spread, 0.0);
    // The mean logarithm of how busy a tile is: what `level` is relative to.
    let busy = |gop: f64, number: f64| ((1.0 + number) * (1.0 + gop / 2.0)).ln();
    let all = (0..12).map(|n| busy(f64::from(n / 6), f64::from(n % 6)));
    let mean = all.sum::<f64>() / 12.0;
    near(found.grey.level, 2000f64.ln() + 0.25 * mean);
    near(found.change.level, 100f64.ln() + mean);
}

#[test]
fn the_embedded_videos_are_sound_or_said_to_be_missing() {
    let content = match TileContent::embedded() {
        Ok(content) => content,
        Err(e) => {
            assert_eq!(
                e.to_string(),
                "this build has no tables of tiles (corpus/tiles was empty); name a folder with \
                 --content DIR, or make the tables and build again"
            );
            return;
        }
    };
    for video in &content.videos {
        assert_eq!((video.columns, video.rows, video.gop), (12, 8, Duration::from_secs(1)));
        assert_eq!(video.distortion, Distortion::Measured);
        // A better quantiser: more bytes and less error, for the panorama of each GoP. Single tiles
        // have levels that are not worth having.
        for tiles in &video.gops {
            for level in 1..video.levels.len() {
                let total = |level: usize| -> (u64, f64) {
                    let at = tiles.iter().map(|tile| tile.levels[level]);
                    at.fold((0, 0.0), |(bytes, mse), at| (bytes + at.bytes, mse + at.mse))
                };
                let (before, now) = (total(level - 1), total(level));
                assert!(now.0 > before.0 && now.1 < before.1, "{}: {now:?}", video.name);
            }
        }
    }
    // The constants of the model are what the fit gives for these videos, to the digits that they
    // are written with.
    let (fitted, found) = (model::FITTED, model::fit(content.videos.iter().map(|video| &**video)));
    let near = |a: f64, b: f64| assert!((a - b).abs() < 0.005, "{a} is not {b}: {found:?}");
    near(fitted.slope, found.slope);
    for (fitted, found) in
        [(fitted.coded, found.coded), (fitted.change, found.change), (fitted.grey, found.grey)]
    {
        near(fitted.level, found.level);
        near(fitted.busy, found.busy);
        near(fitted.spread, found.spread);
    }
}

#[test]
fn folders_hold_videos_in_the_order_of_their_files() {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tiles");
    if dir.exists() {
        fs::remove_dir_all(&dir).unwrap();
    }
    fs::create_dir_all(&dir).unwrap();
    let message = || TileContent::load_dir(&dir).unwrap_err().to_string();
    assert_eq!(
        message(),
        format!(
            "{}: no table of tiles in this folder; expected *.json or *.json.gz, see \
             docs/reference/tile-tables.md",
            dir.display()
        )
    );
    fs::write(dir.join("b.json"), to_json(&video())).unwrap();
    fs::write(dir.join("clip.json"), sizes().to_string()).unwrap();
    fs::write(dir.join("notes.txt"), "no table").unwrap();
    let content = TileContent::load_dir(&dir).unwrap();
    let names: Vec<&str> = content.videos.iter().map(|video| video.name.as_str()).collect();
    assert_eq!(names, ["lake", "clip"]);
    assert!(content.video("clip").is_some() && content.video("b").is_none());
    fs::write(dir.join("a.json"), to_json(&video())).unwrap();
    let (a, b) = (dir.join("a.json"), dir.join("b.json"));
    assert_eq!(
        message(),
        format!(
            "{}: video: \"lake\" is the name of {} too; expected every video of a folder to have a \
             name of its own",
            b.display(),
            a.display()
        )
    );
}

/// The real sizes: every file is read, and rates are near the targets that name the levels.
#[test]
fn the_real_sizes_are_read() {
    let Some(dir) = crate::shared("vr360/tile-sizes") else { return };
    let content = TileContent::load_dir(&dir).unwrap();
    assert_eq!(content.videos.len(), 6);
    for video in &content.videos {
        assert_eq!((video.columns, video.rows, video.gops.len()), (8, 5, 60), "{}", video.name);
        for (level, name) in video.levels.iter().enumerate() {
            let target: f64 = name.strip_suffix("bps").unwrap().parse().unwrap();
            let ratio = video.rate_bps(level) / target;
            assert!((0.9..1.15).contains(&ratio), "{} {name}: {ratio}", video.name);
        }
    }
}

proptest! {
    /// A byte that is changed, in either format: an error or a video that is sound.
    #[test]
    fn damage_is_survived(at: usize, byte: u8) {
        for table in [to_json(&video()), sizes().to_string()] {
            let mut bytes = table.into_bytes();
            let length = bytes.len();
            bytes[at % length] = byte;
            if let Ok(video) = parse(&bytes, "file") {
                prop_assert!(video.check().is_ok());
            }
        }
    }
}
