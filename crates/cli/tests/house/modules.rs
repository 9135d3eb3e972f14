//! Modules of a package import each other in one direction: there is no cycle between its top-level
//! modules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Top-level modules that are in a cycle today. Entries may only go.
const CYCLES: &[(&str, &[&str])] = &[
    ("scenario", &["decode", "notes", "participants", "reader", "registry", "types"]),
    ("sim", &["common", "plan", "results", "workload", "world"]),
    (
        "tunnel",
        &[
            "admission",
            "auth_token",
            "client_key",
            "clients",
            "connect",
            "interface_spec",
            "interfaces",
            "key",
            "replay_log",
            "status",
            "usage",
        ],
    ),
    (
        "webrtc",
        &["calibration", "clock", "driver", "engine", "pair", "receiver", "sender", "stats"],
    ),
];

/// Files that a package may have without being looked at.
const MAX_FILES: usize = 3;

/// Top-level modules of a package, and those that each one imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// The path of a module as its file's path gives it: `a/b.rs` and `a/b/mod.rs` are `a` and `b`.
fn module(file: &Path) -> Vec<String> {
    let parts = file.with_extension("");
    let mut parts: Vec<String> =
        parts.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

/// Whether a file is the root of a crate.
fn is_root(module: &[String]) -> bool {
    matches!(module, [name] if name == "lib" || name == "main")
}

/// The first names of what stands behind `from` in a source: of a path, or of all paths in braces.
pub(super) fn first_names<'a>(code: &'a str, from: &str) -> Vec<&'a str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = Vec::new();
    for (at, _) in code.match_indices(from) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| is_name(c) || c == ':') {
            continue;
        }
        let rest = &code[at + from.len()..];
        let Some(list) = rest.strip_prefix('{') else {
            names.extend(super::words(rest).next());
            continue;
        };
        let (mut depth, mut begins) = (0, true);
        for (i, c) in list.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => begins = true,
                c if is_name(c) && begins => {
                    names.extend(super::words(&list[i..]).next());
                    begins = false;
                }
                _ => {}
            }
        }
    }
    names
}

/// Items that the root of a crate passes on, with the module that each comes from.
fn passed_on(root: &str, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut items = BTreeMap::new();
    for statement in root.split(';').filter_map(|s| s.split_once("use ").map(|(_, path)| path)) {
        let path = statement.trim_start_matches("crate::").trim_start_matches("self::");
        let mut words = super::words(path);
        let Some(module) = words.next().filter(|first| modules.contains(*first)) else { continue };
        items.extend(words.map(|item| (item.to_owned(), module.to_owned())));
    }
    items
}

/// What the top-level modules of the sources in a folder import from each other.
fn imports(sources: &Path) -> Imports {
    let files: Vec<(Vec<String>, String)> = super::rust_files(sources)
        .into_iter()
        .map(|(file, code)| (module(&file), code))
        .filter(|(module, _)| !module.iter().any(|part| part == "tests"))
        .collect();
    if files.len() <= MAX_FILES {
        return Imports::new();
    }
    let inner = files.iter().filter(|(module, _)| !is_root(module) && module[0] != "bin");
    let modules: BTreeSet<String> = inner.clone().map(|(module, _)| module[0].clone()).collect();
    let roots = files.iter().filter(|(module, _)| is_root(module));
    let items: BTreeMap<String, String> =
        roots.flat_map(|(_, code)| passed_on(code, &modules)).collect();
    let mut imports: Imports = modules.iter().map(|name| (name.clone(), BTreeSet::new())).collect();
    for (module, code) in inner {
        let root = "super::".repeat(module.len());
        for name in ["crate::", &root].into_iter().flat_map(|from| first_names(code, from)) {
            let used = modules.get(name).or_else(|| items.get(name));
            if let Some(used) = used.filter(|used| **used != module[0]) {
                imports.entry(module[0].clone()).or_default().insert(used.clone());
            }
        }
    }
    imports
}

/// Modules that reach themselves over others.
fn in_cycles(imports: &Imports) -> BTreeSet<&str> {
    let reaches_itself = |start: &str| {
        let mut next: Vec<&str> = imports[start].iter().map(String::as_str).collect();
        let mut seen = BTreeSet::new();
        while let Some(module) = next.pop() {
            if seen.insert(module) {
                next.extend(imports[module].iter().map(String::as_str));
            }
        }
        seen.contains(start)
    };
    imports.keys().map(String::as_str).filter(|module| reaches_itself(module)).collect()
}

#[test]
fn modules_of_a_package_import_each_other_in_one_direction() {
    let mut known: BTreeMap<&str, BTreeSet<&str>> =
        CYCLES.iter().map(|(package, names)| (*package, names.iter().copied().collect())).collect();
    for (package, sources) in super::sources() {
        let imports = imports(&sources);
        let found = in_cycles(&imports);
        let known = known.remove(package.as_str()).unwrap_or_default();
        let new: BTreeMap<&str, Vec<&String>> = found
            .difference(&known)
            .map(|module| (*module, imports[*module].iter().collect()))
            .collect();
        assert!(new.is_empty(), "{package}: modules in a cycle, with what they import: {new:#?}");
        let gone: Vec<&&str> = known.difference(&found).collect();
        assert!(gone.is_empty(), "{package}: no longer in a cycle, so strike them: {gone:?}");
    }
    assert!(known.is_empty(), "no such packages any more, so strike them: {:?}", known.keys());
}

#[test]
fn a_cycle_of_modules_is_seen() {
    let code = "use crate::a;\nuse crate::{b::{x, y}, c};\nlet z = crate::d::e(); other::crate::f";
    assert_eq!(first_names(code, "crate::"), ["a", "b", "c", "d"]);
    assert_eq!(first_names("use super::super::a; use super::b;", "super::"), ["super", "b"]);
    assert_eq!(module(Path::new("a/mod.rs")), ["a"]);
    assert_eq!(module(Path::new("a/b.rs")), ["a", "b"]);
    let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>();
    let root = "pub mod a;\npub use a::{First, deep::Second};\npub(crate) use self::b::third;";
    let items = passed_on(root, &names(&["a", "b"]));
    assert_eq!((items["Second"].as_str(), items["third"].as_str()), ("a", "b"));
    let imports: Imports = [("a", names(&["b"])), ("b", names(&["c"])), ("c", names(&["b"]))]
        .into_iter()
        .map(|(module, used)| (module.to_owned(), used))
        .collect();
    assert_eq!(in_cycles(&imports).into_iter().collect::<Vec<_>>(), ["b", "c"]);
}
