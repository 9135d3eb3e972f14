//! A scenario with a grid: the same scenario under every combination of some values.
//!
//! ```toml
//! [grid]
//! "link.rate_bps" = [4e6, 10e6]
//! "link.queue.kind" = ["pie", "droptail"]
//! ```

use std::path::Path;

use airlane_base::InputError;

use super::tree::{self, Data, Node, Origin};
use super::{Document, Registry, Scenario, Source};

/// The name of the table in the file.
pub(super) const TABLE: &str = "grid";

/// Most cells that a grid may have.
const MAX_CELLS: usize = 10_000;

/// Keys that say nothing about what happens in a run.
const NAMES: [&str; 3] = ["name", "title", "story"];

/// Options that take the place of keys in every cell.
pub const OPTION_KEYS: [(&str, &[&str]); 2] =
    [("--trace", &["link.rate_bps", "link.trace", "link.steps"]), ("--tls", &["transport.cipher"])];

/// A scenario and the values that its grid crosses.
#[derive(Clone, Debug)]
pub struct Grid {
    document: Document,
    axes: Vec<Axis>,
}

/// One key of a grid and the values that it takes.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The key, as `--set` takes it.
    pub key: String,
    /// Its values: at least one, all different.
    pub values: Vec<AxisValue>,
}

/// A value of an [`Axis`].
#[derive(Clone, Debug)]
pub struct AxisValue {
    node: Node,
    text: String,
}

impl AxisValue {
    /// The value in tables: a text as it is, anything else as TOML with its numbers in digits.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value, if it is a number.
    pub fn number(&self) -> Option<f64> {
        match self.node.data {
            Data::Integer(i) => Some(i as f64),
            Data::Number(x) => Some(x),
            _ => None,
        }
    }

    /// The value, if it is a flag.
    pub fn flag(&self) -> Option<bool> {
        match self.node.data {
            Data::Flag(b) => Some(b),
            _ => None,
        }
    }

    /// The value as `--grid` takes it among others.
    fn argument(&self) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
        let word = !self.text.is_empty() && self.text.chars().all(plain);
        let read = || tree::parse_value(&self.text, Origin::Grid).data;
        match &self.node.data {
            Data::Text(_) if word && matches!(read(), Data::Text(_)) => self.text.clone(),
            data => data.to_toml(),
        }
    }
}

impl Axis {
    /// The axis as `--grid` takes it, or the axis with one of its values alone.
    pub fn argument(&self, only: Option<usize>) -> String {
        let values = only.map_or(&self.values[..], |at| std::slice::from_ref(&self.values[at]));
        let values = match values {
            // A list on its own would be the values of the axis.
            [one] if matches!(one.node.data, Data::List(_)) => format!("[{}]", one.argument()),
            values => values.iter().map(AxisValue::argument).collect::<Vec<_>>().join(","),
        };
        format!("{}={values}", self.key)
    }

    /// True if the command line gave the axis, and not the file.
    pub fn is_of_command_line(&self) -> bool {
        self.values.iter().any(|v| v.node.origin == Origin::Grid)
    }
}

impl Grid {
    /// Reads a scenario with a `[grid]` from a file, or the embedded scenario of that name, as
    /// [`Scenario::from_file`]. `set` changes keys of all cells; `grid` gives axes of the command
    /// line, `key=v1,v2`, which replace those of the file that have the same key.
    ///
    /// # Errors
    /// With file, line and key, if the file cannot be read, if there is no grid, or if an axis is
    /// none. Whether the cells are sound scenarios shows in [`Grid::scenario`].
    pub fn from_file(
        registry: &Registry,
        file: &Path,
        set: &[String],
        grid: &[String],
    ) -> Result<Self, InputError> {
        let document = Document::new(registry, &super::read(registry, file)?, file)?;
        Self::of(document, set, grid)
    }

    /// Reads a scenario with a grid that `name` holds; paths in it are relative to the folder of
    /// `name`.
    ///
    /// # Errors
    /// As [`Grid::from_file`].
    pub fn from_bytes(
        registry: &Registry,
        bytes: &[u8],
        name: &Path,
        set: &[String],
        grid: &[String],
    ) -> Result<Self, InputError> {
        let document = Document::new(registry, &super::utf8(bytes, name)?, name)?;
        Self::of(document, set, grid)
    }

