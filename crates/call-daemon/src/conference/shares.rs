//! Division of a downlink over the videos that a participant receives: which layers of each.

use airlane_sfu::{LayerIndex, LayerTable};

/// Share by which the budget must exceed what a higher layer than before takes.
const RAISE_MARGIN: f64 = 1.1;

/// Share by which a video's rate must be lower than another's before it takes the layer that the other had: measured
/// rates of equal videos differ from one time to the next, and each change takes a key frame.
const CHANGE_MARGIN: f64 = 1.25;

/// Video that a participant may get.
#[derive(Clone, Debug)]
pub(crate) struct Video {
    /// Layers that it has.
    pub(crate) layers: LayerTable,
    /// Layer that the participant had; `None`: it got nothing.
    pub(crate) current: Option<LayerIndex>,
    /// True if it comes before others: a screen.
    pub(crate) is_first: bool,
}

/// Outcome of a division. Rates are in bit/s.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RateDivision {
    /// Layer of each video; `None`: it is paused.
    pub(crate) targets: Vec<Option<LayerIndex>>,
    /// Rate of all that is forwarded.
    pub(crate) total: f64,
    /// Rate at which the next layer would be forwarded; `None`: everything is.
    pub(crate) next: Option<f64>,
    /// Rate of everything.
    pub(crate) most: f64,
}

