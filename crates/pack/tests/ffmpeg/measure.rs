//! Quality tables of titles that others made.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::common::{clip, pictures, plain, quality, with_vmaf};
use airlane_media::Metric;
use airlane_pack::{MeasureReport, MeasureRequest, PackError, measure};

fn run(manifest: &Path, source: &Path, ffmpeg: &Path) -> Result<MeasureReport, PackError> {
    let ffmpeg = Some(ffmpeg.to_owned());
    let request = MeasureRequest { ffmpeg, ..MeasureRequest::new(manifest, source) };
    measure(&request, &|_| {}, &AtomicBool::new(false))
}

/// A clip without loss and a title of two rungs that ffmpeg's own muxer made of it.
fn foreign(ffmpeg: &Path, home: &Path, options: &str) -> (PathBuf, PathBuf) {
    let (source, dir) = (home.join("a.mkv"), home.join("title"));
    if !source.exists() {
        let lossless = "-c:v libx264 -qp 0 -preset ultrafast -c:a aac";
        let sound = "-f lavfi -i sine=d=5";
        clip(ffmpeg, &source, &format!("{} {sound} {lossless}", pictures("160x90", "25", 5.0)));
    }
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir(&dir).unwrap();
    let manifest = dir.join("stream.mpd");
    clip(
        ffmpeg,
        &manifest,
        &format!(
            "-i {} -map 0:v -map 0:v -map 0:a -c:v libx264 -preset veryfast -g 50 -sc_threshold 0 \
             -b:v:0 40k -s:v:0 96x54 -b:v:1 200k -c:a aac -f dash -seg_duration 2 {options}",
            source.display()
        ),
    );
    (manifest, source)
}

#[test]
fn titles_of_ffmpegs_own_muxer_are_measured() {
    let Some(ffmpeg) = plain() else { return };
    let home = tempfile::tempdir().unwrap();
    let mut tables = Vec::new();
    for options in [
        "",
        "-use_timeline 0",
        "-single_file 1",
        "-single_file 1 -global_sidx 1",
        "-use_template 0 -use_timeline 0",
    ] {
        let (manifest, source) = foreign(&ffmpeg, home.path(), options);
        let made = run(&manifest, &source, &ffmpeg).unwrap_or_else(|e| panic!("{options}: {e}"));
        assert_eq!((made.chunks, made.rungs.len()), (3, 2), "{options}");
        let table = quality(manifest.parent().unwrap());
        assert_eq!((table.name.as_str(), table.chunk_s(), table.fps), ("title", 2.0, Some(25.0)));
        let [low, high] = [0, 1].map(|r| table.mean_quality(Metric::PsnrDb, r).unwrap());
        assert!(low < high && high > 25.0, "{options}: {low} {high}");
        assert_eq!((table.rungs[0].width, table.rungs[1].height), (96, 90));
        tables.push(table.rungs[1].quality.clone());
    }
    // One encoding in five kinds of files is of one quality.
    assert!(tables.iter().all(|t| *t == tables[0]), "{tables:?}");
}

#[test]
fn a_perfect_copy_scores_full_marks() {
    let (Some(ffmpeg), Some(plain)) = (with_vmaf(), plain()) else { return };
    let home = tempfile::tempdir().unwrap();
    let (_, source) = foreign(&plain, home.path(), "");
    let manifest = home.path().join("same.mpd");
    clip(
        &plain,
        &manifest,
        &format!(
            "-i {} -map 0:v -map 0:v -c:v libx264 -preset ultrafast -g 50 -sc_threshold 0 \
             -qp:v:0 45 -b:v:0 1k -qp:v:1 0 -f dash -seg_duration 2",
            source.display()
        ),
    );
    // Both carry no rate of their own that rises.
    let text = fs::read_to_string(&manifest).unwrap();
    let at = text.rfind("bandwidth=\"").unwrap() + 11;
    let end = at + text[at..].find('"').unwrap();
    fs::write(&manifest, format!("{}9000000{}", &text[..at], &text[end..])).unwrap();
    run(&manifest, &source, &ffmpeg).unwrap();
    let table = quality(home.path());
    for chunk in 0..3 {
        let of = |metric| table.quality(metric, 1, chunk).unwrap();
        assert_eq!((of(Metric::PsnrDb), of(Metric::Ssim)), (100.0, 1.0));
        assert!(of(Metric::Vmaf) > 95.0 && of(Metric::VmafPhone) > 99.0);
        assert!(table.quality(Metric::PsnrDb, 0, chunk).unwrap() < 35.0);
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let Some(ffmpeg) = plain() else { return };
    let home = tempfile::tempdir().unwrap();
    let (manifest, source) = foreign(&ffmpeg, home.path(), "");
    let text = fs::read_to_string(&manifest).unwrap();
    let table = manifest.with_file_name("quality.json");
    let init = "init-stream$RepresentationID$.m4s";
    let outside = text.replace(init, &format!("../{init}"));
    let absolute = text.replace(init, "https://a.example/init.mp4");
    let gone = text.replace("chunk-stream", "chunk");
    let start = text.find("<Representation id=\"0\"").unwrap();
    let end = start + text[start..].find("</Representation>").unwrap() + "</Representation>".len();
    let one = format!("{}{}", &text[..start], &text[end..]);
    for (text, part) in [
        (outside.as_str(), "the URL \"../init-stream0.m4s\"; expected files within"),
        (absolute.as_str(), "the URL \"https://a.example/init.mp4\"; expected files within"),
        (gone.as_str(), "No such file"),
        (one.as_str(), "rungs: a ladder of 1 rungs; expected at least two"),
        ("<MPD/>", "MPD: 0 periods"),
    ] {
        fs::write(&manifest, text).unwrap();
        let found = run(&manifest, &source, &ffmpeg).unwrap_err().to_string();
        assert!(found.contains(part), "{part}\n{found}");
        assert!(!table.exists());
    }
    fs::write(&manifest, &text).unwrap();
    // A source that is too short by chunks.
    let short = home.path().join("short.mkv");
    clip(&ffmpeg, &short, &pictures("160x90", "25", 2.5));
    let found = run(&manifest, &short, &ffmpeg).unwrap_err().to_string();
    assert!(found.contains("none for chunk 3; expected the source that the title"), "{found}");
    // A frame more or less is none of its business.
    let less = home.path().join("less.mkv");
    clip(&ffmpeg, &less, &format!("{} -c:v libx264 -qp 0", pictures("160x90", "25", 4.96)));
    run(&manifest, &less, &ffmpeg).unwrap();
    let missing = run(&home.path().join("none.mpd"), &source, &ffmpeg).unwrap_err().to_string();
    assert!(missing.contains("none.mpd: cannot read the manifest"), "{missing}");
}
