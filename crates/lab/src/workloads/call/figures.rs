//! Figures of participants, from what they received and showed.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::Time;
use airlane_call::ReceivedRecord;
use airlane_call::wire::{ParticipantId, Track};
use airlane_plum::State;
use airlane_quality::stats;

use super::{NAME, Output, ParticipantOutput};
use airlane_sim::workload::{ActorResult, Figures, PartResult, Unit};

/// Pause beyond the usual one between two frames from which on a video is frozen, in seconds (W3C, identifiers
/// for WebRTC's statistics, `freezeCount`).
const MIN_FREEZE_S: f64 = 0.15;

/// Time after a mute in which frames from before it may be shown.
const MAX_LATENESS: Duration = Duration::from_secs(1);

/// Stretches of each video that somebody was shown.
type ShownStretches = BTreeMap<(ParticipantId, Track), Vec<Stretch>>;

/// Time in which a video was sent without a mute.
struct Stretch {
    /// Times at which frames were shown, seconds.
    shown_s: Vec<f64>,
    end_s: f64,
}

impl ParticipantOutput {
    /// Seconds that count.
    fn span_s(&self) -> f64 {
        (self.end - self.counted_from).as_secs_f64()
    }

    /// An amount per second that counts; `None` if none does.
    fn per_second(&self, amount: f64) -> Option<f64> {
        (self.span_s() > 0.0).then(|| amount / self.span_s())
    }

    /// Frames that count, of those received.
    fn counted(&self) -> impl Iterator<Item = &ReceivedRecord> {
        self.received.iter().filter(|record| record.arrived >= self.counted_from)
    }

    /// Bits received from each source in each whole second that counts.
    pub(super) fn by_second(&self) -> BTreeMap<ParticipantId, Vec<f64>> {
        let seconds = self.span_s() as usize;
        let mut all: BTreeMap<ParticipantId, Vec<f64>> = BTreeMap::new();
        for record in self.counted() {
            let second = (record.arrived - self.counted_from).as_secs() as usize;
            let bits = all.entry(record.header.source).or_insert_with(|| vec![0.0; seconds]);
            if let Some(bits) = bits.get_mut(second) {
                *bits += f64::from(record.header.payload_bytes) * 8.0;
            }
        }
        all
    }

    /// Bits received in each whole second that counts, all sources together.
    pub(super) fn received_by_second(&self) -> Vec<f64> {
        let mut sum = vec![0.0; self.span_s() as usize];
        for bits in self.by_second().values() {
            sum.iter_mut().zip(bits).for_each(|(sum, bits)| *sum += bits);
        }
        sum
    }

    /// Bits of the source that brought most, in each whole second that counts.
    pub(super) fn best_by_second(&self) -> Vec<f64> {
        let mut best = vec![0.0_f64; self.span_s() as usize];
        for bits in self.by_second().values() {
            best.iter_mut().zip(bits).for_each(|(best, bits)| *best = best.max(*bits));
        }
        best
    }

    /// Seconds from capture to showing, of each frame of video that counts.
    pub(super) fn delays_s(&self) -> Vec<f64> {
        self.delays_of(|_| true)
    }

    /// Seconds from capture to showing, of each frame that counts of the videos of some sources.
    fn delays_of(&self, is_meant: impl Fn(ParticipantId) -> bool) -> Vec<f64> {
        let shown = self.shown.iter().filter(|record| record.arrived >= self.counted_from);
        let shown = shown.filter(|record| is_meant(record.header.source));
        let delay = |record: &ReceivedRecord| {
            let at = record.shown?.since_start();
            Some(at.saturating_sub(record.header.captured).as_secs_f64())
        };
        shown.filter_map(delay).collect()
    }

