//! Claims as quick runs measure them: fewer schemes and cells.

use super::spec::Claim;
use super::statistic::Statistic;

impl Claim {
    /// The claim with `quick_compare` and `quick_cells` in the place of `compare` and `cells`, and without figures beside it
    /// that need what they leave out.
    pub(super) fn quick(&self) -> Self {
        let mut quick = self.clone();
        if !self.quick_compare.is_empty() {
            quick.compare.clone_from(&self.quick_compare);
            quick.chart = None;
        }
        if !self.quick_cells.is_empty() {
            quick.cells.clone_from(&self.quick_cells);
        }
        quick.beside.retain(|text| !needs_more(text, self, &quick.compare, &quick.cells));
        quick
    }

    /// Checks the keys of quick runs. The key that is wrong, with what was found and what was expected.
    pub(super) fn check_quick(&self) -> Result<(), (&'static str, String, &'static str)> {
        let (schemes, cells) = (&self.quick_compare, &self.quick_cells);
        if let Some(name) = schemes.iter().find(|name| !self.compare.contains(name)) {
            return Err(("quick_compare", format!("\"{name}\""), "expected a name of `compare`"));
        }
        if let Some(name) = schemes.first().filter(|name| **name != self.compare[0]) {
            let expected = "expected the first of `compare` first, which is judged";
            return Err(("quick_compare", format!("\"{name}\""), expected));
        }
        if let Some(name) = cells.iter().find(|name| !self.cells.contains(name)) {
            return Err(("quick_cells", format!("\"{name}\""), "expected a name of `cells`"));
        }
        Ok(())
    }
}

/// True if `text` is a statistic of one of the claim's schemes or cells that are left out.
fn needs_more(text: &str, claim: &Claim, compare: &[String], cells: &[String]) -> bool {
    let Ok(statistic) = Statistic::try_from(text.to_owned()) else { return false };
    let without = |name: &str| {
        let mut absent = claim.compare.iter().filter(|scheme| !compare.contains(scheme));
        absent.any(|scheme| {
            let is_of = |by: &str| name.strip_suffix(scheme).is_some_and(|of| of.ends_with(by));
            is_of("_of_") || is_of("_over_")
        })
    };
    statistic.metrics().into_iter().any(|metric| {
        let (name, cell) = metric.split_once('@').map_or((metric, None), |(n, c)| (n, Some(c)));
        without(name) || cell.is_some_and(|cell| !cells.iter().any(|of| of == cell))
    })
}
