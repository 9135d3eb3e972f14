//! How popular each title is: a CSV file with the header `title,popularity`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use airlane_base::InputError;

use airlane_scenario::nearest;

/// The first line of a file.
const HEADER: &str = "title,popularity";
/// The title that stands for all that have no row of their own.
const REST: &str = "*";
/// A file of more bytes than this is refused.
const MAX_BYTES: u64 = 16 << 20;

/// Popularities of titles, as a file says them; only their ratios count.
#[derive(Clone, Debug, PartialEq)]
pub struct Popularity {
    /// File that it was read from, for messages.
    file: PathBuf,
    /// By title: popularity and line.
    rows: BTreeMap<String, (f64, usize)>,
}

impl Popularity {
    /// Reads a file.
    ///
    /// # Errors
    /// With file and line, if it cannot be read or a row is no title with a number of zero or
    /// more.
    pub fn load(file: impl AsRef<Path>) -> Result<Self, InputError> {
        let file = file.as_ref();
        let io = |e| InputError::io(file, "read the popularities", &e);
        let mut bytes = Vec::new();
        fs::File::open(file)
            .and_then(|f| f.take(MAX_BYTES + 1).read_to_end(&mut bytes))
            .map_err(io)?;
        Self::parse(&bytes, file)
    }

    /// Reads the bytes of a file; `file` names it in messages.
    ///
    /// # Errors
    /// As [`Popularity::load`].
    pub fn parse(bytes: &[u8], file: &Path) -> Result<Self, InputError> {
        let wrong = |line: usize, found: String, expected: &str| {
            InputError::new(found, expected).at_file(file).at_line(line)
        };
        if bytes.len() as u64 > MAX_BYTES {
            let found = format!("more than {} MiB", MAX_BYTES >> 20);
            return Err(InputError::new(found, "expected a row for each title").at_file(file));
        }
        let text = airlane_base::text::decode(bytes).map_err(|line| {
            wrong(line, "bytes that are no text".to_owned(), "expected a CSV file in UTF-8")
        })?;
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let (number, header) = lines.next().unwrap_or((1, ""));
        let header: Vec<&str> = header.split(',').map(str::trim).collect();
        if header.join(",") != HEADER {
            let found = format!("found the header \"{}\"", excerpt(&header.join(",")));
            return Err(wrong(number, found, "expected \"title,popularity\""));
        }
        let mut rows: BTreeMap<String, (f64, usize)> = BTreeMap::new();
        for (number, line) in lines {
            const ROW: &str = "expected a title and its popularity, such as news,2.5";
            let Some((title, weight)) = line.split_once(',') else {
                return Err(wrong(number, format!("found \"{}\"", excerpt(line)), ROW));
            };
            let (title, weight) = (title.trim(), weight.trim());
            if title.is_empty() {
                return Err(wrong(number, "found no title".to_owned(), ROW));
            }
            let value = weight.parse().unwrap_or(f64::NAN);
            if !(value.is_finite() && value >= 0.0) {
                let found = format!("popularity: found \"{}\"", excerpt(weight));
                return Err(wrong(number, found, "expected a finite number of at least 0"));
            }
            if let Some((_, first)) = rows.insert(title.to_owned(), (value, number)) {
                let found = format!("found \"{}\" again", excerpt(title));
                let expected = format!("expected one row for each title: see line {first}");
                return Err(wrong(number, found, &expected));
            }
        }
        Ok(Self { file: file.to_owned(), rows })
    }

