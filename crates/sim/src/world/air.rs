//! Who held the air of each WiFi when, as a run leaves it.
//!
//! Attempts are taken from the medium once per step of the run and put into bins, so that memory does
//! not grow with the run; those within one stretch of it are kept as they are.

use std::time::Duration;

use airlane_base::Time;
use airlane_net::Direction;
use airlane_net::air::{Air, AirAttempt, AttemptOutcome};

use super::network::MeasuredDirection;

/// The least length of a bin.
const BIN: Duration = Duration::from_millis(100);

/// Bins at most, however long a run is.
const BINS: usize = 1_000;

/// Numbers at most in all bins of a WiFi, however many stations it has.
const NUMBERS: usize = 400_000;

/// The step in which the use of all the air is counted, for runs of at most so long.
const STEP: Duration = Duration::from_millis(20);
const STEPPED: Duration = Duration::from_secs(120);

/// The length of the stretch whose attempts are kept one by one.
const STRETCH: Duration = Duration::from_millis(30);

/// Attempts at most that are kept of it.
const ATTEMPTS: usize = 2_000;

/// Longest duration of an attempt: younger ones may still overlap with one that has not ended.
const OPEN: Duration = Duration::from_millis(50);

/// The air of one WiFi over a run.
#[derive(Clone, Debug, PartialEq)]
pub struct AirOutput {
    /// The access that is its access point.
    pub access: String,
    /// The length of a bin.
    pub bin: Duration,
    /// Users of the air: down before up, station by station.
    pub ways: Vec<AirDirection>,
    /// The stretch whose attempts follow; empty if the run ended before it.
    pub stretch: (Time, Time),
    /// Attempts that overlap the stretch by their beginning, 2000 at most, each with its index in
    /// [`Self::ways`].
    pub attempts: Vec<(usize, AirAttempt)>,
    /// The use of all of it together, step by step; empty of runs that are long.
    pub steps: Vec<AirStep>,
}

/// Use of all of the air in a step of [`AirStep::LENGTH`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AirStep {
    /// Charged airtime, by the definition of `wifi::PlannedExchange`, over the step.
    pub charged: f32,
    /// Frames that came.
    pub came: f32,
}

impl AirStep {
    /// Length of a step.
    pub const LENGTH: Duration = STEP;
}

/// The use of the air by the packets of one station in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct AirDirection {
    /// Index of its entry in [`RunOutput::ways`](super::RunOutput), which has other ways too.
    pub way: usize,
    /// The number of the place whose host the station is, over all workloads.
    pub place: usize,
    /// The direction.
    pub direction: Direction,
    /// Bin by bin.
    pub bins: Vec<BinAirtime>,
}

/// The time in a bin that attempts held the air for, seconds. Of attempts at the same time each
/// counts for its part of it, so that the sum over all ways is at most the bin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BinAirtime {
    /// Frames for the first time.
    pub fresh: f32,
    /// Frames that had been sent before.
    pub repeated: f32,
    /// Attempts that nobody answered, while nobody else sent.
    pub lost: f32,
    /// Attempts that nobody answered, as others sent at the same time.
    pub collided: f32,
}

impl BinAirtime {
    /// All of it.
    pub fn total(&self) -> f32 {
        self.fresh + self.repeated + self.lost + self.collided
    }

    fn add(&mut self, attempt: &AirAttempt, seconds: f64) {
        let seconds = seconds as f32;
        match attempt.outcome {
            AttemptOutcome::Delivered(_) => {
                let again = attempt.repeated as f32 / attempt.frames.max(1) as f32;
                self.repeated += seconds * again;
                self.fresh += seconds * (1.0 - again);
            }
            AttemptOutcome::Lost => self.lost += seconds,
            AttemptOutcome::Collided => self.collided += seconds,
        }
    }
}

/// Watches the air of one WiFi.
#[derive(Debug)]
pub(super) struct AirWatch {
    air: Air,
    /// True if the run is short enough for steps.
    is_stepped: bool,
    /// The number of the way in `output` by port.
    by_port: Vec<Option<usize>>,
    /// Attempts that may overlap with some that have not ended.
    open: Vec<AirAttempt>,
    output: AirOutput,
}

impl AirWatch {
    /// One for each WiFi among these ways, for a run of `duration`.
    pub(super) fn of(ways: &[MeasuredDirection], duration: Duration) -> Vec<Self> {
        let mut watches: Vec<(airlane_net::NodeId, Self)> = Vec::new();
        for (number, way) in ways.iter().enumerate() {
            let Some(on_air) = &way.on_air else { continue };
            let node = way.carrier.node;
            let at = watches.iter().position(|(n, _)| *n == node).unwrap_or_else(|| {
                on_air.air.keep_attempts();
                watches.push((node, Self::new(on_air.air.clone(), &on_air.access, duration)));
                watches.len() - 1
            });
            let watch = &mut watches[at].1;
            let port = usize::from(way.carrier.port.0);
            if watch.by_port.len() <= port {
                watch.by_port.resize(port + 1, None);
            }
            watch.by_port[port] = Some(watch.output.ways.len());
            let (place, direction) = (on_air.place, way.carrier.direction);
            watch.output.ways.push(AirDirection {
                way: number,
                place,
                direction,
                bins: Vec::new(),
            });
        }
        let mut watches: Vec<Self> = watches.into_iter().map(|(_, watch)| watch).collect();
        for watch in &mut watches {
            watch.output.bin = bin(duration, watch.output.ways.len());
        }
        watches
    }

