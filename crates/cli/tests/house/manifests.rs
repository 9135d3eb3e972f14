//! Manifests: which libraries have unit tests and examples, and which dependencies are used.

use std::path::Path;

use super::{packages, rust_files, rust_texts, sources, words};

/// True if a source has tests of its own.
fn has_tests(text: &str) -> bool {
    text.contains("#[test]") || text.contains("proptest!")
}

/// True if a comment of a source has code that runs as a test, or may have.
fn has_examples(text: &str) -> bool {
    let is_doc = |line: &&str| line.starts_with("///") || line.starts_with("//!");
    text.contains("include_str!(\"../README.md\")")
        || text.lines().map(str::trim_start).filter(is_doc).any(|line| line.contains("```"))
}

#[test]
fn libraries_are_compiled_for_tests_where_they_have_some() {
    let sources = sources();
    for (name, package) in packages() {
        let targets = package["targets"].as_array().expect("a list").iter();
        for library in targets.filter(|of| of["src_path"].as_str().is_some_and(is_library)) {
            let texts = rust_texts(&sources[&name]);
            let tests = texts.iter().any(|(_, text)| has_tests(text));
            assert_eq!(library["test"], tests, "{name}: `[lib] test` in Cargo.toml");
            let examples = texts.iter().any(|(_, text)| has_examples(text));
            let run = library["doctest"].as_bool().expect("a flag");
            assert!(run || !examples, "{name}: `[lib] doctest = false`, but examples in comments");
        }
    }
}

/// True for the root of a library.
fn is_library(path: &str) -> bool {
    path.ends_with("src/lib.rs")
}

/// True if a file of `src` holds tests alone.
fn is_of_tests(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "tests") || file.ends_with("tests.rs")
}

#[test]
fn dependencies_are_used_outside_tests() {
    let sources = sources();
    let mut misses = Vec::new();
    for (name, package) in packages() {
        let mut files = rust_files(&sources[&name]);
        files.retain(|(file, _)| !is_of_tests(file));
        let dependencies = package["dependencies"].as_array().expect("a list").iter();
        for dependency in dependencies.filter(|of| of["kind"].is_null()) {
            let known = dependency["rename"].as_str().or(dependency["name"].as_str());
            let known = known.expect("a name").replace('-', "_");
            if !files.iter().any(|(_, code)| words(code).any(|word| word == known)) {
                misses.push(format!("{name}: {known}"));
            }
        }
    }
    assert!(misses.is_empty(), "unused, or used by tests alone: {}", misses.join(", "));
}

#[test]
fn tests_and_examples_of_sources_are_seen() {
    assert!(has_tests("    #[test]\n    fn one() {}") && !has_tests("/// A test.\nfn one() {}"));
    assert!(has_examples("    /// ```\n    /// one()\n    /// ```\n"));
    assert!(has_examples("#![doc = include_str!(\"../README.md\")]"));
    assert!(is_of_tests(Path::new("a/tests/model.rs")) && is_of_tests(Path::new("a/tests.rs")));
    assert!(!is_of_tests(Path::new("a/contests.rs")));
    assert!(!has_examples("const FENCE: &str = \"```\";"));
}
