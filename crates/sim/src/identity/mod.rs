//! Identity of values as text, version 1: what the draws of claims are split from, and what tells
//! runs apart.
//!
//! A value is written by its `Serialize`. Names of types, fields and variants are written as they
//! were when version 1 began: `names.rs` has those that are called something else today. So a type
//! may be renamed without a change of draws, which a test holds. A change of this text gives all
//! claims new draws: it would be version 2.
//!
//! | value | text |
//! |---|---|
//! | struct, variant with fields | `Name { field: value, field: value }` |
//! | tuple struct, variant with values | `Name(value, value)` |
//! | unit struct, variant without | `Name` |
//! | sequence, array of `serialize_seq` | `[value, value]` |
//! | tuple, array | `(value, value)` |
//! | map | `{key: value, key: value}` |
//! | option | `None`, `Some(value)` |
//! | text, path | in quotes, escaped |
//! | number | the shortest decimal that is it; a float has a point or an exponent |
//! | `Duration` | in its largest unit: `1.5s`, `20ms` |
//! | `Rate`, `Time` | as they are shown to people: `5.000 Mbit/s` |

mod compound;
mod names;

use std::fmt::{self, Debug, Display, Write};
use std::time::Duration;

use airlane_base::{Rate, Time};
use serde::Serialize;
use serde::ser::Serializer;

use compound::{Compound, Fields};

/// The text of a value.
///
/// # Panics
/// If its `Serialize` fails, or writes bytes: a fault of the program.
pub fn text(value: &(impl Serialize + ?Sized)) -> String {
    let mut out = String::new();
    value.serialize(Text(&mut out)).expect("values of scenarios can be written");
    out
}

/// A value that cannot be written.
#[derive(Debug)]
struct Unwritable(String);

impl Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unwritable {}

impl serde::ser::Error for Unwritable {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

type Written = Result<(), Unwritable>;

/// Writes one value.
struct Text<'a>(&'a mut String);

impl<'a> Text<'a> {
    fn plain(self, value: impl Debug) -> Written {
        write!(self.0, "{value:?}").map_err(|e| Unwritable(e.to_string()))
    }

    fn word(self, word: &str) -> Written {
        self.0.push_str(word);
        Ok(())
    }

    /// Begins what has several values.
    fn open(self, name: &str, open: &'static str, close: &'static str) -> Compound<'a> {
        self.0.push_str(name);
        self.0.push_str(open);
        Compound { out: self.0, of: "", is_first: true, close }
    }

    fn named(self, name: &'static str, of: &'static str) -> Compound<'a> {
        Compound { of, ..self.open(name, " { ", " }") }
    }

    /// A value in parentheses behind a name.
    fn wrapped<T: Serialize + ?Sized>(self, name: &str, value: &T) -> Written {
        self.0.push_str(name);
        self.0.push('(');
        value.serialize(Text(self.0))?;
        self.0.push(')');
        Ok(())
    }
}

impl<'a> Serializer for Text<'a> {
    type Ok = ();
    type Error = Unwritable;
    type SerializeSeq = Compound<'a>;
    type SerializeTuple = Compound<'a>;
    type SerializeTupleStruct = Compound<'a>;
    type SerializeTupleVariant = Compound<'a>;
    type SerializeMap = Compound<'a>;
    type SerializeStruct = Fields<'a>;
    type SerializeStructVariant = Compound<'a>;

