//! A TOML document in which every value knows where it came from.

use std::collections::BTreeMap;
use std::ops::Range;

use airlane_base::InputError;
use toml::de::{DeTable, DeValue};

/// Deepest nesting that is read: far more than a scenario has, far less than a stack holds.
const MAX_DEPTH: usize = 16;

/// Origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// On this line of the file, from 1.
    Line(usize),
    /// With `--set` on the command line.
    Set,
    /// With `--grid` on the command line.
    Grid,
    /// With an option of the command line that names the key's table.
    Option,
}

impl Origin {
    /// The error with its place: the key, with its line or its option of the command line.
    pub(super) fn place(self, error: InputError, key: String) -> InputError {
        match self {
            Self::Line(line) => error.at_line(line).at_key(key),
            Self::Set => error.at_key(format!("--set {key}")),
            Self::Grid => error.at_key(format!("--grid {key}")),
            Self::Option => error.at_key(key),
        }
    }
}

/// A number as people write it in a scenario: `10e6`, `0.02`, `1e-9`.
pub fn plain(x: f64) -> String {
    let size = x.abs();
    if (size != 0.0 && size < 1e-4) || size >= 1e15 {
        return format!("{x:e}");
    }
    if size >= 1e5 && x % 1e3 == 0.0 {
        let exponent = [12, 9, 6].into_iter().find(|e| x % 10f64.powi(*e) == 0.0).unwrap_or(3);
        return format!("{}e{exponent}", x / 10f64.powi(exponent));
    }
    x.to_string()
}

/// A value and where it was given.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) data: Data,
    pub(super) origin: Origin,
}

impl Node {
    /// A table without keys.
    pub(super) fn table(origin: Origin) -> Self {
        Self { data: Data::Table(BTreeMap::new()), origin }
    }
}

/// Value of TOML.
#[derive(Clone, Debug)]
pub(super) enum Data {
    Flag(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    /// A date, or an integer beyond 64 bits: nothing that a scenario has a use for.
    Other(&'static str, String),
    List(Vec<Node>),
    Table(BTreeMap<String, Node>),
}

impl Data {
    /// The value as a message shows it.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Flag(b) => format!("the flag {b}"),
            Self::Integer(i) => format!("{i}"),
            Self::Number(x) => plain(*x),
            Self::Text(s) => format!("the text \"{}\"", shorten(s)),
            Self::Other(what, text) => format!("the {what} {}", shorten(text)),
            Self::List(items) => format!("a list of {}", items.len()),
            Self::Table(_) => "a table".to_owned(),
        }
    }
}

impl Data {
    /// The value as TOML, the same for equal values: numbers in digits, keys in order.
    pub(super) fn to_toml(&self) -> String {
        let quoted = |s: &str| serde_json::to_string(s).expect("a text");
        match self {
            Self::Flag(b) => b.to_string(),
            Self::Integer(i) => i.to_string(),
            Self::Number(x) => x.to_string(),
            Self::Text(s) => quoted(s),
            Self::Other(_, text) => text.clone(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|n| n.data.to_toml()).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Table(entries) => {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                let entry = |(key, node): (&String, &Node)| {
                    let bare = !key.is_empty() && key.chars().all(plain);
                    let key = if bare { key.clone() } else { quoted(key) };
                    format!("{key} = {}", node.data.to_toml())
                };
                let entries: Vec<String> = entries.iter().map(entry).collect();
                format!("{{{}}}", entries.join(", "))
            }
        }
    }
}

fn shorten(s: &str) -> String {
    const MAX_CHARS: usize = 60;
    let escaped = s.escape_debug().collect::<String>();
    if escaped.chars().count() <= MAX_CHARS {
        return escaped;
    }
    escaped.chars().take(MAX_CHARS).chain("...".chars()).collect()
}

/// The document that `text` holds.
pub(super) fn parse(text: &str) -> Result<Node, InputError> {
    let lines = Lines::new(text);
    let table = DeTable::parse(text).map_err(|e| {
        let error = InputError::new(e.message().to_owned(), "expected a TOML document");
        match e.span() {
            Some(span) => error.at_line(lines.of(&span)),
            None => error,
        }
    })?;
    convert_table(table.get_ref(), &lines, 1, 0)
}

