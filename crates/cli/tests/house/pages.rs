//! Pages: links lead somewhere, the index of each folder has them all, and the front page shows
//! what the records say.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

/// Folders that hold no sources of ours.
const SKIPPED: &[&str] = &[".git", "node_modules", "out", "target", "vendor"];

/// Kinds of files whose texts name pages.
const TEXTS: &[&str] = &[
    "c", "cfg", "css", "h", "html", "js", "json", "lua", "md", "mjs", "py", "rs", "service", "sh",
    "toml", "yml",
];

/// A measured result that the front page shows.
struct Shown {
    /// The record in `claims/verdicts`.
    record: &'static str,
    claim: &'static str,
    /// What it is multiplied with.
    factor: f64,
    digits: usize,
}

const SHOWN: &[Shown] = &[
    Shown { record: "fbdt", claim: "fbdt.sum.mobile", factor: 1.0, digits: 3 },
    Shown { record: "fbdt", claim: "fbdt.gain.mptcp", factor: 1.0, digits: 1 },
    Shown { record: "minerva-embedded", claim: "minerva.fig11.qoe8", factor: 1.0, digits: 1 },
    Shown { record: "octopus-embedded", claim: "octopus.octobbr.tail", factor: -100.0, digits: 0 },
    Shown { record: "cupid", claim: "cupid.near-remote", factor: 1.0, digits: 2 },
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The texts of the repository: files of the kinds that name pages, and scripts, which have none.
fn texts() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let kind = path.extension().map(|e| e.to_string_lossy().into_owned());
            if path.is_dir() {
                if !SKIPPED.contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if kind.is_none_or(|kind| TEXTS.contains(&kind.as_str())) {
                // What is no text names no page.
                if let Ok(text) = std::fs::read_to_string(&path) {
                    found.push((path.strip_prefix(root()).expect("below it").to_owned(), text));
                }
            }
        }
    }
    found
}

fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "md")
}

/// The targets of a page's links, without those of other machines.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target).filter(|t| !t.contains("://") && !t.contains(' '))
}

/// The anchors of a page: its headings in small letters, with a dash for each space.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut found = BTreeSet::new();
    for line in page.lines() {
        is_code ^= line.starts_with("```");
        let heading = line.trim_start_matches('#');
        if is_code || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        found.insert(kept.collect::<String>().to_lowercase().replace(' ', "-"));
    }
    found
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// Paths of pages, `docs/...`, that a text names.
fn named(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("docs/").filter_map(|(at, _)| {
        // `static/docs/` is another folder; `../docs/` is this one.
        let before = text[..at].trim_end_matches("../");
        let is_start = !before.ends_with(|c: char| c.is_alphanumeric() || "/_-.".contains(c));
        let path =
            text[at..].split(|c: char| !c.is_alphanumeric() && !"/_-.".contains(c)).next()?;
        let path = path.trim_end_matches('.');
        let is_file = [".md", ".svg", ".toml", ".png"].iter().any(|kind| path.ends_with(kind));
        (is_start && is_file).then_some(path)
    })
}

#[test]
fn links_of_pages_lead_to_files_and_headings() {
    let mut wrong = Vec::new();
    for (page, text) in texts().into_iter().filter(|(path, _)| is_page(path)) {
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.clone(),
                file => plain(&page.with_file_name("").join(file)),
            };
            let known = match std::fs::read_to_string(root().join(&target)) {
                Ok(text) if is_page(&target) && !anchor.is_empty() => {
                    anchors(&text).contains(anchor)
                }
                _ => root().join(&target).exists(),
            };
            if !known {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn pages_that_sources_name_exist() {
    let mut wrong = Vec::new();
    for (file, text) in texts() {
        let gone = named(&text).filter(|page| !root().join(page).exists());
        wrong.extend(gone.map(|page| format!("{}: {page}", file.display())));
    }
    // The example of the test below is one.
    wrong.retain(|line| !line.starts_with("crates/cli/tests/house/pages.rs"));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_page_is_in_the_index_of_its_folder() {
    let mut missing = Vec::new();
    for folder in ["guide", "reference", "reference/wire", "design", "results"] {
        let index = Path::new("docs").join(folder.split('/').next().expect("a part"));
        let index = index.join("README.md");
        let text = std::fs::read_to_string(root().join(&index)).expect("an index");
        let listed: Vec<PathBuf> =
            links(&text).map(|link| plain(&index.with_file_name("").join(link))).collect();
        let entries = std::fs::read_dir(root().join("docs").join(folder)).expect("the folder");
        for entry in entries {
            let name = entry.expect("an entry").file_name();
            let page = Path::new("docs").join(folder).join(&name);
            if is_page(&page) && name != "README.md" && !listed.contains(&page) {
                missing.push(page);
            }
        }
    }
    assert!(missing.is_empty(), "not in an index: {missing:#?}");
}

#[test]
fn the_front_page_shows_what_the_records_say() {
    let page = std::fs::read_to_string(root().join("README.md")).expect("the front page");
    for Shown { record, claim, factor, digits } in SHOWN {
        let file = root().join(format!("claims/verdicts/{record}.json"));
        let text = std::fs::read_to_string(file).expect("a record");
        let record: Value = serde_json::from_str(&text).expect("a record is JSON");
        let claims = record["claims"].as_array().expect("a list");
        let of = claims.iter().find(|c| c["id"] == **claim).expect("the claim is in it");
        let number = |value: &Value| factor * value.as_f64().expect("a number");
        let (a, b) = (number(&of["ci95"][0]), number(&of["ci95"][1]));
        let (value, low, high) = (number(&of["measured"]), a.min(b), a.max(b));
        let interval = format!("({low:.digits$} to {high:.digits$})");
        let row = page.lines().find(|line| line.contains(&interval));
        let row = row.unwrap_or_else(|| panic!("{claim}: no {interval} on the front page"));
        let value = format!("{value:.digits$} ");
        assert!(row.contains(&value), "{claim}: no {value}in {row}");
    }
}

#[test]
fn links_and_names_of_pages_are_seen() {
    let page = "# A b\n\n[x](y.md#z) and [w](https://x.org/) or [v](../u.md).\n## The `c` d\n";
    assert_eq!(links(page).collect::<Vec<_>>(), ["y.md#z", "../u.md"]);
    assert_eq!(anchors(page).into_iter().collect::<Vec<_>>(), ["a-b", "the-c-d"]);
    let text = "(`docs/none.md`), \"../../docs/none/at.md\" but x/docs/none.md, docs/ and docs/a.";
    assert_eq!(named(text).collect::<Vec<_>>(), ["docs/none.md", "docs/none/at.md"]);
}
