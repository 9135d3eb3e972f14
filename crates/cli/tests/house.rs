//! The house rules that can be counted: which crate may use which.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

/// Which crates of ours each crate may use. A crate that is not listed fails the test: whoever
/// adds one decides where it stands.
const MAY_USE: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("quality", &["base"]),
    ("media", &["base", "quality"]),
    ("pack", &["base", "quality", "media"]),
    ("abr", &["base", "quality", "media"]),
    ("minerva", &["base", "quality", "media", "abr"]),
    ("congestion", &["base"]),
    ("net", &["base"]),
    ("link", &["base", "net"]),
    ("report", &["base"]),
    ("runtime", &["base", "net"]),
    ("quic", &["base", "congestion", "runtime"]),
    ("apps", &["base", "quality", "media", "abr", "minerva", "congestion", "runtime", "quic"]),
    (
        "lab",
        &[
            "base",
            "quality",
            "media",
            "abr",
            "minerva",
            "congestion",
            "net",
            "runtime",
            "quic",
            "apps",
            "report",
        ],
    ),
    (
        "daemon",
        &["base", "quality", "media", "abr", "minerva", "congestion", "runtime", "quic", "apps"],
    ),
    ("cli", &["base", "media", "abr", "link", "pack", "lab", "report", "daemon"]),
    (
        "bench",
        &[
            "base", "quality", "media", "abr", "minerva", "net", "link", "runtime", "quic", "lab",
            "daemon",
        ],
    ),
];

/// Libraries that only `quic` names.
const QUIC_LIBRARIES: &[&str] = &["noq", "noq-proto", "noq-udp", "h3"];

/// But the bench measures ours beside noq's own endpoint, which nothing that ships uses.
const PEERS: &[(&str, &str)] = &[("bench", "noq")];

/// The short name of a package of ours.
fn short(package: &str) -> &str {
    match package {
        "airlane" => "cli",
        other => other.strip_prefix("airlane-").unwrap_or(other),
    }
}

/// The normal dependencies of each package of the workspace.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let text = |v: &Value| v.as_str().expect("a name").to_owned();
    let normal = |package: &Value| -> Vec<String> {
        let all = package["dependencies"].as_array().expect("a list");
        all.iter().filter(|d| d["kind"].is_null()).map(|d| text(&d["name"])).collect()
    };
    let packages = metadata["packages"].as_array().expect("a list");
    packages.iter().map(|p| (short(&text(&p["name"])).to_owned(), normal(p))).collect()
}

#[test]
fn arrows_between_crates_run_one_way() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    let packages = dependencies();
    for (package, uses) in &packages {
        let Some(may) = allowed.get(package.as_str()) else {
            panic!("crate {package} is not listed in MAY_USE");
        };
        let ours = uses.iter().map(|u| short(u)).filter(|u| packages.contains_key(*u));
        for used in ours {
            assert!(may.contains(&used), "{package} may not use {used}; allowed: {may:?}");
        }
    }
    for name in allowed.keys() {
        assert!(packages.contains_key(*name), "MAY_USE lists {name}, which does not exist");
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
