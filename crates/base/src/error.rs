//! Errors in what a user handed in: where, what, and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

/// Place of an error in the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, as the user named it.
    pub file: Option<PathBuf>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The key, column or option.
    pub key: Option<String>,
}

/// Bad input: the command line prints it in one message and exits with code 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct InputError {
    /// Place of the error in the input.
    pub place: Box<Place>,
    /// Input that was found.
    pub found: String,
    /// Expected input, or what to do.
    pub expected: String,
}

impl InputError {
    /// An error that says what was found and what was expected; add the place with the `at_*`
    /// methods.
    pub fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { place: Box::default(), found: found.into(), expected: expected.into() }
    }

    /// Names the file, unless one is named already.
    #[must_use]
    pub fn at_file(mut self, file: impl AsRef<Path>) -> Self {
        self.place.file.get_or_insert_with(|| file.as_ref().to_owned());
        self
    }

    /// Names the line, from 1, unless one is named already.
    #[must_use]
    pub fn at_line(mut self, line: usize) -> Self {
        self.place.line.get_or_insert(line);
        self
    }

    /// Names the key, unless one is named already.
    #[must_use]
    pub fn at_key(mut self, key: impl Into<String>) -> Self {
        self.place.key.get_or_insert_with(|| key.into());
        self
    }

    /// The error for a file that cannot be read or written.
    pub fn io(file: impl AsRef<Path>, doing: &str, error: &std::io::Error) -> Self {
        Self::new(format!("cannot {doing}: {error}"), "check the path and its permissions")
            .at_file(file)
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, line, key } = &*self.place;
        if let Some(file) = file {
            write!(f, "{}", file.display())?;
            if let Some(line) = line {
                write!(f, ":{line}")?;
            }
            write!(f, ": ")?;
        } else if let Some(line) = line {
            write!(f, "line {line}: ")?;
        }
        if let Some(key) = key {
            write!(f, "{key}: ")?;
        }
        write!(f, "{}", self.found)?;
        if !self.expected.is_empty() {
            write!(f, "; {}", self.expected)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_file_line_key_what_was_found_and_what_to_do() {
        let e = InputError::new("-3 is negative", "expected a rate above zero, such as 10e6")
            .at_file("a.toml")
            .at_line(7)
            .at_key("link.rate_bps")
            .at_line(9);
        assert_eq!(
            e.to_string(),
            "a.toml:7: link.rate_bps: -3 is negative; expected a rate above zero, such as 10e6"
        );
    }
}
