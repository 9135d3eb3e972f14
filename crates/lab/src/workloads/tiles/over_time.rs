//! A session over time, as the report draws it.

use airlane_report::model::{Draw, Panel, Series};
use airlane_viewport::Concealment;

use super::{Output, SessionOutput};
use crate::workload::OverTime;

pub(super) fn of(output: &Output) -> OverTime {
    if output.0.is_empty() {
        return OverTime::default();
    }
    let mut quality = Panel::new("viewport-psnr", "Viewport PSNR", "dB", Draw::Step, 1)
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
    OverTime { panels: vec![quality, in_time, speed], ..OverTime::default() }
}

impl SessionOutput {
    fn planned_bytes(&self, gop: usize) -> u64 {
        self.sent.get(gop).map_or(0, |sent| sent.plan.iter().map(|item| item.bytes).sum())
    }
}
