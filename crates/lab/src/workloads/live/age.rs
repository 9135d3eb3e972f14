//! Age of information: of the freshest frame that can be decoded, at any time.

use airlane_base::Time;

use super::StreamOutput;
use super::records::FrameRecord;

/// Steps in which a quantile over time is halved: the last one is below a nanosecond for runs of any length.
const BISECTIONS: u32 = 60;

/// Frame from whose arrival on a fresher picture can be shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreshFrame {
    /// Time from which it can be shown.
    pub(super) at: Time,
    /// Time of its capture.
    pub(super) captured: Time,
}

/// Time in which one frame is the freshest: its age in seconds at the beginning, and how long it lasts.
struct Stretch {
    age_s: f64,
    time_s: f64,
}

impl StreamOutput {
    /// Frames that were fresher than any before, by time of arrival.
    pub(super) fn fresh_frames(&self) -> Vec<FreshFrame> {
        let shown = |frame: &FrameRecord| Some((frame.shown?.first, frame.number, frame.handed));
        let mut shown: Vec<_> = self.frames.iter().filter_map(shown).collect();
        shown.sort();
        let mut freshest = None;
        shown.retain(|(_, number, _)| {
            let is_fresher = freshest.is_none_or(|known| *number >= known);
            freshest = freshest.max(Some(*number));
            is_fresher
        });
        shown.into_iter().map(|(at, _, captured)| FreshFrame { at, captured }).collect()
    }

    /// Ages of the freshest frame just before a fresher one could be decoded, and at the end; seconds.
    pub(super) fn ages(&self) -> Vec<f64> {
        let fresh = self.fresh_frames();
        let pairs = fresh.windows(2).filter(|pair| pair[1].at >= self.counted_from);
        let before = pairs.map(|pair| (pair[1].at - pair[0].captured).as_secs_f64());
        let last = fresh.last().map(|last| (self.end - last.captured).as_secs_f64());
        before.chain(last).collect()
    }

    /// Age over time from the first frame on: the mean, and the age that it has at most for 99 % of the time, in seconds.
    /// `None` if nothing was shown.
    pub(super) fn age_over_time(&self) -> Option<(f64, f64)> {
        let fresh = self.fresh_frames();
        let ends = fresh.iter().skip(1).map(|next| next.at).chain([self.end]);
        let stretches: Vec<Stretch> = fresh
            .iter()
            .zip(ends)
            .filter_map(|(frame, end)| {
                let from = frame.at.max(self.counted_from);
                let time_s = (end > from).then(|| (end - from).as_secs_f64())?;
                Some(Stretch { age_s: (from - frame.captured).as_secs_f64(), time_s })
            })
            .collect();
        let time_s: f64 = stretches.iter().map(|of| of.time_s).sum();
        let sum: f64 = stretches.iter().map(|of| of.time_s * (of.age_s + of.time_s / 2.0)).sum();
        (time_s > 0.0).then(|| (sum / time_s, quantile(&stretches, 0.99 * time_s)))
    }
}

/// The age that stretches have at most for so many seconds together.
fn quantile(stretches: &[Stretch], seconds: f64) -> f64 {
    let below = |age: f64| -> f64 {
        stretches.iter().map(|of| (age - of.age_s).clamp(0.0, of.time_s)).sum()
    };
    let (mut low, mut high) =
        (0.0, stretches.iter().map(|of| of.age_s + of.time_s).fold(0.0, f64::max));
    for _ in 0..BISECTIONS {
        let middle = (low + high) / 2.0;
        if below(middle) < seconds { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_at_most_for_a_share_of_the_time_counts_gaps_by_their_length() {
        // A second of frames of 0.1 s each, then 9 s without one.
        let stretches: Vec<Stretch> = [(0.05, 0.1); 10]
            .iter()
            .chain([&(0.05, 9.0)])
            .map(|&(age_s, time_s)| Stretch { age_s, time_s })
            .collect();
        assert!((quantile(&stretches, 10.0) - 9.05).abs() < 1e-9);
        assert!((quantile(&stretches, 1.1) - 0.15).abs() < 1e-9);
        assert!((quantile(&stretches, 5.5) - 4.55).abs() < 1e-9);
    }
}