    /// Times at which frames of each video that counts were shown, seconds, in stretches: a video that was muted in
    /// between has several. Each has its end: that of the run, or the time of the mute.
    fn shown_at(&self) -> ShownStretches {
        let mut all: BTreeMap<_, Vec<Stretch>> = BTreeMap::new();
        for record in &self.shown {
            let Some(at) = record.shown.filter(|at| *at >= self.counted_from) else { continue };
            let track = (record.header.source, record.header.track);
            let end = self.sent_until(track, at).unwrap_or(self.end).as_secs_f64();
            let stretches = all.entry(track).or_default();
            match stretches.last_mut().filter(|stretch| stretch.end_s == end) {
                Some(stretch) => stretch.shown_s.push(at.as_secs_f64()),
                None => stretches.push(Stretch { shown_s: vec![at.as_secs_f64()], end_s: end }),
            }
        }
        all
    }

    /// Time at which a track is muted next; `None`: it is not. Its last frames may be shown after that.
    fn sent_until(&self, of: (ParticipantId, Track), at: Time) -> Option<Time> {
        let muted =
            self.sends.iter().filter(|(_, id, track, is_sent)| (*id, *track) == of && !is_sent);
        muted.map(|(muted, ..)| *muted).find(|muted| *muted + MAX_LATENESS > at)
    }

    /// Freezes of all videos, and seconds that they lasted beyond a frame.
    fn freezes(&self) -> (usize, f64) {
        freezes(self.shown_at().values().flatten())
    }

    /// Figures of this one's videos at the others: what became of its uplink.
    fn seen(&self, viewers: &[(&Self, ShownStretches)]) -> Figures {
        let own = |id: ParticipantId| Some(id) == self.id;
        let (mut delays, mut frames, mut freezes_seen, mut videos) = (Vec::new(), 0, 0, 0);
        let mut span_s = 0.0;
        for (viewer, shown) in viewers {
            delays.extend(viewer.delays_of(own));
            for (_, stretches) in shown.iter().filter(|((id, _), _)| own(*id)) {
                videos += 1;
                span_s += viewer.span_s();
                frames += stretches.iter().map(|stretch| stretch.shown_s.len()).sum::<usize>();
                freezes_seen += freezes(stretches).0;
            }
        }
        let per_second = |count: usize| (videos > 0 && span_s > 0.0).then(|| count as f64 / span_s);
        let mut figures = Figures::default();
        figures.add("seen_delay_p50_s", Unit::SECONDS, stats::quantile(&delays, 0.5));
        figures.add("seen_delay_p95_s", Unit::SECONDS, stats::quantile(&delays, 0.95));
        figures.add("seen_fps", Unit::PER_SECOND, per_second(frames));
        let per_minute = per_second(freezes_seen).map(|freezes| 60.0 * freezes);
        figures.add("seen_freezes_per_minute", Unit::PER_MINUTE, per_minute);
        figures
    }

    /// Share of the time that counts in a state.
    pub(super) fn share_in(&self, state: State) -> Option<f64> {
        let counted = self.channel.iter().filter(|record| record.at >= self.counted_from);
        let is_in = |state: bool| if state { 1.0 } else { 0.0 };
        stats::mean(&counted.map(|record| is_in(record.state == state)).collect::<Vec<_>>())
    }

