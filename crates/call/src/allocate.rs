//! Division of a downlink over layered videos: who gets which layers.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::Time;

use crate::layer_allocator::{Budget, CustomAllocator, ReceiverView, StreamId, VideoView};
use crate::layers::{LayerSelection, LayerTable};
use crate::split::max_min_by_tier;
use crate::wire::Track;

/// Rule by which layers are given to the videos of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllocatorKind {
    /// Max-min fair shares, each rounded down to a layer; what is left raises the video with the lowest bitrate.
    #[default]
    MaxMin,
    /// In the manner of LiveKit's stream allocator: screens whole, then the lowest layer of all cameras, then layer by
    /// layer of all in turn. From then on, once a second, videos are raised one layer at a time, each time the one that
    /// lacks most, and after raises that did not hold the next ones wait longer.
    LiveKit,
    /// In the manner of mediasoup's transports: once a second, or when the budget jumps, in rounds by priority: in the
    /// first each video gets a layer, in later ones as many as its priority. A video that was lowered gets no higher
    /// spatial layer for 10 s.
    Mediasoup,
    /// One that another crate brings.
    Custom(CustomAllocator),
}

/// Video that a receiver may get.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Track that it is.
    pub stream: StreamId,
    /// Bitrate of all layers, bit/s.
    pub rate: f64,
    /// Layers.
    pub layers: LayerTable,
    /// Place in the order of importance: lower ones come first.
    pub tier: u8,
}

/// Layers of each video that a receiver gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// Layers of each offer, in their order; `None`: it is paused.
    pub layers: Vec<Option<LayerSelection>>,
    /// Bitrate of all of them together, bit/s.
    pub total: f64,
    /// Bitrate that would be needed for the next layer, bit/s; `None`: everybody has all.
    pub needed: Option<f64>,
}

/// Share of the budget that a layer may take up to if it is higher than the one before.
const RAISE_SHARE: f64 = 0.9;
/// Time between two raises of LiveKit's manner.
const RAISE_INTERVAL: Duration = Duration::from_secs(1);
/// Time in which a raise proves to hold, and first wait after one that did not.
const MIN_BACKOFF: Duration = Duration::from_secs(5);
/// Longest wait after raises that did not hold.
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// Interval of the rounds of mediasoup's manner.
const ROUND_INTERVAL: Duration = Duration::from_secs(1);
/// Shares of the last budget below and above which rounds do not wait.
const URGENT_SHARES: (f64, f64) = (0.75, 1.5);
/// Share of the budget that mediasoup gives away while under 2 % are lost.
const LOSSLESS_SHARE: f64 = 1.08;
/// Time for which a video that was lowered gets no higher spatial layer, in mediasoup's manner.
const CAUTION: Duration = Duration::from_secs(10);

/// Allocator of one receiver. It remembers what each video has.
#[derive(Clone, Debug)]
pub struct Allocator {
    kind: AllocatorKind,
    /// Name of the receiver.
    receiver: String,
    given: BTreeMap<StreamId, Given>,
    /// Time of the last raise, and time before which none follows.
    raised: Option<Time>,
    next_raise: Time,
    backoff: Duration,
    /// Time and budget of the last round.
    round: Option<(Time, f64)>,
}

/// Layers that a video has.
#[derive(Clone, Copy, Debug, Default)]
struct Given {
    /// Steps: 0 is a pause.
    level: usize,
    lowered: Option<Time>,
}

/// Steps of an offer.
struct Ladder<'a> {
    offer: &'a Offer,
    steps: Vec<(LayerSelection, f64)>,
    /// Level before.
    before: Given,
}

impl Ladder<'_> {
    fn rate(&self, level: usize) -> f64 {
        level.checked_sub(1).map_or(0.0, |step| self.steps[step].1)
    }

    fn selection(&self, level: usize) -> Option<LayerSelection> {
        level.checked_sub(1).map(|step| self.steps[step].0)
    }

    fn top(&self) -> usize {
        self.steps.len()
    }

    fn is_screen(&self) -> bool {
        self.offer.stream.1 == Track::Screen
    }

    /// Rate that one more level adds; `None` at the top.
    fn raise(&self, level: usize) -> Option<f64> {
        (level < self.top()).then(|| self.rate(level + 1) - self.rate(level))
    }

    /// Highest level that a rate is enough for.
    fn level_within(&self, rate: f64) -> usize {
        self.steps.iter().take_while(|(_, step)| *step <= rate * (1.0 + 1e-9)).count()
    }
}