    fn of(mut document: Document, set: &[String], grid: &[String]) -> Result<Self, InputError> {
        let mut axes = document.take_grid()?;
        for argument in grid {
            let axis = argument_axis(argument)?;
            match axes.iter_mut().find(|a| a.key == axis.key) {
                Some(known) => *known = axis,
                None => axes.push(axis),
            }
        }
        document.set(set)?;
        let grid = Self { document, axes };
        grid.check(set)?;
        Ok(grid)
    }

    fn check(&self, set: &[String]) -> Result<(), InputError> {
        if self.axes.is_empty() {
            let expected = "expected a table [grid], or --grid key=v1,v2";
            return Err(InputError::new("no grid", expected).at_file(&self.document.source.name));
        }
        for (i, axis) in self.axes.iter().enumerate() {
            self.check_axis(axis).map_err(|e| self.at(axis, e))?;
            if let Some(other) = self.axes[..i].iter().find(|a| tree::undoes(&axis.key, &a.key)) {
                let found = format!("it takes away what {} sets", other.key);
                let error = InputError::new(found, "expected keys that go together");
                return Err(self.at(axis, error));
            }
            let set_key = |s: &String| s.split_once('=').map(|(key, _)| key.trim().to_owned());
            if let Some(key) = set.iter().filter_map(set_key).find(|k| tree::undoes(&axis.key, k)) {
                let found = format!("the grid takes it away with {}", axis.key);
                let expected = format!("expected it in the grid: --grid {key}=...");
                return Err(InputError::new(found, expected).at_key(format!("--set {key}")));
            }
        }
        let cells = self.axes.iter().try_fold(1_usize, |n, a| n.checked_mul(a.values.len()));
        if cells.is_none_or(|n| n > MAX_CELLS) {
            let found = cells.map_or_else(|| "too many cells".to_owned(), |n| format!("{n} cells"));
            let error = InputError::new(found, format!("expected at most {MAX_CELLS}"));
            return Err(error.at_file(&self.document.source.name).at_key(TABLE));
        }
        Ok(())
    }

    fn check_axis(&self, axis: &Axis) -> Result<(), InputError> {
        let key = axis.key.as_str();
        let refused = |why: &str| Err(InputError::new("no key of a grid", why.to_owned()));
        if key == "seeds" {
            return refused(
                "expected `seeds = [...]` outside of the grid: every cell has them all",
            );
        }
        if key == "scheme" {
            return refused("expected [[scheme]] tables: every cell compares them all");
        }
        if NAMES.contains(&key) {
            return refused("expected a key that changes what happens in a run");
        }
        if axis.values.is_empty() {
            return Err(InputError::new("found no value", "expected at least one"));
        }
        let same = |a: &AxisValue, b: &AxisValue| {
            a.text == b.text || (a.number().is_some() && a.number() == b.number())
        };
        for (i, value) in axis.values.iter().enumerate() {
            if axis.values[..i].iter().any(|v| same(v, value)) {
                let found = format!("found {} twice", value.text);
                return Err(InputError::new(found, "expected distinct values"));
            }
        }
        // Whether there is a place for it, on a copy: the values are checked as scenarios.
        let mut root = self.document.root.clone();
        tree::put(&mut root, key, axis.values[0].node.clone())
    }

    /// An error about an axis, with its place.
    fn at(&self, axis: &Axis, error: InputError) -> InputError {
        match axis.values.first().map(|v| v.node.origin) {
            Some(Origin::Line(line)) => {
                error.at_file(&self.document.source.name).at_line(line).at_key(&axis.key)
            }
            Some(_) => error.at_key(format!("--grid {}", axis.key)),
            None => error.at_file(&self.document.source.name).at_key(&axis.key),
        }
    }

    /// The axes, in the order of the file; the last one varies fastest from cell to cell.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Number of cells of the grid.
    pub fn cells(&self) -> usize {
        self.axes.iter().map(|a| a.values.len()).product()
    }