    pub(super) fn result(&self) -> ActorResult {
        let seconds = self.received_by_second();
        let received = stats::mean(&seconds);
        let sent = self.encoded.iter().filter(|record| record.at >= self.counted_from);
        let sent: f64 = sent.map(|record| f64::from(record.bytes) * 8.0).sum();
        let best = self.best_by_second();
        let delays = self.delays_s();
        let shown = self.shown_at();
        let videos = shown.len().max(1) as f64;
        let frames: usize = shown.values().flatten().map(|stretch| stretch.shown_s.len()).sum();
        let key_frames = self.encoded.iter().filter(|record| {
            record.is_key && record.track.is_video() && record.at >= self.counted_from
        });
        let key_frames = self.per_second(60.0 * key_frames.count() as f64);
        let (freezes, frozen_s) = self.freezes();
        let capacity = self.channel.iter().filter(|record| record.at >= self.counted_from);
        let capacity: Vec<f64> = capacity.filter_map(|r| Some(r.capacity?.as_f64())).collect();
        let mut figures = Figures::default();
        figures.add("received_bps", Unit::BITS_PER_SECOND, received);
        figures.add("best_source_p90_bps", Unit::BITS_PER_SECOND, stats::quantile(&best, 0.9));
        figures.add("sent_bps", Unit::BITS_PER_SECOND, self.per_second(sent));
        figures.add("frame_delay_p50_s", Unit::SECONDS, stats::quantile(&delays, 0.5));
        figures.add("frame_delay_p95_s", Unit::SECONDS, stats::quantile(&delays, 0.95));
        figures.add("shown_fps", Unit::PER_SECOND, self.per_second(frames as f64 / videos));
        let per_minute = self.per_second(60.0 * freezes as f64 / videos);
        figures.add("freezes_per_minute", Unit::PER_MINUTE, per_minute);
        figures.add("frozen_share", Unit::ONE, self.per_second(frozen_s / videos));
        figures.add("held_up_share", Unit::ONE, self.share_in(State::ClientConstrained));
        figures.add("held_down_share", Unit::ONE, self.share_in(State::ServerConstrained));
        figures.add("capacity_bps", Unit::BITS_PER_SECOND, stats::mean(&capacity));
        figures.add("key_frames_per_minute", Unit::PER_MINUTE, key_frames);
        ActorResult {
            workload: NAME.to_owned(),
            name: self.name.clone(),
            group: self.group.clone(),
            failure: self.failure.clone(),
            rate_bps: received,
            figures,
            samples: vec![
                ("received_bps", seconds),
                ("best_source_bps", best),
                ("frame_delay_s", delays),
            ],
            ..ActorResult::default()
        }
    }
}

pub(super) fn result(output: &Output) -> PartResult {
    let viewers: Vec<_> = output.0.iter().map(|viewer| (viewer, viewer.shown_at())).collect();
    let actor = |participant: &ParticipantOutput| {
        let mut actor = participant.result();
        actor.figures.extend(participant.seen(&viewers));
        actor
    };
    let actors: Vec<_> = output.0.iter().map(actor).collect();
    let received: Vec<f64> =
        actors.iter().filter_map(|actor| actor.value("received_bps")).collect();
    let mut figures = Figures::default();
    if !received.is_empty() {
        let (sum, squares) = received.iter().fold((0.0, 0.0), |(s, q), r| (s + r, q + r * r));
        let fairness = (squares > 0.0).then(|| sum * sum / (received.len() as f64 * squares));
        figures.add("received_mean_bps", Unit::BITS_PER_SECOND, stats::mean(&received));
        figures.add(
            "received_min_bps",
            Unit::BITS_PER_SECOND,
            received.iter().copied().reduce(f64::min),
        );
        figures.add("received_fairness", Unit::ONE, fairness);
    }
    PartResult { actors, figures }
}

/// Freezes in stretches of a video, or of several, and seconds that they lasted beyond a frame.
fn freezes<'a>(stretches: impl IntoIterator<Item = &'a Stretch>) -> (usize, f64) {
    let (mut freezes, mut frozen_s) = (0, 0.0);
    for stretch in stretches {
        let times = &stretch.shown_s;
        let Some(gap) = times.len().checked_sub(1).filter(|gaps| *gaps > 0) else { continue };
        let mean = (times[gap] - times[0]) / gap as f64;
        let limit = (3.0 * mean).max(mean + MIN_FREEZE_S);
        // A video that stands still at the end is frozen too.
        let ends = times[1..].iter().copied().chain([stretch.end_s]);
        for (from, to) in times.iter().zip(ends) {
            if to - from > limit {
                freezes += 1;
                frozen_s += to - from - mean;
            }
        }
    }
    (freezes, frozen_s)
}
