//! Videos and titles that are not as one would think: what is left out or filled in is said.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::common::{FAST, clip, pictures, plain, quality, run, title};
use airlane_media::Metric;
use airlane_pack::{Event, MeasureReport, MeasureRequest, PackRequest, Speed, measure};

/// Small inputs that come with the project.
fn cases(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/vod").join(name)
}

fn request(video: &Path, dir: &Path) -> PackRequest {
    PackRequest {
        chunk: Duration::from_secs(2),
        speed: Speed::Fast,
        ..PackRequest::new(video, dir)
    }
}

/// Packs a video: its frames, and the warnings but for that of VMAF.
fn packed(video: &Path, dir: &Path) -> (u64, Vec<String>) {
    let (made, mut warnings) = run(&request(video, dir));
    let made = made.unwrap_or_else(|e| panic!("{}: {e}", video.display()));
    warnings.retain(|w| !w.contains("libvmaf"));
    let first = &title(dir).video[0];
    assert_eq!(made.duration, first.total());
    for other in title(dir).all() {
        let away = other.total().abs_diff(first.total());
        assert!(away < Duration::from_millis(2), "{}: {away:?}", other.id);
    }
    let fps = first.frame_rate.unwrap().as_f64();
    ((made.duration.as_secs_f64() * fps).round() as u64, warnings)
}

#[test]
fn videos_that_begin_late_pause_or_end_early_are_packed_whole() {
    let Some(ffmpeg) = plain() else { return };
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    let moving = |seconds| pictures("160x90", "25", seconds);
    let tone = "-f lavfi -i sine=d=3";
    // Pictures that begin 1.2 s after the sound, and a broadcast in two parts with clocks of their own.
    clip(&ffmpeg, &path("late.mkv"), &format!("{tone} -itsoffset 1.2 {} {FAST}", moving(2.0)));
    clip(&ffmpeg, &path("part.ts"), &format!("{} {FAST} -output_ts_offset 500", moving(2.0)));
    let part = fs::read(path("part.ts")).unwrap();
    clip(&ffmpeg, &path("next.ts"), &format!("{} {FAST}", moving(3.0)));
    fs::write(path("parts.ts"), [part, fs::read(path("next.ts")).unwrap()].concat()).unwrap();
    // 30000/1001 frames/s with a pause of a second in the clock of Matroska.
    let pause = "-vf setpts='round((N+gte(N,60)*30)*1001/30000/TB)' -fps_mode passthrough";
    let ntsc = pictures("160x90", "30000/1001", 4.0);
    clip(&ffmpeg, &path("pause.mkv"), &format!("{ntsc} {FAST} {pause}"));
    let ends = format!("{} -f lavfi -i sine=d=1.05 {FAST}", moving(1.0));
    clip(&ffmpeg, &path("even.mp4"), &ends);
    let case = |name: &str| cases("video").join(name);
    for (video, frames, words) in [
        (case("start10.mkv"), 100, &[][..]),
        (case("start10.mp4"), 100, &[]),
        (case("pts-jump-40s.ts"), 325, &["its times jump by 37.0 s"]),
        (case("pause-2s.mkv"), 200, &["no pictures come for 2.0 s from 4.0 s on"]),
        (case("one-picture-5s-sound.mp4"), 125, &["the sound is 5.0 s longer"]),
        (case("sound-longer.mp4"), 150, &["the sound is 4.0 s longer"]),
        (path("late.mkv"), 80, &["the pictures begin 1.2 s after the sound"]),
        (path("parts.ts"), 125, &["its times jump"]),
        (path("pause.mkv"), 150, &["no pictures come for 1.0 s from 2.0 s on"]),
        (path("even.mp4"), 25, &[]),
    ] {
        let name = video.file_name().unwrap().to_str().unwrap();
        let (found, warnings) = packed(&video, &path(&format!("{name}.out")));
        assert!(found.abs_diff(frames) <= 1, "{name}: {found} frames of {frames}");
        assert_eq!(warnings.len(), words.len(), "{name}: {warnings:?}");
        for (word, warning) in words.iter().zip(&warnings) {
            assert!(warning.contains(word), "{name}: {warning}");
        }
    }
    let rate = title(&path("pause.mkv.out")).video[0].frame_rate.unwrap();
    assert_eq!(rate.to_string(), "30000/1001");
}