/// Byte offsets to line numbers.
struct Lines {
    /// Byte offset of the start of each line.
    starts: Vec<usize>,
}

impl Lines {
    fn new(text: &str) -> Self {
        let after_newlines = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        Self { starts: std::iter::once(0).chain(after_newlines.map(|(i, _)| i + 1)).collect() }
    }

    fn of(&self, span: &Range<usize>) -> usize {
        self.starts.partition_point(|start| *start <= span.start)
    }
}

fn convert_table(
    table: &DeTable<'_>,
    lines: &Lines,
    line: usize,
    depth: usize,
) -> Result<Node, InputError> {
    if depth > MAX_DEPTH {
        return Err(too_deep(line));
    }
    let mut entries = BTreeMap::new();
    for (key, value) in table {
        // The line of the key: that of a table's value would be its header's or a brace's.
        let line = lines.of(&key.span());
        entries.insert(
            key.get_ref().clone().into_owned(),
            convert(value.get_ref(), lines, line, depth + 1)?,
        );
    }
    Ok(Node { data: Data::Table(entries), origin: Origin::Line(line) })
}

fn convert(
    value: &DeValue<'_>,
    lines: &Lines,
    line: usize,
    depth: usize,
) -> Result<Node, InputError> {
    let data = match value {
        DeValue::String(s) => Data::Text(s.clone().into_owned()),
        DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(v) => Data::Integer(v),
            Err(_) => Data::Other("integer", i.as_str().to_owned()),
        },
        DeValue::Float(x) => match x.as_str().parse() {
            Ok(v) => Data::Number(v),
            Err(_) => Data::Other("number", x.as_str().to_owned()),
        },
        DeValue::Boolean(b) => Data::Flag(*b),
        DeValue::Datetime(d) => Data::Other("date", d.to_string()),
        DeValue::Array(items) => {
            if depth > MAX_DEPTH {
                return Err(too_deep(line));
            }
            let items = items
                .iter()
                .map(|item| convert(item.get_ref(), lines, lines.of(&item.span()), depth + 1));
            Data::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => return convert_table(table, lines, line, depth),
    };
    Ok(Node { data, origin: Origin::Line(line) })
}

fn too_deep(line: usize) -> InputError {
    InputError::new("nested too deeply", format!("expected at most {MAX_DEPTH} levels"))
        .at_line(line)
}

/// Keys of which a table has one: setting one with `--set` takes the others of the file away.
const EXCLUSIVE: [&[&str]; 2] =
    [&["rate_bps", "trace", "generator", "steps"], &["limit_bdp", "limit_bytes", "limit_packets"]];

/// Applies one `key=value` of the command line. The key is a path with dots, list entries by
/// number from 0 (`scheme.0.weight`); the value is TOML, or text if it is not.
pub(super) fn set(root: &mut Node, assignment: &str) -> Result<(), InputError> {
    let option = || format!("--set {}", shorten(assignment));
    let (path, value) = assignment.split_once('=').ok_or_else(|| {
        InputError::new("no equals sign", "expected key=value, such as link.rate_bps=4e6")
            .at_key(option())
    })?;
    let path = path.trim();
    put(root, path, parse_value(value.trim(), Origin::Set))
        .map_err(|e| e.at_key(format!("--set {}", shorten(path))))
}

/// Puts a value at a path with dots, and takes away what excludes it; errors have no place yet.
pub(super) fn put(root: &mut Node, path: &str, node: Node) -> Result<(), InputError> {
    place(root, path, node, &EXCLUSIVE)
}

/// Puts a value at a path with dots, beside what excludes it; errors have no place yet.
pub(super) fn put_beside(root: &mut Node, path: &str, node: Node) -> Result<(), InputError> {
    place(root, path, node, &[])
}

