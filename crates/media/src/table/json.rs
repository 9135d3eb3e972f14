//! A walk over parsed JSON that knows where it is, so that every error names its path.

use std::fmt;

use airlane_base::InputError;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::video::{MAX_CHUNK_BYTES, Metric};

/// A value and the path to it, such as `rungs[2].quality`.
pub(crate) struct Node<'a> {
    path: String,
    value: &'a Value,
    /// The page that describes the format, for errors.
    page: &'static str,
}

/// A quality as a table may hold it: `None` is NaN or null.
pub(crate) type Measured = Option<f64>;

impl<'a> Node<'a> {
    pub(crate) fn root(value: &'a Value, page: &'static str) -> Self {
        Self { path: String::new(), value, page }
    }

    fn child(&self, path: String, value: &'a Value) -> Self {
        Self { path, value, page: self.page }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn map(&self) -> Result<&'a Map<String, Value>, InputError> {
        self.value.as_object().ok_or_else(|| self.wrong("an object in braces"))
    }

    /// The member `name`, `None` if it is missing or null.
    pub(crate) fn optional(&self, name: &str) -> Result<Option<Node<'a>>, InputError> {
        let value = self.map()?.get(name).filter(|v| !v.is_null());
        Ok(value.map(|value| self.child(join(&self.path, name), value)))
    }

    /// The member `name`.
    pub(crate) fn member(&self, name: &str) -> Result<Node<'a>, InputError> {
        self.optional(name)?.ok_or_else(|| {
            InputError::new("missing", format!("every table needs it, see {}", self.page))
                .at_key(join(&self.path, name))
        })
    }

    /// Paths of the members that are not in `known`.
    pub(crate) fn unknown(&self, known: &[&str]) -> Result<Vec<String>, InputError> {
        let names = self.map()?.keys().filter(|k| !known.contains(&k.as_str()));
        Ok(names.map(|k| join(&self.path, k)).collect())
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> Result<Vec<Node<'a>>, InputError> {
        let item = |(i, value)| self.child(format!("{}[{i}]", self.path), value);
        Ok(self.list()?.iter().enumerate().map(item).collect())
    }

    fn list(&self) -> Result<&'a [Value], InputError> {
        self.value.as_array().map(Vec::as_slice).ok_or_else(|| self.wrong("a list in brackets"))
    }

    pub(crate) fn text(&self) -> Result<&'a str, InputError> {
        self.value.as_str().ok_or_else(|| self.wrong("a text in quotes"))
    }

    pub(crate) fn number(&self) -> Result<f64, InputError> {
        self.value.as_f64().filter(|v| v.is_finite()).ok_or_else(|| self.wrong("a number"))
    }

    /// A whole number from 1 to `max`.
    pub(crate) fn count(&self, max: u64) -> Result<u64, InputError> {
        let n = self.value.as_u64().filter(|n| (1..=max).contains(n));
        n.ok_or_else(|| self.wrong(&format!("a whole number from 1 to {max}")))
    }

    /// A list of sizes, which are `what`.
    pub(crate) fn sizes(&self, what: &str) -> Result<Vec<u64>, InputError> {
        let size = |(i, value): (usize, &'a Value)| {
            let size = value.as_u64().filter(|b| (1..=MAX_CHUNK_BYTES).contains(b));
            size.ok_or_else(|| {
                self.child(format!("{}[{i}]", self.path), value)
                    .wrong(&format!("{what}, a whole number from 1 to {MAX_CHUNK_BYTES}"))
            })
        };
        self.list()?.iter().enumerate().map(size).collect()
    }

    /// A list of numbers from `low` to `high`, which are `what`.
    pub(crate) fn numbers(&self, low: f64, high: f64, what: &str) -> Result<Vec<f64>, InputError> {
        let number = |(i, value): (usize, &'a Value)| {
            value.as_f64().filter(|v| (low..=high).contains(v)).ok_or_else(|| {
                self.child(format!("{}[{i}]", self.path), value)
                    .wrong(&format!("{what}, a number from {low} to {high}"))
            })
        };
        self.list()?.iter().enumerate().map(number).collect()
    }

    /// A list of qualities, in which null (as which NaN arrives here) is allowed.
    pub(crate) fn qualities(&self, metric: Metric) -> Result<Vec<Measured>, InputError> {
        let (lo, hi) = metric.range();
        let quality = |(i, value): (usize, &'a Value)| {
            if value.is_null() {
                return Ok(None);
            }
            let v = value.as_f64().filter(|v| (lo..=hi).contains(v));
            v.map(Some).ok_or_else(|| {
                self.child(format!("{}[{i}]", self.path), value)
                    .wrong(&format!("a number from {lo} to {hi}"))
            })
        };
        self.list()?.iter().enumerate().map(quality).collect()
    }

    /// The error that this is not `expected`.
    pub(crate) fn wrong(&self, expected: &str) -> InputError {
        let found = match self.value {
            Value::Null => "NaN or null".to_owned(),
            Value::Array(items) => format!("a list of {} items", items.len()),
            Value::Object(_) => "an object".to_owned(),
            Value::String(s) if s.chars().count() > 40 => {
                format!("\"{}...\"", s.chars().take(40).collect::<String>())
            }
            other => other.to_string(),
        };
        let e = InputError::new(found, format!("expected {expected}"));
        if self.path.is_empty() { e } else { e.at_key(self.path.clone()) }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Replaces the tokens NaN, Infinity and -Infinity, which are no JSON but which Python writes,
/// by null. Lines stay where they are.
pub(crate) fn without_nan(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut quoted = false;
    while let Some(c) = rest.chars().next() {
        let token =
            ["NaN", "-Infinity", "Infinity"].into_iter().find(|t| !quoted && rest.starts_with(t));
        if let Some(token) = token {
            out.push_str("null");
            rest = &rest[token.len()..];
            continue;
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
        if c == '"' {
            quoted = !quoted;
        } else if quoted
            && c == '\\'
            && let Some(escaped) = rest.chars().next()
        {
            out.push(escaped);
            rest = &rest[escaped.len_utf8()..];
        }
    }
    out
}

/// A value of JSON in which no object has a member twice: readers differ in which of two holds (RFC 8259,
/// section 4).
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if map.contains_key(&name) {
                return Err(A::Error::custom(format!("the member {name:?} is there twice")));
            }
            let Unique(value) = members.next_value()?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

/// Parses JSON; errors carry the line, and that `what` was expected.
pub(crate) fn parse(text: &str, what: &str) -> Result<Value, InputError> {
    serde_json::from_str(&without_nan(text)).map(|Unique(value)| value).map_err(|e| {
        let message = e.to_string();
        // The line gets a place of its own.
        let fault = message.rsplit_once(" at line ").map_or(message.as_str(), |(fault, _)| fault);
        InputError::new(format!("not valid JSON: {fault}"), format!("expected {what}"))
            .at_line(e.line())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_becomes_null_outside_of_texts_only() {
        assert_eq!(
            without_nan(r#"{"NaN":[NaN,1,-Infinity],"a\"NaN":"é\\"}"#),
            r#"{"NaN":[null,1,null],"a\"NaN":"é\\"}"#
        );
    }

    #[test]
    fn syntax_errors_carry_the_line() {
        let e = parse("{\n\"a\": 1,\n\"b\" 2}", "a chunk table").unwrap_err();
        assert_eq!(e.to_string(), "line 3: not valid JSON: expected `:`; expected a chunk table");
    }

    #[test]
    fn members_that_are_there_twice_are_refused_at_any_depth() {
        for (text, line) in
            [("{\"a\": 1,\n\"a\": 1}", 2), ("{\"a\": [{\"b\": null}, {\"b\": 1, \"b\": 2}]}", 1)]
        {
            let said = parse(text, "a chunk table").unwrap_err().to_string();
            assert!(said.contains(&format!("line {line}: ")) && said.contains("twice"), "{said}");
        }
        let text = r#"{"a": [1, -2, 0.5, "x", true, null], "b": {"a": {}}}"#;
        assert_eq!(parse(text, "it").unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }
}
