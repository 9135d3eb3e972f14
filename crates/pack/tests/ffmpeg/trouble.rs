//! What goes wrong: no or broken input, no room, and work that is stopped and taken up again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{FAST, clip, pictures, plain, quality, run, title};
use airlane_pack::{Event, PackError, PackRequest, Speed, pack};

fn request(video: &Path, dir: &Path) -> PackRequest {
    PackRequest {
        chunk: Duration::from_millis(500),
        speed: Speed::Fast,
        ..PackRequest::new(video, dir)
    }
}

fn message(request: &PackRequest) -> String {
    run(request).0.unwrap_err().to_string()
}

/// Every file of a folder with what tells whether it was written again.
fn files(dir: &Path) -> BTreeMap<PathBuf, (u64, i64, i64)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let about = entry.metadata().unwrap();
            if about.is_dir() {
                folders.push(entry.path());
            } else if entry.file_name() != "lock" {
                found.insert(entry.path(), (about.ino(), about.mtime(), about.mtime_nsec()));
            }
        }
    }
    found
}

#[test]
fn bad_input_is_refused_and_leaves_no_folder() {
    let Some(ffmpeg) = plain() else { return };
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    let dir = path("out");
    fs::write(path("text.mp4"), "no video at all").unwrap();
    clip(&ffmpeg, &path("sound.mp4"), "-f lavfi -i sine=d=1 -c:a aac");
    clip(&ffmpeg, &path("good.mp4"), &format!("{} {FAST}", pictures("160x90", "25", 6.0)));
    let good = fs::read(path("good.mp4")).unwrap();
    fs::write(path("headless.mp4"), &good[..good.len() / 2]).unwrap();
    let front = format!("{} {FAST} -movflags +faststart", pictures("160x90", "25", 6.0));
    clip(&ffmpeg, &path("front.mp4"), &front);
    let whole = fs::read(path("front.mp4")).unwrap();
    fs::write(path("cut.mp4"), &whole[..whole.len() / 2]).unwrap();
    let bright = "-pix_fmt yuv420p10le -x264-params \
                  colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc";
    let bright = format!("{} {FAST} {bright}", pictures("160x90", "25", 0.2));
    clip(&ffmpeg, &path("bright.mp4"), &bright);
    for (name, part) in [
        ("missing.mp4", "missing.mp4"),
        ("bright.mp4", "pictures of high dynamic range (smpte2084); expected SDR"),
        ("text.mp4", "Invalid data found when processing input; expected a video"),
        ("sound.mp4", "there are no moving pictures in it"),
        ("headless.mp4", "ffmpeg cannot read it: moov atom not found"),
        ("cut.mp4", "partial file); expected a whole file"),
    ] {
        let text = message(&request(&path(name), &dir));
        assert!(text.contains(part) && text.contains(name), "{name}: {text}");
        assert!(!dir.exists(), "{name}");
    }
    // The request itself.
    let good = request(&path("good.mp4"), &dir);
    for (request, part) in [
        (PackRequest { chunk: Duration::ZERO, ..good.clone() }, "chunk: 0 s; expected 0.5 to 20 s"),
        (PackRequest { vmaf_every: 0, ..good.clone() }, "vmaf_every: 0; expected 1 to 100"),
        (
            PackRequest { name: Some("a/b".into()), ..good.clone() },
            "name: \"a/b\"; expected letters",
        ),
        (
            PackRequest { ffmpeg: Some("/nowhere/ffmpeg".into()), ..good.clone() },
            "cannot run /nowhere/ffmpeg",
        ),
        (
            PackRequest { ffmpeg: Some("/bin/true".into()), ..good.clone() },
            "/bin/true cannot do this",
        ),
    ] {
        let text = message(&request);
        assert!(text.contains(part), "{text}");
        assert!(!dir.exists());
    }
    assert!(matches!(
        run(&PackRequest { ffmpeg: Some("no-such-ffmpeg".into()), ..good.clone() }).0,
        Err(PackError::NoFfmpeg { .. })
    ));
    // A folder that cannot be made, for the root user too.
    let text = message(&PackRequest { dir: path("text.mp4").join("out"), ..good.clone() });
    assert!(text.starts_with("cannot create "), "{text}");
    // A folder that holds something else.
    fs::create_dir_all(dir.join("video")).unwrap();
    for restart in [false, true] {
        let text = message(&PackRequest { restart, ..good.clone() });
        assert!(text.contains("holds video, which no run of pack has made"), "{text}");
    }
}

