//! The words of the glossary that names and help do not have.

use std::process::Command;

/// Names of types, functions and modules that have another name now.
const NAMES: &[&str] = &[
    "Agenda",
    "AirWay",
    "AllKept",
    "Casts",
    "Chapter",
    "ClaimChapter",
    "Companion",
    "Conduct",
    "Course",
    "KeptRun",
    "Mailbox",
    "NoPlace",
    "Occupant",
    "OnAirWay",
    "Outlet",
    "Places",
    "RecvRequest",
    "Seldom",
    "SendRequest",
    "ServeRequest",
    "SharedStocks",
    "Standing",
    "Stocks",
    "Treatment",
    "TunnelConnectRequest",
    "TunnelServeRequest",
    "WayKey",
    "WayOutput",
    "WayResult",
    "agenda",
    "companion",
    "nudge",
    "stir",
    "upkeep",
];

/// Beginnings of names of limits.
const BEGINNINGS: &[&str] = &["LEAST", "LONGEST", "MOST", "SHORTEST", "least_", "most_"];

/// Words that no name has in the packages of these systems, where the glossary has others.
const PARTS: &[(&[&str], &[&str])] = &[
    (
        &["host", "multipath", "tunnel"],
        &[
            "allowance",
            "dark",
            "door",
            "express",
            "halves",
            "knock",
            "lane",
            "line",
            "lines",
            "patience",
            "pulse",
            "quiet",
            "quota",
            "radio",
            "radios",
            "stranger",
            "strangers",
            "trunk",
            "trunks",
        ],
    ),
    (
        &["capture", "cupid", "wifi"],
        &[
            "adopt", "bare", "charged", "headless", "longest", "most", "nobody", "onlooker",
            "orphan", "orphans", "patience", "quiet", "sealed", "shortest", "told",
        ],
    ),
];

/// Names that other programs read, or that somebody else gave.
const KEPT: &[(&str, &str)] = &[("link", "Outlet"), ("messages", "Treatment")];

/// Words that no help text has.
const HELP: &[&str] = &[
    "chunk",
    "figures",
    "knock",
    "made-up",
    "onlooker",
    "pictures",
    "plain share",
    "sound",
    "stranger",
    "the story",
    "trunk",
    "weighed",
    "whom",
];

/// The name that a line declares, be it a public one or a constant.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        // `pub(in a::path)`.
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1,
        Some(rest) => rest,
        None if line.starts_with("const ") => line,
        None => return None,
    };
    let kinds =
        ["async", "const", "enum", "fn", "mod", "static", "struct", "trait", "type", "unsafe"];
    let mut words = super::words(line).skip_while(|word| kinds.contains(word));
    words.next()
}

/// A name in small letters, its words divided by `_`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut before_is_small = false;
    for letter in name.chars() {
        if letter.is_uppercase() && before_is_small {
            out.push('_');
        }
        before_is_small = letter.is_lowercase();
        out.extend(letter.to_lowercase());
    }
    out
}

/// Whether the glossary has another word for a name that a package declares.
fn is_refused(package: &str, name: &str) -> bool {
    let begins = |beginning: &&str| match beginning.ends_with('_') {
        true => name.starts_with(*beginning),
        false => name == *beginning || name.starts_with(&format!("{beginning}_")),
    };
    let parts = snake(name);
    let has_part = PARTS.iter().any(|(packages, refused)| {
        packages.contains(&package) && parts.split('_').any(|part| refused.contains(&part))
    });
    has_part
        || (NAMES.contains(&name) && !KEPT.contains(&(package, name)))
        || BEGINNINGS.iter().any(begins)
}

#[test]
fn names_have_the_words_of_the_glossary() {
    let mut found = Vec::new();
    for (package, sources) in super::sources() {
        for (file, code) in super::rust_files(&sources) {
            let names = code.lines().filter_map(declared).filter(|name| is_refused(&package, name));
            found.extend(names.map(|name| format!("{package}/{}: {name}", file.display())));
        }
    }
    assert!(found.is_empty(), "docs/reference/glossary.md has another word: {found:#?}");
}

#[test]
fn a_refused_name_is_seen() {
    assert_eq!(declared("    pub(crate) fn nudge(&self) {"), Some("nudge"));
    assert_eq!(declared("pub(in crate::multipath) fn stir() {"), Some("stir"));
    assert_eq!(declared("const MOST: usize = 4;"), Some("MOST"));
    assert_eq!(declared("    pub most_bytes: u64,"), Some("most_bytes"));
    assert_eq!(declared("let most_bytes = 4;"), None);
    for name in ["nudge", "MOST", "MOST_BYTES", "most_bytes", "Places"] {
        assert!(is_refused("quic", name), "{name}");
    }
    for name in ["MOSTLY", "max_bytes", "mostly", "ConnectionLimiter"] {
        assert!(!is_refused("quic", name), "{name}");
    }
    assert!(is_refused("cupid", "is_sealed") && !is_refused("cupid", "FrameExchange"));
}

/// The help of a verb and of those below it.
fn help(verb: &[String], all: &mut Vec<(String, String)>) {
    let output = Command::new(env!("CARGO_BIN_EXE_airlane")).args(verb).arg("--help").output();
    let text = String::from_utf8(output.expect("airlane runs").stdout).expect("text");
    let commands = text.lines().skip_while(|line| *line != "Commands:").skip(1);
    let below = commands.take_while(|line| !line.is_empty());
    let below: Vec<String> =
        below.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    all.push((verb.join(" "), text.split_whitespace().collect::<Vec<_>>().join(" ")));
    for next in below.into_iter().filter(|next| next != "help") {
        help(&[verb, &[next]].concat(), all);
    }
}

#[test]
fn help_has_the_words_of_the_glossary() {
    let mut all = Vec::new();
    help(&[], &mut all);
    assert!(all.len() > 20, "{} texts of help", all.len());
    let mut found = Vec::new();
    for (verb, text) in &all {
        let lower = text.to_lowercase();
        found.extend(
            HELP.iter().filter(|word| lower.contains(**word)).map(|word| format!("{verb}: {word}")),
        );
    }
    assert!(found.is_empty(), "docs/reference/glossary.md has another word: {found:#?}");
}
