//! The system's libvpx encodes at rates that change, with key frames where they are asked for.

use std::sync::Arc;

use airlane_media::vp9::frames_of;
use airlane_vpx::{Decoder, Encoder, Library, Settings, VpxError};

const WIDTH: u32 = 320;
const HEIGHT: u32 = 180;
const FPS: u32 = 30;
const GOP: u32 = 10;

/// The system's libvpx.
fn libvpx() -> Option<Arc<Library>> {
    let found = Library::open(None);
    if let Err(e) = &found {
        let strict = std::env::var("AIRLANE_STRICT").is_ok_and(|v| v == "1");
        assert!(!strict, "{e}");
        eprintln!("left out: {e}");
    }
    found.ok().map(Arc::new)
}

fn encoder(library: &Arc<Library>, kbps: u32, gop: u32) -> Encoder {
    let settings = Settings {
        width: WIDTH,
        height: HEIGHT,
        frames: FPS,
        seconds: 1,
        gop,
        layer_kbps: layers(kbps).to_vec(),
        speed: 8,
        is_full_range: false,
        shown_size: None,
    };
    Encoder::new(library, settings).unwrap()
}

fn layers(kbps: u32) -> [u32; 3] {
    [20, 30, 50].map(|percent| kbps * percent / 100)
}

/// A picture with as much in it as an encoder is given bits for: patches that move over a gradient.
fn picture(n: u32) -> Vec<u8> {
    let mut picture = vec![128; (WIDTH * HEIGHT * 3 / 2) as usize];
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            let (u, v) = (x + 3 * n, y + n);
            let patch = (u / 8 * 7_919 + v / 8 * 104_729) % 97;
            let grain = (u * 31 + v * 17 + u * v) % 23;
            picture[(y * WIDTH + x) as usize] = (x / 4 + patch + grain) as u8;
        }
    }
    picture
}

/// Encodes a GoP and decodes each of its layers; kilobits per second of all of them.
fn gop(encoder: &mut Encoder, decoder: &mut Decoder, from: u32) -> f64 {
    let mut bytes = 0;
    for n in from..from + GOP {
        let whole = encoder.encode(&picture(n)).unwrap();
        let frames = frames_of(&whole).unwrap();
        assert_eq!(frames.len(), 3);
        for frame in frames {
            bytes += frame.len();
            assert!(decoder.decode(frame).unwrap().is_some());
        }
    }
    bytes as f64 * 8.0 * f64::from(FPS) / f64::from(GOP) / 1e3
}

#[test]
fn rates_change_from_gop_to_gop() {
    let Some(library) = libvpx() else { return };
    let (mut encoder, mut decoder) = (encoder(&library, 800, GOP), Decoder::new(&library).unwrap());
    let mut from = 0;
    for kbps in [800, 500, 1500, 700, 1200] {
        encoder.set_rates(&layers(kbps)).unwrap();
        let took: Vec<f64> =
            (0..5).map(|n| gop(&mut encoder, &mut decoder, from + n * GOP)).collect();
        from += 5 * GOP;
        // It follows within two GoPs or so.
        let share = took[2..].iter().sum::<f64>() / 3.0 / f64::from(kbps);
        assert!((0.7..1.3).contains(&share), "{kbps} kbit/s: {took:?}");
    }
}

#[test]
fn speed_changes_from_gop_to_gop() {
    let Some(library) = libvpx() else { return };
    let (mut encoder, mut decoder) = (encoder(&library, 800, GOP), Decoder::new(&library).unwrap());
    for (n, speed) in [8, 9, 9, 8, 5, 9].into_iter().enumerate() {
        encoder.set_speed(speed).unwrap();
        // Its rate stays what it is.
        let took = gop(&mut encoder, &mut decoder, n as u32 * GOP);
        assert!((0.6..1.6).contains(&(took / 800.0)), "speed {speed}: {took} kbit/s");
    }
}

#[test]
fn key_frames_come_where_they_are_asked_for_whatever_is_left_out() {
    let Some(library) = libvpx() else { return };
    let mut encoder = encoder(&library, 800, 0);
    let mut decoder = None;
    // GoPs of 10 times of which pictures are left out, and one that is left out as a whole.
    let pictures = [0, 1, 2, 5, 9, 10, 14, 15, 19, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 59];
    let mut gop = None;
    for at in pictures {
        let begins = gop.replace(at / GOP) != Some(at / GOP);
        let whole = encoder.encode_at(&picture(at), at, begins).unwrap();
        if begins {
            // Nothing before it is needed.
            decoder = Some(Decoder::new(&library).unwrap());
        }
        for frame in frames_of(&whole).unwrap() {
            let shown = decoder.as_mut().unwrap().decode(frame).unwrap().expect("a picture");
            assert_eq!((shown.width, shown.height), (WIDTH as usize, HEIGHT as usize));
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_and_does_no_harm() {
    let Some(library) = libvpx() else { return };
    let mut encoder = encoder(&library, 500, 0);
    let failed = |result: Result<(), VpxError>| match result {
        Err(VpxError::Failed { said, .. }) => said,
        other => panic!("{other:?}"),
    };
    assert!(failed(encoder.set_rates(&[100, 100])).contains("other layers"));
    assert!(failed(encoder.encode(&[0; 100]).map(drop)).contains("another size"));
    encoder.encode_at(&picture(0), 7, true).unwrap();
    assert!(failed(encoder.encode_at(&picture(1), 7, false).map(drop)).contains("no later one"));
    encoder.encode_at(&picture(1), 8, false).unwrap();
}

/// Whether the range of colours is full, and the size that pictures are shown in, by the header of a key frame
/// of profile 0 (VP9 Bitstream Specification 0.6, section 6.2).
fn shown(frame: &[u8]) -> (bool, Option<(u32, u32)>) {
    let bits = |at: usize, count: usize| {
        (at..at + count).fold(0_u32, |n, i| n << 1 | u32::from(frame[i / 8] >> (7 - i % 8) & 1))
    };
    // Marker, profile, kind and flags take a byte, then comes the code that synchronises.
    assert_eq!(bits(8, 24), 0x49_83_42, "no key frame");
    let (color_space, sides) = (8 + 24, 8 + 24 + 3 + 1);
    let is_other = bits(sides + 32, 1) == 1;
    let size = is_other.then(|| (bits(sides + 33, 16) + 1, bits(sides + 49, 16) + 1));
    (bits(color_space + 3, 1) == 1, size)
}

#[test]
fn range_and_shape_of_pixels_are_in_key_frames() {
    let Some(library) = libvpx() else { return };
    for (is_full_range, shown_size) in [
        (false, None),
        (true, None),
        (false, Some((2 * WIDTH, HEIGHT))),
        (true, Some((WIDTH, 2 * HEIGHT))),
    ] {
        let settings = Settings {
            width: WIDTH,
            height: HEIGHT,
            frames: 30_000,
            seconds: 1_001,
            gop: 0,
            layer_kbps: layers(500).to_vec(),
            speed: 8,
            is_full_range,
            shown_size,
        };
        let mut encoder = Encoder::new(&library, settings).unwrap();
        let grey = vec![128; encoder.picture_bytes()];
        for (at, is_key) in [(0, true), (1, false), (2, true)] {
            let frame = encoder.encode_at(&grey, at, is_key).unwrap();
            if is_key {
                assert_eq!(shown(&frame), (is_full_range, shown_size), "{at}");
            }
        }
    }
}