impl Allocator {
    /// An allocator that has given the receiver of this name nothing.
    pub fn new(kind: AllocatorKind, receiver: &str) -> Self {
        Self {
            kind,
            receiver: receiver.to_owned(),
            given: BTreeMap::new(),
            raised: None,
            next_raise: Time::ZERO,
            backoff: MIN_BACKOFF,
            round: None,
        }
    }

    /// Divides a budget over the offers, which are all that there are.
    pub fn allocate(&mut self, now: Time, budget: Budget, offers: &[Offer]) -> Allocation {
        let has_changed = offers.len() != self.given.len()
            || offers.iter().any(|offer| !self.given.contains_key(&offer.stream));
        let ladders: Vec<_> = offers.iter().map(|offer| self.ladder(offer)).collect();
        let rate = budget.rate;
        let levels = match self.kind {
            AllocatorKind::MaxMin => max_min_levels(rate, &ladders),
            AllocatorKind::LiveKit => self.livekit(now, rate, has_changed, &ladders),
            AllocatorKind::Mediasoup => self.mediasoup(now, rate, has_changed, &ladders),
            AllocatorKind::Custom(custom) => self.custom(custom, now, budget, &ladders),
        };
        self.given = ladders
            .iter()
            .zip(&levels)
            .map(|(ladder, level)| {
                let is_lowered = *level < ladder.before.level;
                let lowered = if is_lowered { Some(now) } else { ladder.before.lowered };
                (ladder.offer.stream, Given { level: *level, lowered })
            })
            .collect();
        let all = || ladders.iter().zip(&levels);
        let total = sum(&ladders, &levels);
        let next = all().filter_map(|(ladder, level)| ladder.raise(*level)).reduce(f64::min);
        Allocation {
            layers: all().map(|(ladder, level)| ladder.selection(*level)).collect(),
            total,
            needed: next.map(|next| (total + next) / RAISE_SHARE),
        }
    }

