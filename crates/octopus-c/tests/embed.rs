//! A C program embeds the static library.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The static library, which cargo builds with this test.
fn library() -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    let deps = deps.parent().unwrap();
    let is_library = |path: &Path| {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        name.starts_with("libairlane_octopus_c") && name.ends_with(".a")
    };
    let found = std::fs::read_dir(deps).unwrap().map(|entry| entry.unwrap().path());
    // An older build may lie beside it.
    let newest = |path: &PathBuf| path.metadata().and_then(|m| m.modified()).unwrap();
    found.filter(|path| is_library(path)).max_by_key(newest).expect("a static library")
}

#[test]
fn a_c_program_embeds_it_without_allocating() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("embed");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let wraps =
        ["malloc", "calloc", "realloc", "posix_memalign"].map(|f| format!("-Wl,--wrap={f}"));
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"])
        .arg(&program)
        .arg("-I")
        .arg(here.join("include"))
        .arg(here.join("tests/embed.c"))
        .arg(library())
        .args(wraps)
        .args(["-lpthread", "-ldl", "-lm", "-lgcc_s"])
        .output()
        .expect("a C compiler");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&program).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(ran.stdout, b"as it should be\n");
}
