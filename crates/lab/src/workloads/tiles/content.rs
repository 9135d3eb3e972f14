//! 360-degree videos, and how people looked at them.

use std::path::Path;
use std::sync::Arc;

use airlane_apps::tiles::{Tile, Title};
use airlane_base::{InputError, Seed};
use airlane_media::tiles::{self, TiledVideo};
use airlane_viewport::{
    Audience, CrowdModel, FieldOfView, HeadTrace, Level, Observation, Sampling, TileContent, Tiling,
};

/// Moments of a GoP at which viewports are taken.
const MOMENTS: u32 = 5;
/// How many heads look at each title.
const HEADS: usize = 24;
/// What the heads of all titles are drawn with.
const HEADS_SEED: u64 = 360;
/// How many GoPs they watch at least: a title that is shorter is played again. A session that lasts
/// longer sees them from the beginning once more.
const WATCHED: usize = 60;
/// What a head-mounted display shows, degrees.
const FIELD: (f64, f64) = (100.0, 90.0);

/// What figures depend on beside tables and scenario.
pub(super) fn defaults() -> String {
    format!("{MOMENTS} {FIELD:?} {HEADS} {HEADS_SEED} {WATCHED} {:?}", CrowdModel::FITTED)
}

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
    ///
    /// # Errors
    /// What is wrong with the folder or one of its tables.
    pub(super) fn read(folder: Option<&Path>) -> Result<Self, InputError> {
        let tables = match folder {
            Some(folder) => tiles::TileContent::load_dir(folder)?,
            None => tiles::TileContent::embedded()?,
        };
        let titles = tables.videos.iter().map(|video| Ok(Arc::new(show(video)?)));
        let titles = titles.collect::<Result<_, InputError>>()?;
        Ok(Self { hash: tables.content_hash(), name: tables.name, titles })
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
        Audience::new(&self.heads, WATCHED.max(title.gops()), &sampling)
    }
}

impl Watched {
    /// `show` as one of its heads sees it. Alone, it is taken to look anywhere.
    pub(super) fn new(show: &Show, audience: &Audience, head: usize) -> Self {
        let title = show.title.clone();
        let anywhere = || title.tiling().sphere_shares();
        let gops = 0..audience.gops();
        let attention = gops.clone().map(|gop| {
            audience.probabilities(gop, head, Observation::Share).unwrap_or_else(anywhere)
        });
        let attention = Arc::new(attention.collect());
        let viewports = gops.map(|gop| audience.viewport(head, gop).to_vec()).collect();
        Self { title, attention, viewports }
    }
}

/// A title with the heads of a crowd of its own.
fn show(video: &TiledVideo) -> Result<Show, InputError> {
    let unfit = |e: &dyn std::fmt::Display| {
        InputError::new(format!("{}: {e}", video.name), "expected a video that a session can send")
    };
    let tiling = Tiling::new(video.columns, video.rows).map_err(|e| unfit(&e))?;
    let tile = |tile: &tiles::Tile| Tile {
        levels: tile
            .levels
            .iter()
            .map(|level| Level { bits: 8 * level.bytes, mse: level.mse })
            .collect(),
        content: TileContent { change_mse: tile.change_mse, grey_mse: tile.grey_mse },
    };
    let gops = video.gops.iter().map(|gop| gop.iter().map(tile).collect()).collect();
    let title = Title::new(&video.name, tiling, video.gop, gops).map_err(|e| unfit(&e))?;
    let watched = title.gop() * WATCHED.max(title.gops()) as u32;
    let seed = Seed(HEADS_SEED).split(&video.name);
    let heads = airlane_viewport::crowd(seed, HEADS, watched, &CrowdModel::FITTED);
    Ok(Show { title: Arc::new(title), heads })
}
