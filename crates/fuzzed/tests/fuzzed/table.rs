//! The table of targets, libFuzzer's folder and what it is built from name the same.

use std::collections::BTreeSet;
use std::path::Path;

use airlane_fuzzed::{TARGETS, Target};

use crate::inputs::fuzz_folder;

/// The names in a folder, without extensions.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect()
}

fn targets() -> BTreeSet<String> {
    TARGETS.iter().map(|target| target.name.to_owned()).collect()
}

#[test]
fn each_target_is_in_the_table_once_and_in_order() {
    assert!(TARGETS.is_sorted_by(|a, b| a.name < b.name), "TARGETS is not sorted by name");
}

#[test]
fn each_target_is_one_of_libfuzzers_and_the_other_way_round() {
    assert_eq!(names(&fuzz_folder().join("fuzz_targets")), targets());
    let manifest = std::fs::read_to_string(fuzz_folder().join("Cargo.toml")).expect("a text");
    let built = manifest.matches("[[bin]]").count();
    assert_eq!(built, TARGETS.len(), "[[bin]] in fuzz/Cargo.toml");
    for Target { name, .. } in TARGETS {
        let entry = format!("[[bin]]\nname = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"\n");
        assert!(manifest.contains(&entry), "fuzz/Cargo.toml lacks {entry}");
    }
}

#[test]
fn libfuzzer_gets_the_function_and_nothing_else() {
    for Target { name, .. } in TARGETS {
        let file = fuzz_folder().join(format!("fuzz_targets/{name}.rs"));
        let text = std::fs::read_to_string(&file).expect("a text");
        let whole = format!(
            "#![no_main]\n\nlibfuzzer_sys::fuzz_target!(|data: &[u8]| airlane_fuzzed::{name}(data));\n"
        );
        assert_eq!(text, whole, "{}", file.display());
    }
}

#[test]
fn each_folder_of_regressions_is_a_targets_and_has_files() {
    let folder = fuzz_folder().join("regressions");
    let found = names(&folder);
    assert!(found.is_subset(&targets()), "{found:?}");
    for name in found {
        assert!(!names(&folder.join(&name)).is_empty(), "fuzz/regressions/{name} is empty");
    }
}
