//! Makes the scenario that a claim is measured on (its scene).

use std::path::Path;

use airlane_base::{InputError, Seed};
use toml::{Table, Value};

use super::spec::{Claim, ClaimSet, Patch, Size};
use super::stream::{Purpose, Stream};
use airlane_scenario::Scenario;

impl ClaimSet {
    /// The scenario that `claim` of this set is measured on, with as many mixes and seeds from
    /// `stream` as `size` says. It starts from the set's scenario; then come the claim's keys, what
    /// the claim changes on `real` content, `patches` in order, and what quick runs change. Later
    /// keys replace earlier ones.
    ///
    /// Claims with the same stream get the same mixes in the same order, and the same seeds. The
    /// scenario's text ([`Source::text`](airlane_scenario::Source)) is a whole scenario file: it
    /// repeats the runs without the claims.
    ///
    /// # Errors
    /// If the scenario is invalid.
    pub fn scenario(
        &self,
        claim: &Claim,
        size: Size,
        stream: &Stream,
        real: bool,
        patches: &[&Patch],
    ) -> Result<Scenario, InputError> {
        let real_patch =
            Patch { scenario: claim.real.scenario.clone(), schemes: claim.real.schemes.clone() };
        let patches: Vec<&Patch> =
            real.then_some(&real_patch).into_iter().chain(patches.iter().copied()).collect();
        let mut scene = self.scenario.clone();
        merge_over(&mut scene, &claim.scenario);
        for patch in &patches {
            merge_over(&mut scene, &patch.scenario);
        }
        if stream.purpose() == Purpose::Exploration {
            merge_over(&mut scene, &self.quick_scenario);
            merge_over(&mut scene, &claim.quick_scenario);
        }
        let mut schemes = Vec::new();
        // Claims name the judged scheme first, scenarios their baseline.
        for name in claim.compare.iter().rev() {
            let mut scheme = self.scheme(claim, name)?;
            let own = claim.schemes.get(name).into_iter();
            for changed in own.chain(patches.iter().filter_map(|p| p.schemes.get(name))) {
                merge_over(&mut scheme, changed);
            }
            scheme.insert("name".to_owned(), name.as_str().into());
            schemes.push(Value::Table(scheme));
        }
        let run_seeds = stream.seed("runs");
        let seeds = (0..size.seeds as u64).map(|i| seed_value(run_seeds.index(i)));
        let mut cases = Table::new();
        cases.insert("count".to_owned(), integer(size.pairs as u64));
        cases.insert("seed".to_owned(), seed_value(stream.seed("mixes")));
        merge_over(
            &mut scene,
            &Table::from_iter([
                ("name".to_owned(), claim.id.as_str().into()),
                ("title".to_owned(), claim.statement.as_str().into()),
                ("seeds".to_owned(), Value::Array(seeds.collect())),
                ("scheme".to_owned(), Value::Array(schemes)),
                ("cases".to_owned(), Value::Table(cases)),
            ]),
        );
        let text = scene.to_string();
        Scenario::from_bytes(self.registry.scenarios(), text.as_bytes(), Path::new(&claim.id), &[])
    }

    fn scheme(&self, claim: &Claim, name: &str) -> Result<Table, InputError> {
        self.schemes.get(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = self.schemes.keys().map(String::as_str).collect();
            let expected = format!("expected one of {}", known.join(", "));
            InputError::new(format!("\"{name}\""), expected).at_key(format!("{}.compare", claim.id))
        })
    }
}

/// Merges `over` into `table`: tables are merged key by key, other values replaced. A table with a
/// `kind` is replaced as a whole.
fn merge_over(table: &mut Table, over: &Table) {
    for (key, value) in over {
        match (table.get_mut(key), value) {
            (Some(Value::Table(old)), Value::Table(new)) if !new.contains_key("kind") => {
                merge_over(old, new);
            }
            _ => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
}

/// A seed as scenario files have it: 32 bits.
fn seed_value(seed: Seed) -> Value {
    integer(seed.0 >> 32)
}

fn integer(n: u64) -> Value {
    Value::Integer(i64::try_from(n).unwrap_or(i64::MAX))
}
