//! The house rules that can be counted: which crate may use which, and which workload; which words
//! names and help do not have; whether links in pages lead somewhere; whether dependencies are used.

mod comments;
mod manifests;
mod modules;
mod pages;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Packages that run on machines alone.
const DAEMONS: &[&str] = &[
    "call-daemon",
    "certificate",
    "host",
    "http-client",
    "link",
    "live-daemon",
    "origin-daemon",
    "tunnel",
];

/// Packages, and those that they must not stand on, directly or not.
const APART: &[(&[&str], &[&str])] = &[
    // What runs on machines carries no laboratory and no rival.
    (DAEMONS, &["lab", "sim", "judge", "report", "awstream", "mptcp", "salsify", "vivo", "webrtc"]),
    // The laboratory runs roles, not the daemons around them.
    (&["lab", "judge", "sim"], DAEMONS),
    (&["octopus-c"], &["net", "runtime"]),
];

/// Libraries that only `quic` names.
const QUIC_LIBRARIES: &[&str] = &["noq", "noq-proto", "noq-udp", "h3"];

/// What only `webrtc` names: WebRTC, and the generator that it draws from.
const WEBRTC_LIBRARIES: &[&str] = &["str0m", "fastrand"];

/// But the conference server of browsers speaks WebRTC too. It stands on no rival, so each names the library.
const WEBRTC_DAEMON: (&str, &str) = ("call-daemon", "str0m");

/// But the bench measures ours beside noq's own endpoint, which nothing that ships uses, and is a client of its own of
/// conference servers.
const PEERS: &[(&str, &str)] = &[("bench", "noq"), ("bench", "str0m")];

/// The short name of a package of ours.
fn short(package: &str) -> &str {
    match package {
        "airlane" => "cli",
        other => other.strip_prefix("airlane-").unwrap_or(other),
    }
}

/// The packages of the workspace, by their short names, as cargo describes them.
fn packages() -> BTreeMap<String, Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("a list").iter();
    packages.map(|p| (short(p["name"].as_str().expect("a name")).to_owned(), p.clone())).collect()
}

/// The normal dependencies of each package of the workspace.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let normal = |package: &Value| -> Vec<String> {
        let all = package["dependencies"].as_array().expect("a list").iter();
        let normal = all.filter(|d| d["kind"].is_null());
        normal.map(|d| d["name"].as_str().expect("a name").to_owned()).collect()
    };
    packages().into_iter().map(|(name, package)| (name, normal(&package))).collect()
}

/// The folder `src` of each package of the workspace.
fn sources() -> BTreeMap<String, PathBuf> {
    let sources = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        manifest.with_file_name("src")
    };
    packages().into_iter().map(|(name, package)| (name, sources(&package))).collect()
}

/// The layers of `docs/design/layers.toml`, lowest first: the packages of each.
fn layers() -> Vec<Vec<String>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design/layers.toml");
    let text = std::fs::read_to_string(file).expect("docs/design/layers.toml");
    let packages = |layer: &str| {
        let names = layer.lines().filter_map(|line| line.split_once(" = "));
        names.map(|(name, _)| name.to_owned()).collect()
    };
    text.split("[[layer]]").skip(1).map(packages).collect()
}

#[test]
fn packages_use_those_of_lower_layers_alone() {
    let layers = layers();
    let layer = |name: &str| {
        let found: Vec<usize> =
            (0..layers.len()).filter(|i| layers[*i].iter().any(|n| n == name)).collect();
        let [layer] = found[..] else {
            panic!("{name} is in {} layers of docs/design/layers.toml", found.len())
        };
        layer
    };
    let packages = dependencies();
    for (package, uses) in &packages {
        for used in uses.iter().map(|u| short(u)).filter(|u| packages.contains_key(*u)) {
            assert!(layer(used) < layer(package), "{package} uses {used}, which is not below it");
        }
    }
    for name in layers.iter().flatten() {
        assert!(
            packages.contains_key(name),
            "docs/design/layers.toml has {name}, which does not exist"
        );
    }
}

#[test]
fn what_is_to_stay_apart_does() {
    let packages = dependencies();
    for (of, refused) in APART {
        let mut reached: Vec<&str> = of.to_vec();
        let mut next = 0;
        while let Some(package) = reached.get(next).copied() {
            next += 1;
            for used in packages[package].iter().map(|u| short(u)) {
                if packages.contains_key(used) && !reached.contains(&used) {
                    reached.push(used);
                }
            }
        }
        for name in *refused {
            assert!(!reached.contains(name), "{of:?} must not stand on {name}");
        }
    }
}

#[test]
fn only_quic_names_the_quic_libraries() {
    for (package, uses) in dependencies() {
        for used in uses {
            let allowed = package == "quic"
                || !QUIC_LIBRARIES.contains(&used.as_str())
                || PEERS.contains(&(package.as_str(), used.as_str()));
            assert!(allowed, "{package} uses {used}, which only quic may name");
        }
    }
}

