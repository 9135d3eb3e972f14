//! What scenarios may name: workloads, controllers, queues.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use airlane_base::InputError;
use airlane_congestion::ControllerKind;
use airlane_net::queue::QueueKind;

use crate::participants::WorkloadKeys;
use crate::{KeyDoc, decode};

/// Names that a scenario may use besides those that this crate knows: workloads, and controllers and queues that
/// other crates bring. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Registry(Arc<Entries>);

#[derive(Clone, Debug, Default)]
struct Entries {
    workloads: Vec<Arc<dyn WorkloadKeys>>,
    controllers: Vec<&'static dyn ControllerKind>,
    queues: Vec<&'static dyn QueueKind>,
    /// Words that keys of workloads may have besides their own, by key.
    words: Vec<(&'static str, Arc<dyn Any + Send + Sync>)>,
}

impl Registry {
    /// A registry of these workloads, at least one, in the order of hosts, rows and sections.
    pub fn new(workloads: impl IntoIterator<Item = Arc<dyn WorkloadKeys>>) -> Self {
        let workloads = workloads.into_iter().collect();
        Self(Arc::new(Entries { workloads, ..Entries::default() }))
    }

    /// The same with a controller that schemes may name.
    #[must_use]
    pub fn with_controller(mut self, kind: &'static dyn ControllerKind) -> Self {
        Arc::make_mut(&mut self.0).controllers.push(kind);
        self
    }

    /// The same with a queue that links may name.
    #[must_use]
    pub fn with_queue(mut self, kind: &'static dyn QueueKind) -> Self {
        Arc::make_mut(&mut self.0).queues.push(kind);
        self
    }

    /// The registry with a word that a key of a workload may have. The workload knows its type.
    #[must_use]
    pub fn with_word(mut self, key: &'static str, word: Arc<dyn Any + Send + Sync>) -> Self {
        Arc::make_mut(&mut self.0).words.push((key, word));
        self
    }

    /// Words of this type that other crates bring for a key.
    pub fn words<T: Any>(&self, key: &str) -> impl Iterator<Item = &T> {
        let of_key = self.0.words.iter().filter(move |(known, _)| *known == key);
        of_key.filter_map(|(_, word)| word.downcast_ref())
    }

    /// The workloads.
    pub fn workloads(&self) -> &[Arc<dyn WorkloadKeys>] {
        &self.0.workloads
    }

    /// The controllers that other crates bring.
    pub fn controllers(&self) -> &[&'static dyn ControllerKind] {
        &self.0.controllers
    }

    /// The queues that other crates bring.
    pub fn queues(&self) -> &[&'static dyn QueueKind] {
        &self.0.queues
    }

    /// Name and text of each scenario that comes with a workload.
    pub fn embedded(&self) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        self.0.workloads.iter().flat_map(|workload| workload.scenarios()).copied()
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
