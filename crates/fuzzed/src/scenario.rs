//! Scenarios, and grids of them (`docs/reference/scenarios.md`).

use std::path::Path;

use airlane_scenario::{Grid, Scenario};

/// Any bytes as a scenario and as a grid of scenarios: an error or a value.
pub fn scenario(data: &[u8]) {
    let name = Path::new("fuzz.toml");
    let _ = Scenario::from_bytes(airlane_lab::registry().scenarios(), data, name, &[]);
    if let Ok(grid) = Grid::from_bytes(airlane_lab::registry().scenarios(), data, name, &[], &[]) {
        assert!((1..=10_000).contains(&grid.cells()));
        let _ = grid.scenario(grid.cells() - 1);
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = airlane_lab::registry()
        .scenarios()
        .embedded()
        .map(|(_, text)| text.as_bytes().to_vec())
        .collect();
    let grid = "[grid]\n\"link.rate_bps\" = [4e6, 10e6]\nlink.queue = [{ kind = \"pie\" }, {}]\n";
    if let Some((_, first)) = airlane_lab::registry().scenarios().embedded().next() {
        seeds.push([first, grid].concat().into_bytes());
    }
    seeds
}