    fn ladder<'a>(&self, offer: &'a Offer) -> Ladder<'a> {
        let steps = offer.layers.steps().into_iter();
        let steps: Vec<_> = steps.map(|(layers, share)| (layers, share * offer.rate)).collect();
        let mut before = self.given.get(&offer.stream).copied().unwrap_or_default();
        before.level = before.level.min(steps.len());
        Ladder { offer, steps, before }
    }

    fn custom(
        &self,
        custom: CustomAllocator,
        now: Time,
        budget: Budget,
        ladders: &[Ladder<'_>],
    ) -> Vec<usize> {
        let video = |ladder: &Ladder<'_>| VideoView {
            stream: ladder.offer.stream,
            rates: ladder.steps.iter().map(|(_, rate)| *rate).collect(),
            level: ladder.before.level,
            tier: ladder.offer.tier,
        };
        let videos = ladders.iter().map(video).collect();
        let levels =
            custom.rule.levels(&ReceiverView { name: &self.receiver, now, budget, videos });
        let given = levels.into_iter().chain(std::iter::repeat(0));
        ladders.iter().zip(given).map(|(ladder, level)| level.min(ladder.top())).collect()
    }

    fn livekit(
        &mut self,
        now: Time,
        budget: f64,
        has_changed: bool,
        ladders: &[Ladder<'_>],
    ) -> Vec<usize> {
        let mut levels: Vec<_> = ladders.iter().map(|ladder| ladder.before.level).collect();
        let total = sum(ladders, &levels);
        if has_changed || total > budget {
            let was_too_high = self.raised.is_some_and(|at| now - at < MIN_BACKOFF);
            self.backoff = match total > budget && was_too_high {
                true => self.backoff.mul_f64(1.5).min(MAX_BACKOFF),
                false => self.backoff,
            };
            self.next_raise = now + self.backoff;
            return layer_by_layer(budget, ladders);
        }
        if self.raised.is_some_and(|at| now - at >= MIN_BACKOFF) {
            self.backoff = MIN_BACKOFF;
        }
        if now < self.next_raise {
            return levels;
        }
        let mut left = RAISE_SHARE * budget - total;
        loop {
            let fits = (0..ladders.len())
                .filter_map(|i| Some((i, ladders[i].raise(levels[i])?)))
                .filter(|(_, more)| *more <= left);
            // Of those that lack the same the more important one, then the first.
            let lacks_most = fits.max_by_key(|(i, _)| {
                let ladder = &ladders[*i];
                let lacks = ladder.top() - levels[*i];
                (ladder.is_screen(), lacks, std::cmp::Reverse((ladder.offer.tier, *i)))
            });
            let Some((i, more)) = lacks_most else { break };
            levels[i] += 1;
            left -= more;
            self.raised = Some(now);
            self.next_raise = now + RAISE_INTERVAL;
        }
        levels
    }

    fn mediasoup(
        &mut self,
        now: Time,
        budget: f64,
        has_changed: bool,
        ladders: &[Ladder<'_>],
    ) -> Vec<usize> {
        let (fall, rise) = URGENT_SHARES;
        let is_due = self.round.is_none_or(|(at, last)| {
            now - at >= ROUND_INTERVAL || budget < fall * last || budget > rise * last
        });
        if !is_due && !has_changed {
            return ladders.iter().map(|ladder| ladder.before.level).collect();
        }
        self.round = Some((now, budget));
        let mut levels = vec![0; ladders.len()];
        let mut left = budget;
        let mut is_first = true;
        loop {
            let mut is_raised = false;
            for i in by_tier(ladders) {
                // A screen has the priority 2, a camera 1.
                let steps = if ladders[i].is_screen() && !is_first { 2 } else { 1 };
                for _ in 0..steps {
                    if let Some(more) = ladders[i].raise(levels[i])
                        && more <= LOSSLESS_SHARE * left
                        && is_allowed(now, &ladders[i], levels[i] + 1)
                    {
                        levels[i] += 1;
                        left -= more;
                        is_raised = true;
                    }
                }
            }
            if !is_raised {
                return levels;
            }
            is_first = false;
        }
    }
}

/// True unless a level has a higher spatial layer than before, soon after the video was lowered.
fn is_allowed(now: Time, ladder: &Ladder<'_>, level: usize) -> bool {
    let spatial = |level| ladder.selection(level).map(|layers| layers.spatial);
    let is_cautious = ladder.before.lowered.is_some_and(|at| now - at < CAUTION);
    !is_cautious || level <= ladder.before.level || spatial(level) <= spatial(ladder.before.level)
}

fn sum(ladders: &[Ladder<'_>], levels: &[usize]) -> f64 {
    ladders.iter().zip(levels).map(|(ladder, level)| ladder.rate(*level)).sum()
}

/// Offers in the order of their importance.
fn by_tier(ladders: &[Ladder<'_>]) -> Vec<usize> {
    let mut order: Vec<_> = (0..ladders.len()).collect();
    order.sort_by_key(|i| ladders[*i].offer.tier);
    order
}

/// All layers of screens, then the lowest layer of all cameras, then the next one, as long as the budget lasts.
fn layer_by_layer(budget: f64, ladders: &[Ladder<'_>]) -> Vec<usize> {
    let mut levels = vec![0; ladders.len()];
    let mut left = budget;
    let highest = ladders.iter().map(Ladder::top).max().unwrap_or(0);
    for (is_screen, level) in
        [true, false].into_iter().flat_map(|s| (0..highest).map(move |l| (s, l)))
    {
        for i in by_tier(ladders) {
            if ladders[i].is_screen() == is_screen
                && levels[i] == level
                && let Some(more) = ladders[i].raise(level)
                && more <= left
            {
                levels[i] += 1;
                left -= more;
            }
        }
    }
    levels
}

/// Levels by max-min fair shares. A level above the one before must fit into a part of the budget.
fn max_min_levels(budget: f64, ladders: &[Ladder<'_>]) -> Vec<usize> {
    let (low, high) = (fair_levels(RAISE_SHARE * budget, ladders), fair_levels(budget, ladders));
    let both = low.iter().zip(&high);
    let levels: Vec<_> = ladders
        .iter()
        .zip(both)
        .map(|(ladder, (low, high))| ladder.before.level.max(*low).min((*high).max(*low)))
        .collect();
    if sum(ladders, &levels) > budget { low } else { levels }
}

fn fair_levels(budget: f64, ladders: &[Ladder<'_>]) -> Vec<usize> {
    let rates: Vec<_> = ladders.iter().map(|l| (l.rate(l.top()), l.offer.tier)).collect();
    let shares = max_min_by_tier(budget, &rates);
    let mut levels: Vec<_> =
        ladders.iter().zip(&shares).map(|(ladder, share)| ladder.level_within(*share)).collect();
    let mut left = budget - sum(ladders, &levels);
    loop {
        let fits = (0..ladders.len())
            .filter_map(|i| Some((i, ladders[i].raise(levels[i]).filter(|more| *more <= left)?)));
        let lowest = fits.min_by(|(a, _), (b, _)| {
            let key = |i: usize| (ladders[i].offer.tier, ladders[i].rate(levels[i]));
            let ((tier_a, rate_a), (tier_b, rate_b)) = (key(*a), key(*b));
            tier_a.cmp(&tier_b).then(rate_a.total_cmp(&rate_b))
        });
        let Some((i, more)) = lowest else { return levels };
        levels[i] += 1;
        left -= more;
    }
}