    fn serialize_bool(self, v: bool) -> Written {
        self.plain(v)
    }
    fn serialize_i8(self, v: i8) -> Written {
        self.plain(v)
    }
    fn serialize_i16(self, v: i16) -> Written {
        self.plain(v)
    }
    fn serialize_i32(self, v: i32) -> Written {
        self.plain(v)
    }
    fn serialize_i64(self, v: i64) -> Written {
        self.plain(v)
    }
    fn serialize_u8(self, v: u8) -> Written {
        self.plain(v)
    }
    fn serialize_u16(self, v: u16) -> Written {
        self.plain(v)
    }
    fn serialize_u32(self, v: u32) -> Written {
        self.plain(v)
    }
    fn serialize_u64(self, v: u64) -> Written {
        self.plain(v)
    }
    fn serialize_f32(self, v: f32) -> Written {
        self.plain(v)
    }
    fn serialize_f64(self, v: f64) -> Written {
        self.plain(v)
    }
    fn serialize_char(self, v: char) -> Written {
        self.plain(v)
    }
    fn serialize_str(self, v: &str) -> Written {
        self.plain(v)
    }
    fn serialize_bytes(self, _: &[u8]) -> Written {
        Err(Unwritable("bytes have no text".to_owned()))
    }
    fn serialize_none(self) -> Written {
        self.word("None")
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        self.wrapped("Some", value)
    }
    fn serialize_unit(self) -> Written {
        self.word("()")
    }
    fn serialize_unit_struct(self, name: &'static str) -> Written {
        self.word(names::of_type(name))
    }
    fn serialize_unit_variant(self, of: &'static str, _: u32, name: &'static str) -> Written {
        self.word(names::of_part(of, name))
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Written {
        match name {
            "Rate" | "Time" => {
                let mut number = String::new();
                value.serialize(Text(&mut number))?;
                let number = number.parse().map_err(|_| Unwritable(format!("{name}({number})")))?;
                match name {
                    "Rate" => self.plain(Rate::from_bps(number)),
                    _ => self.plain(Time::from_nanos(number)),
                }
            }
            _ => self.wrapped(names::of_type(name), value),
        }
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        of: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Written {
        self.wrapped(names::of_part(of, name), value)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'a>, Unwritable> {
        Ok(self.open("", "[", "]"))
    }
    fn serialize_tuple(self, _: usize) -> Result<Compound<'a>, Unwritable> {
        Ok(self.open("", "(", ")"))
    }
    fn serialize_tuple_struct(
        self,
        name: &'static str,
        _: usize,
    ) -> Result<Compound<'a>, Unwritable> {
        Ok(self.open(names::of_type(name), "(", ")"))
    }
    fn serialize_tuple_variant(
        self,
        of: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Compound<'a>, Unwritable> {
        Ok(self.open(names::of_part(of, name), "(", ")"))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'a>, Unwritable> {
        Ok(self.open("", "{", "}"))
    }
    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Fields<'a>, Unwritable> {
        Ok(match name {
            "Duration" => Fields::Duration { out: self.0, length: Duration::ZERO },
            _ => Fields::Plain(self.named(names::of_type(name), name)),
        })
    }
    fn serialize_struct_variant(
        self,
        of: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Compound<'a>, Unwritable> {
        Ok(self.named(names::of_part(of, name), of))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::*;

    #[derive(Debug, Serialize)]
    struct Unit;

    #[derive(Debug, Serialize)]
    struct Pair(u8, &'static str);

    #[derive(Debug, Serialize)]
    enum Kind {
        Plain,
        One(f64),
        Two(i32, bool),
        Named { at: Duration, of: Option<Box<Kind>> },
    }

    #[derive(Debug, Serialize)]
    struct All {
        unit: Unit,
        pair: Pair,
        kinds: Vec<Kind>,
        rate: Rate,
        time: Time,
        path: PathBuf,
        map: BTreeMap<String, (f32, char)>,
        shared: Arc<str>,
    }

    #[test]
    fn a_value_is_written_as_the_table_says() {
        let named = Kind::Named { at: Duration::from_millis(1_500), of: None };
        let kinds = vec![
            Kind::Plain,
            Kind::One(1e-7),
            Kind::Two(-1, true),
            Kind::Named { at: Duration::from_nanos(7), of: Some(Box::new(named)) },
        ];
        let all = All {
            unit: Unit,
            pair: Pair(7, "a \"b\"\n"),
            kinds,
            rate: Rate::from_bps(5_000_000),
            time: Time::from_nanos(1),
            path: "a/b".into(),
            map: [("one".to_owned(), (1.0, '\''))].into(),
            shared: "text".into(),
        };
        let written = text(&all);
        assert!(
            written.starts_with(r#"All { unit: Unit, pair: Pair(7, "a \"b\"\n"), kinds: [Plain,"#)
        );
        assert!(written.contains("Named { at: 7ns, of: Some(Named { at: 1.5s, of: None }) }"));
        // Where no name has changed it is what `Debug` says, of which version 1 was made.
        assert_eq!(written, format!("{all:?}"));
    }

    #[test]
    fn names_of_today_are_written_as_they_were() {
        assert_eq!(text(&airlane_media::Metric::VmafPhone), "VmafPhone");
        assert_eq!(text(&airlane_net::trace::Medium::FiveG), "FiveG");
    }
}
