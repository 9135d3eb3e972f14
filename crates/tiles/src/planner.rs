//! What the server decides for each GoP: levels and order, from how fast the stream has been.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;

use airlane_viewport::{
    Concealment, Display, History, Joint, LossKind, Ows, Problem, Throughput, TileContent,
    TileCurve, Workspace, by_likelihood, fix,
};
use serde::Serialize;

use super::error::TilesError;
use super::title::{Tile, Title, bytes_of};
use super::wire::Report;

/// Method by which levels and order are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Method {
    /// Algorithm 1 of the paper, with a loss.
    Ows(LossKind),
    /// The levels of Algorithm 1, in raster order (section 6.3).
    Fix,
    /// The levels of Algorithm 1, the tiles in the order in which they are likely to be seen (section 6.3).
    Likelihood,
    /// Levels and order together: not in the paper (`docs/design/viewport.md`).
    Joint,
}

/// Configuration of a planner.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannerConfig {
    /// Method by which it chooses.
    pub method: Method,
    /// C_agg as a factor on the mean of past throughput.
    pub margin: f64,
    /// Reports that throughput is known from: the newest.
    pub history: NonZeroUsize,
    /// Throughput of each GoP's time in bit/s, where it is known beforehand (section 6.3); it takes the
    /// place of reports. `None`, or a GoP beyond its end: what reports say.
    pub known_bps: Option<Arc<[f64]>>,
}

impl Default for PlannerConfig {
    fn default() -> Self {
        let history = NonZeroUsize::new(30).expect("30 is not 0");
        Self { method: Method::Ows(LossKind::Corrected), margin: 1.0, history, known_bps: None }
    }
}

/// A tile of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The tile.
    pub tile: u16,
    /// Its level, by its place in [`Tile::levels`](super::Tile::levels).
    pub level: u8,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The planner of a session.
///
/// It knows what the client reported: how fast the stream was, and what it shows. Of GoPs that were
/// sent and not reported yet it takes all that was sent as shown.
#[derive(Clone, Debug)]
pub struct Planner {
    title: Arc<Title>,
    /// P(t) by GoP: how much of a viewport each tile fills. They sum to 1.
    attention: Arc<Vec<Vec<f64>>>,
    config: PlannerConfig,
    history: History,
    /// State of the client's display at the last GoP that it reported.
    display: Display,
    /// The next GoP to be reported.
    next_report: u32,
    /// The mean squared error of each tile that was sent, GoP by GoP from `next_report` on.
    sent: VecDeque<Vec<Option<f64>>>,
    workspace: Workspace,
}

impl Planner {
    /// A planner for a title whose tiles are looked at as `attention` says, by GoP. It must not
    /// contain the user who is served.
    ///
    /// # Panics
    /// If `attention` has no GoP, or a GoP with another number of tiles.
    pub fn new(title: Arc<Title>, attention: Arc<Vec<Vec<f64>>>, config: PlannerConfig) -> Self {
        let tiles = title.tiling().tiles();
        let fits = attention.iter().all(|gop| gop.len() == tiles);
        assert!(fits && !attention.is_empty(), "one probability per tile and GoP");
        Self {
            history: History::new(config.history),
            display: Display::new(tiles, Concealment::Previous),
            next_report: 0,
            sent: VecDeque::new(),
            workspace: Workspace::default(),
            title,
            attention,
            config,
        }
    }

