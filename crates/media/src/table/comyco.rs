//! The tables of the Comyco video description data set, in the one-file-per-video JSON form.
//!
//! Known faults of the real tables, and what is done about each: a quality that is NaN is
//! interpolated over the rungs; a last chunk that is shorter than the rest is dropped. The
//! columns `vmaf_phone` and `vmaf_4k` are constant at the top rung (the tool clipped them), which
//! is reported by the statistics and left alone.

use std::collections::BTreeMap;

use airlane_base::{InputError, Rate};
use airlane_quality::stats;

use super::json::{Measured, Node};
use super::{Table, Traps, airlane};
use crate::video::{MAX_NOMINAL_BPS, Metric, Rung, Video};

/// Qualities of one metric, rung by rung.
type Columns = BTreeMap<Metric, Vec<Vec<Measured>>>;

const METRICS: [Metric; 3] = [Metric::Vmaf, Metric::VmafPhone, Metric::Vmaf4k];
const MEMBERS: &[&str] = &["video", "chunk_seconds", "representations"];
const RUNG_MEMBERS: &[&str] =
    &["name", "width", "height", "nominal_kbps", "chunk_bytes", "vmaf", "vmaf_phone", "vmaf_4k"];

/// More missing qualities than this share of a metric make a table useless.
pub(super) const MAX_MISSING: f64 = 0.01;
/// A last chunk whose bytes over all rungs are under this share of the median chunk's counts as
/// cut short: its true length is not in the table.
pub(super) const SHORT_CHUNK: f64 = 0.5;

pub(super) fn read(root: &Node<'_>) -> Result<Table, InputError> {
    let mut traps = Traps { unknown_keys: root.unknown(MEMBERS)?, ..Traps::default() };
    let title = root.member("video")?.text()?;
    let name = title.replace('/', "_");
    let mut rungs: Vec<Rung> = Vec::new();
    let mut columns = Columns::new();
    let nodes = root.member("representations")?.items()?;
    for node in &nodes {
        traps.unknown_keys.extend(node.unknown(RUNG_MEMBERS)?);
        let rung = read_rung(node, rungs.last())?;
        let chunks = rungs.first().map_or(rung.size_bytes.len(), |r| r.size_bytes.len());
        if rung.size_bytes.len() != chunks {
            return Err(length(node, "chunk_bytes", rung.size_bytes.len(), chunks));
        }
        for metric in METRICS {
            let list = node.member(metric.name())?.qualities(metric)?;
            if list.len() != chunks {
                return Err(length(node, metric.name(), list.len(), chunks));
            }
            columns.entry(metric).or_default().push(list);
        }
        rungs.push(rung);
    }
    let mut touched = Vec::new();
    for (metric, mut lists) in columns {
        traps.interpolated_values += fill(metric, &rungs, &mut lists, &mut touched)?;
        for (rung, list) in rungs.iter_mut().zip(lists) {
            rung.quality.insert(metric, list.into_iter().flatten().collect());
        }
    }
    touched.sort_unstable();
    touched.dedup();
    traps.interpolated_chunks = touched.len();
    if last_chunk_is_short(&rungs) {
        traps.dropped_chunks = 1;
        for rung in &mut rungs {
            rung.size_bytes.pop();
            rung.quality.values_mut().for_each(|q| q.truncate(rung.size_bytes.len()));
        }
    }
    let video = Video {
        character: title.split('/').next().unwrap_or_default().to_owned(),
        title: title.to_owned(),
        name,
        source: "Comyco video description data set".to_owned(),
        fps: rungs.first().and_then(|r| fps_of(&r.name)),
        chunk: airlane::chunk_length(&root.member("chunk_seconds")?)?,
        distinct_chunks: rungs.first().map_or(0, |r| r.size_bytes.len()),
        rungs,
    };
    video.check()?;
    Ok(Table { video, traps })
}

