//! A document as a tree with limits: what a manifest needs of XML and no more.

use airlane_base::InputError;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

/// A manifest of more text than this is refused.
pub const MAX_BYTES: usize = 16 << 20;
/// The deepest manifest in use has 8 levels.
const MAX_DEPTH: usize = 32;
/// The elements of MPEG-DASH have about 30 attributes at most.
const MAX_ATTRIBUTES: usize = 100;
/// One per chunk and some more.
const MAX_ELEMENTS: usize = 400_000;

/// An element. Names are without their prefixes: in a manifest no two namespaces share one.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    attributes: Vec<(String, String)>,
    /// Sorted by name once the element is read, those of one name in their order in the document:
    /// what thousands of representations inherit is not looked for among all of them.
    children: Vec<Element>,
    /// The text within, without that of the children, trimmed.
    pub(super) text: String,
    line: usize,
}

impl Element {
    /// The attribute of that name.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// The children of that name.
    pub(super) fn all<'a>(&'a self, name: &'static str) -> impl Iterator<Item = &'a Element> {
        let begin = self.children.partition_point(|c| c.name.as_str() < name);
        self.children[begin..].iter().take_while(move |c| c.name == name)
    }

    /// The first attribute of any prefix and this name, such as `xlink:href`.
    pub(super) fn prefixed(&self, name: &str) -> Option<&str> {
        let found = |n: &str| n.split_once(':').is_some_and(|(_, local)| local == name);
        self.attributes.iter().find(|(n, _)| found(n)).map(|(_, v)| v.as_str())
    }

    /// Calls `keep` with every element within this one, the outer before the inner, and removes
    /// those for which it says no.
    pub(super) fn retain(
        &mut self,
        keep: &mut impl FnMut(&Element) -> Result<bool, InputError>,
    ) -> Result<(), InputError> {
        for mut child in std::mem::take(&mut self.children) {
            if keep(&child)? {
                child.retain(keep)?;
                self.children.push(child);
            }
        }
        Ok(())
    }

    /// The first child of that name.
    pub(super) fn first(&self, name: &'static str) -> Option<&Element> {
        self.all(name).next()
    }

    /// The error that this element is wrong; it names element and line.
    pub(super) fn wrong(
        &self,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> InputError {
        InputError::new(found, expected).at_line(self.line).at_key(self.name.clone())
    }

    /// The error that an attribute is missing or wrong.
    pub(super) fn wrong_attribute(&self, name: &str, expected: &str) -> InputError {
        let found = match self.attribute(name) {
            Some(value) => format!("{:?}", shortened(value)),
            None => "missing".to_owned(),
        };
        InputError::new(found, format!("expected {expected}"))
            .at_line(self.line)
            .at_key(format!("{}@{name}", self.name))
    }

    /// A whole number, if the attribute is there.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, InputError> {
        let parse = |v: &str| v.trim().parse();
        self.attribute(name)
            .map(|v| parse(v).map_err(|_| self.wrong_attribute(name, "a whole number")))
            .transpose()
    }
}

/// At most the first 60 characters.
pub(super) fn shortened(text: &str) -> String {
    let mut out: String = text.chars().take(60).collect();
    if out.len() < text.len() {
        out.push_str("...");
    }
    out
}

/// Reads a document and returns its root.
pub(super) fn parse(text: &str) -> Result<Element, InputError> {
    if text.len() > MAX_BYTES {
        return Err(InputError::new(
            format!("more than {} MiB of text", MAX_BYTES >> 20),
            "expected a manifest",
        ));
    }
    let mut reader = Reader::from_str(text.trim_start_matches('\u{feff}'));
    let mut lines = Lines { text, at: 0, line: 1 };
    // The root is the only child of a nameless element.
    let mut open = vec![Element::default()];
    let mut elements = 0;
    loop {
        let at = reader.buffer_position();
        let fault = |found: String, at: u64, lines: &mut Lines<'_>| {
            InputError::new(found, "expected an MPD document").at_line(lines.line_of(at))
        };
        let event = reader.read_event();
        let event = event.map_err(|e| {
            fault(format!("not valid XML: {e}"), reader.error_position(), &mut lines)
        })?;
        match event {
            Event::Start(start) | Event::Empty(start) if elements >= MAX_ELEMENTS => {
                let found = format!("more than {MAX_ELEMENTS} elements, with {}", start.name().0);
                return Err(fault(shortened(&found), at, &mut lines));
            }
            Event::Start(start) => {
                elements += 1;
                if open.len() > MAX_DEPTH {
                    let found = format!("more than {MAX_DEPTH} levels");
                    return Err(fault(found, at, &mut lines));
                }
                open.push(element(&start, lines.line_of(at))?);
            }
            Event::Empty(start) => {
                elements += 1;
                let element = element(&start, lines.line_of(at))?;
                if let Some(parent) = open.last_mut() {
                    parent.children.push(element);
                }
            }
            Event::End(_) => {
                // The reader has matched the names; the nameless element is never closed.
                if let Some(mut done) = open.pop()
                    && let Some(parent) = open.last_mut()
                {
                    done.text = done.text.trim().to_owned();
                    done.children.sort_by(|a, b| a.name.cmp(&b.name));
                    parent.children.push(done);
                }
            }
            Event::Text(part) => append(&mut open, &part.xml10_content()),
            Event::CData(part) => append(&mut open, &part.xml10_content()),
            Event::GeneralRef(name) => {
                let char = match &*name {
                    "amp" => Some('&'),
                    "lt" => Some('<'),
                    "gt" => Some('>'),
                    "quot" => Some('"'),
                    "apos" => Some('\''),
                    _ => name.resolve_char_ref().ok().flatten(),
                };
                let char = char.ok_or_else(|| {
                    fault(format!("the entity {:?}", shortened(&name)), at, &mut lines)
                })?;
                append(&mut open, char.encode_utf8(&mut [0; 4]));
            }
            Event::DocType(_) => {
                return Err(fault("a document type definition".into(), at, &mut lines));
            }
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            Event::Eof => break,
        }
    }
    let [root] = &mut open[..] else {
        return Err(InputError::new("the text ends within an element", "expected a whole MPD"));
    };
    if root.children.len() != 1 {
        return Err(InputError::new(
            format!("{} elements at the top", root.children.len()),
            "expected an MPD document",
        ));
    }
    Ok(root.children.remove(0))
}

fn append(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

fn element(start: &BytesStart<'_>, line: usize) -> Result<Element, InputError> {
    let name = start.local_name().as_ref().to_owned();
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let fault = |e: &dyn std::fmt::Display| {
            InputError::new(format!("not valid XML: {e}"), "expected an MPD document")
                .at_line(line)
                .at_key(name.clone())
        };
        let attribute = attribute.map_err(|e| fault(&e))?;
        if attributes.len() >= MAX_ATTRIBUTES {
            return Err(fault(&format!("more than {MAX_ATTRIBUTES} attributes")));
        }
        let value = attribute.normalized_value(XmlVersion::Explicit1_0).map_err(|e| fault(&e))?;
        attributes.push((attribute.key.0.to_owned(), value.into_owned()));
    }
    Ok(Element { name, attributes, line, ..Element::default() })
}

/// Lines of positions that come in rising order.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    fn line_of(&mut self, position: u64) -> usize {
        let to = usize::try_from(position).unwrap_or(usize::MAX).min(self.text.len());
        let between = self.text.as_bytes().get(self.at..to).unwrap_or_default();
        self.line += between.iter().filter(|&&b| b == b'\n').count();
        self.at = self.at.max(to);
        self.line
    }
}
