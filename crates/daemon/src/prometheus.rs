//! Pages for Prometheus, in its text format 0.0.4.

use std::fmt::{Display, Write};

/// The media type of a page.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page that grows.
#[derive(Debug, Default)]
pub(crate) struct Page(String);

impl Page {
    /// Begins a metric.
    pub(crate) fn about(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Adds a value of a metric.
    pub(crate) fn line(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = match labels {
            "" => writeln!(self.0, "{name} {value}"),
            labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
        };
    }

    /// The page.
    pub(crate) fn finish(self) -> String {
        self.0
    }
}
