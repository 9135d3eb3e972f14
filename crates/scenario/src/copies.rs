//! Tables that stand for several: `copies = 8` and `#` in their texts.

use airlane_base::InputError;

use crate::tree::{Data, Node};

/// Key of an entry of a list at the top of a scenario.
pub(super) const COPIES: &str = "copies";
/// Meaning of [`COPIES`].
pub(super) const DOC: &str = "How many tables this one stands for: in each, `#` in a text is its number, from 1 \
                              (`name = \"c#\"`, `at = \"c#\"`).";
/// Most tables that one stands for.
pub(super) const MAX_COPIES: u64 = 1000;
/// Most entries of a list that has copies.
const MAX_ENTRIES: usize = 10_000;

/// Character that stands for the number of a copy.
const NUMBER: char = '#';

/// The document with each entry of its lists that has `copies` replaced by so many.
pub(super) fn expanded(root: &Node) -> Result<Node, InputError> {
    let mut root = root.clone();
    let Data::Table(entries) = &mut root.data else { return Ok(root) };
    for (name, list) in entries {
        let Data::List(items) = &mut list.data else { continue };
        let mut all = Vec::with_capacity(items.len());
        for (index, item) in std::mem::take(items).into_iter().enumerate() {
            push(&mut all, item, &format!("{name}.{index}.{COPIES}"))?;
        }
        *items = all;
    }
    Ok(root)
}

/// The value of `copies` of an entry.
fn copies(entry: &Node) -> Option<&Node> {
    match &entry.data {
        Data::Table(keys) => keys.get(COPIES),
        _ => None,
    }
}

/// Adds an entry, as often as it says; `key` is the path of its `copies`.
fn push(all: &mut Vec<Node>, mut entry: Node, key: &str) -> Result<(), InputError> {
    let Some(count) = copies(&entry) else {
        all.push(entry);
        return Ok(());
    };
    let bad = |found: String, expected: String| {
        count.origin.place(InputError::new(found, expected), key.to_owned())
    };
    let number = match &count.data {
        Data::Integer(number) => usize::try_from(*number).ok(),
        _ => None,
    };
    let Some(number) = number.filter(|number| (1..=MAX_COPIES as usize).contains(number)) else {
        let found = format!("found {}", count.data.describe());
        return Err(bad(found, format!("expected a whole number from 1 to {MAX_COPIES}")));
    };
    if all.len() + number > MAX_ENTRIES {
        let found = format!("found more than {MAX_ENTRIES} entries with it");
        return Err(bad(found, "expected fewer".to_owned()));
    }
    if let Data::Table(keys) = &mut entry.data {
        keys.remove(COPIES);
    }
    all.extend((1..=number).map(|number| {
        let mut copy = entry.clone();
        fill(&mut copy, &number.to_string());
        copy
    }));
    Ok(())
}

/// Puts the number of a copy into its texts.
fn fill(node: &mut Node, number: &str) {
    match &mut node.data {
        Data::Text(text) => *text = text.replace(NUMBER, number),
        Data::List(items) => items.iter_mut().for_each(|item| fill(item, number)),
        Data::Table(entries) => entries.values_mut().for_each(|entry| fill(entry, number)),
        _ => {}
    }
}