#[test]
fn a_title_that_is_there_is_left_alone_and_another_needs_a_restart() {
    let Some(ffmpeg) = plain() else { return };
    let home = tempfile::tempdir().unwrap();
    let (video, dir) = (home.path().join("a.mp4"), home.path().join("out"));
    clip(&ffmpeg, &video, &format!("{} {FAST}", pictures("160x90", "25", 1.2)));
    let first = request(&video, &dir);
    let made = run(&first).0.unwrap();
    let before = files(&dir);
    // Without an ffmpeg too: there is nothing for it to do.
    let again = PackRequest { ffmpeg: Some("/nowhere".into()), ..first.clone() };
    let found = run(&again).0.unwrap();
    assert!(found.was_done && found.rungs == made.rungs && found.chunk == made.chunk);
    assert_eq!(files(&dir), before);
    // One that lost its manifest is made again.
    fs::remove_file(dir.join("manifest.mpd")).unwrap();
    assert!(!run(&first).0.unwrap().was_done);
    let before = files(&dir);
    let other = PackRequest { chunk: Duration::from_secs(1), ..first.clone() };
    let text = message(&other);
    assert!(
        text.contains("a title of another request: chunk_ms 500 instead of 1000; give another"),
        "{text}"
    );
    assert_eq!(files(&dir), before);
    let made = run(&PackRequest { restart: true, ..other }).0.unwrap();
    assert_eq!((made.was_done, made.chunks), (false, 2));
    // Another source under the same name.
    clip(&ffmpeg, &video, &format!("{} {FAST}", pictures("160x90", "30", 1.2)));
    let text = message(&first);
    assert!(text.contains("a title made from another video"), "{text}");
}

/// Runs a request and stops it when `when` says so of what is being done.
fn stopped(request: &PackRequest, when: impl Fn(&str) -> bool) -> PackError {
    let stop = AtomicBool::new(false);
    let observer = |event| {
        if let Event::Progress { doing, .. } = event
            && when(&doing)
        {
            stop.store(true, Ordering::Relaxed);
        }
    };
    pack(request, &observer, &stop).unwrap_err()
}

#[test]
fn work_that_was_stopped_goes_on_where_it_was() {
    let Some(ffmpeg) = plain() else { return };
    let home = tempfile::tempdir().unwrap();
    let (video, dir) = (home.path().join("a.mp4"), home.path().join("out"));
    let sound = "-f lavfi -i sine=f=440:d=10";
    clip(&ffmpeg, &video, &format!("{} {sound} {FAST}", pictures("320x180", "25", 10.0)));
    let request = request(&video, &dir);
    let rung = dir.join(".pack/video/180p");
    let there = |n: u32| rung.join(format!("{n}.m4s")).exists();
    // In the middle of the second rung, with some chunks of it whole.
    let e = stopped(&request, |doing| doing == "encoding 180p" && there(5));
    assert!(matches!(e, PackError::Stopped), "{e}");
    assert!(!dir.join("manifest.mpd").exists() && !dir.join("video").exists());
    let chunks = (1..).take_while(|n| there(*n)).count() as u32;
    assert!((5..20).contains(&chunks), "{chunks}");
    // What a kill may leave: a file that is begun, and one that says more than it holds.
    fs::write(rung.join(format!("{}.m4s.part", chunks + 1)), "half").unwrap();
    let before = files(&dir);
    let kept = |name: &str| {
        let path = dir.join("video").join(name);
        (fs::metadata(path).unwrap().ino(), before[&dir.join(".pack/video").join(name)].0)
    };
    // And once more, while measuring.
    let measured = Cell::new(0);
    let e = stopped(&request, |doing| {
        measured.set(measured.get() + usize::from(doing == "measuring 180p"));
        measured.get() > 0
    });
    assert!(matches!(e, PackError::Stopped), "{e}");
    let made = run(&request).0.unwrap();
    assert_eq!((made.chunks, made.duration), (20, Duration::from_secs(10)));
    assert!(made.audio);
    for name in ["144p/1.m4s", "144p/20.m4s", "180p/1.m4s", "180p/4.m4s"] {
        let (now, then) = kept(name);
        assert_eq!(now, then, "{name} was made again");
    }
    // The seam is not to be seen: as good as a run without a stop, chunk by chunk.
    let whole = PackRequest { dir: home.path().join("whole"), ..request.clone() };
    run(&whole).0.unwrap();
    let (resumed, at_once) = (title(&dir), title(&whole.dir));
    for (a, b) in resumed.all().zip(at_once.all()) {
        assert_eq!(a.chunks, b.chunks);
    }
    let (a, b) = (quality(&dir), quality(&whole.dir));
    for chunk in 0..20 {
        let of =
            |v: &airlane_media::Video| v.quality(airlane_media::Metric::PsnrDb, 1, chunk).unwrap();
        assert!((of(&a) - of(&b)).abs() < 6.0, "chunk {chunk}: {} and {}", of(&a), of(&b));
    }
    let names = |dir: &Path| -> Vec<PathBuf> {
        files(dir).into_keys().map(|p| p.strip_prefix(dir).unwrap().to_owned()).collect()
    };
    assert_eq!(names(&dir), names(&whole.dir));
}

