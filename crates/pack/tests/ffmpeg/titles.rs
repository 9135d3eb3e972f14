//! Titles made of clips of every kind, with real ffmpegs.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::{FAST, clip, has_vmaf, pictures, plain, quality, run, title, with_vmaf};
use airlane_media::Metric;
use airlane_media::dash::Kind;
use airlane_media::mp4::{Init, fragments};
use airlane_pack::{Codec, Ladder, PackRequest, Speed};

/// Two rungs, two seconds, no patience.
fn request(video: &Path, dir: &Path, ffmpeg: &Path) -> PackRequest {
    PackRequest {
        ffmpeg: Some(ffmpeg.to_owned()),
        chunk: Duration::from_secs(2),
        speed: Speed::Fast,
        ..PackRequest::new(video, dir)
    }
}

/// Checks all that holds for every title: files, times, sizes, and that ffmpeg decodes as many
/// frames as there should be.
fn check(dir: &Path, frames: u64) {
    let (title, table) = (title(dir), quality(dir));
    let first = &title.video[0];
    for r in title.all() {
        assert_eq!((r.kind == Kind::Video, r.set == 0), (r.set == 0, r.kind == Kind::Video));
        let read = |url: &str| fs::read(dir.join(url)).unwrap();
        let init = Init::read(&read(&r.init.as_ref().unwrap().url)).unwrap();
        assert_eq!(init.codec, r.codecs);
        let mut next = 0;
        for (i, chunk) in r.chunks.iter().enumerate() {
            let bytes = read(&chunk.object.url);
            let found = fragments(&bytes, &init).unwrap();
            // The manifest says what the fragments say, without gaps.
            assert_eq!(chunk.time, next, "{} {i}", r.id);
            let begins = found[0].earliest().unwrap() - i128::from(init.skipped);
            assert_eq!(i128::from(chunk.time), begins.max(0), "{} {i}", r.id);
            assert!(found[0].samples[0].sync);
            next = chunk.time + chunk.duration;
            if r.kind == Kind::Video {
                assert_eq!(chunk.duration, found[0].duration());
                let rung = table.rungs.iter().find(|rung| rung.name == r.id).unwrap();
                assert_eq!(rung.size_bytes[i], bytes.len() as u64);
            }
        }
        if r.kind == Kind::Video {
            let times = |r: &airlane_media::dash::Representation| -> Vec<_> {
                r.chunks.iter().map(|c| (c.time, c.duration)).collect()
            };
            assert_eq!(times(r), times(first), "chunks begin and end together");
        } else {
            let away = r.total().abs_diff(first.total());
            assert!(away < Duration::from_millis(2), "sound and pictures end together: {away:?}");
        }
    }
    for i in 0..first.chunks.len() - 1 {
        let exact = table.chunk.abs_diff(first.duration(i).unwrap());
        assert!(exact <= Duration::from_nanos(1), "{exact:?}");
    }
    assert_eq!(table.chunks(), first.chunks.len());
    assert_eq!(decoded(dir), frames);
    for (playlist, least) in [("master.m3u8", 2), ("video-", 1)] {
        let named = |e: &fs::DirEntry| e.file_name().to_string_lossy().starts_with(playlist);
        let count = fs::read_dir(dir).unwrap().filter(|e| named(e.as_ref().unwrap())).count();
        assert!(count >= least.min(count.max(1)), "{playlist}");
    }
    assert!(fs::read(dir.join("poster.jpg")).unwrap().starts_with(&[0xff, 0xd8]));
    // Nothing but the note of the job is left of the making.
    let mut left: Vec<_> = fs::read_dir(dir.join(".pack"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["job.json", "lock"]);
}

/// Frames that ffmpeg decodes of the playlist of the best rung.
fn decoded(dir: &Path) -> u64 {
    let title = title(dir);
    let best = &quality(dir).rungs.last().unwrap().name.clone();
    assert!(title.video.iter().any(|r| r.id == *best));
    let out = Command::new("ffmpeg")
        .args(["-v", "error", "-i"])
        .arg(dir.join(format!("video-{best}.m3u8")))
        .args(["-map", "0:v", "-f", "framecrc", "-"])
        .output()
        .unwrap();
    assert!(
        out.status.success() && out.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8_lossy(&out.stdout).lines().filter(|l| !l.starts_with('#')).count() as u64
}

/// When the stream of a playlist begins, by ffmpeg's own log: `Duration: ..., start: 0.000000`.
fn begins(playlist: &Path) -> f64 {
    let out = Command::new("ffmpeg").args(["-hide_banner", "-i"]).arg(playlist).output().unwrap();
    let log = String::from_utf8_lossy(&out.stderr).into_owned();
    let start = log.split("start: ").nth(1).unwrap_or_else(|| panic!("{log}"));
    start.split(',').next().unwrap().trim().parse().unwrap()
}

#[test]
fn a_film_of_23_976_with_sound_is_measured_with_vmaf() {
    let (Some(ffmpeg), Some(_)) = (with_vmaf(), plain()) else { return };
    let home = tempfile::tempdir().unwrap();
    let (video, dir) = (home.path().join("The film.mp4"), home.path().join("out"));
    let sound = "-f lavfi -i sine=f=440:r=44100:d=6.5";
    clip(&ffmpeg, &video, &format!("{} {sound} {FAST}", pictures("320x180", "24000/1001", 7.0)));
    let (made, warnings) = run(&request(&video, &dir, &ffmpeg));
    let made = made.unwrap();
    assert_eq!(warnings, [""; 0]);
    assert!(!made.was_done && made.audio);
    assert_eq!((made.chunk, made.chunks), (Duration::from_millis(2_002), 4));
    check(&dir, 168);
    let title = title(&dir);
    assert_eq!(title.chunk_table.as_deref(), Some("quality.json"));
    assert_eq!(title.video[0].frame_rate.unwrap().to_string(), "24000/1001");
    assert!(title.video[0].codecs.starts_with("avc1.64"));
    assert_eq!(title.audio[0].codecs, "mp4a.40.2");
    // Sound is cut where pictures are, to half a frame of it.
    for i in 0..3 {
        let (picture, sound) = (title.video[0].start(i), title.audio[0].start(i));
        let away = picture.unwrap().abs_diff(sound.unwrap());
        assert!(away <= Duration::from_micros(21_400), "{away:?}");
    }
    // Sound begins with what primes its decoder, and is heard from zero on.
    assert_eq!(begins(&dir.join("video-180p.m3u8")), 0.0);
    assert!((begins(&dir.join("audio-aac-64k.m3u8")) + 1024.0 / 48_000.0).abs() < 1e-5);
    let table = quality(&dir);
    assert_eq!((table.name.as_str(), table.title.as_str()), ("The_film", "The film"));
    let means = |metric| -> Vec<f64> {
        (0..2).map(|rung| table.mean_quality(metric, rung).unwrap()).collect()
    };
    for metric in [Metric::Vmaf, Metric::VmafPhone, Metric::PsnrDb, Metric::Ssim] {
        assert!(means(metric)[0] < means(metric)[1], "{metric}: {:?}", means(metric));
    }
    assert!(means(Metric::Vmaf)[1] > 60.0 && means(Metric::VmafPhone)[0] > means(Metric::Vmaf)[0]);
    assert!(means(Metric::PsnrDb)[1] > 25.0 && means(Metric::Ssim)[1] > 0.8);
    let master = fs::read_to_string(dir.join("master.m3u8")).unwrap();
    assert!(master.contains("RESOLUTION=320x180,FRAME-RATE=23.976,AUDIO=\"audio\""), "{master}");
    // HLS names the mean and the highest, DASH what lasts: between them.
    let (best, sound) = (&title.video[1], &title.audio[0]);
    let said = |key: &str| -> u64 {
        let line = master.lines().find(|l| l.contains("RESOLUTION=320x180")).unwrap();
        let value = line.split([':', ',']).find_map(|part| part.strip_prefix(key)).unwrap();
        value.parse().unwrap()
    };
    let (mean, lasts) = (said("AVERAGE-BANDWIDTH="), best.bandwidth.bps() + sound.bandwidth.bps());
    assert!(mean <= lasts && lasts <= said("BANDWIDTH="), "{lasts} bit/s in\n{master}");
}

#[test]
fn without_libvmaf_the_rest_is_measured_and_the_user_is_told() {
    let Some(ffmpeg) = plain().filter(|f| !has_vmaf(f)) else { return };
    let home = tempfile::tempdir().unwrap();
    let (video, dir) = (home.path().join("a.mp4"), home.path().join("out"));
    clip(&ffmpeg, &video, &format!("{} {FAST}", pictures("160x90", "25", 3.0)));
    let (made, warnings) = run(&request(&video, &dir, &ffmpeg));
    assert!(!made.unwrap().audio);
    assert!(
        warnings.len() == 1 && warnings[0].contains("pip install imageio-ffmpeg"),
        "{warnings:?}"
    );
    check(&dir, 75);
    let metrics: Vec<Metric> = quality(&dir).metrics().collect();
    assert_eq!(metrics, [Metric::PsnrDb, Metric::Ssim]);
    assert!(title(&dir).audio.is_empty());
}

#[test]
fn clips_of_every_shape_become_titles() {
    let Some(ffmpeg) = plain() else { return };
    let home = tempfile::tempdir().unwrap();
    let uneven = "-vf setpts='(N+floor(N/10)*4)/25/TB' -fps_mode passthrough";
    for (name, size, fps, seconds, more, expected, frames) in [
        ("odd.mkv", "161x91", "30", 2.5, "-pix_fmt yuv444p", (160, 90), Some(75)),
        ("rgb.avi", "160x90", "25", 1.0, "-c:v ffv1 -pix_fmt bgr0", (160, 90), Some(25)),
        ("deep.mkv", "160x90", "25", 1.0, "-c:v ffv1 -pix_fmt yuv420p10le", (160, 90), Some(25)),
        ("old.avi", "160x90", "25", 1.0, "-c:v mpeg4 -bf 2", (160, 90), None),
        ("tiny.mp4", "48x32", "25", 2.2, "", (48, 32), Some(55)),
        ("standing.mp4", "90x160", "30000/1001", 2.0, "", (90, 160), Some(60)),
        ("short.mp4", "160x90", "25", 0.52, "", (160, 90), Some(13)),
        ("single.mp4", "160x90", "25", 0.04, "", (160, 90), Some(1)),
        ("uneven.mp4", "160x90", "25", 2.0, uneven, (160, 90), None),
        ("fast.mp4", "160x90", "120", 1.0, "", (160, 90), Some(60)),
        ("wide.mp4", "120x90", "25", 1.0, "-aspect 16:9", (160, 90), Some(25)),
        (
            "fields.ts",
            "160x96",
            "25",
            1.0,
            "-flags +ilme+ildct -x264-params interlaced=1",
            (160, 96),
            Some(25),
        ),
        ("turned.mp4", "160x90", "25", 1.0, "", (90, 160), Some(25)),
    ] {
        let (video, dir) = (home.path().join(name), home.path().join(format!("{name}.out")));
        clip(&ffmpeg, &video, &format!("{} {FAST} {more}", pictures(size, fps, seconds)));
        if name == "turned.mp4" {
            turn(&video);
        }
        let (made, warnings) = run(&request(&video, &dir, &ffmpeg));
        let made = made.unwrap_or_else(|e| panic!("{name}: {e}"));
        let best = made.rungs.last().unwrap();
        assert_eq!((best.width, best.height), expected, "{name}");
        let told = |word: &str| warnings.iter().any(|w| w.contains(word));
        assert_eq!(told("uneven"), name == "uneven.mp4", "{name}: {warnings:?}");
        assert_eq!(told("interlaced"), name == "fields.ts", "{name}: {warnings:?}");
        let about = (made.duration.as_secs_f64() * quality(&dir).fps.unwrap()).round() as u64;
        check(&dir, frames.unwrap_or(about));
    }
}

/// Turns the pictures of an MP4 file by a quarter, as phones note it: in the matrix of `tkhd`.
fn turn(video: &Path) {
    let mut bytes = fs::read(video).unwrap();
    let at = bytes.windows(4).position(|w| w == b"tkhd").unwrap() + 4 + 40;
    let (one, minus) = (1_u32 << 16, (-65_536_i32).cast_unsigned());
    let matrix = [0, one, 0, minus, 0, 0, 90 << 16, 0, 1 << 30];
    for (i, value) in matrix.into_iter().enumerate() {
        bytes[at + 4 * i..at + 4 * i + 4].copy_from_slice(&value.to_be_bytes());
    }
    fs::write(video, bytes).unwrap();
}

#[test]
fn sound_that_begins_and_ends_elsewhere_is_filled_up() {
    let Some(ffmpeg) = plain() else { return };
    let home = tempfile::tempdir().unwrap();
    for (name, delay) in [("late.ts", "-itsoffset 0.7"), ("late.mkv", "-itsoffset 0.7")] {
        let (video, dir) = (home.path().join(name), home.path().join(format!("{name}.out")));
        let sound = format!("{delay} -f lavfi -i sine=f=440:d=1.5");
        clip(
            &ffmpeg,
            &video,
            &format!("{} {sound} {FAST} -map 0 -map 1", pictures("160x90", "25", 3.0)),
        );
        run(&request(&video, &dir, &ffmpeg)).0.unwrap();
        check(&dir, 75);
        // Silence up to 0.7 s, as in the source.
        let out = Command::new(&ffmpeg)
            .args(["-hide_banner", "-i"])
            .arg(dir.join("audio-aac-64k.m3u8"))
            .args(["-af", "silencedetect=n=-50dB:d=0.3", "-f", "null", "-"])
            .output()
            .unwrap();
        let log = String::from_utf8_lossy(&out.stderr).into_owned();
        let value = |key: &str| -> f64 {
            let rest = log.split(key).nth(1).unwrap_or_else(|| panic!("{name}: {log}"));
            rest.split_whitespace().next().unwrap().parse().unwrap()
        };
        assert!(value("silence_start: ").abs() < 0.05, "{name}: {log}");
        assert!((value("silence_end: ") - 0.7).abs() < 0.06, "{name}: {log}");
    }
}

#[test]
fn vp9_and_av1_have_the_same_chunks() {
    let Some(ffmpeg) = plain() else { return };
    let home = tempfile::tempdir().unwrap();
    let video = home.path().join("a.mp4");
    clip(&ffmpeg, &video, &format!("{} {FAST}", pictures("160x90", "25", 3.0)));
    for (codec, prefix) in [(Codec::Vp9, "vp09.00."), (Codec::Av1, "av01.0.")] {
        let dir = home.path().join(codec.name());
        let ladder = Ladder::parse("72p:50k,90p:100k").unwrap();
        let request = PackRequest { codec, ladder, ..request(&video, &dir, &ffmpeg) };
        let made = run(&request).0.unwrap();
        assert_eq!((made.chunks, made.rungs[0].name.as_str()), (2, "72p"));
        check(&dir, 75);
        assert!(title(&dir).video[0].codecs.starts_with(prefix), "{}", title(&dir).video[0].codecs);
    }
}
