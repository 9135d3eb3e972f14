//! A C program embeds the static library, as it is installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const HEADER: &str = include_str!("../include/airlane_octopus.h");

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

/// Runs a command to its end, which must be a good one.
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// What pkg-config says about what is installed under a prefix.
fn pkg_config(prefix: &Path, question: &str) -> Vec<String> {
    let output = run(Command::new("pkg-config")
        .args([question, "airlane-octopus"])
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")));
    let words = String::from_utf8(output.stdout).unwrap();
    words.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_c_program_embeds_what_is_installed_without_allocating() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("prefix");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    run(Command::new(here.join("../../scripts/install-octopus"))
        .arg("--library")
        .arg(library())
        .env("PREFIX", &prefix)
        .env_remove("DESTDIR"));
    assert_eq!(pkg_config(&prefix, "--modversion"), [env!("CARGO_PKG_VERSION")]);
    let program = folder.path().join("embed");
    let wraps =
        ["malloc", "calloc", "realloc", "posix_memalign"].map(|f| format!("-Wl,--wrap={f}"));
    run(Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"])
        .arg(&program)
        .args(pkg_config(&prefix, "--cflags"))
        .arg(here.join("tests/embed.c"))
        .args(wraps)
        .args(pkg_config(&prefix, "--libs")));
    let ran = run(&mut Command::new(&program));
    assert_eq!(ran.stdout, b"as it should be\n");
}

#[test]
fn the_header_has_the_version_of_the_package() {
    let define = |name: &str| {
        let start = format!("#define AIRLANE_OCTOPUS_{name} ");
        HEADER.lines().find_map(|line| line.strip_prefix(&start)).expect("a definition")
    };
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(define("VERSION").trim_matches('"'), version);
    let parts = ["MAJOR", "MINOR", "PATCH"].map(|part| define(&format!("VERSION_{part}")));
    assert_eq!(parts.join("."), version);
}
