//! What the heads of several viewers are like: how they move, and how much they look at the same.

use std::time::Duration;

use crate::audience::{Audience, Observation, Sampling};
use crate::head::HeadTrace;
use crate::orientation::{Orientation, dot};
use crate::tiling::Tiling;
use crate::viewport::FieldOfView;

/// The time over which speed is taken: recordings have 10 samples per second and whole degrees.
const SPEED_OVER: Duration = Duration::from_millis(200);
/// Interval at which directions of heads are compared with themselves and each other.
const STEP: Duration = Duration::from_millis(200);

/// Statistics over all titles and viewers; angles in degrees, between directions of view.
#[derive(Clone, Debug, PartialEq)]
pub struct CrowdStatistics {
    /// Speed over 0.2 s, in degrees per second: 10, 25, 50, 75, 90 and 99 % quantile.
    pub speed_deg_s: [f64; 6],
    /// Mean angle between now and so many seconds later: 1, 2, 5 and 10 s.
    pub moved_deg: [f64; 4],
    /// Standard deviation of the latitude of the view.
    pub pitch_deg: f64,
    /// Standard deviation of roll.
    pub roll_deg: f64,
    /// Angle between two viewers of a title at one moment: 10, 25, 50, 75 and 90 % quantile.
    pub apart_deg: [f64; 5],
    /// Of a viewer's viewport (100x90 degrees) in a second, the mean share that lies in the ten of
    /// 12x8 tiles that the others saw most.
    pub shared: f64,
    /// Standard deviation over titles of the title's own mean of that share.
    pub shared_by_title: f64,
}

/// Seconds of [`CrowdStatistics::moved_deg`].
pub const MOVED_S: [u32; 4] = [1, 2, 5, 10];

impl CrowdStatistics {
    /// Of the traces of each title's viewers, over the time that all viewers of the title have. `None`
    /// if no title has two viewers for ten seconds.
    pub fn of(titles: &[Vec<HeadTrace>]) -> Option<Self> {
        let mut all = Samples::default();
        for traces in titles.iter().filter(|traces| traces.len() > 1) {
            all.add(traces);
        }
        let quantiles = |values: &mut Vec<f64>, places: &[f64]| -> Option<Vec<f64>> {
            values.sort_by(f64::total_cmp);
            places.iter().map(|p| values.get((p * values.len() as f64) as usize).copied()).collect()
        };
        let moved = all.moved.each_ref().map(|angles| mean(angles));
        if moved.iter().any(Option::is_none) {
            return None;
        }
        Some(Self {
            speed_deg_s: quantiles(&mut all.speed, &[0.1, 0.25, 0.5, 0.75, 0.9, 0.99])?
                .try_into()
                .ok()?,
            moved_deg: moved.map(Option::unwrap_or_default),
            pitch_deg: deviation(&all.pitch)?,
            roll_deg: deviation(&all.roll)?,
            apart_deg: quantiles(&mut all.apart, &[0.1, 0.25, 0.5, 0.75, 0.9])?.try_into().ok()?,
            shared: mean(&all.shared)?,
            shared_by_title: deviation(&all.shared_by_title)?,
        })
    }
}

#[derive(Default)]
struct Samples {
    speed: Vec<f64>,
    moved: [Vec<f64>; 4],
    pitch: Vec<f64>,
    roll: Vec<f64>,
    apart: Vec<f64>,
    shared: Vec<f64>,
    shared_by_title: Vec<f64>,
}

impl Samples {
    fn add(&mut self, traces: &[HeadTrace]) {
        let start = traces.iter().map(|trace| trace.span().0).max().unwrap_or_default();
        let end = traces.iter().map(|trace| trace.span().1).min().unwrap_or_default();
        let steps = (end.saturating_sub(start).as_secs_f64() / STEP.as_secs_f64()) as usize;
        let heads: Vec<Vec<Orientation>> = traces
            .iter()
            .map(|trace| (0..steps).map(|n| trace.at(start + STEP * n as u32)).collect())
            .collect();
        for head in &heads {
            self.speed.extend(angles(head, 1).map(|angle| angle / SPEED_OVER.as_secs_f64()));
            for (moved, seconds) in self.moved.iter_mut().zip(MOVED_S) {
                moved.extend(angles(head, seconds as usize * 5));
            }
            for orientation in head {
                self.pitch.push(orientation.ahead()[2].clamp(-1.0, 1.0).asin().to_degrees());
                let (right, up) = (orientation.right(), orientation.up());
                self.roll.push((-right[2]).atan2(up[2]).to_degrees());
            }
        }
        for (number, one) in heads.iter().enumerate() {
            for other in &heads[..number] {
                // Every second one: neighbours in time hardly differ.
                self.apart.extend(one.iter().zip(other).step_by(2).map(|(&a, &b)| between(a, b)));
            }
        }
        let sampling = Sampling {
            tiling: Tiling::REFERENCE,
            field: FieldOfView::from_degrees(100.0, 90.0).expect("below 180"),
            gop: Duration::from_secs(1),
            moments: 2,
        };
        let audience = Audience::new(traces, end.as_secs() as usize, &sampling);
        let first = self.shared.len();
        for (user, gop) in
            (0..audience.users()).flat_map(|user| (0..audience.gops()).map(move |gop| (user, gop)))
        {
            let Some(seen) = audience.probabilities(gop, user, Observation::Share) else {
                continue;
            };
            let mut tiles: Vec<usize> = (0..seen.len()).collect();
            tiles.sort_by(|&a, &b| seen[b].total_cmp(&seen[a]));
            let own = audience.viewport(user, gop);
            self.shared.push(tiles[..10].iter().map(|&tile| own[tile]).sum());
        }
        self.shared_by_title.extend(mean(&self.shared[first..]));
    }
}

/// The angle between two directions of view, in degrees.
fn between(a: Orientation, b: Orientation) -> f64 {
    dot(a.ahead(), b.ahead()).clamp(-1.0, 1.0).acos().to_degrees()
}

/// The angles between each moment and the one so many steps later.
fn angles(head: &[Orientation], steps: usize) -> impl Iterator<Item = f64> {
    head.iter().zip(head.iter().skip(steps)).map(|(&a, &b)| between(a, b))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    Some((squares / values.len() as f64).sqrt())
}
