//! Tables of layers: both formats, what is wrong with them, and single layers.

use std::fs;

use airlane_media::layers::{Layer, LayerContent, LayeredVideo};

use crate::shared;

const QUALITY: &str = "2 2\n\
    100 0 0 300 50 8.0\n100 0 1 200 100 10.0\n100 1 0 100 50 8.5\n100 1 1 100 100 10.5\n\
    200 0 0 500 100 9.0\n200 0 1 500 200 12.0\n200 1 0 300 100 9.5\n200 1 1 200 200 12.5\n";
const TEMPORAL: &str = "4\n0 1000 14.0\n1 500 14.5\n2 700 14.2\n3 400 14.4\n4 900 14.1\n";

/// The clips of a folder with these files, or what is wrong with it.
fn read(files: &[(&str, &str)]) -> Result<LayerContent, String> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let folder = format!("{}/", dir.path().display());
    LayerContent::load_dir(dir.path()).map_err(|e| e.to_string().replace(&folder, ""))
}

#[test]
fn recorded_files_of_a_name_are_one_clip() {
    let files =
        [("a-quality.trace", QUALITY), ("a-temp.trace", TEMPORAL), ("notes.txt", "not a table")];
    let content = read(&files).unwrap();
    let [clip] = content.videos.as_slice() else { panic!("{content:?}") };
    assert_eq!((clip.name.as_str(), clip.fps, clip.derived), ("a", 30.0, true));
    let quality = clip.quality.as_ref().unwrap();
    assert_eq!((quality.gop, quality.layers, quality.encodings.len()), (2, 2, 2));
    assert_eq!(quality.encodings[0].frames[1][1], Layer { bytes: 100, ssim_db: 10.5 });
    // 400 and 700 bytes in two frames at 30 a second.
    assert_eq!(quality.encodings[0].layer_bps, [48_000.0, 84_000.0]);
    let temporal = clip.temporal.as_ref().unwrap();
    assert_eq!((temporal.gop, temporal.frames.len(), temporal.has_quality), (4, 5, true));
}

#[test]
fn a_single_layer_costs_less_and_has_no_key_frames_unless_asked() {
    let content = read(&[("a-quality.trace", QUALITY), ("a-temp.trace", TEMPORAL)]).unwrap();
    let clip = &content.videos[0];
    let single = clip.single.as_ref().unwrap();
    // All bytes of a GoP, less what layers cost, evenly.
    let frames = &single.encodings[0].frames;
    assert_eq!((frames[0].bytes, frames[1].bytes), (300, 300));
    assert_eq!((frames[0].key_bytes, frames[1].key_bytes), (429, 429));
    assert_eq!(frames[1].ssim_db, 10.5);
    let fixed = clip.single_quantiser.as_ref().unwrap();
    assert_eq!((fixed.frames[1].bytes, fixed.frames[1].key_bytes), (429, 858));
    // As large as all layers together, if layers cost nothing.
    let layered = clip.with_layered_sizes();
    let frames = &layered.single.as_ref().unwrap().encodings[0].frames;
    assert_eq!((frames[0].bytes, frames[0].key_bytes), (350, 500));
    assert_eq!(layered.single_quantiser.unwrap().frames[1].bytes, 500);
    // Between two encodings, and beyond them.
    let (low, high) = (single.encodings[0].bps, single.encodings[1].bps);
    let middle = single.frame(3, (low + high) / 2.0);
    assert_eq!(middle.ssim_db, 11.5);
    assert_eq!(single.frame(0, 10.0 * high), single.frame(2, high));
    let half = single.frame(1, low / 2.0);
    assert_eq!((half.bytes, (half.ssim_db * 10.0).round()), (150, 75.0));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let wrong = |from: &str, to: &str| {
        read(&[("a-quality.trace", &QUALITY.replace(from, to))]).unwrap_err()
    };
    assert_eq!(
        wrong("100 0 1 200 100 10.0", "100 0 1 200 100"),
        "a-quality.trace:3: found \"100 0 1 200 100\"; expected rate, frame, layer, bytes, cumulative rate and SSIM"
    );
    assert_eq!(
        wrong("100 1 0 100 50 8.5\n", ""),
        "a-quality.trace:4: found frame 1, layer 1; expected the next layer, or the next frame"
    );
    assert!(wrong("2 2\n", "0 2\n").starts_with("a-quality.trace:1: found \"0 2\""));
    assert!(wrong(" 500 200 12.0", " 0 200 12.0").starts_with("a-quality.trace:7: found 0 bytes"));
    assert!(wrong("200 1 1 200 200 12.5\n", "").contains("expected all layers of every frame"));
    let none = read(&[("notes.txt", "")]).unwrap_err();
    assert!(none.contains("no table of layers in this folder"), "{none}");
    let temporal = read(&[("a-temp.trace", &TEMPORAL.replace("2 700", "3 700"))]).unwrap_err();
    assert_eq!(temporal, "a-temp.trace:4: found frame 3; expected frame 2");
    let json = read(&[("a.json", "{\"format\": \"airlane-layers\", \"version\": 2}")]).unwrap_err();
    assert!(json.contains("version"), "{json}");
}

