//! At what pace pictures come, and the constant rate that suits them.

use airlane_media::dash::FrameRate;

/// Pauses that are told of; there may be more.
const MAX_PAUSES: usize = 4;
/// A gap between pictures is a pause if it is so many times as long as the others, and so many
/// seconds.
const PAUSE: (f64, f64) = (5.0, 0.5);

/// Timing of the pictures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pace {
    /// Seconds at which the first picture begins.
    pub(crate) start_s: f64,
    /// Seconds at which the last picture ends.
    pub(crate) end_s: f64,
    /// The constant rate that suits them.
    pub(crate) fps: FrameRate,
    /// True if the pictures come at another pace than `fps`.
    pub(crate) uneven: bool,
    /// The first pauses: when the picture before begins, and how long it stands, seconds.
    pub(crate) pauses: Vec<(f64, f64)>,
}

/// Rates that videos have.
const USUAL: [FrameRate; 10] = [
    FrameRate { frames: 10, seconds: 1 },
    FrameRate { frames: 12, seconds: 1 },
    FrameRate { frames: 15, seconds: 1 },
    FrameRate { frames: 24_000, seconds: 1_001 },
    FrameRate { frames: 24, seconds: 1 },
    FrameRate { frames: 25, seconds: 1 },
    FrameRate { frames: 30_000, seconds: 1_001 },
    FrameRate { frames: 30, seconds: 1 },
    FrameRate { frames: 50, seconds: 1 },
    FrameRate { frames: 60, seconds: 1 },
];

impl Pace {
    /// From the times of pictures and the length of the last one, in ticks of `tick_s` seconds;
    /// `guess` is what the container says. `None` if they have no times.
    pub(crate) fn of(
        tick_s: f64,
        times: &[i64],
        last_ticks: i64,
        guess: Option<FrameRate>,
    ) -> Option<Self> {
        let mut times = times.to_vec();
        times.sort_unstable();
        times.dedup();
        let (first, last) = (*times.first()?, *times.last()?);
        let tick = tick_s;
        let steps: Vec<i64> = times.windows(2).map(|w| w[1].saturating_sub(w[0])).collect();
        let mut gaps = steps.clone();
        gaps.sort_unstable();
        let median = gaps.get(gaps.len() / 2).copied();
        // A picture alone is as long as it says.
        let usual = median.unwrap_or(last_ticks) as f64 * tick;
        let one = if last_ticks > 0 { last_ticks as f64 * tick } else { usual };
        if tick <= 0.0 || usual <= 0.0 {
            return None;
        }
        let off = |gap: i64| {
            let away = (gap as f64 * tick - usual).abs();
            // Coarse clocks, such as milliseconds, are off by a tick.
            away > (usual * 0.2).max(1.5 * tick)
        };
        // A pause or two say nothing of the pace around them.
        let (odd, even): (Vec<i64>, Vec<i64>) = gaps.iter().partition(|gap| off(**gap));
        let uneven = odd.len() * 100 > gaps.len();
        let span = even.iter().map(|gap| *gap as f64).sum::<f64>() * tick;
        let mean = if uneven || span <= 0.0 { 1.0 / usual } else { even.len() as f64 / span };
        let is_pause = |gap_s: f64| gap_s >= (usual * PAUSE.0).max(PAUSE.1);
        let gap_s = times.iter().zip(&steps).map(|(at, gap)| (*at as f64, *gap as f64));
        let pauses = gap_s.map(|(at, gap)| (at * tick, gap * tick)).filter(|p| is_pause(p.1));
        let close = |rate: &FrameRate, by: f64| (rate.as_f64() / mean - 1.0).abs() < by;
        let usual_rate = || {
            let by = |r: &&FrameRate| (r.as_f64() / mean - 1.0).abs();
            USUAL.iter().filter(|r| close(r, 0.03)).min_by(|a, b| by(a).total_cmp(&by(b))).copied()
        };
        let guess = guess.filter(|g| !uneven && close(g, 0.005));
        let fps = guess.or_else(usual_rate).unwrap_or_else(|| FrameRate {
            frames: (mean.clamp(1.0, 240.0) * 1000.0).round() as u32,
            seconds: 1000,
        });
        Some(Self {
            start_s: first as f64 * tick,
            end_s: last as f64 * tick + one,
            fps: halved(fps),
            uneven,
            pauses: pauses.take(MAX_PAUSES).collect(),
        })
    }
}

/// At most 60 frames/s (and a little): every second frame, or every fourth.
fn halved(mut fps: FrameRate) -> FrameRate {
    while fps.as_f64() > 61.0 {
        fps = match fps.frames.is_multiple_of(2) {
            true => FrameRate { frames: fps.frames / 2, ..fps },
            false => FrameRate { seconds: fps.seconds.saturating_mul(2), ..fps },
        };
    }
    fps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(tick_s: f64, times: impl IntoIterator<Item = i64>, guess: Option<(u32, u32)>) -> Pace {
        let times: Vec<i64> = times.into_iter().collect();
        let guess = guess.map(|(frames, seconds)| FrameRate { frames, seconds });
        Pace::of(tick_s, &times, 0, guess).unwrap()
    }

    #[test]
    fn rates_are_found_with_and_without_a_guess() {
        for (tick_s, step, guess, fps, uneven) in [
            (1.0 / 24_000.0, 1001.0, Some((24_000, 1001)), "24000/1001", false),
            (1.0 / 24_000.0, 1001.0, None, "24000/1001", false),
            // Milliseconds, and a guess that is wrong.
            (0.001, 1000.0 / 30.0, Some((90_000, 1)), "30", false),
            (0.001, 1000.0 / 120.0, Some((120, 1)), "60", false),
            (0.001, 1000.0, Some((1, 1)), "1", false),
            (0.01, 100.0 / 7.0, None, "7000/1000", false),
        ] {
            let times = (0..400).map(|i| (f64::from(i) * step).round() as i64);
            let found = pace(tick_s, times, guess);
            assert_eq!((found.fps.to_string().as_str(), found.uneven), (fps, uneven), "{tick_s}");
        }
    }

    #[test]
    fn a_pause_leaves_the_pace_as_it_is() {
        for (tick_s, step, pause) in [(0.001, 40, 2_000), (1.0 / 90_000.0, 3_600, 90_000 * 40)] {
            let times = (0..150).map(|i| i * step + if i < 75 { 0 } else { pause });
            let found = pace(tick_s, times, Some((25, 1)));
            assert_eq!((found.fps.to_string().as_str(), found.uneven), ("25", false));
            let (at, length) = found.pauses[0];
            let expected = (pause + step) as f64 * tick_s;
            assert!((at - 2.96).abs() < 1e-6 && (length - expected).abs() < 1e-6, "{at} {length}");
        }
        assert_eq!(pace(0.001, (0..9).map(|i| i * 2_000), None).pauses, []);
    }

    #[test]
    fn a_screen_recording_is_uneven() {
        let times = (0..300).map(|i| i * 33 + (i / 10) * 150);
        let found = pace(0.001, times, Some((1000, 1)));
        assert_eq!((found.fps.to_string().as_str(), found.uneven), ("30", true));
    }
}