#[test]
fn only_webrtc_names_the_webrtc_libraries() {
    for (package, uses) in dependencies() {
        for used in uses {
            let allowed = package == "webrtc"
                || (package.as_str(), used.as_str()) == WEBRTC_DAEMON
                || PEERS.contains(&(package.as_str(), used.as_str()))
                || !WEBRTC_LIBRARIES.contains(&used.as_str());
            assert!(allowed, "{package} uses {used}, which only webrtc may name");
        }
    }
}

/// `tokio::sync::watch` wakes in an order that it draws: a run would not repeat.
#[test]
fn nothing_that_runs_in_virtual_time_waits_for_a_value_in_an_order_that_is_drawn() {
    let in_real_time =
        |package: &str| DAEMONS.contains(&package) || ["bench", "cli"].contains(&package);
    for (package, folder) in sources().into_iter().filter(|(package, _)| !in_real_time(package)) {
        for (file, code) in rust_files(&folder) {
            let names = code.lines().any(|line| line.contains("sync::") && line.contains("watch"));
            let file = file.display();
            assert!(
                !names,
                "{package}/src/{file} uses tokio's watch; take airlane_runtime::WatchCell"
            );
        }
    }
}

/// Files that want locks which a panic poisons, and say why.
const POISONED: [&str; 1] = ["multipath/src/stream/shared/mod.rs"];

/// A lock of the standard library is poisoned by a panic, which every user then has to decide about.
#[test]
fn locks_are_those_of_parking_lot() {
    for sources in sources().into_values() {
        let package = sources.with_file_name("");
        for folder in ["src", "tests", "examples"].map(|name| package.join(name)) {
            for (file, text) in rust_texts(&folder) {
                let names = modules::first_names(&text, "std::sync::");
                let locks = ["Condvar", "Mutex", "MutexGuard", "PoisonError", "RwLock"];
                let found: Vec<&&str> = names.iter().filter(|name| locks.contains(name)).collect();
                let path = folder.join(file);
                let is_known = POISONED.iter().any(|known| path.ends_with(known));
                assert!(found.is_empty() || is_known, "{} has std's {found:?}", path.display());
            }
        }
    }
}

/// The Rust files under a folder without comments and tests, with their paths in it.
fn rust_files(folder: &Path) -> Vec<(PathBuf, String)> {
    rust_texts(folder).into_iter().map(|(file, text)| (file, code(&text))).collect()
}

/// The Rust files under a folder, if there is one, with their paths in it.
fn rust_texts(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut folders = Vec::from_iter(folder.is_dir().then(|| folder.to_owned()));
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).expect("a text");
                let inside = path.strip_prefix(folder).expect("it lies in the folder");
                files.push((inside.to_owned(), text));
            }
        }
    }
    files
}

/// A source without comments and without the tests at its end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The words of a source: identifiers and words in texts.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The workloads that a source reaches for by their place in the crate.
fn reached<'a>(code: &str, workloads: &'a [String]) -> Vec<&'a str> {
    let mut found = Vec::new();
    for place in ["workloads::", "super::super::", "super::"] {
        for (at, _) in code.match_indices(place) {
            let rest = &code[at + place.len()..];
            // Either one name or a list in braces.
            let end = match rest.strip_prefix('{') {
                Some(list) => list.find('}').map_or(rest.len(), |end| end + 1),
                None => rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len()),
            };
            let names = words(&rest[..end]).collect::<Vec<_>>();
            found.extend(workloads.iter().map(String::as_str).filter(|w| names.contains(w)));
        }
    }
    found
}

#[test]
fn workloads_know_no_other_and_nothing_generic_knows_one() {
    let sources = sources();
    let entries = std::fs::read_dir(sources["lab"].join("workloads")).expect("the workloads");
    let paths = entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
    let mut workloads: Vec<String> =
        paths.map(|p| p.file_name().expect("a name").to_string_lossy().into()).collect();
    workloads.sort();
    assert!(workloads.len() >= 4, "{workloads:?}");
    for (file, code) in rust_files(&sources["lab"].join("workloads")) {
        let own = file.iter().next().expect("a name").to_string_lossy();
        if own != "mod.rs" {
            let mut others = reached(&code, &workloads);
            others.retain(|w| *w != own);
            assert!(others.is_empty(), "{}: {own} uses {others:?}", file.display());
        }
    }
    for package in ["scenario", "sim", "judge"] {
        for (file, code) in rust_files(&sources[package]) {
            let named: Vec<&str> =
                words(&code).filter(|word| workloads.iter().any(|w| w == word)).collect();
            assert!(named.is_empty(), "{package}/{} names {named:?}", file.display());
        }
    }
}

#[test]
fn an_arrow_between_workloads_is_seen() {
    let all = ["bulk".to_owned(), "vod".to_owned()];
    assert_eq!(reached("use crate::workloads::vod::Stock;", &all), ["vod"]);
    assert_eq!(reached("use super::super::{bulk, x};", &all), ["bulk", "bulk"]);
    assert!(reached("use airlane_traffic::bulk; bulk::serve()", &all).is_empty());
    assert!(code("let a = 1; // the bulk of it\n").split("bulk").count() == 1);
}
