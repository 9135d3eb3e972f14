//! Claims: what a paper states, how it is measured, and the rule that judges it.
//!
//! Claims are data: `claims/SYSTEM.toml`, whose schema is at the head of `claims/minerva.toml`.
//! This module reads them, makes the scenario that each is measured on, and judges samples by their
//! rules. It runs nothing: [`mod@crate::reproduce`] does.
//!
//! # Words
//!
//! - A **scene** is the scenario that a claim is measured on: the set's, with what the claim, and a
//!   **variant**, change ([`Patch`]).
//! - A claim may be measured in several variants, its **cells**. Its rule applies to all cells
//!   together and to each. Variants that it lists `beside` are shown, and change no verdict.
//! - A **draw** is an independent sample: a mix of videos, start times, a window of a trace. Every
//!   draw is run under each of the schemes that the claim compares, with each of several seeds.
//! - A **stream** names the random numbers that draws come from ([`Stream`]).
//! - A **figure** is the value of a metric in one draw under one seed; [`Samples`] holds the
//!   figures of a claim by cell, metric, draw and seed.
//! - A [`Statistic`] is computed over draws: a mean, a share, a ratio of sums.
//! - A **table** shows statistics of a claim in the system's page of documentation; it changes no verdict.
//! - A **chart** shows statistics of each scheme that a claim compares; it changes no verdict.
//! - A **condition** compares a statistic with a bound; a [`Rule`] consists of one or several.
//!
//! # Data flow
//!
//! ```text
//! TOML -> ClaimSet (spec) -> stream -> scenario (scene) -> ... runs ... -> Samples
//! Samples -> rows of a statistic (samples) -> value and 95 % interval (estimate)
//!         -> conditions, verdict (judge) -> ClaimEntry of summary.json
//! ```
//!
//! # Invariants
//!
//! - A rule, a number of draws or a default that changes gets another stream of verdicts: nothing
//!   was run on its draws before. Quick runs draw from a stream of their own.
//! - Draws are independent of each other, and the figures of one draw are not: intervals resample
//!   whole draws.
//! - A claim without samples, or with one that is not finite, fails.
//! - The same samples and seed give the same interval and verdict.

mod chart;
mod estimate;
mod judge;
mod quick;
mod samples;
mod scene;
mod spec;
mod statistic;
mod stream;
mod table;
mod unit;

use std::path::Path;

use airlane_base::InputError;

use crate::Registry;

pub use chart::{Axis, Chart};
pub use estimate::point_estimate;
pub use judge::{RuleOutcome, entry, judge};
pub use samples::{ByMetric, CellSamples, Samples};
pub use spec::*;
pub use statistic::Statistic;
pub use stream::{Purpose, Stream};
pub(crate) use table::draw_figures;
pub use table::{PlainRow, TableColumn, TableRows, TableSpec};
pub use unit::{ClaimUnit, Units};

impl ClaimSet {
    /// The embedded claims of a system.
    ///
    /// # Errors
    /// If there is no such system.
    pub fn of_system(registry: &Registry, system: &str) -> Result<Self, InputError> {
        match registry.claims().find(|(name, _)| *name == system) {
            Some((name, text)) => {
                Self::from_text(registry, text, Path::new(&format!("claims/{name}.toml")))
            }
            None => Err(Self::unknown(registry, system)),
        }
    }

    /// The error of a system that has no claims.
    pub fn unknown(registry: &Registry, system: &str) -> InputError {
        let names: Vec<&str> = registry.claims().map(|(name, _)| name).collect();
        let expected = format!("expected one of {}, or all", names.join(", "));
        InputError::new(format!("no claims of \"{system}\""), expected)
    }

    /// Reads the claims in `text`, which comes from the file `name`.
    ///
    /// # Errors
    /// With file and line if the text does not follow the schema.
    pub fn from_text(registry: &Registry, text: &str, name: &Path) -> Result<Self, InputError> {
        let set: Self = toml::from_str(text).map_err(|e| {
            let error =
                InputError::new(e.message(), "expected claims as claims/minerva.toml has them")
                    .at_file(name);
            match e.span() {
                Some(span) => error.at_line(1 + text[..span.start].matches('\n').count()),
                None => error,
            }
        })?;
        let set = Self { registry: registry.clone(), ..set };
        set.validated().map_err(|e| e.at_file(name))
    }

    /// The claims, as verdicts or quick runs measure them, in order.
    pub fn claims_for(&self, purpose: Purpose) -> &[Claim] {
        match purpose {
            Purpose::Verdict => &self.claims,
            Purpose::Exploration => &self.quick_claims,
        }
    }

    fn validated(mut self) -> Result<Self, InputError> {
        if self.schema != SCHEMA {
            let found = format!("schema {}", self.schema);
            return Err(InputError::new(found, format!("expected {SCHEMA}")).at_key("schema"));
        }
        for (i, claim) in self.claims.iter().enumerate() {
            let bad = |key: &str, found: String, expected: &str| {
                Err(InputError::new(found, expected).at_key(format!("claim.{i}.{key}")))
            };
            if !claim.id.starts_with(&format!("{}.", self.system)) {
                let expected = "expected the system's name, a dot and more";
                return bad("id", format!("\"{}\"", claim.id), expected);
            }
            for (key, size) in [("full", claim.full), ("quick", claim.quick)] {
                if size.pairs == 0 || size.seeds == 0 {
                    let found = format!("{} pairs of {} seeds", size.pairs, size.seeds);
                    return bad(key, found, "expected at least one of each");
                }
            }
            if let Err((found, expected)) = claim.rule.check() {
                return bad("rule", found, expected);
            }
            let unknown = claim.compare.iter().find(|name| !self.schemes.contains_key(*name));
            if let Some(name) = unknown {
                return bad("compare", format!("\"{name}\""), "expected a name among schemes");
            }
            if claim.compare.is_empty() {
                return bad("compare", "no scheme".to_owned(), "expected what is judged");
            }
            let unknown = claim.schemes.keys().find(|name| !claim.compare.contains(name));
            if let Some(name) = unknown {
                return bad("schemes", format!("\"{name}\""), "expected a name of `compare`");
            }
            if let Some(Err((key, found, expected))) = claim.chart.as_ref().map(|c| c.check(claim))
            {
                return bad(&key, found, expected);
            }
            if let Err((key, found, expected)) = claim.check_quick() {
                return bad(key, found, expected);
            }
            let unknown = claim.cells.iter().find(|name| !self.variants.contains_key(*name));
            if let Some(name) = unknown {
                return bad("cells", format!("\"{name}\""), "expected a name among variants");
            }
        }
        for (i, table) in self.tables.iter().enumerate() {
            if !self.claims.iter().any(|claim| claim.id == table.claim) {
                return Err(InputError::new(
                    format!("\"{}\"", table.claim),
                    "expected a claim's id",
                )
                .at_key(format!("table.{i}.claim")));
            }
        }
        let mut ids: Vec<&str> = self.claims.iter().map(|c| c.id.as_str()).collect();
        ids.sort_unstable();
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(InputError::new(format!("\"{}\" twice", pair[0]), "expected distinct ids")
                .at_key("claim.id"));
        }
        self.quick_claims = self.claims.iter().map(Claim::quick).collect();
        Ok(self)
    }
}
