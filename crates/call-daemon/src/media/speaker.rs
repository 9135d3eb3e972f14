//! Participant who speaks, by the level of their audio (RFC 6464).

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::Time;

/// Level below which audio is silence, in decibels under the maximum (dBov).
const SILENCE_DB: f64 = 55.0;
/// Time in which a loudness fades to 37 %.
const FADE: Duration = Duration::from_millis(600);
/// Loudness by which another participant must exceed who speaks, in decibels.
const MARGIN_DB: f64 = 8.0;
/// Loudness from which on somebody speaks, in decibels above silence.
const THRESHOLD_DB: f64 = 6.0;

/// Detector of the active speaker. The smoothed loudness of each participant decides, with a margin for who spoke
/// last; who spoke last stays the speaker in silence.
#[derive(Clone, Debug)]
pub(crate) struct ActiveSpeaker<K> {
    loudness: BTreeMap<K, (f64, Time)>,
    speaker: Option<K>,
}

impl<K: Ord + Copy> ActiveSpeaker<K> {
    pub(crate) fn new() -> Self {
        Self { loudness: BTreeMap::new(), speaker: None }
    }

    /// Takes the level of an audio packet, in decibels under the maximum (0 to 127).
    pub(crate) fn on_level(&mut self, now: Time, of: K, level_db: u8) {
        let above = (SILENCE_DB - f64::from(level_db)).max(0.0);
        let (loudness, at) = self.loudness.entry(of).or_insert((0.0, now));
        let kept = (-now.since(*at).as_secs_f64() / FADE.as_secs_f64()).exp();
        *loudness = above + (*loudness - above) * kept;
        *at = now;
    }

    /// The participant who speaks, or spoke last.
    pub(crate) fn speaker(&mut self, now: Time) -> Option<K> {
        let faded = |(loudness, at): &(f64, Time)| {
            let silent = now.since(*at).saturating_sub(FADE);
            loudness * (-silent.as_secs_f64() / FADE.as_secs_f64()).exp()
        };
        let of = |key: Option<K>| key.and_then(|key| self.loudness.get(&key)).map_or(0.0, faded);
        let own = of(self.speaker);
        let all = self.loudness.iter().map(|(key, state)| (*key, faded(state)));
        let loudest = all.max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((key, loudness)) = loudest
            && loudness >= THRESHOLD_DB
            && Some(key) != self.speaker
            && loudness >= own + MARGIN_DB
        {
            self.speaker = Some(key);
        }
        self.speaker
    }

    /// Forgets a participant who has left.
    pub(crate) fn forget(&mut self, key: K) {
        self.loudness.remove(&key);
        if self.speaker == Some(key) {
            self.speaker = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets every 20 ms from `from_ms` on, a second long.
    fn talk(detector: &mut ActiveSpeaker<u8>, from_ms: u64, levels: &[(u8, u8)]) -> Option<u8> {
        for ms in (from_ms..from_ms + 1000).step_by(20) {
            for (of, level) in levels {
                detector.on_level(Time::from_millis(ms), *of, *level);
            }
        }
        detector.speaker(Time::from_millis(from_ms + 1000))
    }

    #[test]
    fn the_louder_participant_speaks_and_silence_changes_nothing() {
        let mut detector = ActiveSpeaker::new();
        assert_eq!(talk(&mut detector, 0, &[(1, 127), (2, 90)]), None);
        assert_eq!(talk(&mut detector, 1000, &[(1, 30), (2, 90)]), Some(1));
        assert_eq!(talk(&mut detector, 2000, &[(1, 127), (2, 127)]), Some(1));
        assert_eq!(talk(&mut detector, 3000, &[(1, 127), (2, 30)]), Some(2));
        // A little louder is not enough.
        assert_eq!(talk(&mut detector, 4000, &[(1, 26), (2, 30)]), Some(2));
        detector.forget(2);
        assert_eq!(talk(&mut detector, 5000, &[(1, 26)]), Some(1));
    }

    #[test]
    fn who_sends_nothing_any_more_gives_way() {
        let mut detector = ActiveSpeaker::new();
        assert_eq!(talk(&mut detector, 0, &[(1, 20)]), Some(1));
        assert_eq!(talk(&mut detector, 4000, &[(2, 40)]), Some(2));
    }
}
