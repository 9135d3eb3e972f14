//! Tables of recorded verdicts in pages of documentation.
//!
//! A page names its records in one line, `<!-- verdicts: FILE ... -->`, with `short` before them where a claim of
//! several conditions is to have its own figure alone. Each table stands between the lines `<!-- NAME -->` and
//! `<!-- end of NAME -->`: `claims`, `before`, and what `[[table]]` of the system's claims names.

mod before;
mod claim_table;
mod contents;
mod figure;
mod part_table;

use std::fs;
use std::path::{Path, PathBuf};

use airlane_base::InputError;

use crate::Registry;
use contents::Contents;

/// A page with the tables that its records give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictPage {
    /// Its file.
    pub file: PathBuf,
    /// The page as it should read.
    pub text: String,
    /// True if the file reads otherwise.
    pub is_stale: bool,
}

/// Records of a page, as it names them.
#[derive(Debug, PartialEq, Eq)]
struct Sources {
    records: Vec<PathBuf>,
    is_short: bool,
}

/// Reads pages, and makes the tables of each from its records.
///
/// # Errors
/// If a page or a record cannot be read; if a page names no record, or lacks the end of a table.
pub fn verdict_pages(
    registry: &Registry,
    files: &[PathBuf],
) -> Result<Vec<VerdictPage>, InputError> {
    files.iter().map(|file| verdict_page(registry, file)).collect()
}

/// Writes the pages whose files read otherwise.
///
/// # Errors
/// If one cannot be written.
pub fn write_pages(pages: &[VerdictPage]) -> Result<(), InputError> {
    for page in pages.iter().filter(|page| page.is_stale) {
        fs::write(&page.file, &page.text)
            .map_err(|e| InputError::io(&page.file, "write the page", &e))?;
    }
    Ok(())
}

fn verdict_page(registry: &Registry, file: &Path) -> Result<VerdictPage, InputError> {
    let read = fs::read_to_string(file).map_err(|e| InputError::io(file, "read the page", &e))?;
    let Sources { records, is_short } = sources(&read).ok_or_else(|| {
        let expected = "expected a line <!-- verdicts: FILE ... --> with the records of its tables";
        InputError::new("a page without records", expected).at_file(file)
    })?;
    let contents = Contents::read(registry, &records)?;
    let mut text = read.clone();
    for (name, table) in tables(&contents, is_short) {
        text = with_table(&text, &name, &table).map_err(|e| e.at_file(file))?;
    }
    let is_stale = text != read;
    Ok(VerdictPage { file: file.to_owned(), text, is_stale })
}

/// The tables by name; those of which the records have nothing are left out.
fn tables(contents: &Contents, is_short: bool) -> Vec<(String, String)> {
    let mut tables = vec![("claims".to_owned(), claim_table::table(contents, is_short))];
    if contents.set.claims.iter().any(|claim| !claim.before.is_empty()) {
        tables.push(("before".to_owned(), before::table(contents)));
    }
    for spec in &contents.set.tables {
        let table = part_table::table(contents, spec);
        tables.extend(table.map(|table| (spec.name.clone(), table)));
    }
    tables
}

fn sources(page: &str) -> Option<Sources> {
    let words = |line: &str| -> Option<Vec<String>> {
        let inner = line.trim().strip_prefix("<!-- verdicts:")?.strip_suffix("-->")?;
        Some(inner.split_whitespace().map(str::to_owned).collect())
    };
    let mut words = page.lines().find_map(words)?;
    let is_short = words.first().is_some_and(|word| word == "short");
    if is_short {
        words.remove(0);
    }
    let records: Vec<PathBuf> = words.into_iter().map(PathBuf::from).collect();
    (!records.is_empty()).then_some(Sources { records, is_short })
}

/// The page with a table between its marks.
fn with_table(page: &str, name: &str, table: &str) -> Result<String, InputError> {
    let [begin, end] = [format!("<!-- {name} -->\n"), format!("\n<!-- end of {name} -->")];
    let place = page.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some((before, after))
    });
    let (before, after) = place.ok_or_else(|| {
        let expected = format!("expected the lines {} and {}", begin.trim(), end.trim());
        InputError::new(format!("no place for the table {name}"), expected)
    })?;
    Ok(format!("{before}{begin}{table}{end}{after}"))
}

/// A table of Markdown.
fn markdown(head: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let rule = format!("|{}", "---|".repeat(head.len()));
    let all = [line(head), rule].into_iter().chain(rows.iter().map(|row| line(row)));
    all.collect::<Vec<_>>().join("\n")
}

/// The id of a claim without its system, as code.
fn short_id(id: &str) -> String {
    format!("`{}`", id.split_once('.').map_or(id, |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_its_records() {
        let of = |text: &str| sources(text).map(|s| (s.records.len(), s.is_short));
        assert_eq!(of("# X\n<!-- verdicts: a.json b.json -->\n"), Some((2, false)));
        assert_eq!(of("<!-- verdicts: short a.json -->"), Some((1, true)));
        assert_eq!(of("<!-- verdicts: -->"), None);
        assert_eq!(of("<!-- verdicts: a.json\n"), None);
    }

    #[test]
    fn a_table_stands_between_its_marks() {
        let page = "a\n<!-- x -->\nold\n<!-- end of x -->\nb";
        let new = "a\n<!-- x -->\n| new |\n<!-- end of x -->\nb";
        assert_eq!(with_table(page, "x", "| new |"), Ok(new.to_owned()));
        let e = with_table(page, "y", "").expect_err("no such marks").to_string();
        assert!(e.contains("<!-- end of y -->"), "{e}");
    }
}