fn read_rung(node: &Node<'_>, before: Option<&Rung>) -> Result<Rung, InputError> {
    let size = |member: &str| node.member(member)?.count(u64::from(u16::MAX));
    let kbps = node.member("nominal_kbps")?;
    let nominal = Rate::from_bps(kbps.count(MAX_NOMINAL_BPS / 1000)? * 1000);
    if let Some(before) = before.filter(|b| b.nominal >= nominal) {
        return Err(kbps.wrong(&format!(
            "more than the {} of the rung before: rungs rise",
            before.nominal.bps() / 1000
        )));
    }
    Ok(Rung {
        name: node.member("name")?.text()?.to_owned(),
        width: size("width")? as u32,
        height: size("height")? as u32,
        nominal,
        size_bytes: node.member("chunk_bytes")?.sizes("the bytes of a chunk")?,
        quality: BTreeMap::new(),
    })
}

fn length(node: &Node<'_>, member: &str, found: usize, chunks: usize) -> InputError {
    InputError::new(
        format!("{found} values"),
        format!("expected {chunks}, one per chunk, as in representations[0].chunk_bytes"),
    )
    .at_key(format!("{}.{member}", node.path()))
}

/// Fills gaps: between the nearest measured rungs below and above, linear over the logarithm of
/// the nominal rate (over which VMAF is closest to a line); beyond them, the nearest one's value.
/// Returns how many, and adds their chunks to `touched`.
fn fill(
    metric: Metric,
    rungs: &[Rung],
    lists: &mut [Vec<Measured>],
    touched: &mut Vec<usize>,
) -> Result<usize, InputError> {
    let values: usize = lists.iter().map(Vec::len).sum();
    let missing = lists.iter().flatten().filter(|v| v.is_none()).count();
    if missing as f64 > MAX_MISSING * values as f64 {
        return Err(InputError::new(
            format!("{missing} of {values} values are NaN"),
            format!("expected at most {} %, which can be interpolated", MAX_MISSING * 100.0),
        )
        .at_key(format!("representations[*].{metric}")));
    }
    let measured = lists.to_vec();
    for (r, list) in lists.iter_mut().enumerate() {
        for (c, value) in list.iter_mut().enumerate().filter(|(_, v)| v.is_none()) {
            let at = |r: usize| measured[r][c].map(|v| (rungs[r].nominal.as_f64().ln(), v));
            let below = (0..r).rev().find_map(at);
            let above = (r + 1..rungs.len()).find_map(at);
            let x = rungs[r].nominal.as_f64().ln();
            *value = match (below, above) {
                (Some((xb, b)), Some((xa, a))) => Some(b + (a - b) * (x - xb) / (xa - xb)),
                (Some((_, near)), None) | (None, Some((_, near))) => Some(near),
                (None, None) => {
                    return Err(InputError::new(
                        format!("chunk {c} is NaN in every rung"),
                        "expected a measured rung to interpolate from",
                    )
                    .at_key(format!("representations[*].{metric}[{c}]")));
                }
            };
            touched.push(c);
        }
    }
    Ok(missing)
}

fn last_chunk_is_short(rungs: &[Rung]) -> bool {
    let chunks = rungs.first().map_or(0, |r| r.size_bytes.len());
    let totals: Vec<f64> =
        (0..chunks).map(|c| rungs.iter().map(|r| r.size_bytes[c]).sum::<u64>() as f64).collect();
    match (totals.last(), stats::median(&totals)) {
        (Some(last), Some(median)) if chunks > 1 => *last < SHORT_CHUNK * median,
        _ => false,
    }
}

/// The frame rate in a name such as `320x240_fps30_420_235k`.
fn fps_of(name: &str) -> Option<f64> {
    let fps: f64 = name.split('_').find_map(|part| part.strip_prefix("fps"))?.parse().ok()?;
    (fps > 0.0 && fps <= 1000.0).then_some(fps)
}
