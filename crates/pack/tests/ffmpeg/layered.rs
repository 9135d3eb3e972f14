//! Packed layered videos: what libvpx makes, decoded by libvpx and by ffmpeg.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use airlane_base::Rate;
use airlane_media::dash::FrameRate;
use airlane_media::ivf::{IvfHeader, ivf_frame};
use airlane_media::layers::{LayerContent, Packed};
use airlane_media::vp9;
use airlane_pack::{LayeredRequest, PackError, pack_layered};
use airlane_vpx::{Decoder, Library};

use crate::common::*;

/// The system's libvpx.
fn libvpx() -> Option<Arc<Library>> {
    let found = Library::open(None).ok();
    (found.is_some() || missing("libvpx")).then_some(found).flatten().map(Arc::new)
}

/// A picture of so many frames, of each its layers up to one, as players take it.
fn ivf(video: &Packed, frames: u32, upto: usize) -> Vec<u8> {
    let first = video.frame(0, 0).unwrap();
    let size = vp9::key_frame_size(&first[0]).unwrap();
    let mut file =
        IvfHeader { size, frame_rate: FrameRate { frames: 25, seconds: 1 } }.encode().unwrap();
    for n in 0..frames {
        let mut layers = video.frame(0, n).unwrap();
        layers.truncate(upto + 1);
        for layer in &mut layers[..upto] {
            *layer = vp9::hide(layer, size.0).unwrap();
        }
        let frame = vp9::superframe(&layers).unwrap();
        file.extend_from_slice(&ivf_frame(frame.len() as u32, n.into()));
        file.extend_from_slice(&frame);
    }
    file
}

/// The mean SSIM of a file beside another, as ffmpeg's filter has it, frame by frame in dB.
fn ffmpeg_ssim_db(ffmpeg: &Path, file: &Path, source: &Path) -> Vec<f64> {
    let mut command = Command::new(ffmpeg);
    command.args(["-nostdin", "-v", "error", "-i"]).arg(file).arg("-i").arg(source);
    command.args(["-lavfi", "[0:v][1:v]ssim=stats_file=-", "-fps_mode", "passthrough"]);
    let out = command.args(["-f", "null", "-"]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    let luma = |line: &str| {
        let value = line.split_whitespace().find_map(|word| word.strip_prefix("Y:")).unwrap();
        -10.0 * (1.0 - value.parse::<f64>().unwrap()).log10()
    };
    text.lines().filter(|line| line.contains("Y:")).map(luma).collect()
}

#[test]
fn every_layer_is_what_players_show_and_as_good_as_the_table_says() {
    let (Some(ffmpeg), Some(library)) = (plain(), libvpx()) else { return };
    let home = tempfile::tempdir().unwrap();
    let (source, file) = (home.path().join("a film.mkv"), home.path().join("film.layers"));
    // 328 pixels: no whole number of superblocks, nor of blocks; 25 frames: no whole number of GoPs.
    let lossless = format!("{} -c:v ffv1 -pix_fmt yuv420p", pictures("328x180", "25", 1.0));
    clip(&ffmpeg, &source, &lossless);
    let request = LayeredRequest {
        file: Some(file.clone()),
        rates: [400_000, 1_500_000].map(Rate::from_bps).to_vec(),
        ffmpeg: Some(ffmpeg.clone()),
        ..LayeredRequest::new(&source)
    };
    let never = AtomicBool::new(false);
    let made = pack_layered(&request, &|_| {}, &never).unwrap();
    assert_eq!((made.frames, made.size, made.encodings.len()), (25, (328, 180), 2));
    for encoding in &made.encodings {
        assert!(encoding.rates.is_sorted() && encoding.ssim_db.is_sorted(), "{encoding:?}");
    }
    let again = pack_layered(&request, &|_| {}, &never);
    assert!(matches!(again, Err(PackError::Occupied { .. })), "{again:?}");

    let video = Packed::open(&file).unwrap();
    assert_eq!(video.video().name, "a_film");
    let content = LayerContent::load_dir(home.path()).unwrap();
    assert_eq!(content.videos.iter().map(|v| &v.name[..]).collect::<Vec<_>>(), ["a_film"]);
    let table = video.video().quality.clone().unwrap();
    assert_eq!((table.gop, table.layers, table.encodings[0].frames.len()), (10, 3, 25));
    for upto in 0..3 {
        // Layer by layer, and hidden in superframes: the same pictures.
        let mut one_by_one = Decoder::new(&library).unwrap();
        let mut joined = Decoder::new(&library).unwrap();
        for n in 0..20 {
            let layers = video.frame(0, n).unwrap();
            let mut hidden: Vec<Vec<u8>> = Vec::new();
            let mut shown = Vec::new();
            for (layer, bytes) in layers[..=upto].iter().enumerate() {
                let luma = one_by_one.decode(bytes).unwrap().expect("a layer is shown");
                shown = luma.samples.to_vec();
                hidden.push(if layer < upto {
                    vp9::hide(bytes, 328).unwrap()
                } else {
                    bytes.clone()
                });
            }
            let luma = joined.decode(&vp9::superframe(&hidden).unwrap()).unwrap().unwrap();
            assert!(luma.samples == shown, "frame {n} up to layer {upto}");
        }
        let path = home.path().join("seen.ivf");
        std::fs::write(&path, ivf(&video, 20, upto)).unwrap();
        let measured = ffmpeg_ssim_db(&ffmpeg, &path, &source);
        assert!(measured.len() >= 20, "{} frames", measured.len());
        for (n, db) in measured.iter().take(20).enumerate() {
            let said = table.encodings[0].frames[n][upto].ssim_db;
            // ffmpeg's own sums are off ours by some hundredths of a decibel; another frame is far more.
            assert!((said - db).abs() < 0.1, "frame {n}, layer {upto}: {said} and {db}");
        }
    }
}

#[test]
fn what_cannot_be_packed_in_layers_is_said() {
    let (Some(ffmpeg), Some(_)) = (plain(), libvpx()) else { return };
    let home = tempfile::tempdir().unwrap();
    let source = home.path().join("short.mkv");
    clip(&ffmpeg, &source, &format!("{} {FAST}", pictures("64x36", "25", 0.2)));
    let request = LayeredRequest {
        file: Some(home.path().join("short.layers")),
        ffmpeg: Some(ffmpeg),
        ..LayeredRequest::new(&source)
    };
    let never = AtomicBool::new(false);
    let said =
        |request: &LayeredRequest| pack_layered(request, &|_| {}, &never).unwrap_err().to_string();
    assert!(said(&request).contains("5 frames; expected 10"), "{}", said(&request));
    let falling = LayeredRequest {
        rates: vec![Rate::from_bps(2_000_000), Rate::from_bps(1_000_000)],
        ..request.clone()
    };
    assert!(said(&falling).contains("rates: "), "{}", said(&falling));
    let absent = LayeredRequest { libvpx: Some("/nowhere/libvpx.so".into()), ..request.clone() };
    assert!(said(&absent).contains("apt-get install"), "{}", said(&absent));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
}
