//! 360-degree videos, and how people looked at them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use airlane_apps::tiles::{Tile, Title};
use airlane_base::{InputError, Seed};
use airlane_viewport::{
    Audience, FieldOfView, HeadTrace, Observation, Orientation, Sampling, TileContent, Tiling,
    synthetic,
};

/// Moments of a GoP at which viewports are taken.
pub(super) const MOMENTS: u32 = 5;
/// What a head-mounted display shows, degrees.
const FIELD: (f64, f64) = (100.0, 90.0);

/// A set of titles.
#[derive(Clone, Debug)]
pub(super) struct Content {
    pub(super) name: String,
    pub(super) hash: u64,
    pub(super) titles: Vec<Arc<Show>>,
}

/// A title, and the heads that looked at it.
#[derive(Debug)]
pub(super) struct Show {
    pub(super) title: Arc<Title>,
    heads: Vec<HeadTrace>,
}

/// A title as one of its heads sees it.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) title: Arc<Title>,
    /// P(t) by GoP, from all heads but this one.
    pub(super) attention: Arc<Vec<Vec<f64>>>,
    /// Each tile's share of this head's own viewport, by GoP.
    pub(super) viewports: Vec<Vec<f64>>,
}

impl Content {
    /// The content of a folder, or the embedded one.
    pub(super) fn read(_folder: Option<&Path>) -> Result<Self, InputError> {
        let titles = ["a", "b", "c"].map(|name| Arc::new(made(name)));
        Ok(Self { name: "synthetic".to_owned(), hash: 0, titles: titles.into() })
    }

    /// The place of the title of this name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.titles.iter().position(|show| show.title.name() == name)
    }
}

impl Show {
    /// How many heads looked at it.
    pub(super) fn heads(&self) -> usize {
        self.heads.len()
    }

    /// How each head saw the title.
    pub(super) fn audience(&self) -> Audience {
        let (horizontal, vertical) = FIELD;
        let field = FieldOfView::from_degrees(horizontal, vertical).expect("it is flat");
        let title = &self.title;
        let sampling =
            Sampling { tiling: title.tiling(), field, gop: title.gop(), moments: MOMENTS };
        Audience::new(&self.heads, title.gops(), &sampling)
    }
}

impl Watched {
    /// `show` as one of its heads sees it. Alone, it is taken to look anywhere.
    pub(super) fn new(show: &Show, audience: &Audience, head: usize) -> Self {
        let title = show.title.clone();
        let anywhere = || title.tiling().sphere_shares();
        let gops = 0..title.gops();
        let attention = gops.clone().map(|gop| {
            audience.probabilities(gop, head, Observation::Share).unwrap_or_else(anywhere)
        });
        let attention = Arc::new(attention.collect());
        let viewports = gops.map(|gop| audience.viewport(head, gop).to_vec()).collect();
        Self { title, attention, viewports }
    }
}

fn made(name: &str) -> Show {
    let seed = Seed(17).split(name);
    let tiling = Tiling::REFERENCE;
    let gops = (0..30).map(|gop| {
        let curves = synthetic::gop(seed.index(gop / 10), tiling.tiles(), 8).curves;
        let tile = |curve: &airlane_viewport::TileCurve| {
            let grey_mse = curve.missing();
            let content = TileContent { change_mse: grey_mse / 4.0, grey_mse };
            Tile { levels: curve.levels().to_vec(), content }
        };
        curves.iter().map(tile).collect()
    });
    let title = Title::new(name, tiling, Duration::from_secs(1), gops.collect()).expect("it fits");
    let heads = (0..8u32).map(|user| {
        let yaw = |s: u32| f64::from(s) * 6.0 + 20.0 * (f64::from(s + 3 * user) * 0.9).sin();
        let sample = |s: u32| {
            (Duration::from_secs(s.into()), Orientation::from_degrees(yaw(s), 5.0, 0.0))
        };
        HeadTrace::new((0..30).map(sample).collect()).expect("times rise")
    });
    Show { title: Arc::new(title), heads: heads.collect() }
}
