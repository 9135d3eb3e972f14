//! Corpus statistics as aligned plain text.

use std::collections::BTreeMap;
use std::fmt;

use airlane_quality::stats::Quartiles;

use crate::statistics::{CorpusStatistics, RATES_BPS, REAL, VideoStatistics};
use crate::video::Metric;

impl fmt::Display for CorpusStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} videos, {} of at least 50 chunks, {} of at least 75; content {:016x}",
            self.name,
            self.videos.len(),
            self.at_least(50),
            self.at_least(75),
            self.content_hash
        )?;
        writeln!(
            f,
            "at: {} at that many Mbit/s on the mean curve; rung: mean of the nearest rung; step: mean \
             difference between its adjacent chunks",
            self.metric
        )?;
        writeln!(f)?;
        write!(f, "{}", columns(&self.video_rows(), 2))?;
        writeln!(f)?;
        write!(f, "{}", columns(&self.spread_rows(), 1))?;
        let traps = self.traps();
        if !traps.is_empty() {
            writeln!(f)?;
            writeln!(f, "traps")?;
            for line in traps {
                writeln!(f, "- {line}")?;
            }
        }
        Ok(())
    }
}

impl CorpusStatistics {
    fn video_rows(&self) -> Vec<Vec<String>> {
        let metric = self.metric.name();
        let mut head: Vec<String> =
            ["video", "character", "chunks", "distinct", "rungs"].map(str::to_owned).into();
        head.push("Mbit/s".to_owned());
        head.push(metric.to_owned());
        for rate in RATES_BPS {
            head.push(format!("at {}", rate / 1e6));
            head.push("rung".to_owned());
            head.push("step".to_owned());
        }
        let mut rows = vec![head];
        rows.extend(self.videos.iter().map(video_row));
        rows
    }

    fn spread_rows(&self) -> Vec<Vec<String>> {
        let real = if self.metric == Metric::Vmaf { "real set" } else { "real set (vmaf)" };
        let mut rows =
            vec![["over the videos", "quartiles", real, "alike"].map(str::to_owned).to_vec()];
        for ((rate, spread), reference) in RATES_BPS.iter().zip(&self.spread).zip(&REAL) {
            let mbps = rate / 1e6;
            // Other metrics have other scales: nothing to compare.
            let alike = |yes: bool| match (self.metric, yes) {
                (Metric::Vmaf, true) => "yes".to_owned(),
                (Metric::Vmaf, false) => "no".to_owned(),
                _ => "-".to_owned(),
            };
            rows.push(vec![
                format!("mean at {mbps} Mbit/s, on the curve"),
                quartiles(&spread.quality, 1),
                quartiles(&reference.vmaf, 0),
                alike(spread.quartiles_are_real(reference)),
            ]);
            rows.push(vec![
                format!("mean at {mbps} Mbit/s, nearest rung"),
                quartiles(&spread.rung_quality, 1),
                String::new(),
                String::new(),
            ]);
            rows.push(vec![
                "step between chunks at that rung, median".to_owned(),
                format!("{:.1}", spread.adjacent),
                format!("{:.0}-{:.0}", reference.adjacent.0, reference.adjacent.1),
                alike(spread.adjacent_is_real(reference)),
            ]);
        }
        rows
    }

    fn traps(&self) -> Vec<String> {
        let mut lines = self.warnings.clone();
        let (mut falling, mut chunks) = (0.0, 0);
        let mut constant: BTreeMap<(Metric, bool), usize> = BTreeMap::new();
        for v in &self.videos {
            falling += v.not_monotone * v.chunks as f64;
            chunks += v.chunks;
            let mut seen: Vec<(Metric, bool)> =
                v.constant.iter().map(|&(m, r)| (m, r + 1 == v.rate_bps.len())).collect();
            seen.sort_unstable();
            seen.dedup();
            seen.into_iter().for_each(|k| *constant.entry(k).or_default() += 1);
        }
        if falling > 0.0 {
            lines.push(format!(
                "in {:.1} % of all chunks a rung has a lower {} than one below it",
                100.0 * falling / chunks as f64,
                self.metric
            ));
        }
        for ((metric, top), videos) in constant {
            let place = if top { "the top rung" } else { "a rung below the top" };
            lines.push(format!("{metric} is one constant at {place} of {videos} videos"));
        }
        lines
    }
}

fn video_row(v: &VideoStatistics) -> Vec<String> {
    let range = |xs: &[f64], scale: f64, digits: usize| match (xs.first(), xs.last()) {
        (Some(a), Some(b)) => format!("{:.digits$}-{:.digits$}", a / scale, b / scale),
        _ => String::new(),
    };
    let mut row = vec![
        v.name.clone(),
        v.character.clone(),
        v.chunks.to_string(),
        v.distinct_chunks.to_string(),
        v.rate_bps.len().to_string(),
        range(&v.rate_bps, 1e6, 2),
        range(&v.quality, 1.0, 1),
    ];
    for at in &v.at {
        row.push(format!("{:.1}", at.quality));
        row.push(format!("{:.1}", at.rung_quality));
        row.push(format!("{:.1}", at.adjacent));
    }
    row
}

fn quartiles(q: &Quartiles, digits: usize) -> String {
    format!("{:.digits$}/{:.digits$}/{:.digits$}", q.lower, q.median, q.upper)
}

/// Rows as columns of equal width, the first `left` of them flush left and the others flush
/// right.
pub(crate) fn columns(rows: &[Vec<String>], left: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|c| width(c).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(c, (s, &w))| if c < left { format!("{s:<w$}") } else { format!("{s:>w$}") })
            .collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    }
    out
}
