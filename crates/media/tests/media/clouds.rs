//! Tables of point clouds: both formats, and what is wrong with them.

use std::fs;

use airlane_media::clouds::CloudTable;
use airlane_media::layers::LayerContent;

use crate::shared;

/// A clip of one frame, one front cell and two layers.
const SMALL: &str = r#"{"format": "airlane-clouds", "version": 1, "video": "small", "fps": 20,
"fronts": 1, "layers": 2,
"pairs": [{"share": 1, "ssim": [[0.0, 0.1, 0.2], [0.5, 0.6, 0.6], [0.8, 0.85, 0.9]]}],
"layer_bytes": [[[100, 110], [90, 95]]],
"whole_bytes": [[[100, 190], [90, 170]]]}"#;

/// The clips of a folder with this file, or what is wrong with it.
fn read(name: &str, text: &str) -> Result<LayerContent, String> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(name), text).unwrap();
    let folder = format!("{}/", dir.path().display());
    LayerContent::load_dir(dir.path()).map_err(|e| e.to_string().replace(&folder, ""))
}

fn table(content: &LayerContent, name: &str) -> CloudTable {
    content.videos[content.find(name).unwrap()].clouds.clone().unwrap()
}

/// A recorded clip whose layers have so many bytes each.
fn recorded(frames: u32, bytes: impl Fn(u32, u32, u32) -> u32) -> String {
    let mut text = format!("10 2 {frames}\n");
    for frame in 0..frames {
        for layer in 0..10 {
            for cell in 0..2 {
                let bytes = bytes(frame, layer, cell);
                text += &format!("{frame} {layer} {cell} {bytes} 1000\n");
            }
        }
    }
    text
}

#[test]
fn a_picture_is_as_good_as_the_layers_of_its_cells() {
    let content = read("small.json", SMALL).unwrap();
    assert_eq!(content.videos[0].fps, 20.0);
    let small = table(&content, "small");
    assert_eq!((small.fronts(), small.layers, small.derived), (1, 2, false));
    assert_eq!(small.frame(7).layer_bytes, [[100, 110], [90, 95]]);
    assert!((small.ssim_db(&[2, 2]) - 10.0).abs() < 1e-9);
    assert!((small.ssim_db(&[1, 0]) - 3.0103).abs() < 1e-4);
    assert_eq!(small.ssim_db(&[0, 0]), 0.0);
    // Whole cells at a density each; none at all.
    assert_eq!(small.whole_bytes(0, 2, 1), 280);
    assert_eq!(small.whole_bytes(3, 1, 0), 100);
}

#[test]
fn recorded_layers_are_those_of_front_cells_and_of_cells_behind() {
    let text = recorded(3, |frame, layer, cell| 1000 * (frame + 1) + 10 * layer + cell);
    let content = read("dance.trace", &text).unwrap();
    let clip = &content.videos[0];
    assert_eq!((clip.name.as_str(), clip.fps), ("dance", 20.0));
    let dance = table(&content, "dance");
    assert_eq!((dance.fronts(), dance.layers, dance.frames.len()), (2, 5, 3));
    assert!(dance.derived);
    let cells = &dance.frames[0].layer_bytes;
    assert_eq!(cells[1], [1001, 1011, 1021, 1031, 1041]);
    assert_eq!(cells[2], [1050, 1060, 1070, 1080, 1090]);
    // Whole, a cell of one layer is that layer; more of them cost 11 % less.
    assert_eq!(dance.frames[0].whole_bytes[1][..2], [1001, 1813]);
    let better = [[1, 0], [3, 0], [5, 0], [5, 5]].map(|[f, b]| dance.ssim_db(&[f, f, b, b]));
    assert!(better.is_sorted(), "{better:?}");
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let wrong = |from: &str, to: &str| read("a.json", &SMALL.replace(from, to)).unwrap_err();
    assert!(wrong("[0.5, 0.6, 0.6], ", "").contains("pairs[0].ssim"));
    assert!(wrong("0.85", "1.85").contains("pairs[0].ssim[2][1]"));
    assert!(wrong("\"share\": 1", "\"share\": 0.5").contains("shares that make 1"));
    assert!(wrong("[90, 95]", "[90]").contains("layer_bytes[0][1]"));
    assert!(wrong("[90, 95]", "[90, 0]").contains("layer_bytes[0][1][1]"));
    assert!(wrong("[[[100, 190], [90, 170]]]", "[]").contains("whole_bytes"));
    assert!(wrong("\"version\": 1", "\"version\": 2").contains("version"));
    assert!(wrong("airlane-clouds", "airlane-fogs").contains("\"airlane-layers\" or"));
    let good = recorded(2, |_, _, _| 500);
    let wrong = |from: &str, to: &str| read("a.trace", &good.replacen(from, to, 1)).unwrap_err();
    assert!(wrong("10 2 2", "10 3 2").starts_with("a.trace:1: found \"10 3 2\""));
    assert_eq!(
        wrong("0 1 0 500 1000\n", ""),
        "a.trace:4: found frame 0, layer 1, cell 1; expected frame 0, layer 1, cell 0"
    );
    assert!(wrong("0 0 1 500", "0 0 1 0").starts_with("a.trace:3: found 0 bytes"));
    assert!(wrong("0 0 1 500 1000", "0 0 1 500").starts_with("a.trace:3: found"));
    assert!(wrong("1 9 1 500 1000\n", "").contains("expected all layers of every frame"));
}

#[test]
fn the_clips_that_come_with_airlane_have_what_the_page_says() {
    let content = LayerContent::embedded().unwrap();
    for (name, mbps) in [("bust", 73.5), ("dancer", 135.7), ("players", 103.5)] {
        let clip = table(&content, name);
        assert_eq!((clip.fronts(), clip.layers, clip.frames.len()), (2, 5, 200), "{name}");
        let of = |cells: &Vec<Vec<u32>>| cells.iter().flatten().map(|b| f64::from(*b)).sum::<f64>();
        let layered: f64 = clip.frames.iter().map(|f| of(&f.layer_bytes)).sum();
        assert!((layered * 8.0 / 10.0 / 1e6 - mbps).abs() < 0.1, "{name}");
        let whole: f64 = (0..200).map(|n| f64::from(clip.whole_bytes(n, 5, 5))).sum();
        assert!((1.10..1.16).contains(&(layered / whole)), "{name}: {}", layered / whole);
        let most = clip.ssim_db(&[5, 5, 5, 5]);
        assert!(most > 10.0 && most > clip.ssim_db(&[1, 1, 0, 0]) + 7.0, "{name}");
    }
}

#[test]
fn the_recorded_clip_is_read() {
    let Some(folder) = shared("volumetric") else { return };
    let content = LayerContent::load_dir(folder).unwrap();
    let dance = table(&content, "dance");
    assert_eq!(dance.frames.len(), 200);
    assert_eq!(dance.frames[0].layer_bytes[0][..2], [37979, 37871]);
    assert_eq!(dance.frames[0].layer_bytes[2][0], 42412);
}
