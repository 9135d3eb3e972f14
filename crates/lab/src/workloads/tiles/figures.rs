//! Figures of a session, from what was shown.

use airlane_quality::stats;
use airlane_tiles::{GopQuality, quality};
use airlane_viewport::Concealment;

use super::{NAME, Output, SessionOutput};
use airlane_sim::workload::{ActorResult, Figures, PartResult, Unit};

impl SessionOutput {
    /// The quality of every GoP that was shown.
    pub(super) fn quality(&self, concealment: Concealment) -> Vec<GopQuality> {
        let viewports = self.watched.viewports.iter().map(Vec::as_slice).cycle();
        let arrived: Vec<_> = self.shown.iter().map(|(_, gop)| gop.levels.clone()).collect();
        quality(&self.watched.title, viewports, &arrived, concealment)
    }

    /// The places of the GoPs that count.
    fn counted(&self) -> impl Iterator<Item = usize> + '_ {
        let counts = |at: &usize| self.shown[*at].0 >= self.counted_from;
        (0..self.shown.len()).filter(counts)
    }

    /// Bytes of the tiles of a GoP that were there in time.
    pub(super) fn used_bytes(&self, gop: usize) -> f64 {
        let tiles = self.watched.title.tiles(gop).iter().zip(&self.shown[gop].1.levels);
        tiles
            .map(|(tile, level)| {
                level.map_or(0.0, |l| tile.levels[usize::from(l)].bits as f64 / 8.0)
            })
            .sum()
    }
}

pub(super) fn result(output: &Output) -> PartResult {
    let mut actors = Vec::new();
    for session in &output.0 {
        let counted: Vec<usize> = session.counted().collect();
        let mean = |of: &dyn Fn(usize) -> f64| {
            stats::mean(&counted.iter().map(|gop| of(*gop)).collect::<Vec<_>>())
        };
        let previous = session.quality(Concealment::Previous);
        let grey = session.quality(Concealment::Grey);
        let gop_s = session.watched.title.gop().as_secs_f64();
        let shown = |gop: usize| &session.shown[gop].1;
        let mut viewport: Vec<f64> = counted.iter().map(|gop| previous[*gop].viewport_db).collect();
        let late = mean(&|gop| {
            let missing = shown(gop).levels.iter().filter(|level| level.is_none()).count();
            missing as f64 / shown(gop).levels.len() as f64
        });
        let used = mean(&|gop| session.used_bytes(gop) * 8.0 / gop_s);
        let throughput = mean(&|gop| shown(gop).bytes as f64 * 8.0 / shown(gop).busy.as_secs_f64());
        let mut figures = Figures::default();
        figures.add("viewport_psnr_db", Unit::DECIBELS, mean(&|gop| previous[gop].viewport_db));
        figures.add("viewport_psnr_grey_db", Unit::DECIBELS, mean(&|gop| grey[gop].viewport_db));
        let samples = viewport.clone();
        viewport.sort_by(f64::total_cmp);
        let tenth = (!viewport.is_empty()).then(|| viewport[viewport.len() / 10]);
        figures.add("viewport_psnr_p10_db", Unit::DECIBELS, tenth);
        let spread = stats::population_sd(&viewport);
        figures.add("viewport_psnr_sd_db", Unit::DECIBELS, spread);
        figures.add("ws_psnr_db", Unit::DECIBELS, mean(&|gop| previous[gop].panorama_db));
        figures.add("late_share", Unit::ONE, late);
        figures.add("used_bps", Unit::BITS_PER_SECOND, used);
        figures.add("throughput_bps", Unit::BITS_PER_SECOND, throughput);
        actors.push(ActorResult {
            workload: NAME.to_owned(),
            name: session.name.clone(),
            failure: session.failure.clone(),
            rate_bps: Some(used.unwrap_or(0.0)),
            figures,
            samples: vec![("viewport_psnr_db", samples)],
            ..ActorResult::default()
        });
        let all: u64 = session.radios.iter().map(|radio| radio.first_bytes).sum();
        for radio in &session.radios {
            let mut figures = Figures::default();
            let share = (all > 0).then(|| radio.first_bytes as f64 / all as f64);
            figures.add("byte_share", Unit::ONE, share);
            actors.push(ActorResult {
                workload: NAME.to_owned(),
                name: radio.name.clone(),
                part: true,
                figures,
                ..ActorResult::default()
            });
        }
    }
    PartResult { actors, figures: Figures::default() }
}
