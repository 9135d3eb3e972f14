//! The kinds of traffic that scenarios may have.

use std::path::Path;
use std::sync::Arc;

use airlane_base::InputError;

use crate::participants::WorkloadKeys;
use crate::{KeyDoc, decode};

/// Workloads that a scenario may name, in the order of hosts, rows and sections.
#[derive(Clone, Debug, Default)]
pub struct Registry(Arc<[Arc<dyn WorkloadKeys>]>);

impl Registry {
    /// A registry of these workloads; at least one.
    pub fn new(workloads: impl IntoIterator<Item = Arc<dyn WorkloadKeys>>) -> Self {
        Self(workloads.into_iter().collect())
    }

    /// The workloads.
    pub fn workloads(&self) -> &[Arc<dyn WorkloadKeys>] {
        &self.0
    }

    /// Name and text of each scenario that comes with a workload.
    pub fn embedded(&self) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        self.0.iter().flat_map(|workload| workload.scenarios()).copied()
    }

    /// All keys in the order of the documentation.
    pub fn keys(&self) -> Vec<KeyDoc> {
        decode::keys(self)
    }

    /// Table of all keys in Markdown, as `docs/reference/scenarios.md` has it.
    pub fn keys_as_markdown(&self) -> String {
        let mut out = String::from("| key | value | default | meaning |\n|---|---|---|---|\n");
        for KeyDoc { key, kind, default, doc } in self.keys() {
            out.push_str(&format!("| `{key}` | {kind} | {default} | {doc} |\n"));
        }
        out
    }

    /// Text of the embedded scenario of this name.
    pub(crate) fn text_of(&self, file: &Path) -> Option<&'static str> {
        self.embedded().find(|(name, _)| Path::new(name) == file).map(|(_, text)| text)
    }

    /// Error of a scenario that is neither a file nor embedded.
    pub(crate) fn no_file(&self, file: &Path, error: &std::io::Error) -> InputError {
        if error.kind() != std::io::ErrorKind::NotFound {
            return InputError::io(file, "read the scenario", error);
        }
        let names: Vec<&str> = self.embedded().map(|(name, _)| name).collect();
        let expected = format!("expected a scenario, or one of the built-in {}", names.join(", "));
        InputError::new("no such file", expected).at_file(file)
    }
}
