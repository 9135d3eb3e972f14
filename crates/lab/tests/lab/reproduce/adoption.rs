//! Runs that another build left in its journal.

use std::fs;
use std::path::{Path, PathBuf};

use super::{CLAIMS, Folder, left, reproduce};

/// Writes a journal anew as another build would have left it: with keys of its own, and with what `change` does to the
/// text of each run.
fn as_of_another_build(journal: &Path, change: impl Fn(usize, String) -> String) -> PathBuf {
    let text = fs::read_to_string(journal).unwrap();
    let (head, lines) = text.split_once('\n').unwrap();
    let mut other = format!("{head}\n");
    for (number, line) in lines.lines().enumerate() {
        let (_, entry) = line.split_once("\"entry\":").unwrap();
        let entry = entry.strip_suffix('}').unwrap();
        let (build, rest) = entry.strip_prefix("{\"key\":\"").unwrap().split_once('-').unwrap();
        assert_eq!(build.len(), 16);
        let entry = change(number, format!("{{\"key\":\"0123456789abcdef-{rest}"));
        let mut hash = airlane_base::Fnv64::new();
        hash.write(entry.as_bytes());
        other += &format!("{{\"check\":\"{:016x}\",\"entry\":{entry}}}\n", hash.finish());
    }
    let file = journal.with_file_name("other.jsonl");
    fs::write(&file, other).unwrap();
    file
}

#[test]
fn runs_of_another_build_count_where_one_that_is_repeated_is_the_same() {
    let folder = Folder::new("reproduce-adopted");
    let (outcome, whole) = reproduce(&folder, CLAIMS, |r| r.common.out.set_file_name("whole"));
    outcome.unwrap();
    let journal = whole.join("reproduce.journal.jsonl");
    let same = as_of_another_build(&journal, |_, entry| entry);
    let adopted = |out: &'static str, file: &PathBuf| {
        let (outcome, out) = reproduce(&folder, CLAIMS, |r| {
            r.common.out.set_file_name(out);
            r.adopt = Some(file.clone());
        });
        (outcome.unwrap().line, out)
    };
    let (line, out) = adopted("same", &same);
    assert!(line.contains("14 of 14 runs were there from before."), "{line}");
    assert!(!line.contains("not taken over"), "{line}");
    assert!(left(&out) == left(&whole));
    // What was adopted is in the folder's own journal: it is not asked for again.
    let (line, _) = adopted("same", &folder.0.join("whole/reproduce.journal.jsonl"));
    assert!(line.contains("14 of 14 runs were there from before."), "{line}");

    // Another claim's page did not draw the same runs over time.
    let undrawn = as_of_another_build(&journal, |_, entry| {
        let mut entry: serde_json::Value = serde_json::from_str(&entry).unwrap();
        entry["record"]["over_time"] = serde_json::Value::Null;
        entry.to_string()
    });
    let (line, out) = adopted("undrawn", &undrawn);
    assert!(!line.contains("not taken over"), "{line}");
    assert!(left(&out) == left(&whole), "those that are drawn ran anew");

    let other = as_of_another_build(&journal, |_, entry| {
        assert!(entry.contains("\"wait_s\":"));
        entry.replacen("\"virtual_s\":", "\"virtual_s\":1", 1)
    });
    let (line, out) = adopted("other", &other);
    assert!(line.contains("14 runs of --adopt not taken over"), "{line}");
    assert!(left(&out) == left(&whole), "they ran anew");
    let (outcome, _) = reproduce(&folder, CLAIMS, |r| {
        r.common.out.set_file_name("none");
        r.adopt = Some(folder.0.join("none.jsonl"));
    });
    let error = outcome.unwrap_err();
    assert!(error.exit_code() == 2 && error.to_string().contains("none.jsonl"), "{error}");
}
