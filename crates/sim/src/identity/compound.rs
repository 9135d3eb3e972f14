//! Values that have several others in them.

use std::time::Duration;

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};

use super::{Text, Unwritable, Written, names};

/// A value that is being written, with what is between its parts.
pub(super) struct Compound<'a> {
    pub(super) out: &'a mut String,
    /// The type whose fields these are.
    pub(super) of: &'static str,
    pub(super) is_first: bool,
    pub(super) close: &'static str,
}

impl Compound<'_> {
    fn separate(&mut self) {
        if !std::mem::replace(&mut self.is_first, false) {
            self.out.push_str(", ");
        }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.separate();
        value.serialize(Text(self.out))
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        self.separate();
        self.out.push_str(names::of_part(self.of, name));
        self.out.push_str(": ");
        value.serialize(Text(self.out))
    }

    fn close(self) -> Written {
        self.out.push_str(self.close);
        Ok(())
    }
}

macro_rules! elements {
    ($($of:ident: $element:ident),+) => {$(
        impl $of for Compound<'_> {
            type Ok = ();
            type Error = Unwritable;
            fn $element<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
                self.element(value)
            }
            fn end(self) -> Written {
                self.close()
            }
        }
    )+};
}

elements!(
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
);

impl SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = Unwritable;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Written {
        self.element(key)
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.out.push_str(": ");
        value.serialize(Text(self.out))
    }
    fn end(self) -> Written {
        self.close()
    }
}

impl SerializeStructVariant for Compound<'_> {
    type Ok = ();
    type Error = Unwritable;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        self.field(name, value)
    }
    fn end(self) -> Written {
        self.close()
    }
}

/// The fields of a struct.
pub(super) enum Fields<'a> {
    Plain(Compound<'a>),
    /// Those of a [`Duration`], which has a text of its own.
    Duration {
        out: &'a mut String,
        length: Duration,
    },
}

impl SerializeStruct for Fields<'_> {
    type Ok = ();
    type Error = Unwritable;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        match self {
            Self::Plain(compound) => compound.field(name, value),
            Self::Duration { length, .. } => {
                let mut number = String::new();
                value.serialize(Text(&mut number))?;
                let number: u64 = number.parse().map_err(|_| Unwritable(number))?;
                *length += match name {
                    "secs" => Duration::from_secs(number),
                    _ => Duration::from_nanos(number),
                };
                Ok(())
            }
        }
    }
    fn end(self) -> Written {
        match self {
            Self::Plain(compound) => compound.close(),
            Self::Duration { out, length } => Text(out).plain(length),
        }
    }
}