/// Divides a budget of bit/s: each video gets its lowest layer, in their order while there is room, and then the one
/// with the lowest rate its next one, again and again; where rates are close, the one that had it. Screens are raised before cameras. The first video gets its
/// lowest layer also if there is no room.
pub(crate) fn divide(budget: f64, videos: &[Video]) -> RateDivision {
    let rate = |video: &Video, step: usize| video.layers.steps()[step].rate.as_f64();
    let mut steps: Vec<Option<usize>> = vec![None; videos.len()];
    let mut total = 0.0;
    let least = |of: Option<f64>, needed: f64| Some(of.map_or(needed, |of| of.min(needed)));
    // Rate at which a paused video would come back.
    let mut paused: Option<f64> = None;
    let is_empty = |video: &Video| video.layers.steps().is_empty();
    for (place, video) in videos.iter().enumerate().filter(|(_, video)| !is_empty(video)) {
        let needed = total + rate(video, 0);
        // A video that was paused comes back a little later than one goes on.
        let margin = if video.current.is_none() { RAISE_MARGIN } else { 1.0 };
        if needed * margin <= budget || total == 0.0 {
            (steps[place], total) = (Some(0), needed);
        } else {
            paused = least(paused, needed * margin);
        }
    }
    let next = loop {
        let mut next = paused;
        let raisable = steps.iter().enumerate().filter_map(|(place, step)| {
            let (video, above) = (&videos[place], (*step)? + 1);
            let layer = video.layers.steps().get(above)?.layer;
            // A step that costs no more than the one below is part of it.
            let added = (rate(video, above) - rate(video, above - 1)).max(0.0);
            let is_raise = video.current.is_none_or(|current| layer > current);
            let needed = (total + added) * if is_raise { RAISE_MARGIN } else { 1.0 };
            Some((place, above, added, needed))
        });
        let fits = |needed: f64| needed <= budget;
        let mut fitting: Vec<_> = Vec::new();
        for (place, above, added, needed) in raisable {
            match fits(needed) {
                true => fitting.push((place, above, added)),
                false => next = least(next, needed),
            }
        }
        let order = |(place, above, _): &(usize, usize, f64)| {
            let video = &videos[*place];
            let had = video.current.is_some_and(|had| video.layers.steps()[*above].layer <= had);
            let margin = if had { 1.0 } else { CHANGE_MARGIN };
            (!video.is_first, rate(video, above - 1) * margin)
        };
        let chosen = fitting.into_iter().min_by(|a, b| {
            let (a, b) = (order(a), order(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let Some((place, above, added)) = chosen else { break next };
        steps[place] = Some(above);
        total += added;
    };
    let target = |(step, video): (&Option<usize>, &Video)| match is_empty(video) {
        // Nothing has come yet: what comes is forwarded.
        true => Some(video.current.unwrap_or(LayerIndex::HIGHEST)),
        false => step.map(|step| video.layers.steps()[step].layer),
    };
    let top =
        |video: &Video| video.layers.steps().iter().map(|s| s.rate.as_f64()).fold(0.0, f64::max);
    RateDivision {
        targets: steps.iter().zip(videos).map(target).collect(),
        total,
        next: next.filter(|_| total < videos.iter().map(top).sum()),
        most: videos.iter().map(top).sum(),
    }
}

#[cfg(test)]
mod tests {
    use airlane_base::Rate;
    use airlane_sfu::LayerStep;

    use super::*;

    fn layer(spatial: u8, temporal: u8) -> LayerIndex {
        LayerIndex::new(spatial, temporal)
    }

    /// A video of these layers with their rates in kbit/s.
    fn video(steps: &[(u8, u8, u64)], current: Option<LayerIndex>) -> Video {
        let steps = steps.iter().map(|(spatial, temporal, kbps)| LayerStep {
            layer: layer(*spatial, *temporal),
            rate: Rate::from_bps(kbps * 1000),
        });
        Video { layers: LayerTable::new(steps.collect()), current, is_first: false }
    }

    const LADDER: [(u8, u8, u64); 3] = [(0, 0, 100), (0, 1, 150), (1, 1, 500)];

    #[test]
    fn the_lowest_rate_is_raised_first_and_what_is_lacking_is_told() {
        let videos = [video(&LADDER, Some(layer(0, 0))), video(&LADDER, Some(layer(0, 0)))];
        let division = divide(340e3, &videos);
        assert_eq!(division.targets, [Some(layer(0, 1)), Some(layer(0, 1))]);
        assert_eq!((division.total, division.most), (300e3, 1000e3));
        assert!((division.next.unwrap() - 715e3).abs() < 1.0);
        let all = divide(2000e3, &videos);
        assert_eq!((all.targets, all.next), (vec![Some(layer(1, 1)); 2], None));
    }

    #[test]
    fn what_is_there_stays_without_the_margin_of_a_raise() {
        let (low, high) = (video(&LADDER, Some(layer(0, 1))), video(&LADDER, Some(layer(1, 1))));
        assert_eq!(divide(510e3, &[high]).targets, [Some(layer(1, 1))]);
        assert_eq!(divide(510e3, &[low]).targets, [Some(layer(0, 1))]);
    }

    #[test]
    fn where_there_is_no_room_the_first_video_stays_alone() {
        let videos = [video(&LADDER, Some(layer(0, 0))), video(&LADDER, Some(layer(0, 0)))];
        let division = divide(50e3, &videos);
        assert_eq!(division.targets, [Some(layer(0, 0)), None]);
        assert!((division.next.unwrap() - 165e3).abs() < 1.0);
        let nothing = divide(50e3, &[video(&[], None)]);
        assert_eq!(nothing.targets, [Some(LayerIndex::HIGHEST)]);
    }

    #[test]
    fn of_videos_with_nearly_one_rate_the_same_one_keeps_the_layer() {
        let ladder = |kbps: u64| [(0, 0, kbps), (1, 0, 500)];
        let had = |kbps| video(&ladder(kbps), Some(layer(1, 0)));
        let had_not = |kbps| video(&ladder(kbps), Some(layer(0, 0)));
        let (low, high) = (Some(layer(0, 0)), Some(layer(1, 0)));
        assert_eq!(divide(720e3, &[had_not(100), had(110)]).targets, [low, high]);
        assert_eq!(divide(720e3, &[had_not(100), had(140)]).targets, [high, low]);
    }

    #[test]
    fn screens_are_raised_before_cameras() {
        let screen = Video { is_first: true, ..video(&LADDER, Some(layer(1, 1))) };
        let videos = [video(&LADDER, Some(layer(0, 1))), screen];
        assert_eq!(divide(620e3, &videos).targets, [Some(layer(0, 0)), Some(layer(1, 1))]);
    }
}