    /// The popularities of `titles`, those that f averages over; `known` are all titles of the
    /// corpus called `corpus`, which the file may name too.
    ///
    /// # Errors
    /// With the file, if it names a title that is not known, if one of `titles` has no popularity,
    /// or if all of them have none at all.
    pub fn of<'a>(
        &self,
        titles: impl IntoIterator<Item = &'a str>,
        known: &[&str],
        corpus: &str,
    ) -> Result<BTreeMap<String, f64>, InputError> {
        let stranger =
            |(title, _): &(&String, _)| *title != REST && !known.contains(&title.as_str());
        // The first in the file, not the first in the alphabet.
        let first = self.rows.iter().filter(stranger).min_by_key(|(_, (_, line))| *line);
        if let Some((title, (_, line))) = first {
            let expected = match nearest(title, known.iter().copied()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "expected titles of the content: `airlane corpus` lists them".to_owned(),
            };
            let found = format!("no title \"{}\" in {corpus}", excerpt(title));
            return Err(InputError::new(found, expected).at_file(&self.file).at_line(*line));
        }
        let rest = self.rows.get(REST);
        let mut of = BTreeMap::new();
        for title in titles {
            let Some((weight, _)) = self.rows.get(title).or(rest) else {
                let expected = "expected a row for each title, or \"*,1\" for those without one";
                let found = format!("no popularity of \"{title}\"");
                return Err(InputError::new(found, expected).at_file(&self.file));
            };
            of.insert(title.to_owned(), *weight);
        }
        let total: f64 = of.values().sum();
        if !(total > 0.0 && total.is_finite()) {
            let found = format!("the popularities of all titles add up to {total}");
            let expected = "expected a finite sum above 0";
            return Err(InputError::new(found, expected).at_file(&self.file));
        }
        Ok(of)
    }
}

/// As much of a text as a message quotes.
fn excerpt(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect::<String>().escape_debug().to_string();
    if text.chars().count() > 60 {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLES: [&str; 3] = ["arcade", "cave", "plaza"];

    fn parse(text: &str) -> Result<Popularity, String> {
        Popularity::parse(text.as_bytes(), Path::new("p.csv")).map_err(|e| e.to_string())
    }

    fn of(text: &str) -> Result<Vec<f64>, String> {
        let known = ["arcade", "cave", "plaza", "short"];
        let of = parse(text)?.of(TITLES, &known, "embedded").map_err(|e| e.to_string())?;
        assert_eq!(of.keys().collect::<Vec<_>>(), TITLES);
        Ok(of.into_values().collect())
    }

    #[test]
    fn rows_name_titles_and_one_stands_for_the_rest() {
        let all = "title,popularity\narcade,1\ncave,2.5\n\nplaza,0\n";
        assert_eq!(of(all).unwrap(), [1.0, 2.5, 0.0]);
        let rest = "\u{feff}title, popularity\r\n cave , 3e0\r\n*,0.5\r\nshort,9\r\n";
        assert_eq!(of(rest).unwrap(), [0.5, 3.0, 0.5]);
    }

    #[test]
    fn what_is_wrong_is_said_with_file_and_line() {
        let says = |text: &str, start: &str| {
            let message = of(text).unwrap_err();
            assert!(message.starts_with(start), "{message}");
        };
        says("", "p.csv:1: found the header \"\"; expected \"title,popularity\"");
        says("name,weight\n", "p.csv:1: found the header \"name,weight\"; expected");
        says("title,popularity\n*,1\ncave\n", "p.csv:3: found \"cave\"; expected a title and");
        says("title,popularity\n,1\n", "p.csv:2: found no title; expected");
        for bad in ["-1", "NaN", "inf", "", "1,2", "many"] {
            let start = format!("p.csv:2: popularity: found \"{bad}\"; expected a finite number");
            says(&format!("title,popularity\ncave,{bad}\n"), &start);
        }
        says("title,popularity\n*,1\n*,2\n", "p.csv:3: found \"*\" again; expected one row");
        says("title,popularity\n*,1\ncafe,1\n", "p.csv:3: no title \"cafe\" in embedded; did you");
        says("title,popularity\n*,1\nxyzzy,1\n", "p.csv:3: no title \"xyzzy\" in embedded; exp");
        says("title,popularity\ncave,1\nplaza,1\n", "p.csv: no popularity of \"arcade\"; expected");
        says("title,popularity\n*,0\n", "p.csv: the popularities of all titles add up to 0; exp");
        says("title,popularity\n*,1e308\n", "p.csv: the popularities of all titles add up to inf");
        let error = Popularity::parse(b"title,popularity\n\xff,1\n", Path::new("p.csv"));
        assert!(error.unwrap_err().to_string().starts_with("p.csv:2: bytes that are no text"));
    }
}
