//! Recorded heads: small files of both formats, their faults, and the real ones.

use std::time::Duration;

use airlane_media::heads::{HeadSample, Recording, load_dir, parse};
use proptest::prelude::*;
use serde_json::{Value, json};

fn sample(at_ms: u64, yaw_deg: f64, pitch_deg: f64, roll_deg: f64) -> HeadSample {
    HeadSample { at: Duration::from_millis(at_ms), yaw_deg, pitch_deg, roll_deg }
}

fn avtrack() -> Value {
    json!({"data": [{
        "filename": "2.mp4", "hmd": "vive",
        "pitch_yaw_roll_data_hmd": [
            {"sec": 0.25, "pitch": -13, "yaw": -7, "roll": 2},
            {"sec": 0.25, "pitch": -14, "yaw": -8, "roll": 2},
            {"sec": 0.5, "pitch": 10.5, "yaw": 179, "roll": -1},
        ],
    }]})
}

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn error(bytes: &[u8]) -> String {
    parse(bytes, "subject_02.json").unwrap_err().to_string()
}

#[test]
fn pitch_of_avtrack_points_up_and_a_time_comes_once() {
    let found = parse(avtrack().to_string().as_bytes(), "subject_02.json.gz").unwrap();
    let samples = vec![sample(250, -7.0, 13.0, 2.0), sample(500, 179.0, -10.5, -1.0)];
    let expected = Recording { title: "2.mp4".into(), viewer: "subject_02".into(), samples };
    assert_eq!(found, [expected]);
}

#[test]
fn longitude_and_latitude_of_dragonfly_become_yaw_and_pitch() {
    let bytes = archive(&[
        ("vid4_uid3_vp_corr_per_frame.txt", "180,90\n0.0,180.0\n\n"),
        ("traces/vid4_uid11_vp_corr_per_frame.txt", "350.5,80.25\n"),
    ]);
    let found = parse(&bytes, "vid4_20users.tar").unwrap();
    let of =
        |viewer: &str, samples| Recording { title: "vid4".into(), viewer: viewer.into(), samples };
    assert_eq!(
        found,
        [
            of("uid3", vec![sample(0, 0.0, 0.0, 0.0), sample(40, -180.0, 90.0, 0.0)]),
            of("uid11", vec![sample(0, 170.5, -9.75, 0.0)]),
        ]
    );
}

#[test]
fn faults_are_named() {
    let edited = |edit: fn(&mut Value)| {
        let mut table = avtrack();
        edit(&mut table["data"][0]);
        error(table.to_string().as_bytes())
    };
    assert_eq!(
        edited(|v| v["pitch_yaw_roll_data_hmd"][2]["yaw"] = json!(1e9)),
        "data[0].pitch_yaw_roll_data_hmd[2].yaw: 1000000000.0; expected an angle in degrees"
    );
    assert_eq!(
        edited(|v| v["pitch_yaw_roll_data_hmd"][0]["sec"] = json!(-1)),
        "data[0].pitch_yaw_roll_data_hmd[0].sec: -1; expected the seconds since the video began"
    );
    assert_eq!(
        edited(|v| v["pitch_yaw_roll_data_hmd"] = json!([])),
        "data[0].pitch_yaw_roll_data_hmd: a list of 0 items; expected at least one sample"
    );
    assert_eq!(
        edited(|v| drop(v.as_object_mut().unwrap().remove("filename"))),
        "data[0].filename: missing; every table needs it, see docs/reference/tile-tables.md"
    );
    let name = "vid4_uid3_vp_corr_per_frame.txt";
    assert_eq!(
        error(&archive(&[(name, "180,90\n361,90\n")])),
        format!(
            "line 2: {name}: \"361,90\"; expected longitude (0 to 360) and latitude (0 to 180): \
             181.5,92"
        )
    );
    assert_eq!(
        error(&archive(&[(name, "")])),
        format!("{name}: an empty file; expected a line per video frame")
    );
    assert_eq!(
        error(&archive(&[("notes.txt", "1,2")])),
        "notes.txt: a file of another name; expected vidN_uidN_... in the archive"
    );
    assert!(error(b"some text").starts_with("not a tar archive: "), "{}", error(b"some text"));
    assert_eq!(error(b""), "an archive without files; expected a file per viewer");
}

#[test]
fn the_real_recordings_are_read() {
    for (folder, titles, viewers, rate) in
        [("vr360/head-avtrack360", 20, 32, 10.0), ("vr360/viewport-dragonfly", 6, 20, 25.0)]
    {
        let Some(dir) = crate::shared(folder) else { return };
        let all = load_dir(&dir).unwrap();
        assert_eq!(all.len(), titles, "{folder}");
        for (title, recordings) in &all {
            assert_eq!(recordings.len(), viewers, "{folder}: {title}");
            for Recording { viewer, samples, .. } in recordings {
                let seconds = samples.last().unwrap().at.as_secs_f64();
                let found = samples.len() as f64 / seconds;
                assert!((found / rate - 1.0).abs() < 0.1, "{title}, {viewer}: {found} per second");
            }
        }
    }
}

proptest! {
    /// A byte that is changed, in either format: an error or recordings that are sound.
    #[test]
    fn damage_is_survived(at in 0usize..2000, byte: u8) {
        let tar = archive(&[("vid4_uid3_x.txt", "180,90\n0.0,180.0\n")]);
        for mut bytes in [avtrack().to_string().into_bytes(), tar] {
            let length = bytes.len();
            bytes[at % length] = byte;
            for recording in parse(&bytes, "subject").unwrap_or_default() {
                prop_assert!(!recording.samples.is_empty());
                prop_assert!(recording.samples.windows(2).all(|pair| pair[0].at < pair[1].at));
            }
        }
    }
}