fn place(root: &mut Node, path: &str, node: Node, exclusive: &[&[&str]]) -> Result<(), InputError> {
    let bad = |found: String, expected: &str| InputError::new(found, expected.to_owned());
    let segments = segments(path);
    if segments.iter().any(|s| s.is_empty()) || segments.len() > MAX_DEPTH {
        return Err(bad("not a key".to_owned(), "expected a path such as link.rate_bps"));
    }
    let (last, parents) = segments.split_last().expect("split yields at least one part");
    let inside = |name: &str, data: &Data| {
        let found = format!("{name} is {}", data.describe());
        bad(found, "expected a path through tables and lists")
    };
    let origin = node.origin;
    let (mut at, mut name) = (root, "");
    for segment in parents {
        at = match &mut at.data {
            Data::Table(entries) => {
                entries.entry((*segment).to_owned()).or_insert_with(|| Node::table(origin))
            }
            Data::List(items) => entry_of(items, segment).map_err(|e| bad(e, LIST_INDEX))?,
            other => return Err(inside(name, other)),
        };
        name = segment;
    }
    match &mut at.data {
        Data::Table(entries) => {
            for group in exclusive.iter().filter(|group| group.contains(last)) {
                entries.retain(|key, _| !group.contains(&key.as_str()));
            }
            entries.insert((*last).to_owned(), node);
        }
        Data::List(items) => *entry_of(items, last).map_err(|e| bad(e, LIST_INDEX))? = node,
        other => return Err(inside(name, other)),
    }
    Ok(())
}

/// True if putting a value at `later` undoes one that was put at `earlier`.
pub(super) fn undoes(later: &str, earlier: &str) -> bool {
    let (later, earlier) = (segments(later), segments(earlier));
    if earlier.starts_with(&later) {
        return true;
    }
    let (Some((last, parents)), true) = (later.split_last(), later.len() == earlier.len()) else {
        return false;
    };
    earlier.starts_with(parents)
        && EXCLUSIVE.iter().any(|g| g.contains(last) && g.contains(&earlier[parents.len()]))
}

fn segments(path: &str) -> Vec<&str> {
    path.split('.').map(str::trim).collect()
}

const LIST_INDEX: &str = "expected the number of an entry, counted from 0";

fn entry_of<'a>(items: &'a mut [Node], segment: &str) -> Result<&'a mut Node, String> {
    let count = items.len();
    let index: usize = segment.parse().map_err(|_| format!("\"{segment}\" in a list"))?;
    items.get_mut(index).ok_or_else(|| format!("there is no entry {index} among {count}"))
}

/// The TOML value that `text` of the command line holds, or the text itself.
pub(super) fn parse_value(text: &str, origin: Origin) -> Node {
    let document = format!("value = {text}");
    let value = parse(&document).ok().and_then(|node| match node.data {
        // More than one key: the text had a line break and assigned something on the next line.
        Data::Table(entries) if entries.len() == 1 => entries.into_values().next(),
        _ => None,
    });
    value.map_or_else(
        || Node { data: Data::Text(text.to_owned()), origin },
        |mut node| {
            mark(&mut node, origin);
            node
        },
    )
}

fn mark(node: &mut Node, origin: Origin) {
    node.origin = origin;
    match &mut node.data {
        Data::List(items) => items.iter_mut().for_each(|n| mark(n, origin)),
        Data::Table(entries) => entries.values_mut().for_each(|n| mark(n, origin)),
        _ => {}
    }
}

/// The values in the table `name` at the top of a document that has been parsed before, each with
/// its path within that table, in the order of the file. Tables in it are gone through: `[grid]`
/// may say `link.rate_bps = ...` with and without quotes.
pub(super) fn leaves(text: &str, name: &str) -> Result<Vec<(String, Node)>, InputError> {
    let lines = Lines::new(text);
    let document = DeTable::parse(text)
        .map_err(|e| InputError::new(e.message().to_owned(), "expected a TOML document"))?;
    let mut found = Vec::new();
    if let Some(DeValue::Table(table)) = document.get_ref().get(name).map(|v| v.get_ref()) {
        collect(table, "", &lines, &mut found)?;
    }
    found.sort_by_key(|(start, ..)| *start);
    Ok(found.into_iter().map(|(_, path, node)| (path, node)).collect())
}

fn collect(
    table: &DeTable<'_>,
    path: &str,
    lines: &Lines,
    found: &mut Vec<(usize, String, Node)>,
) -> Result<(), InputError> {
    for (key, value) in table {
        let name = key.get_ref();
        let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        match value.get_ref() {
            DeValue::Table(inner) => collect(inner, &path, lines, found)?,
            value => {
                let node = convert(value, lines, lines.of(&key.span()), 1)?;
                found.push((key.span().start, path, node));
            }
        }
    }
    Ok(())
}
