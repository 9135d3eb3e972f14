//! What users saw of each GoP, and from that the probability that another one sees a tile.

use std::time::Duration;

use crate::head::HeadTrace;
use crate::tiling::Tiling;
use crate::viewport::{FieldOfView, Viewport};

/// Definition of P(t), "the probability that a tile t will be observed" (section 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Observation {
    /// The mean over users and moments of the tile's share of the viewport's solid angle. These sum
    /// to 1 over tiles, and `sum of P(t) * MSE(t)` is the expected mean squared error of the
    /// viewport, which viewport PSNR is made of; hence the default.
    #[default]
    Share,
    /// The share of users and moments in which the viewport shows any part of the tile: the text
    /// word by word. A tile of which a corner shows counts as much as one that is seen whole.
    Seen,
}

/// Sampling of viewports in GoPs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// The panorama's tiles.
    pub tiling: Tiling,
    /// The field of view of every user.
    pub field: FieldOfView,
    /// Duration of a GoP; the paper's is 1 s.
    pub gop: Duration,
    /// Moments of a GoP at which each viewport is taken, at even distances and half of one from
    /// both ends; at least 1.
    pub moments: u32,
}

/// Users and GoPs, and what each of them saw in each.
#[derive(Clone, Debug)]
pub struct Audience {
    tiles: usize,
    gops: usize,
    /// By user, GoP, tile.
    shares: Vec<f64>,
    seen: Vec<f64>,
}

impl Audience {
    /// Tiles that each user saw in the first `gops` GoPs. A user whose trace is shorter goes on
    /// looking where it ends.
    pub fn new(traces: &[HeadTrace], gops: usize, sampling: &Sampling) -> Self {
        let tiles = sampling.tiling.tiles();
        let moments = sampling.moments.max(1);
        let step = sampling.gop / moments;
        let part = 1.0 / f64::from(moments);
        let mut shares = vec![0.0; traces.len() * gops * tiles];
        let mut seen = shares.clone();
        let rows = shares.chunks_mut(tiles).zip(seen.chunks_mut(tiles));
        let whose = traces.iter().flat_map(|trace| (0..gops as u32).map(move |gop| (trace, gop)));
        for ((trace, gop), (shares, seen)) in whose.zip(rows) {
            for moment in 0..moments {
                let at = sampling.gop * gop + step * moment + step / 2;
                let viewport = Viewport { orientation: trace.at(at), field: sampling.field };
                let now = viewport.shares(sampling.tiling);
                for (tile, share) in now.into_iter().enumerate() {
                    shares[tile] += part * share;
                    seen[tile] += if share > 0.0 { part } else { 0.0 };
                }
            }
        }
        Self { tiles, gops, shares, seen }
    }

    /// Number of users.
    pub fn users(&self) -> usize {
        self.shares.len() / (self.gops * self.tiles).max(1)
    }

    /// Number of GoPs.
    pub fn gops(&self) -> usize {
        self.gops
    }

    /// Each tile's mean share of the viewport of one user in a GoP: the weights of viewport PSNR.
    /// They sum to 1.
    ///
    /// # Panics
    /// If there is no such user or GoP.
    pub fn viewport(&self, user: usize, gop: usize) -> &[f64] {
        self.row(&self.shares, user, gop)
    }

    /// P(t) of each tile for a GoP, from all users but the one that it is meant for. `None` if there
    /// is no other.
    ///
    /// # Panics
    /// If there is no such user or GoP.
    pub fn probabilities(&self, gop: usize, but: usize, what: Observation) -> Option<Vec<f64>> {
        let users = self.users();
        assert!(but < users, "user {but} of {users}");
        let table = match what {
            Observation::Share => &self.shares,
            Observation::Seen => &self.seen,
        };
        let others = users.checked_sub(1).filter(|&others| others > 0)? as f64;
        let mut sums = vec![0.0; self.tiles];
        for user in (0..users).filter(|&user| user != but) {
            for (sum, value) in sums.iter_mut().zip(self.row(table, user, gop)) {
                *sum += value / others;
            }
        }
        Some(sums)
    }

    fn row<'a>(&self, table: &'a [f64], user: usize, gop: usize) -> &'a [f64] {
        assert!(gop < self.gops, "GoP {gop} of {}", self.gops);
        let at = (user * self.gops + gop) * self.tiles;
        &table[at..at + self.tiles]
    }
}
