//! Values and cells as people say them, and the command that runs them again.

use super::cells::Cell;
use crate::reporting::words;
use airlane_scenario::{Axis, AxisValue, Cipher, Grid};
use airlane_sim::Common;
use airlane_sim::plan::Plan;
use airlane_sim::quoted;

/// A value of an axis in the unit that the key's suffix names: `4 Mbit/s`, `20 ms`, `pie`.
pub(super) fn value(key: &str, value: &AxisValue) -> String {
    let Some(number) = value.number() else { return value.text().to_owned() };
    let suffix = |s: &str| key.ends_with(s);
    match number {
        n if suffix("_bps") => words::mbps(n),
        n if suffix("_s") && n.abs() < 1.0 => format!("{} ms", words::short(n * 1e3)),
        n if suffix("_s") => format!("{} s", words::short(n)),
        _ if suffix("_bytes") => format!("{} bytes", value.text()),
        _ if suffix("_packets") => format!("{} packets", value.text()),
        _ if suffix("_bdp") => format!("{} BDP", value.text()),
        _ => value.text().to_owned(),
    }
}

/// A value that says by itself what it is: with the last part of its key where it has no unit.
fn telling(axis: &Axis, at: usize) -> String {
    let shown = value(&axis.key, &axis.values[at]);
    let plain = axis.values[at].number().is_some() || axis.values[at].flag().is_some();
    if plain && shown == axis.values[at].text() {
        return format!("{} {shown}", axis.key.rsplit('.').next().unwrap_or(&axis.key));
    }
    shown
}

/// A cell: `4 Mbit/s, pie`.
pub(super) fn cell(grid: &Grid, position: &[usize]) -> String {
    let parts: Vec<String> =
        grid.axes().iter().zip(position).map(|(axis, &at)| telling(axis, at)).collect();
    parts.join(", ")
}

/// The same of a [`Cell`].
pub(super) fn of(grid: &Grid, which: &Cell) -> String {
    cell(grid, &which.position)
}

/// The command that does the whole sweep again or, given them, one cell or seed of it.
pub(super) fn command(
    grid: &Grid,
    cell: Option<&[usize]>,
    plan: &Plan,
    common: &Common<'_>,
    seed: Option<u64>,
) -> String {
    let source = &plan.scenario.source;
    let mut words = vec!["airlane".to_owned(), "sweep".to_owned()];
    words.push(quoted(&source.name.to_string_lossy()));
    for set in &source.set {
        words.extend(["--set".to_owned(), quoted(set)]);
    }
    for (i, axis) in grid.axes().iter().enumerate() {
        if cell.is_some() || axis.is_of_command_line() {
            let axis = axis.argument(cell.map(|position| position[i]));
            words.extend(["--grid".to_owned(), quoted(&axis)]);
        }
    }
    for (option, folder) in [("--content", &common.content), ("--heads", &common.heads)] {
        if let Some(folder) = folder {
            words.extend([option.to_owned(), quoted(&folder.to_string_lossy())]);
        }
    }
    for trace in &common.traces {
        words.extend(["--trace".to_owned(), quoted(&trace.to_string())]);
    }
    if common.cipher == Some(Cipher::Tls) {
        words.push("--tls".to_owned());
    }
    if let Some(seed) = seed.or(common.seed) {
        words.extend(["--seed".to_owned(), seed.to_string()]);
    }
    words.join(" ")
}