#[test]
fn a_column_that_stands_for_another_is_mended() {
    // The second of three encodings has the first one's top layer.
    let mut text = String::from("1 1\n");
    for (rate, ssim) in [(100, [8.0, 9.0]), (200, [8.0, 9.0]), (400, [14.0, 15.0])] {
        for (frame, ssim) in ssim.iter().enumerate() {
            text += &format!("{rate} {frame} 0 {} {rate} {ssim}\n", rate * 10);
        }
    }
    let content = read(&[("a-quality.trace", &text)]).unwrap();
    let quality = content.videos[0].quality.as_ref().unwrap();
    let top =
        |e: usize| quality.encodings[e].frames.iter().map(|f| f[0].ssim_db).collect::<Vec<_>>();
    assert_eq!((top(0), top(1), top(2)), (vec![8.0, 9.0], vec![11.0, 12.0], vec![14.0, 15.0]));
}

/// The mean SSIM of a layer of every encoding.
fn means(clip: &LayeredVideo, layer: usize) -> Vec<f64> {
    let quality = clip.quality.as_ref().unwrap();
    let mean = |frames: &Vec<Vec<Layer>>| {
        frames.iter().map(|f| f[layer].ssim_db).sum::<f64>() / frames.len() as f64
    };
    quality.encodings.iter().map(|e| mean(&e.frames)).collect()
}

#[test]
fn the_recorded_clips_are_read_and_their_traps_seen() {
    let Some(dir) = shared("video/octopus") else { return };
    let content = LayerContent::load_dir(dir).unwrap();
    let names: Vec<&str> = content.videos.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["mot17-10", "mot17-11", "mot20-02"]);
    for clip in &content.videos {
        for layer in 0..3 {
            let means = means(clip, layer);
            assert!(
                means.windows(2).all(|w| w[0] < w[1]),
                "{}, layer {layer}: {means:?}",
                clip.name
            );
        }
        let usable = clip.temporal.as_ref().unwrap().has_quality;
        assert_eq!(usable, clip.name != "mot20-02");
    }
}

#[test]
fn the_embedded_clips_are_whole() {
    let content = LayerContent::embedded().unwrap();
    for clip in &content.videos {
        let quality = clip.quality.as_ref().unwrap();
        assert_eq!((quality.gop, quality.layers, quality.encodings.len()), (10, 3, 10));
        assert!(clip.temporal.is_some() && clip.single.is_some() && !clip.derived);
        for layer in 0..3 {
            let means = means(clip, layer);
            assert!(
                means.windows(2).all(|w| w[0] < w[1]),
                "{}, layer {layer}: {means:?}",
                clip.name
            );
        }
    }
}