#[test]
fn damage_in_the_work_folder_is_made_again() {
    let Some(ffmpeg) = plain() else { return };
    let home = tempfile::tempdir().unwrap();
    let (video, dir) = (home.path().join("a.mp4"), home.path().join("out"));
    clip(&ffmpeg, &video, &format!("{} {FAST}", pictures("320x180", "25", 6.0)));
    let request = request(&video, &dir);
    let rung = dir.join(".pack/video/144p");
    stopped(&request, |_| rung.join("4.m4s").exists());
    let chunk = fs::read(rung.join("1.m4s")).unwrap();
    fs::write(rung.join("1.m4s"), &chunk[..chunk.len() / 2]).unwrap();
    let made = run(&request).0.unwrap();
    assert_eq!(made.chunks, 12);
    let bytes = fs::read(dir.join("video/144p/1.m4s")).unwrap();
    assert!(bytes.len() > chunk.len() / 2);
    // A run that was killed while it moved what is whole to its place.
    let moving = dir.join(".pack/job.json");
    let job = fs::read_to_string(&moving).unwrap().replace("\"done\"", "\"moving\"");
    fs::write(&moving, job).unwrap();
    fs::rename(dir.join("manifest.mpd"), dir.join(".pack/manifest.mpd")).unwrap();
    fs::rename(dir.join("quality.json"), dir.join(".pack/quality.json")).unwrap();
    let again = run(&request).0.unwrap();
    assert_eq!((again.was_done, again.rungs), (false, made.rungs));
    assert!(run(&request).0.unwrap().was_done);
}

#[test]
fn two_runs_in_one_folder_do_not_meet() {
    let Some(ffmpeg) = plain() else { return };
    let home = tempfile::tempdir().unwrap();
    let (video, dir) = (home.path().join("a.mp4"), home.path().join("out"));
    clip(&ffmpeg, &video, &format!("{} {FAST}", pictures("160x90", "25", 1.0)));
    let request = request(&video, &dir);
    let second = RefCell::new(None);
    let observer = |_| {
        if second.borrow().is_none() {
            *second.borrow_mut() = Some(run(&request).0.unwrap_err().to_string());
        }
    };
    pack(&request, &observer, &AtomicBool::new(false)).unwrap();
    let text = second.into_inner().unwrap();
    assert!(text.contains("is being worked on by another run"), "{text}");
}

#[test]
fn a_full_disk_is_an_error_and_room_lets_it_go_on() {
    let Some(ffmpeg) = plain() else { return };
    let home = tempfile::tempdir().unwrap();
    let (video, dir) = (home.path().join("a.mp4"), home.path().join("out"));
    fs::create_dir(&dir).unwrap();
    let mount = |options: &str| {
        let options = ["-t", "tmpfs", "-o", options, "tmpfs"];
        Command::new("mount").args(options).arg(&dir).output().is_ok_and(|o| o.status.success())
    };
    if !mount("size=128k") {
        eprintln!("left out: mounting a small file system needs the root user");
        return;
    }
    clip(&ffmpeg, &video, &format!("{} {FAST}", pictures("320x180", "25", 10.0)));
    let request = request(&video, &dir);
    let full = run(&request).0.map_err(|e| e.to_string());
    let resumed = remount(&dir, "size=8m").then(|| run(&request).0.map_err(|e| e.to_string()));
    let chunks = title_chunks(&dir);
    // The same folder, not to be written to any more.
    let fixed = remount(&dir, "ro").then(|| {
        let restart =
            PackRequest { restart: true, chunk: Duration::from_secs(1), ..request.clone() };
        message(&restart)
    });
    Command::new("umount").arg(&dir).output().unwrap();
    let text = full.unwrap_err();
    assert!(text.contains("No space left on device") && text.contains("cannot write"), "{text}");
    if let Some(made) = resumed {
        assert_eq!(made.map(|m| m.chunks), Ok(20));
        assert_eq!(chunks, Some(20));
    }
    if let Some(text) = fixed {
        assert!(text.contains("Read-only file system"), "{text}");
    }
}

/// Changes the small file system.
fn remount(dir: &Path, option: &str) -> bool {
    let options = format!("remount,{option}");
    let changed = Command::new("mount").args(["-o", &options]).arg(dir).output();
    changed.is_ok_and(|o| o.status.success())
}

fn title_chunks(dir: &Path) -> Option<usize> {
    dir.join("manifest.mpd").exists().then(|| title(dir).video[0].chunks.len())
}
