//! Which rungs sources get.

use airlane_base::Rate;
use airlane_pack::ladder::{Rung, Size, default_ladder, rungs};
use airlane_pack::{Codec, Ladder};
use proptest::prelude::*;

fn size(width: u32, height: u32, fps: f64) -> Size {
    Size { width, height, fps, rate: None }
}

fn shown(rungs: &[Rung]) -> Vec<String> {
    let one = |r: &Rung| format!("{} {}x{} {}k", r.name, r.width, r.height, r.rate.bps() / 1000);
    rungs.iter().map(one).collect()
}

#[test]
fn sources_get_the_classes_up_to_their_own() {
    assert_eq!(
        shown(&default_ladder(&size(1920, 1080, 25.0), Codec::H264)),
        [
            "240p 426x240 280k",
            "360p 640x360 650k",
            "480p 854x480 1200k",
            "720p 1280x720 2800k",
            "1080p 1920x1080 5000k"
        ]
    );
    // Wide as 1080p; fewer pixels, so less for each.
    assert_eq!(
        shown(&default_ladder(&size(1920, 800, 24.0), Codec::Av1)),
        [
            "240p 426x178 120k",
            "360p 640x266 260k",
            "480p 854x356 480k",
            "720p 1280x534 1100k",
            "1080p 1920x800 2200k"
        ]
    );
    // Standing, and at 60 frames/s.
    assert_eq!(
        shown(&default_ladder(&size(1080, 1920, 60.0), Codec::H264))[3..],
        ["720p 720x1280 4200k", "1080p 1080x1920 7500k"]
    );
    // Between two classes.
    assert_eq!(
        shown(&default_ladder(&size(768, 576, 25.0), Codec::H264)),
        ["240p 320x240 220k", "360p 480x360 480k", "480p 640x480 880k", "576p 768x576 1300k"]
    );
}

#[test]
fn a_small_source_gets_two_rates() {
    assert_eq!(
        shown(&default_ladder(&size(128, 72, 25.0), Codec::H264)),
        ["72p-20k 128x72 20k", "72p-31k 128x72 31k"]
    );
    let tiny = default_ladder(&size(16, 16, 25.0), Codec::Av1);
    assert_eq!(tiny.len(), 2);
    assert!(tiny[0].rate < tiny[1].rate && tiny[0].name != tiny[1].name);
}

#[test]
fn a_source_of_a_low_rate_gets_no_more_than_it_has() {
    let poor = Size { rate: Some(Rate::from_bps(1_000_000)), ..size(1920, 1080, 25.0) };
    assert_eq!(
        shown(&default_ladder(&poor, Codec::H264)),
        ["240p 426x240 280k", "360p 640x360 650k", "1080p 1920x1080 1200k"]
    );
    let poorest = Size { rate: Some(Rate::from_bps(100_000)), ..poor };
    assert_eq!(
        shown(&default_ladder(&poorest, Codec::H264)),
        ["1080p-60k 1920x1080 60k", "1080p-120k 1920x1080 120k"]
    );
}

#[test]
fn rungs_can_be_given() {
    let ladder = Ladder::parse("360p:400k, 360:0.8M,720p:2500000").unwrap();
    let found = rungs(&ladder, &size(1280, 720, 25.0), Codec::H264).unwrap();
    assert_eq!(
        shown(&found),
        ["360p-400k 640x360 400k", "360p-800k 640x360 800k", "720p 1280x720 2500k"]
    );
    let e = rungs(&ladder, &size(640, 360, 25.0), Codec::H264).unwrap_err().to_string();
    assert_eq!(e, "rungs: 720p; the source has 360p, and nothing is made larger than it is");
    for (text, message) in [
        ("", "rungs: \"\"; expected a height and a rate"),
        ("360p", "rungs: \"360p\"; expected a height and a rate"),
        ("360p:800k", "rungs: 1 rungs; expected 2 to 20"),
        ("360p:800k,720p:x", "rungs: \"720p:x\"; expected a height"),
        ("360p:800k,720p:700k", "rungs: 0.700 Mbit/s after 0.800 Mbit/s; expected rates that rise"),
        ("1p:800k,720p:900k", "rungs: 1p; expected a height"),
        ("360p:-5k,720p:900k", "rungs: \"360p:-5k\"; expected a height"),
        ("360p:NaNk,720p:infM", "rungs: \"360p:NaNk\"; expected a height"),
    ] {
        let found = Ladder::parse(text).unwrap_err().to_string();
        assert!(found.starts_with(message), "{found}");
    }
}

proptest! {
    #[test]
    fn every_source_has_a_ladder(
        width in 2..9000_u32, height in 2..9000_u32, fps in 1.0..120.0_f64,
        rate in proptest::option::of(1..1_000_000_000_u64), codec in 0..3_usize,
    ) {
        let (width, height) = (width & !1, height & !1);
        let size = Size { width, height, fps, rate: rate.map(Rate::from_bps) };
        let ladder = default_ladder(&size, Codec::ALL[codec]);
        prop_assert!(ladder.len() >= 2);
        for r in &ladder {
            prop_assert!(r.width <= width && r.height <= height);
            prop_assert!(r.width >= 2 && r.height >= 2 && r.width % 2 == 0 && r.height % 2 == 0);
            // The aspect ratio stays, but for the rounding of either side.
            let (w, h) = (f64::from(r.width), f64::from(r.height));
            let off = (w * f64::from(height) - h * f64::from(width)).abs();
            prop_assert!(r.width.min(r.height) == 2 || off <= 1.01 * f64::from(width + height));
        }
        for w in ladder.windows(2) {
            prop_assert!(w[0].rate < w[1].rate && w[0].name != w[1].name);
            prop_assert!(w[0].width <= w[1].width);
        }
    }

    #[test]
    fn any_rungs_are_survived(text in ".*|([0-9]{1,5}p?:[0-9.]{1,4}[kM]?,?){1,4}") {
        let _ = Ladder::parse(&text);
    }
}
