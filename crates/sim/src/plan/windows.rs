//! Windows of recordings: the draws of claims that are measured on recorded traces.
//!
//! Windows of one recording do not overlap, and each is as long as a run. What was measured on one
//! window, whatever else was drawn with it, is one independent sample; a recording is a stratum.

use std::time::Duration;

use airlane_base::Seed;
use rand::seq::SliceRandom;

/// The part of a recording that a case runs over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Window {
    /// The file's name.
    pub recording: String,
    /// Its number within the recording, from 0.
    pub number: u64,
}

/// A window by the place of its recording among the files that are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowPlace {
    pub(super) file: usize,
    pub(super) number: u64,
    /// Start of the window in the recording; `None` where every run begins at random.
    pub(super) offset: Option<Duration>,
}

/// Whole recordings as windows, for runs in which each of several hosts begins at a random place.
pub(super) fn whole(recordings: usize) -> Vec<WindowPlace> {
    (0..recordings).map(|file| WindowPlace { file, number: 0, offset: None }).collect()
}

/// The windows of recordings of such lengths, as cases take them: recording by recording in turn,
/// within each in an order that `seed` draws. A recording that is shorter than a run is one window,
/// which wraps.
pub(super) fn windows(lengths: &[Duration], run: Duration, seed: Seed) -> Vec<WindowPlace> {
    let of_file = |(file, length): (usize, &Duration)| {
        let count = (length.as_nanos() / run.as_nanos().max(1)).max(1) as u64;
        let window = |number| WindowPlace {
            file,
            number,
            offset: Some(Duration::from_secs_f64(run.as_secs_f64() * number as f64)),
        };
        let mut of_file: Vec<WindowPlace> = (0..count).map(window).collect();
        of_file.shuffle(&mut seed.split("windows").index(file as u64).rng());
        of_file
    };
    let files: Vec<Vec<WindowPlace>> = lengths.iter().enumerate().map(of_file).collect();
    let most = files.iter().map(Vec::len).max().unwrap_or(0);
    (0..most).flat_map(|i| files.iter().filter_map(move |of| of.get(i).copied())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_do_not_overlap_and_recordings_take_turns() {
        let run = Duration::from_secs(120);
        let lengths = [786, 119, 500].map(Duration::from_secs);
        let all = windows(&lengths, run, Seed(1));
        assert_eq!(all.len(), 6 + 1 + 4);
        assert_eq!(all[..3].iter().map(|w| w.file).collect::<Vec<_>>(), [0, 1, 2]);
        for (i, a) in all.iter().enumerate() {
            let offset = a.offset.unwrap();
            assert_eq!(offset, run * a.number as u32);
            assert!(a.file == 1 || offset + run <= lengths[a.file], "{a:?}");
            let same = |b: &&WindowPlace| (b.file, b.number) == (a.file, a.number);
            assert_eq!(all[i + 1..].iter().find(same), None);
        }
        assert_eq!(windows(&lengths, run, Seed(1)), all);
        assert_ne!(windows(&lengths, run, Seed(2)), all);
    }
}
