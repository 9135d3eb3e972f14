//! The codec beside the figures of its authors' encoder, and its choice of candidates.

use airlane_media::layers::{LayerContent, LayeredVideo};
use airlane_salsify::{Candidate, Clip, Codec, Encoded, QUANTISERS};
use proptest::prelude::*;

/// Figures of the authors' encoder on three clips at 1280x720: of frame 0, which stands alone, and
/// of the 299 after it.
const MEASURED: &str = include_str!("measured.csv");

struct Row {
    clip: String,
    quantiser: u8,
    /// Of the key frame; mean, 10th, 50th and 90th percentile of the others.
    bytes: [f64; 5],
    ssim_db: f64,
}

fn rows() -> Vec<Row> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<f64>().unwrap();
        Row {
            clip: cells[0].to_owned(),
            quantiser: cells[1].parse().unwrap(),
            bytes: [2, 3, 4, 5, 6].map(number),
            ssim_db: number(7),
        }
    };
    MEASURED.lines().skip(1).map(row).collect()
}

fn clip(video: &LayeredVideo) -> Clip {
    let (ladder, fixed) =
        (video.single.as_ref().unwrap(), video.single_quantiser.as_ref().unwrap());
    let frames = fixed.frames.iter().map(|frame| Encoded {
        bytes: frame.bytes,
        key_bytes: frame.key_bytes,
        ssim_db: frame.ssim_db,
    });
    let (layer_db, db_per_octave) = ladder.quality_at(fixed.bps);
    Clip::new(frames.collect(), layer_db, db_per_octave).unwrap()
}

fn mean(figures: impl IntoIterator<Item = f64>) -> f64 {
    let all: Vec<f64> = figures.into_iter().collect();
    all.iter().sum::<f64>() / all.len() as f64
}

/// Figures of the model at a quantiser index, as the encoder was measured.
fn modelled(clip: &Clip, quantiser: u8) -> Row {
    let frames: Vec<Candidate> = (0..300).map(|n| clip.frame(n, quantiser, n == 0)).collect();
    let mut sizes: Vec<f64> = frames[1..].iter().map(|frame| f64::from(frame.bytes)).collect();
    let all = mean(sizes.iter().copied());
    sizes.sort_by(f64::total_cmp);
    let at = |share: f64| sizes[(sizes.len() as f64 * share) as usize];
    Row {
        clip: String::new(),
        quantiser,
        bytes: [f64::from(frames[0].bytes), all, at(0.1), at(0.5), at(0.9)],
        ssim_db: mean(frames.iter().map(|frame| frame.ssim_db)),
    }
}

#[test]
fn sizes_and_qualities_are_those_that_were_measured() {
    let content = LayerContent::embedded().unwrap();
    // By quantiser: the ratios of means, and the differences of qualities.
    let mut all: Vec<(u8, f64, f64)> = Vec::new();
    for row in rows() {
        let video = content.videos.iter().find(|video| video.name == row.clip).unwrap();
        let model = modelled(&clip(video), row.quantiser);
        let ratio: Vec<f64> = row.bytes.iter().zip(model.bytes).map(|(m, b)| b / m).collect();
        let apart = model.ssim_db - row.ssim_db;
        let what = format!("{} at {}: bytes {ratio:.2?}, {apart:.2} dB", row.clip, row.quantiser);
        assert!((0.85..1.2).contains(&ratio[1]) && apart.abs() < 1.05, "{what}");
        assert!(ratio[2..].iter().all(|ratio| (0.7..1.3).contains(ratio)), "{what}");
        // Of the first frame alone, of which a stream has one.
        assert!((0.6..1.8).contains(&ratio[0]), "{what}");
        all.push((row.quantiser, ratio[1].ln(), apart));
    }
    // Over the three clips, each quantiser is met.
    for quantiser in [9, 18, 30, 45, 64, 88, 115] {
        let of = || all.iter().filter(|(q, ..)| *q == quantiser);
        let (size, apart) = (mean(of().map(|row| row.1)).exp(), mean(of().map(|row| row.2)));
        assert!(
            (0.97..1.03).contains(&size) && apart.abs() < 0.2,
            "{quantiser}: {size}, {apart} dB"
        );
    }
}

/// Clips of any sizes and qualities.
fn any_clip() -> impl Strategy<Value = Clip> {
    let frame = (1_u32..200_000, 1_u32..400_000, 0.0..30.0_f64);
    let frames = proptest::collection::vec(frame, 1..40);
    (frames, 5.0..25.0_f64, 0.0..3.0_f64).prop_map(|(frames, layer_db, slope)| {
        let encoded = |(bytes, key_bytes, ssim_db)| Encoded { bytes, key_bytes, ssim_db };
        Clip::new(frames.into_iter().map(encoded).collect(), layer_db, slope).unwrap()
    })
}

proptest! {
    #[test]
    fn the_larger_candidate_that_fits_is_sent(
        clip in any_clip(),
        budgets in proptest::collection::vec((0_usize..60_000, any::<bool>()), 1..200),
    ) {
        let mut codec = Codec::new(clip);
        let mut left_out = 0;
        for (n, (budget, alone)) in (0..).zip(budgets) {
            let candidates = codec.candidates(n, alone);
            let fits = |candidate: &&Candidate| candidate.bytes as usize <= budget;
            let largest = candidates.iter().filter(fits).max_by_key(|candidate| candidate.bytes);
            match codec.choose(n, alone, budget) {
                Some(chosen) if largest.is_some() => {
                    prop_assert!(chosen.bytes as usize <= budget);
                    prop_assert_eq!(chosen.bytes, largest.unwrap().bytes);
                    left_out = 0;
                }
                // None fits: the fourth goes all the same, as the worse one.
                Some(chosen) => {
                    prop_assert_eq!((left_out, chosen), (3, candidates[1]));
                    left_out = 0;
                }
                None => {
                    prop_assert!(largest.is_none() && left_out < 3);
                    left_out += 1;
                }
            }
        }
    }

    #[test]
    fn a_coarser_quantiser_looks_worse(clip in any_clip(), n: u32, alone: bool) {
        let frames: Vec<Candidate> = QUANTISERS.map(|q| clip.frame(n, q, alone)).collect();
        prop_assert!(frames.windows(2).all(|w| w[0].ssim_db >= w[1].ssim_db));
        prop_assert!(frames.iter().all(|frame| frame.bytes > 0));
        // A key frame has no other to differ from.
        prop_assert!(!alone || frames.windows(2).all(|w| w[0].bytes >= w[1].bytes));
        prop_assert_eq!(clip.frame(n, 0, alone), clip.frame(n, 3, alone));
        prop_assert_eq!(clip.frame(n, 255, alone), clip.frame(n, 127, alone));
    }
}

#[test]
fn quantisers_move_by_fixed_distances_within_their_range() {
    let frame = Encoded { bytes: 10_000, key_bytes: 20_000, ssim_db: 17.0 };
    let mut codec = Codec::new(Clip::new(vec![frame], 17.0, 1.5).unwrap());
    let quantisers = |codec: &Codec| codec.candidates(0, false).map(|c| c.quantiser);
    assert_eq!(quantisers(&codec), [47, 87]);
    let mut chosen = |budget| codec.choose(0, false, budget).map(|c| c.quantiser);
    assert_eq!([(); 5].map(|()| chosen(1 << 20)), [47, 30, 13, 3, 3].map(Some));
    let never = [None, None, None, Some(26), None, None, None, Some(49), None];
    assert_eq!([(); 9].map(|()| chosen(0)), never);
    assert!(Clip::new(Vec::new(), 17.0, 1.5).is_none());
}
