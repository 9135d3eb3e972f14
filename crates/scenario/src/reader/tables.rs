//! Tables and lists of tables, each read by a reader of its own.

use super::{Data, Node, Reader, join};
use crate::copies::{self, COPIES, MAX_COPIES};

impl<'a> Reader<'a> {
    /// A table whose keys have defaults of their own: an absent one reads as an empty one.
    pub fn section<T>(
        &mut self,
        key: &'static str,
        doc: &str,
        read: impl FnOnce(&mut Reader<'a>) -> T,
    ) -> T {
        let node = self.ask(key, "table".to_owned(), String::new(), doc);
        self.inside(node, key, read)
    }

    /// A table that may be absent.
    pub fn table<T>(
        &mut self,
        key: &'static str,
        default: &str,
        doc: &str,
        read: impl FnOnce(&mut Reader<'a>) -> T,
    ) -> Option<T> {
        let node = self.ask(key, "table".to_owned(), default.to_owned(), doc);
        (node.is_some() || self.notes.is_listing()).then(|| self.inside(node, key, read))
    }

    fn inside<T>(
        &self,
        node: Option<&'a Node>,
        key: &str,
        read: impl FnOnce(&mut Reader<'a>) -> T,
    ) -> T {
        let mut reader = Reader::new(node, self.key_path(key), join(&self.listed, key), self.notes);
        if node.is_none() {
            reader.origin = self.origin;
        }
        let value = read(&mut reader);
        reader.finish();
        value
    }

    /// A list of tables.
    pub fn list<T>(
        &mut self,
        key: &'static str,
        doc: &str,
        mut read: impl FnMut(&mut Reader<'a>) -> T,
    ) -> Vec<T> {
        let node = self.ask(key, "list of tables".to_owned(), "[]".to_owned(), doc);
        let items = match node.map(|n| &n.data) {
            None if self.notes.is_listing() => {
                let is_at_top = self.path.is_empty();
                return vec![self.inside(None, key, |r| entry(r, is_at_top, &mut read))];
            }
            None => return Vec::new(),
            Some(Data::List(items)) => items,
            Some(other) => {
                self.wrong(key, other, format!("expected a list of tables: [[{key}]]"));
                return Vec::new();
            }
        };
        let read = |(i, item)| {
            let path = self.key_path(&format!("{key}.{i}"));
            let mut reader = Reader::new(Some(item), path, join(&self.listed, key), self.notes);
            let value = entry(&mut reader, self.path.is_empty(), &mut read);
            reader.finish();
            value
        };
        items.iter().enumerate().map(read).collect()
    }
}

/// An entry of a list; one at the top of a document may have had copies, of which the tree is rid by now.
fn entry<'a, T>(
    r: &mut Reader<'a>,
    is_at_top: bool,
    read: &mut impl FnMut(&mut Reader<'a>) -> T,
) -> T {
    let value = read(r);
    if is_at_top {
        let kind = format!("whole number, 1 to {MAX_COPIES}");
        r.ask(COPIES, kind, "1".to_owned(), copies::DOC);
    }
    value
}
