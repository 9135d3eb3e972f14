//! Demand for the encodings of a track: which of them somebody gets. The client is to pause the others.

use std::time::Duration;

use airlane_base::Time;
use airlane_sfu::{LayerStep, LayerTable, MAX_SPATIAL_LAYERS};

/// Time after which an encoding that nobody wants is paused: who gets less for a moment wants it back soon.
const PAUSE_DELAY: Duration = Duration::from_secs(5);
/// Time that a client may take to follow: until then what comes of an encoding tells nothing of its bitrate.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(3);

/// Demand for the encodings of a track.
#[derive(Debug)]
pub(crate) struct Demand {
    /// Number of encodings.
    encodings: u8,
    /// Time at which each was last wanted.
    wanted: [Time; MAX_SPATIAL_LAYERS],
    /// Highest encoding that the client may send, and the time since which; `None`: it sends none.
    max: Option<u8>,
    since: Time,
    /// True if the client is to be told of it.
    pub(crate) has_news: bool,
    /// Layers with their bitrates, those of paused encodings as they were before.
    known: LayerTable,
}

impl Demand {
    /// The demand for a track of `encodings`, all of which may be sent at first.
    pub(crate) fn new(now: Time, encodings: u8) -> Self {
        let encodings = encodings.clamp(1, MAX_SPATIAL_LAYERS as u8);
        Self {
            encodings,
            wanted: [now; MAX_SPATIAL_LAYERS],
            max: Some(encodings - 1),
            since: now,
            has_news: false,
            known: LayerTable::default(),
        }
    }

    /// Takes the highest encoding that somebody wants; `None`: nobody wants any.
    pub(crate) fn update(&mut self, now: Time, wanted: Option<u8>) {
        let count = usize::from(wanted.map_or(0, |of| of.min(self.encodings - 1) + 1));
        self.wanted[..count].fill(now);
        let mut all = self.wanted[..usize::from(self.encodings)].iter();
        let max = all.rposition(|at| now.since(*at) < PAUSE_DELAY).map(|of| of as u8);
        if max != self.max {
            (self.max, self.since, self.has_news) = (max, now, true);
        }
    }

    /// Highest encoding that the client is to send; `None`: none.
    pub(crate) fn max_encoding(&self) -> Option<u8> {
        self.max
    }

    /// Layers to choose from: those that are sent, and those of paused encodings, which are sent again once somebody has
    /// room for them.
    pub(crate) fn layers(&mut self, now: Time, sent: LayerTable) -> LayerTable {
        let is_changing = now.since(self.since) < CHANGE_TIMEOUT;
        let encoding = |step: &LayerStep| match self.encodings {
            1 => 0,
            _ => step.layer.spatial,
        };
        let comes = |of: u8| sent.steps().iter().any(|step| encoding(step) == of);
        let is_paused = |of: u8| self.max.is_none_or(|max| of > max);
        // Not every client follows: WHIP has no messages.
        let is_kept = |step: &LayerStep| match (is_paused(encoding(step)), comes(encoding(step))) {
            (true, true) => is_changing,
            (true, false) => true,
            (false, comes) => is_changing && !comes,
        };
        let kept = self.known.steps().iter().filter(|step| is_kept(step));
        let sent = sent.steps().iter().filter(|step| !is_kept(step));
        self.known = LayerTable::new(kept.chain(sent).copied().collect());
        self.known.clone()
    }
}

#[cfg(test)]
mod tests {
    use airlane_base::Rate;
    use airlane_sfu::LayerIndex;

    use super::*;

    fn table(kbps: &[u64]) -> LayerTable {
        let steps = kbps.iter().enumerate().map(|(spatial, kbps)| LayerStep {
            layer: LayerIndex::new(spatial as u8, 0),
            rate: Rate::from_bps(kbps * 1000),
        });
        LayerTable::new(steps.collect())
    }

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn an_encoding_is_paused_when_nobody_wanted_it_for_a_while_and_its_bitrate_stays_known() {
        let mut demand = Demand::new(at(0), 2);
        demand.update(at(4_000), Some(3));
        assert_eq!(demand.layers(at(4_000), table(&[200, 600])), table(&[200, 600]));
        demand.update(at(8_900), Some(0));
        assert_eq!((demand.max_encoding(), demand.has_news), (Some(1), false));
        demand.update(at(9_000), Some(0));
        assert_eq!((demand.max_encoding(), demand.has_news), (Some(0), true));
        assert_eq!(demand.layers(at(9_000), table(&[180])), table(&[180, 600]));
        assert_eq!(demand.layers(at(99_000), table(&[190])), table(&[190, 600]));
        // Wanted again it comes back at once.
        demand.update(at(99_000), Some(1));
        assert_eq!(demand.max_encoding(), Some(1));
        assert_eq!(demand.layers(at(99_100), table(&[190])), table(&[190, 600]));
        assert_eq!(demand.layers(at(99_500), table(&[190, 90])), table(&[190, 90]));
        assert_eq!(demand.layers(at(102_500), table(&[190])), table(&[190]));
    }

    #[test]
    fn an_encoding_that_comes_all_the_same_is_measured() {
        let mut demand = Demand::new(at(0), 2);
        demand.layers(at(4_000), table(&[200, 600]));
        demand.update(at(5_000), Some(0));
        assert_eq!(demand.max_encoding(), Some(0));
        assert_eq!(demand.layers(at(7_900), table(&[180, 60])), table(&[180, 600]));
        assert_eq!(demand.layers(at(8_000), table(&[180, 300])), table(&[180, 300]));
    }

    #[test]
    fn a_video_that_nobody_gets_is_paused_whole() {
        let mut demand = Demand::new(at(0), 1);
        demand.update(at(1_000), Some(0));
        assert_eq!(demand.layers(at(1_000), table(&[200, 600])), table(&[200, 600]));
        demand.update(at(6_000), None);
        assert_eq!(demand.max_encoding(), None);
        assert_eq!(demand.layers(at(6_000), table(&[])), table(&[200, 600]));
        demand.update(at(6_100), Some(0));
        assert_eq!(demand.max_encoding(), Some(0));
    }
}