#[test]
fn pictures_that_change_their_size_are_packed_at_the_first() {
    let Some(ffmpeg) = plain() else { return };
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    // Larger pictures after smaller ones, flagged as interlaced.
    let fields = "-flags +ilme+ildct -x264-params interlaced=1";
    clip(&ffmpeg, &path("a.ts"), &format!("{} {FAST} {fields}", pictures("160x96", "25", 2.0)));
    let later = format!("{} {FAST} {fields} -output_ts_offset 2", pictures("320x192", "25", 2.0));
    clip(&ffmpeg, &path("b.ts"), &later);
    let both = [fs::read(path("a.ts")).unwrap(), fs::read(path("b.ts")).unwrap()].concat();
    fs::write(path("grows.ts"), both).unwrap();
    for (video, frames, size) in
        [(cases("video/size-change.mp4"), 200, "128x72"), (path("grows.ts"), 100, "160x96")]
    {
        let name = video.file_name().unwrap().to_str().unwrap().to_owned();
        let dir = path(&format!("{name}.out"));
        let (found, warnings) = packed(&video, &dir);
        assert_eq!(found, frames, "{name}");
        let told = |w: &&String| w.contains("change their size") && w.contains(size);
        assert_eq!(warnings.iter().filter(told).count(), 1, "{name}: {warnings:?}");
        // What comes after the change is measured beside what it was.
        let table = quality(&dir);
        let last = table.quality(Metric::PsnrDb, 1, table.chunks() - 1).unwrap();
        assert!(last > 20.0, "{name}: {last} dB");
    }
}

#[test]
fn of_several_tracks_one_is_packed_and_the_others_are_named() {
    let Some(ffmpeg) = plain() else { return };
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    let (small, large) = (pictures("160x90", "25", 1.0), pictures("240x136", "25", 1.0));
    let tones = "-f lavfi -i sine=d=1 -f lavfi -i sine=f=880:d=1";
    let all = "-map 0 -map 1 -map 2 -map 3";
    let tracks = |marked: &str| format!("{small} {large} {tones} {all} {FAST} {marked}");
    let none = "-disposition:v:0 0 -disposition:v:1 0 -metadata:s:a:1 language=fre";
    clip(&ffmpeg, &path("largest.mkv"), &tracks(none));
    clip(&ffmpeg, &path("first.mkv"), &tracks("-disposition:v:0 default -disposition:v:1 0"));
    let cover = "-f lavfi -i color=red:s=600x600:d=0.04";
    let covered = "-map 0 -map 1 -c:v:0 mjpeg -pix_fmt:v:0 yuvj420p -c:v:1 libx264 -preset ultrafast \
                   -disposition:v:0 attached_pic";
    clip(&ffmpeg, &path("covered.mp4"), &format!("{cover} {small} {covered}"));
    for (name, height, words) in [
        ("largest.mkv", 136, &["track 1 (240x136) is packed", "left out: track 3 (fre)"][..]),
        ("first.mkv", 90, &["track 0 (160x90) is packed, left out: track 1", "2 audio tracks"]),
        ("covered.mp4", 90, &[]),
    ] {
        let dir = path(&format!("{name}.out"));
        let (frames, warnings) = packed(&path(name), &dir);
        assert!((25..=26).contains(&frames), "{name}: {frames}");
        assert_eq!(warnings.len(), words.len(), "{name}: {warnings:?}");
        assert_eq!(quality(&dir).rungs.last().unwrap().height, height, "{name}");
        for (word, warning) in words.iter().zip(&warnings) {
            assert!(warning.contains(word), "{name}: {warning}");
        }
    }
}

#[test]
fn what_is_encrypted_is_refused() {
    if plain().is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let (made, _) = run(&request(&cases("mpd/enc/v0.mp4"), &home.path().join("out")));
    let text = made.unwrap_err().to_string();
    assert!(text.contains("v0.mp4: its pictures are encrypted"), "{text}");
    let text = measured(home.path(), "enc/m.mpd", |text| text).unwrap_err();
    assert!(text.contains("m.mpd: Representation 0: the title is encrypted"), "{text}");
    // The files say it too.
    let silent = |text: String| {
        let end = text.find("<Representation").unwrap();
        let start = text.find("<ContentProtection").unwrap();
        format!("{}{}", &text[..start], &text[end..])
    };
    let text = measured(home.path(), "enc/m.mpd", silent).unwrap_err();
    assert!(text.contains("v0.mp4: the title is encrypted"), "{text}");
    assert!(!home.path().join("title/enc/quality.json").exists());
}

