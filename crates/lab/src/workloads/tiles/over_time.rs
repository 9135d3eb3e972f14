//! A session over time, as the report draws it.

use airlane_report::model::{Draw, Fill, Frame, Grid, Kind, Panel, Series};
use airlane_tiles::ShownGop;
use airlane_viewport::Concealment;

use super::{Output, SessionOutput};
use airlane_sim::workload::OverTime;

/// Levels that are told apart at most.
const MAX_KINDS: usize = 254;

pub(super) fn of(output: &Output) -> OverTime {
    if output.0.is_empty() {
        return OverTime::default();
    }
    let mut quality = Panel::new("viewport-psnr", "Viewport PSNR", "dB", Draw::Step, 1)
        .range(20.0, 45.0)
        .help("How close what the user looked at is to the original, GoP by GoP.");
    let mut in_time = Panel::new("in-time", "Tiles in time", "%", Draw::Step, 0)
        .range(0.0, 100.0)
        .help("Tiles that were there when their GoP was shown.");
    let mut speed = Panel::new("tiles-rate", "Planned and in time", "Mbit/s", Draw::Step, 1)
        .help("Bits of the tiles that the server planned, and of those of them that were in time.");
    for session in &output.0 {
        let times: Vec<f64> = session.shown.iter().map(|(at, _)| at.as_secs_f64()).collect();
        let line = |name: String, of: &dyn Fn(usize) -> f64| {
            let mut line = Series::new(name);
            times.iter().enumerate().for_each(|(gop, at)| line.push(*at, of(gop)));
            line
        };
        let name = &session.name;
        let qualities = session.quality(Concealment::Previous);
        quality.series.push(line(name.clone(), &|gop| qualities[gop].viewport_db));
        in_time.series.push(line(name.clone(), &|gop| {
            let levels = &session.shown[gop].1.levels;
            100.0 * levels.iter().flatten().count() as f64 / levels.len() as f64
        }));
        let gop_s = session.watched.title.gop().as_secs_f64();
        speed.series.push(line(format!("{name}, planned"), &|gop| {
            session.planned_bytes(gop) as f64 * 8e-6 / gop_s
        }));
        speed
            .series
            .push(line(format!("{name}, in time"), &|gop| session.used_bytes(gop) * 8e-6 / gop_s));
    }
    let grids = output.0.iter().map(grid).collect();
    OverTime { panels: vec![quality, in_time, speed], grids, ..OverTime::default() }
}

/// Level that each tile of each GoP got, and the user's viewport.
fn grid(session: &SessionOutput) -> Grid {
    let title = &session.watched.title;
    let tiling = title.tiling();
    let levels =
        title.tiles(0).iter().map(|tile| tile.levels.len()).max().unwrap_or(1).min(MAX_KINDS);
    let scale = |level: usize| Fill::Scale(level as f64 / (levels - 1).max(1) as f64);
    let mut kinds: Vec<Kind> = (0..levels)
        .map(|level| {
            let name = match level {
                0 => "lowest level".to_owned(),
                _ if level == levels - 1 => "highest".to_owned(),
                _ => (level + 1).to_string(),
            };
            Kind { name, fill: scale(level) }
        })
        .collect();
    let (late, missing) = (kinds.len() as u8, kinds.len() as u8 + 1);
    kinds.push(Kind { name: "came too late".to_owned(), fill: Fill::Broken });
    kinds.push(Kind { name: "not sent".to_owned(), fill: Fill::Empty });
    let quality = session.quality(Concealment::Previous);
    let frame = |(number, (at, gop)): (usize, &(airlane_base::Time, ShownGop))| {
        let kind = |tile: usize| match gop.levels[tile] {
            Some(level) => level.min(late - 1),
            None if gop.late[tile] || session.was_sent(number, tile) => late,
            None => missing,
        };
        let viewport = session.viewport(number);
        let most = viewport.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        Frame {
            at_s: at.as_secs_f64(),
            cells: (0..tiling.tiles()).map(kind).collect(),
            marks: viewport.iter().map(|share| share / most).collect(),
            note: format!("viewport {:.1} dB", quality[number].viewport_db),
        }
    };
    Grid {
        id: format!("tiles-{}", session.name),
        title: format!("What each tile of {} got", title.name()),
        help: "The panorama at the moment that is pointed at below; at rest that with most \
               missing tiles."
            .to_owned(),
        columns: tiling.columns(),
        rows: tiling.rows(),
        aspect: 2.0,
        kinds,
        mark: "how much of the viewport the tile fills".to_owned(),
        frames: session.shown.iter().enumerate().map(frame).collect(),
    }
}

impl SessionOutput {
    /// Each tile's share of what the user saw of a GoP.
    fn viewport(&self, gop: usize) -> &[f64] {
        let viewports = &self.watched.viewports;
        &viewports[gop % viewports.len()]
    }

    /// True if all of a tile was sent.
    fn was_sent(&self, gop: usize, tile: usize) -> bool {
        let sent = self.sent.get(gop).map_or(&[][..], |gop| &gop.plan[..gop.sent]);
        sent.iter().any(|item| usize::from(item.tile) == tile)
    }

    fn planned_bytes(&self, gop: usize) -> u64 {
        self.sent.get(gop).map_or(0, |sent| sent.plan.iter().map(|item| item.bytes).sum())
    }
}