    fn new(air: Air, access: &str, duration: Duration) -> Self {
        let from = Time::ZERO + duration / 2;
        let output = AirOutput {
            access: access.to_owned(),
            bin: BIN,
            ways: Vec::new(),
            stretch: (from, from + STRETCH),
            attempts: Vec::new(),
            steps: Vec::new(),
        };
        let is_stepped = duration <= STEPPED;
        Self { air, is_stepped, by_port: Vec::new(), open: Vec::new(), output }
    }

    /// Takes what the air did until `now`.
    pub(super) fn take(&mut self, now: Time) {
        let mut open = std::mem::take(&mut self.open);
        open.extend(self.air.take_attempts());
        open.sort_by_key(|attempt| attempt.from);
        let mut start = 0;
        while start < open.len() {
            // Attempts that overlap, each with one of the others.
            let (mut end, mut until) = (start + 1, open[start].until);
            while open.get(end).is_some_and(|next| next.from < until) {
                until = until.max(open[end].until);
                end += 1;
            }
            if until + OPEN > now {
                break;
            }
            self.add(&open[start..end]);
            start = end;
        }
        open.drain(..start);
        self.open = open;
    }

    /// Returns the output of a run that ended at `end`.
    pub(super) fn finish(mut self, end: Time) -> AirOutput {
        self.take(end + 2 * OPEN);
        let bins = end.since_start().as_nanos().div_ceil(self.output.bin.as_nanos().max(1));
        for way in &mut self.output.ways {
            // What an attempt that went on beyond the end would have had.
            way.bins.resize(bins as usize, BinAirtime::default());
        }
        if self.is_stepped {
            let steps = end.since_start().as_nanos() / STEP.as_nanos();
            self.output.steps.resize(steps as usize, AirStep::default());
        }
        if self.output.stretch.1 > end {
            self.output.stretch = (end, end);
            self.output.attempts.clear();
        }
        self.output
    }

    /// Puts attempts that overlap into bins.
    fn add(&mut self, attempts: &[AirAttempt]) {
        let mut edges: Vec<Time> = attempts.iter().flat_map(|a| [a.from, a.until]).collect();
        edges.sort_unstable();
        edges.dedup();
        for (from, until) in edges.iter().zip(edges.iter().skip(1)) {
            let at_once = attempts.iter().filter(|a| a.from <= *from && a.until >= *until);
            let share = 1.0 / at_once.clone().count().max(1) as f64;
            for attempt in at_once {
                self.hold(attempt, (*from, *until), share);
            }
        }
        if self.is_stepped {
            for attempt in attempts {
                self.step(attempt);
            }
        }
        let (from, until) = self.output.stretch;
        for attempt in attempts.iter().filter(|a| a.from < until && a.until > from) {
            let Some(way) = self.way_of(attempt) else { continue };
            if self.output.attempts.len() < ATTEMPTS {
                self.output.attempts.push((way, *attempt));
            }
        }
    }

    /// Counts an attempt in the steps that it goes on in.
    fn step(&mut self, attempt: &AirAttempt) {
        let came = match attempt.outcome {
            AttemptOutcome::Delivered(frames) => f64::from(frames),
            AttemptOutcome::Lost | AttemptOutcome::Collided => 0.0,
        };
        let whole = attempt.until.since(attempt.from).as_secs_f64();
        let steps = &mut self.output.steps;
        for (number, seconds) in pieces((attempt.from, attempt.until), STEP) {
            if steps.len() <= number {
                steps.resize(number + 1, AirStep::default());
            }
            let part = seconds / whole;
            let of = &mut steps[number];
            of.charged += (part * attempt.charged.as_secs_f64() / STEP.as_secs_f64()) as f32;
            of.came += (part * came) as f32;
        }
    }

    fn way_of(&self, attempt: &AirAttempt) -> Option<usize> {
        self.by_port.get(usize::from(attempt.port.0)).copied().flatten()
    }

    /// A part of an attempt held this share of the air from one time to another.
    fn hold(&mut self, attempt: &AirAttempt, (from, until): (Time, Time), share: f64) {
        let Some(way) = self.way_of(attempt) else { return };
        let bins = &mut self.output.ways[way].bins;
        for (number, seconds) in pieces((from, until), self.output.bin) {
            let number = number.min(BINS);
            if bins.len() <= number {
                bins.resize(number + 1, BinAirtime::default());
            }
            bins[number].add(attempt, share * seconds);
        }
    }
}

/// The pieces of a stretch of time in each of the bins of a length that it is in: the bin's number, and
/// seconds.
fn pieces((from, until): (Time, Time), bin: Duration) -> impl Iterator<Item = (usize, f64)> {
    let bin = (bin.as_nanos() as u64).max(1);
    let (mut from, until) = (from.as_nanos(), until.as_nanos());
    std::iter::from_fn(move || {
        let number = from / bin;
        let end = until.min((number + 1) * bin);
        let nanos = end.checked_sub(from).filter(|nanos| *nanos > 0)?;
        from = end;
        Some((usize::try_from(number).unwrap_or(usize::MAX), nanos as f64 * 1e-9))
    })
}

/// The length of a bin in a run of this length with so many ways.
fn bin(duration: Duration, ways: usize) -> Duration {
    let most = (NUMBERS / (4 * ways.max(1))).clamp(20, BINS);
    let least = duration.as_secs_f64() / most as f64;
    BIN * ((least / BIN.as_secs_f64()).ceil().clamp(1.0, 1e6) as u32)
}