    /// The tiles of a GoP in the order in which they are to be sent. Before the first report each
    /// has its smallest level.
    pub fn plan(&mut self, gop: u32) -> Vec<Item> {
        self.begin(gop);
        let number = gop as usize;
        let tiles = self.title.tiles(number);
        let mut display = self.display.clone();
        for (gone, sent) in (self.next_report..gop).zip(&self.sent) {
            display.show(&contents(self.title.tiles(gone as usize), sent));
        }
        let curves: Vec<TileCurve> = tiles
            .iter()
            .enumerate()
            .map(|(i, tile)| {
                let missing = display.missing(i, tile.content);
                TileCurve::new(&tile.levels, missing).expect("a title has levels that are finite")
            })
            .collect();
        let duration = self.title.gop();
        let known = self.known(number);
        let throughput = match known {
            Some(bps) => Throughput::new(vec![bps]).ok(),
            None => self.history.throughput(),
        };
        // Nothing is known yet: nothing is expected to arrive, and levels are the smallest.
        let throughput =
            throughput.unwrap_or_else(|| Throughput::new(vec![0.0]).expect("0 is a throughput"));
        let margin = self.config.margin;
        let capacity = match known {
            Some(bps) => Some((bps * margin * duration.as_secs_f64()) as u64),
            None => self.history.capacity_bits(margin, duration),
        };
        let capacity = capacity.unwrap_or(0);
        let deadlines = vec![duration.as_secs_f64(); tiles.len()];
        let attention = &self.attention[number % self.attention.len()];
        let problem = Problem::new(&curves, attention, &deadlines, &throughput, capacity)
            .expect("as many of each, all finite");
        let solution = match self.config.method {
            Method::Ows(kind) => {
                Ows { kind, ..Ows::default() }.solve(&problem, &mut self.workspace)
            }
            Method::Fix => fix(&problem, &mut self.workspace),
            Method::Likelihood => by_likelihood(&problem, &mut self.workspace),
            Method::Joint => Joint::default().solve(&problem, &mut self.workspace),
        };
        let item = |&tile: &usize| {
            let level = curves[tile].source(solution.plan.levels[tile]);
            let bytes = bytes_of(tiles[tile].levels[level]);
            // A title has at most 64 by 64 tiles of 256 levels.
            Item { tile: tile as u16, level: level as u8, bytes }
        };
        solution.plan.order.iter().map(item).collect()
    }

    /// The throughput of a GoP's time, if it is known beforehand and is one.
    fn known(&self, gop: usize) -> Option<f64> {
        let bps = self.config.known_bps.as_deref()?.get(gop).copied()?;
        (bps.is_finite() && bps >= 0.0).then_some(bps)
    }

    /// Nothing of the GoP is sent: its time has passed. Each GoP in turn is planned or left out.
    pub fn leave_out(&mut self, gop: u32) {
        self.begin(gop);
    }

    /// Nothing of the GoP has been sent so far.
    fn begin(&mut self, gop: u32) {
        if gop >= self.next_report {
            self.sent.push_back(vec![None; self.title.tiling().tiles()]);
        }
    }

    /// Number of GoPs that were sent, or left out, and not reported yet.
    pub fn unreported(&self) -> usize {
        self.sent.len()
    }

    /// All of a tile of the GoP that was planned last was sent.
    pub fn on_sent(&mut self, gop: u32, item: Item) {
        let tile = usize::from(item.tile);
        let mse = self.title.tiles(gop as usize)[tile].levels[usize::from(item.level)].mse;
        let ahead = gop.checked_sub(self.next_report);
        if let Some(sent) = ahead.and_then(|ahead| self.sent.get_mut(ahead as usize)) {
            sent[tile] = Some(mse);
        }
    }

    /// The client showed a GoP.
    ///
    /// # Errors
    /// If it is not the one that was to be reported next, or says that a tile arrived that was not
    /// sent.
    pub fn on_report(&mut self, report: &Report) -> Result<(), TilesError> {
        let tiles = self.title.tiles(report.gop as usize);
        let is_next = report.gop == self.next_report && report.arrived.len() == tiles.len();
        if !is_next {
            return Err(TilesError::Protocol("a report of another GoP or number of tiles"));
        }
        // Where the paths were dark for a GoP, the client may report one that is not begun here.
        let mut sent = self.sent.pop_front().unwrap_or_else(|| vec![None; tiles.len()]);
        if sent.iter().zip(&report.arrived).any(|(sent, arrived)| *arrived && sent.is_none()) {
            return Err(TilesError::Protocol("a report of tiles that were never sent"));
        }
        for (sent, _) in sent.iter_mut().zip(&report.arrived).filter(|(_, arrived)| !**arrived) {
            *sent = None;
        }
        self.display.show(&contents(tiles, &sent));
        self.next_report += 1;
        let bps = report.bytes as f64 * 8.0 / report.busy.as_secs_f64();
        let pushed = self.history.push(&[bps]);
        pushed.map_err(|_| TilesError::Protocol("a report of no throughput"))
    }
}

/// Contents of tiles for the display, and the mean squared errors of those that arrived.
fn contents(tiles: &[Tile], arrived: &[Option<f64>]) -> Vec<(TileContent, Option<f64>)> {
    tiles.iter().zip(arrived).map(|(tile, mse)| (tile.content, *mse)).collect()
}
