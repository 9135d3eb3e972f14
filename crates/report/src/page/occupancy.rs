//! Shared media over time, as the page's script reads them.

use serde::Serialize;

use super::names::Names;
use crate::decimate::rounded_time;
use crate::model::{Hold, Holder, Occupancy, Purpose, Stretch};

/// Shares are whole numbers of so many parts, which keeps the page small.
const PARTS: f64 = 1_000.0;

#[derive(Serialize)]
pub(super) struct OccupancyData<'a> {
    id: &'a str,
    title: &'a str,
    help: &'a str,
    kinds: &'a [Purpose],
    free: &'a str,
    bin: f64,
    holders: Vec<HolderData<'a>>,
    stretch: Option<StretchData<'a>>,
}

#[derive(Serialize)]
struct HolderData<'a> {
    actor: Option<usize>,
    name: &'a str,
    /// In thousandths.
    shares: Vec<Vec<u16>>,
}

#[derive(Serialize)]
struct StretchData<'a> {
    help: &'a str,
    start: f64,
    end: f64,
    lanes: &'a [String; 2],
    kinds: &'a [Purpose],
    holds: Vec<HoldData<'a>>,
}

/// Times are in microseconds from the start of the stretch.
#[derive(Serialize)]
struct HoldData<'a> {
    holder: usize,
    lane: u8,
    kind: u8,
    from: i64,
    to: i64,
    note: &'a str,
}

impl<'a> OccupancyData<'a> {
    /// Data of a medium that the script draws.
    pub(super) fn of(of: &'a Occupancy, names: &Names) -> Self {
        Self {
            id: &of.id,
            title: &of.title,
            help: &of.help,
            kinds: &of.kinds,
            free: &of.free,
            bin: rounded_time(of.bin_s),
            holders: of.holders.iter().map(|h| holder(h, names)).collect(),
            stretch: of.stretch.as_ref().map(|s| stretch(s, of)),
        }
    }
}

fn holder<'a>(holder: &'a Holder, names: &Names) -> HolderData<'a> {
    let parts = |share: &f64| (PARTS * share.clamp(0.0, 1.0)).round() as u16;
    HolderData {
        actor: names.actor(&holder.actor),
        name: &holder.actor,
        shares: holder.shares.iter().map(|kind| kind.iter().map(parts).collect()).collect(),
    }
}

fn stretch<'a>(stretch: &'a Stretch, of: &Occupancy) -> StretchData<'a> {
    let micros = |s: f64| (1e6 * (s - stretch.start_s)).round() as i64;
    // What names nobody is not drawn.
    let is_known = |hold: &&Hold| {
        hold.holder < of.holders.len() && usize::from(hold.kind) < stretch.kinds.len()
    };
    let holds = stretch.holds.iter().filter(is_known).map(|hold| HoldData {
        holder: hold.holder,
        lane: hold.lane.min(1),
        kind: hold.kind,
        from: micros(hold.start_s),
        to: micros(hold.end_s),
        note: &hold.note,
    });
    StretchData {
        help: &stretch.help,
        start: stretch.start_s,
        end: stretch.end_s,
        lanes: &stretch.lanes,
        kinds: &stretch.kinds,
        holds: holds.collect(),
    }
}