    /// Value of each axis in a cell, as positions in [`Axis::values`].
    pub fn position(&self, cell: usize) -> Vec<usize> {
        let mut rest = cell;
        let mut position: Vec<usize> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let n = axis.values.len();
                let at = rest % n;
                rest /= n;
                at
            })
            .collect();
        position.reverse();
        position
    }

    /// The scenario of a cell.
    ///
    /// # Errors
    /// With file, line and key, if it is no sound scenario. Where the key at fault is none of the
    /// grid's, the message says in which cell it is.
    pub fn scenario(&self, cell: usize) -> Result<Scenario, InputError> {
        let position = self.position(cell);
        let values = || self.axes.iter().zip(&position).map(|(a, &i)| (a, &a.values[i]));
        let mut document = self.document.clone();
        for (axis, value) in values() {
            tree::put(&mut document.root, &axis.key, value.node.clone())
                .map_err(|e| self.at(axis, e))?;
        }
        document.decode().map_err(|e| {
            let of_axis = |(axis, value): (&Axis, &AxisValue)| {
                let key = e.place.key.as_deref().unwrap_or_default();
                let key = key.strip_prefix("--grid ").unwrap_or(key);
                let here = match value.node.origin {
                    Origin::Line(line) => e.place.line == Some(line),
                    _ => e.place.line.is_none(),
                };
                here && (key == axis.key || key.starts_with(&format!("{}.", axis.key)))
            };
            let known = values().any(of_axis);
            let e = document.source.blamed(e);
            if known { e } else { within(e, &self.label(cell)) }
        })
    }

    /// A cell for people: `link.rate_bps=4000000, link.queue.kind=pie`.
    pub fn label(&self, cell: usize) -> String {
        let position = self.position(cell);
        let parts = self.axes.iter().zip(position);
        let parts: Vec<String> =
            parts.map(|(axis, i)| format!("{}={}", axis.key, axis.values[i].text)).collect();
        parts.join(", ")
    }
}

/// An error of one cell alone.
pub fn within(mut error: InputError, cell: &str) -> InputError {
    error.found = format!("{} (with {cell})", error.found);
    error
}

impl Document {
    /// Takes the table of the grid out of the document: what remains is a scenario.
    fn take_grid(&mut self) -> Result<Vec<Axis>, InputError> {
        let Data::Table(entries) = &mut self.root.data else { return Ok(Vec::new()) };
        let Some(node) = entries.remove(TABLE) else { return Ok(Vec::new()) };
        let Source { name, text, .. } = &self.source;
        let at = |error: InputError, origin: Origin, key: String| match origin {
            Origin::Line(line) => error.at_file(name).at_line(line).at_key(key),
            _ => error.at_file(name).at_key(key),
        };
        if !matches!(node.data, Data::Table(_)) {
            let error = InputError::new(
                format!("found {}", node.data.describe()),
                "expected a table of keys, each with a list of values",
            );
            return Err(at(error, node.origin, TABLE.to_owned()));
        }
        let mut axes = Vec::new();
        for (key, node) in tree::leaves(text, TABLE).map_err(|e| e.at_file(name))? {
            let origin = node.origin;
            let Data::List(nodes) = node.data else {
                let error = InputError::new(
                    format!("found {}", node.data.describe()),
                    "expected a list of values, such as [4e6, 10e6]",
                );
                return Err(at(error, origin, key));
            };
            if nodes.is_empty() {
                let error = InputError::new("found no value", "expected at least one");
                return Err(at(error, origin, key));
            }
            axes.push(Axis { key, values: nodes.into_iter().map(value).collect() });
        }
        Ok(axes)
    }
}

fn value(node: Node) -> AxisValue {
    let text = match &node.data {
        Data::Text(s) => s.clone(),
        data => data.to_toml(),
    };
    AxisValue { node, text }
}

/// The axis of a `--grid key=v1,v2`; a TOML list does as well.
fn argument_axis(argument: &str) -> Result<Axis, InputError> {
    let example = "expected key=v1,v2, such as link.rate_bps=4e6,10e6";
    let Some((key, values)) = argument.split_once('=') else {
        return Err(InputError::new("no equals sign", example)
            .at_key(format!("--grid {}", argument.escape_debug())));
    };
    let key = key.trim().to_owned();
    let (values, missing) = (values.trim(), || InputError::new("a value is missing", example));
    let nodes = match tree::parse_value(values, Origin::Grid).data {
        Data::List(nodes) if !nodes.is_empty() => nodes,
        Data::List(_) => return Err(missing().at_key(format!("--grid {key}"))),
        _ if split(values).contains(&"") => {
            return Err(missing().at_key(format!("--grid {key}")));
        }
        _ => split(values).iter().map(|v| tree::parse_value(v, Origin::Grid)).collect(),
    };
    Ok(Axis { key, values: nodes.into_iter().map(value).collect() })
}

/// The parts of a text between commas, without those within brackets, braces and quotes.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut start, mut escaped) = (0_usize, None, 0, false);
    let mut parts = Vec::new();
    for (i, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some('"'), '\\') => escaped = true,
            (Some(q), c) if c == q => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}
