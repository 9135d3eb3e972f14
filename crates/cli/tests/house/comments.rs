//! Comments of items, which begin with what the item is.

/// Words that ask, where a comment is to say.
const QUESTIONS: [&str; 8] = ["What", "How", "Whether", "Where", "When", "Why", "Which", "Who"];

/// Lines of a file on which a comment of an item begins with a question, numbered from 1.
fn questions(code: &str) -> Vec<usize> {
    let is_comment = |line: &str| line.trim_start().starts_with("///");
    let mut before = "";
    let mut found = Vec::new();
    for (number, line) in (1..).zip(code.lines()) {
        let first = super::words(line).next().unwrap_or_default();
        if is_comment(line) && !is_comment(before) && QUESTIONS.contains(&first) {
            found.push(number);
        }
        before = line;
    }
    found
}

#[test]
fn comments_begin_with_what_the_item_is() {
    let mut found = Vec::new();
    for (package, sources) in super::sources() {
        for (file, code) in super::rust_texts(&sources) {
            let lines = questions(&code).into_iter();
            found.extend(lines.map(|line| format!("{package}/{}:{line}", file.display())));
        }
    }
    assert!(found.is_empty(), "say first what it is, such as \"Number of ...\": {found:#?}");
}

#[test]
fn a_question_is_seen() {
    let code = "/// What a user has.\npub user: User,\n/// Rate.\n/// How it is found is said below.\n\
                rate: Rate,\n    /// Whether it ended.\n";
    assert_eq!(questions(code), [1, 6]);
    assert_eq!(questions("//! What it is.\n// Why: it is so.\nlet what = 1;"), [0_usize; 0]);
}
