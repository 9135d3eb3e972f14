//! 360-degree videos, and how people looked at them.

use std::path::Path;
use std::sync::Arc;

use airlane_base::{Fnv64, InputError, Seed};
use airlane_tiles::{Tile, Title};

use airlane_media::heads::{self, Recording};
use airlane_media::tiles::{self, TiledVideo};
use airlane_viewport::{
    Audience, CrowdModel, FieldOfView, HeadTrace, Level, Observation, Orientation, Sampling,
    TileContent, Tiling,
};

use airlane_judge::reporting::words::file_name;
use airlane_sim::identity;

/// Moments of a GoP at which viewports are taken.
const MOMENTS: u32 = 5;
/// Number of heads that look at each title.
const HEADS: usize = 24;
/// Seed of the heads of all titles.
const HEADS_SEED: u64 = 360;
/// Minimum number of GoPs that they watch: a title that is shorter is played again.
const WATCHED: usize = 60;
/// Field of view of a head-mounted display, degrees: horizontal, vertical.
const FIELD: (f64, f64) = (100.0, 90.0);

/// Text of all that figures depend on besides tables and scenario.
pub(super) fn defaults() -> String {
    let crowd = identity::text(&CrowdModel::FITTED);
    format!("{MOMENTS} {FIELD:?} {HEADS} {HEADS_SEED} {WATCHED} {crowd}")
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
    /// GoPs that all of these watched. A session that lasts longer sees them from the beginning once
    /// more.
    watched: usize,
}

/// A title as one of its heads sees it.
#[derive(Debug)]
pub(super) struct HeadView {
    pub(super) title: Arc<Title>,
    /// P(t) by GoP, from all heads but this one.
    pub(super) attention: Arc<Vec<Vec<f64>>>,
    /// Each tile's share of this head's own viewport, by GoP.
    pub(super) viewports: Vec<Vec<f64>>,
}

impl Content {
    /// The content of a folder, or the embedded one; with the heads that are recorded in another
    /// folder, or generated ones. Recordings are of other titles than tables are: the heads of the
    /// first title that has recordings look at the first table's, and so on, in the order of names.
    ///
    /// # Errors
    /// What is wrong with a folder, or with a table or a recording in it.
    pub(super) fn read(folder: Option<&Path>, recorded: Option<&Path>) -> Result<Self, InputError> {
        let tables = match folder {
            Some(folder) => tiles::TileContent::load_dir(folder)?,
            None => tiles::TileContent::embedded()?,
        };
        let (mut name, mut hash) = (tables.name.clone(), tables.content_hash());
        let crowds = match recorded {
            Some(folder) => {
                let crowds: Vec<Vec<Recording>> = heads::load_dir(folder)?.into_values().collect();
                name = format!("{name}, heads of {}", file_name(&folder.to_string_lossy()));
                hash = hash_of(hash, &crowds);
                crowds
            }
            None => Vec::new(),
        };
        let mut titles = Vec::new();
        for (number, video) in tables.videos.iter().enumerate() {
            let title = title(video)?;
            let show = match crowds.get(number % crowds.len().max(1)) {
                Some(crowd) => recorded_heads(title, crowd)?,
                None => generated_heads(title),
            };
            titles.push(Arc::new(show));
        }
        Ok(Self { name, hash, titles })
    }

    /// The place of the title of this name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.titles.iter().position(|show| show.title.name() == name)
    }
}

impl Show {
    /// Number of heads that looked at it.
    pub(super) fn heads(&self) -> usize {
        self.heads.len()
    }

    /// Viewports of each head over the title.
    pub(super) fn audience(&self) -> Audience {
        let (horizontal, vertical) = FIELD;
        let field = FieldOfView::from_degrees(horizontal, vertical).expect("it is flat");
        let title = &self.title;
        let sampling =
            Sampling { tiling: title.tiling(), field, gop: title.gop(), moments: MOMENTS };
        Audience::new(&self.heads, self.watched, &sampling)
    }
}

impl HeadView {
    /// `show` without its lowest levels, as one of its heads sees it. Alone, it is taken to look anywhere.
    pub(super) fn new(show: &Show, audience: &Audience, head: usize, left_out: usize) -> Self {
        let title = match left_out {
            0 => show.title.clone(),
            lowest => Arc::new(show.title.without_lowest(lowest)),
        };
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

/// A title as its table has it.
fn title(video: &TiledVideo) -> Result<Title, InputError> {
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
    Title::new(&video.name, tiling, video.gop, gops).map_err(|e| unfit(&e))
}

/// A title with the heads of a crowd of its own.
fn generated_heads(title: Title) -> Show {
    let watched = WATCHED.max(title.gops());
    let seed = Seed(HEADS_SEED).split(title.name());
    let heads =
        airlane_viewport::crowd(seed, HEADS, title.gop() * watched as u32, &CrowdModel::FITTED);
    Show { title: Arc::new(title), heads, watched }
}

/// A title with recorded heads, for as long as the shortest of them watched.
fn recorded_heads(title: Title, crowd: &[Recording]) -> Result<Show, InputError> {
    let mut heads = Vec::new();
    for Recording { title, viewer, samples } in crowd {
        let attitude = samples.iter().map(|sample| {
            let (yaw, pitch, roll) = (sample.yaw_deg, sample.pitch_deg, sample.roll_deg);
            (sample.at, Orientation::from_degrees(yaw, pitch, roll))
        });
        let head = HeadTrace::new(attitude.collect());
        heads.push(head.map_err(|e| {
            InputError::new(format!("{title}, viewer {viewer}: {e}"), "expected a recorded head")
        })?);
    }
    let shortest = heads.iter().map(|head| head.span().1).min().unwrap_or_default();
    let watched = (shortest.as_secs_f64() / title.gop().as_secs_f64()) as usize;
    if watched == 0 {
        let found = format!("heads recorded for {shortest:?}");
        let expected = format!("expected a GoP of {} at least, {:?}", title.name(), title.gop());
        return Err(InputError::new(found, expected));
    }
    Ok(Show { title: Arc::new(title), heads, watched })
}

/// The hash of tables with that of recordings.
fn hash_of(tables: u64, crowds: &[Vec<Recording>]) -> u64 {
    let mut hash = Fnv64::new();
    hash.write_u64(tables);
    for recording in crowds.iter().flatten() {
        hash.write(recording.title.as_bytes());
        hash.write(recording.viewer.as_bytes());
        for sample in &recording.samples {
            hash.write_u64(sample.at.as_nanos() as u64);
            for angle in [sample.yaw_deg, sample.pitch_deg, sample.roll_deg] {
                hash.write_u64(angle.to_bits());
            }
        }
    }
    hash.finish()
}
