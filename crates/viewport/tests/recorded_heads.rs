//! Recorded heads: what others saw tells what one user sees.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use airlane_viewport::{
    Audience, FieldOfView, HeadTrace, Observation, Orientation, Sampling, Tiling,
};
use flate2::read::GzDecoder;
use serde::Deserialize;

#[derive(Deserialize)]
struct Record {
    data: Vec<Video>,
}

#[derive(Deserialize)]
struct Video {
    filename: String,
    pitch_yaw_roll_data_hmd: Vec<Sample>,
}

/// Degrees: yaw to the right, pitch down.
#[derive(Deserialize)]
struct Sample {
    sec: f64,
    pitch: f64,
    yaw: f64,
    roll: f64,
}

/// The folder of the recorded heads; `None`, with a word about it, where there is none.
fn folder() -> Option<PathBuf> {
    let root = std::env::var_os("AIRLANE_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
        PathBuf::from,
    );
    let heads = root.join("vr360/head-avtrack360");
    if heads.is_dir() {
        return Some(heads);
    }
    assert!(
        std::env::var("AIRLANE_STRICT").as_deref() != Ok("1"),
        "the shared data is missing and AIRLANE_STRICT=1 allows no skip"
    );
    println!("left out: the recorded heads (set AIRLANE_DATA)");
    None
}

/// The traces of all users, by video.
fn traces(folder: &PathBuf) -> BTreeMap<String, Vec<HeadTrace>> {
    let entries = std::fs::read_dir(folder).expect("the folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let mut videos: BTreeMap<String, Vec<HeadTrace>> = BTreeMap::new();
    for path in paths {
        let file = GzDecoder::new(File::open(&path).expect("a file"));
        let record: Record = serde_json::from_reader(file).expect("a record");
        for video in record.data {
            let mut samples: Vec<(Duration, Orientation)> = Vec::new();
            for Sample { sec, pitch, yaw, roll } in video.pitch_yaw_roll_data_hmd {
                let at = Duration::from_secs_f64(sec);
                if samples.last().is_none_or(|(before, _)| *before < at) {
                    samples.push((at, Orientation::from_degrees(yaw, -pitch, roll)));
                }
            }
            let trace = HeadTrace::new(samples).expect("a trace");
            videos.entry(video.filename).or_default().push(trace);
        }
    }
    videos
}

/// The tenth of the tiles that most others saw holds a good part of a user's own viewport: far more
/// than a tenth of the panorama, for any video on average and in each single one.
#[test]
fn others_tell_where_a_user_looks() {
    let Some(folder) = folder() else { return };
    let videos = traces(&folder);
    assert!(videos.len() >= 20, "{} videos", videos.len());
    let sampling = Sampling {
        tiling: Tiling::REFERENCE,
        field: FieldOfView::from_degrees(100.0, 90.0).unwrap(),
        gop: Duration::from_secs(1),
        moments: 2,
    };
    let mut means = Vec::new();
    for (name, traces) in &videos {
        let audience = Audience::new(traces, 20, &sampling);
        let mut sum = 0.0;
        for user in 0..audience.users() {
            for gop in 0..audience.gops() {
                let seen = audience.probabilities(gop, user, Observation::Share).unwrap();
                let mut tiles: Vec<usize> = (0..seen.len()).collect();
                tiles.sort_by(|&a, &b| seen[b].total_cmp(&seen[a]));
                let own = audience.viewport(user, gop);
                sum += tiles[..10].iter().map(|&tile| own[tile]).sum::<f64>();
            }
        }
        let mean = sum / (audience.users() * audience.gops()) as f64;
        println!("{name}: {mean:.3} of the viewport in the 10 likeliest of 96 tiles");
        means.push(mean);
    }
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    assert!(mean > 0.3, "{mean}");
    assert!(means.iter().all(|&mean| mean > 0.15), "{means:?}");
}
