//! How dense the next frame may be.

use std::collections::VecDeque;

use airlane_base::Rate;

/// Frames whose download rates count (Octopus, section 6.3).
pub const HISTORY: usize = 20;

/// Numbers of parts of a cell's points that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Density {
    /// Of front cells, from 1.
    pub front: u8,
    /// Of the cells behind; 0 leaves them out.
    pub behind: u8,
}

/// The densities that are asked for, the least bytes first: cells behind thin out before front cells do.
pub fn densities(layers: u8) -> Vec<Density> {
    let front = (1..=layers).map(|front| Density { front, behind: 0 });
    let behind = (1..=layers).map(|behind| Density { front: layers, behind });
    front.chain(behind).collect()
}

/// Throughput-based: the harmonic mean of the download rates of the last frames, and the highest level
/// that it carries.
#[derive(Clone, Debug)]
pub struct Adaptation {
    /// The mean rates of the levels, rising.
    levels: Vec<Rate>,
    rates: VecDeque<Rate>,
}

impl Adaptation {
    /// Nothing has come yet.
    pub fn new(levels: Vec<Rate>) -> Self {
        Self { levels, rates: VecDeque::with_capacity(HISTORY) }
    }

    /// A frame has come at this rate.
    pub fn came(&mut self, rate: Rate) {
        if self.rates.len() == HISTORY {
            self.rates.pop_front();
        }
        self.rates.push_back(rate);
    }

    /// Estimate of the path's rate; `None` before anything came.
    pub fn estimate(&self) -> Option<Rate> {
        let slowness: f64 = self.rates.iter().map(|rate| 1.0 / rate.as_f64().max(1.0)).sum();
        (!self.rates.is_empty()).then(|| Rate::from_bps_f64(self.rates.len() as f64 / slowness))
    }

    /// The level to ask for; the lowest before anything came.
    pub fn level(&self) -> usize {
        let Some(estimate) = self.estimate() else { return 0 };
        self.levels.iter().rposition(|rate| *rate <= estimate).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_behind_are_the_first_to_thin_out() {
        let levels = densities(5);
        assert_eq!(levels.len(), 10);
        assert_eq!(levels[0], Density { front: 1, behind: 0 });
        assert_eq!(levels[4], Density { front: 5, behind: 0 });
        assert_eq!(levels[9], Density { front: 5, behind: 5 });
    }

    #[test]
    fn slow_frames_count_for_more_and_for_twenty_frames() {
        let levels = [10.0, 20.0, 30.0, 40.0].map(Rate::from_mbps).to_vec();
        let mut adaptation = Adaptation::new(levels);
        assert_eq!((adaptation.level(), adaptation.estimate()), (0, None));
        (0..HISTORY).for_each(|_| adaptation.came(Rate::from_mbps(40.0)));
        assert_eq!(adaptation.level(), 3);
        // The harmonic mean of 19 times 40 and once 2 is 20.5.
        adaptation.came(Rate::from_mbps(2.0));
        assert_eq!(adaptation.level(), 1);
        (1..HISTORY).for_each(|_| adaptation.came(Rate::from_mbps(40.0)));
        assert_eq!(adaptation.level(), 1);
        adaptation.came(Rate::from_mbps(40.0));
        assert_eq!(adaptation.level(), 3);
    }
}
