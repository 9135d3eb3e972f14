//! Any bytes as a scenario: an error or a value, never a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let name = std::path::Path::new("fuzz.toml");
    let _ = airlane_lab::scenario::Scenario::from_bytes(data, name, &[]).map(drop);
    if let Ok(grid) = airlane_lab::scenario::Grid::from_bytes(data, name, &[], &[]) {
        let _ = grid.scenario(grid.cells() - 1).map(drop);
    }
});
