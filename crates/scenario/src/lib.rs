//! Scenarios: TOML files that say who shares which link, under which schemes.
//!
//! ```toml
//! name = "two-flows"
//! duration_s = 60
//!
//! [link]
//! rate_bps = 50e6
//! rtt_s = 0.02
//! queue = { kind = "droptail", limit_bdp = 1.5 }
//!
//! [[scheme]]
//! name = "cubic"
//! controller = "cubic"
//!
//! [[bulk]]
//! count = 2
//! ```
//!
//! Every key is defined once, in `decode`: what it means, what it may be, its default. That one
//! definition reads it, checks it, names it in messages and lists it in `docs/reference/scenarios.md`
//! ([`Registry::keys`]).

mod bounds;
mod copies;
mod decode;
mod grid;
mod notes;
mod participants;
mod reach;
mod reader;
mod realise;
mod registry;
mod settings;
mod suggest;
mod tree;
mod types;

use std::borrow::Cow;
use std::path::Path;

use airlane_base::InputError;

pub use bounds::{Range, Word, range};
pub use decode::{CORE_RTT, DURATION, RATE, RTT, at, control, of_nothing, start};
pub use grid::within;
pub use grid::{Axis, AxisValue, Grid, OPTION_KEYS};
pub use participants::{
    AllParticipants, Participants, Place, SchemePart, SchemeParts, WorkloadKeys,
};
pub use reader::{NONE, Reader};
pub use realise::supply_of_steps;
pub use registry::Registry;
pub use settings::{half_duplex_of_settings, link_of_settings};
pub use suggest::nearest;
pub use tree::plain;
pub use types::*;

/// Words of this crate ([`words!`]).
pub enum Vocabulary {}

/// Longest file that is read as a scenario, in bytes.
const MAX_BYTES: u64 = 1 << 20;

impl Scenario {
    /// Reads a scenario from a file, or the embedded one of that name (see [`Registry::embedded`]) if there
    /// is no such file, and applies the `key=value` assignments of the command line.
    ///
    /// # Errors
    /// With file, line and key, if the file cannot be read or says what no scenario can mean.
    pub fn from_file(registry: &Registry, file: &Path, set: &[String]) -> Result<Self, InputError> {
        Self::from_text(registry, &read(registry, file)?, file, set)
    }

    /// Reads a scenario that `name` holds; paths in it are relative to the folder of `name`.
    ///
    /// # Errors
    /// As [`Scenario::from_file`].
    pub fn from_bytes(
        registry: &Registry,
        bytes: &[u8],
        name: &Path,
        set: &[String],
    ) -> Result<Self, InputError> {
        Self::from_text(registry, &utf8(bytes, name)?, name, set)
    }

    fn from_text(
        registry: &Registry,
        text: &str,
        name: &Path,
        set: &[String],
    ) -> Result<Self, InputError> {
        let mut document = Document::new(registry, text, name)?;
        document.refuse_grid()?;
        document.set(set)?;
        document.decode().map_err(|e| document.source.blamed(e))
    }
}

/// A scenario as it was written, before it is checked.
#[derive(Clone, Debug)]
struct Document {
    registry: Registry,
    root: tree::Node,
    source: Source,
}

impl Document {
    fn new(registry: &Registry, text: &str, name: &Path) -> Result<Self, InputError> {
        let root = tree::parse(text).map_err(|e| e.at_file(name))?;
        let source = Source {
            name: name.to_owned(),
            folder: name.parent().map(Path::to_owned),
            text: text.to_owned(),
            set: Vec::new(),
        };
        Ok(Self { registry: registry.clone(), root, source })
    }

    fn set(&mut self, set: &[String]) -> Result<(), InputError> {
        set.iter().try_for_each(|assignment| tree::set(&mut self.root, assignment))?;
        self.source.set.extend_from_slice(set);
        Ok(())
    }

    /// The scenario that it is.
    fn decode(&self) -> Result<Scenario, InputError> {
        decode::scenario(&self.registry, &copies::expanded(&self.root)?, self.source.clone())
    }

    /// Several scenarios in one file are no scenario.
    fn refuse_grid(&self) -> Result<(), InputError> {
        let tree::Data::Table(entries) = &self.root.data else { return Ok(()) };
        let Some(node) = entries.get(grid::TABLE) else { return Ok(()) };
        let error = InputError::new("a grid of scenarios", "run it with `airlane sweep`")
            .at_file(&self.source.name)
            .at_key(grid::TABLE);
        Err(match node.origin {
            tree::Origin::Line(line) => error.at_line(line),
            _ => error,
        })
    }
}

impl Source {
    /// An error with the file, unless the command line is at fault and not the file.
    fn blamed(&self, error: InputError) -> InputError {
        if error.place.line.is_some() { error.at_file(&self.name) } else { error }
    }
}

/// The text of a scenario: of a file, or of the embedded one of that name if there is no such
/// file.
fn read(registry: &Registry, file: &Path) -> Result<Cow<'static, str>, InputError> {
    if !file.exists()
        && let Some(text) = registry.text_of(file)
    {
        return Ok(Cow::Borrowed(text));
    }
    let size = std::fs::metadata(file).map_err(|e| registry.no_file(file, &e))?.len();
    if size > MAX_BYTES {
        let expected = format!("expected a scenario of at most {MAX_BYTES} bytes");
        return Err(InputError::new(format!("found {size} bytes"), expected).at_file(file));
    }
    let bytes = std::fs::read(file).map_err(|e| registry.no_file(file, &e))?;
    Ok(Cow::Owned(utf8(&bytes, file)?.into_owned()))
}

/// The bytes of a file as text.
fn utf8<'a>(bytes: &'a [u8], name: &Path) -> Result<Cow<'a, str>, InputError> {
    airlane_base::text::decode(bytes).map_err(|line| {
        InputError::new("bytes that are no text", "expected a TOML document in UTF-8")
            .at_file(name)
            .at_line(line)
    })
}

/// A key of a scenario, as `docs/reference/scenarios.md` lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDoc {
    /// Its path, without the numbers of list entries: `scheme.minerva.alpha`.
    pub key: String,
    /// Values that it may hold, with their unit.
    pub kind: String,
    /// Its default: a value, `required` or `none`.
    pub default: String,
    /// Meaning of the key.
    pub doc: String,
}