/// Measures a title that comes with the project, its manifest changed; also what is warned of.
fn measured(
    home: &Path,
    manifest: &str,
    change: impl Fn(String) -> String,
) -> Result<(MeasureReport, Vec<String>), String> {
    let dir = home.join("title");
    let _ = fs::remove_dir_all(&dir);
    copy(&cases("mpd"), &dir);
    let file = dir.join(manifest);
    fs::write(&file, change(fs::read_to_string(&file).unwrap())).unwrap();
    let warnings = RefCell::new(Vec::new());
    let observer = |event| {
        if let Event::Warning(text) = event {
            warnings.borrow_mut().push(text);
        }
    };
    let request = MeasureRequest::new(file, dir.join("source.mp4"));
    let report =
        measure(&request, &observer, &AtomicBool::new(false)).map_err(|e| e.to_string())?;
    let mut warnings = warnings.into_inner();
    warnings.retain(|w| !w.contains("libvmaf"));
    Ok((report, warnings))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|e| (e.path(), e.file_name())).unwrap();
        match path.is_dir() {
            true => copy(&path, &to.join(name)),
            false => drop(fs::copy(&path, to.join(name)).unwrap()),
        }
    }
}

#[test]
fn titles_are_measured_by_time() {
    if plain().is_none() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let of = |manifest: &str, from: &str, to: &str| {
        let found = measured(home.path(), manifest, |text| text.replace(from, to));
        let (report, warnings) = found.unwrap_or_else(|e| panic!("{manifest}: {e}"));
        let table = quality(report.table.parent().unwrap());
        let values = |metric| table.rungs[1].quality[&metric].clone();
        (values(Metric::PsnrDb), warnings)
    };
    let (whole, warnings) = of("control.mpd", "", "");
    assert_eq!((whole.len(), warnings), (4, Vec::<String>::new()));
    let timeline = "<S t=\"0\" d=\"12800\" r=\"3\"/>";
    // The second chunk lacks: those after it are of their time.
    let hole = "<S t=\"0\" d=\"12800\"/><S t=\"25600\" d=\"12800\" r=\"1\"/>";
    let (values, warnings) = of("control.mpd", timeline, hole);
    assert_eq!(values, [whole[0], whole[2], whole[3]]);
    let told = "video: the timeline has a hole of 1.000 s before 2.000 s";
    assert_eq!(warnings, [told]);
    // The first chunk lacks.
    let (values, warnings) = of("control.mpd", timeline, "<S t=\"12800\" d=\"12800\" r=\"2\"/>");
    assert_eq!(values, whole[1..]);
    assert_eq!(warnings, ["video: the timeline has a hole of 1.000 s before 1.000 s"]);
    // Titles that are shorter and longer than their timelines.
    let (values, warnings) = of("control.mpd", "PT4S", "PT2S");
    assert_eq!(values, whole[..2]);
    assert!(warnings[0].contains("left out: 2 chunks that begin after"), "{warnings:?}");
    let (values, warnings) = of("control.mpd", "PT4S", "PT60S");
    assert_eq!(values, whole);
    assert!(warnings[0].contains("60.000 s long, and its chunks end at 4.000 s"), "{warnings:?}");
    // However the manifest names its chunks, they are the same.
    for manifest in
        ["p0y0m.mpd", "raw-space.mpd", "failover.mpd", "two-sets.mpd", "frame-rate-0.mpd"]
    {
        assert_eq!(of(manifest, "", "").0, whole, "{manifest}");
    }
    // Without a word of where the index is.
    let indexed = of("od/m.mpd", "", "").0;
    assert_eq!(of("od/m.mpd", "indexRange=\"875-954\" timescale=\"12800\"", "").0, indexed);
}

#[test]
fn titles_that_are_not_in_mp4_or_not_here_are_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    for (manifest, part) in [
        ("webm/m.mpd", "Representation 0: video/webm with an index"),
        ("xlink-period.mpd", "Period: a remote element (xlink:href=\"period.xml\")"),
        ("xlink-set.mpd", "AdaptationSet: a remote element"),
        ("essential.mpd", "its essential property \"urn:example:odd\""),
        ("zero-length.mpd", "a title of no length at all"),
    ] {
        let text = measured(home.path(), manifest, |text| text).unwrap_err();
        assert!(text.contains(part), "{manifest}: {text}");
    }
    let listed = |text: String| text.replace("video/mp4", "video/webm");
    let text = measured(home.path(), "control.mpd", listed).unwrap_err();
    assert!(text.contains("Representation v0: video/webm; expected fragmented MP4"), "{text}");
}
