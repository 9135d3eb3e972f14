//! What workloads have in a scenario: who takes part, and what schemes say of it.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::reader::Reader;
use crate::types::{ControllerConfig, Frame};

/// Reader of the keys of one workload, a kind of traffic.
pub trait WorkloadKeys: Debug + Send + Sync {
    /// Name of its table in a scenario: `[[NAME]]`.
    fn table(&self) -> &'static str;

    /// Reads who takes part from its tables of a scenario.
    fn read(&self, tables: &mut Reader<'_>, frame: &Frame<'_>) -> Arc<dyn Participants>;

    /// Reads its keys of a scheme whose servers use `control`.
    fn read_scheme(
        &self,
        _: &mut Reader<'_>,
        _control: &ControllerConfig,
    ) -> Option<Arc<dyn SchemePart>> {
        None
    }

    /// Name and text of each scenario that comes with it.
    fn scenarios(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// Participants of a scenario that one workload has read. What they serialise as is all that their runs
/// depend on.
pub trait Participants: Any + Debug + erased_serde::Serialize + Send + Sync {
    /// Name of the workload.
    fn workload(&self) -> &'static str;

    /// True if no one takes part.
    fn is_empty(&self) -> bool;

    /// Names of all that have rows of their own; they are distinct in a scenario.
    fn names(&self) -> Vec<String>;

    /// Pairs of hosts that they take, in order.
    fn places(&self) -> Vec<Place>;

    /// The workload's own type.
    fn inner(&self) -> &dyn Any;
}

/// Attachment of a pair of hosts, a server and its client, to the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Numbers of the accesses that the client is on: at least one.
    pub at: Vec<usize>,
    /// Round trip of propagation in the core, if it is not the network's.
    pub rtt: Option<Duration>,
    /// Name of the server host, which all places with this name share. `None`: a host of its own.
    pub server: Option<String>,
}

/// Settings of a scheme for one workload. Its serialised form is all that runs under it depend on.
pub trait SchemePart: Any + Debug + erased_serde::Serialize + Send + Sync {
    /// True if the scheme sets weights of connections while they run.
    fn sets_weights(&self) -> bool {
        false
    }

    /// Sentences on the scheme for the reader of the report.
    fn note(&self) -> Vec<String> {
        Vec::new()
    }
}

erased_serde::serialize_trait_object!(Participants);
erased_serde::serialize_trait_object!(SchemePart);

/// Participants of a scenario, by workload.
#[derive(Clone, Debug, Default)]
pub struct AllParticipants(Vec<Arc<dyn Participants>>);

impl AllParticipants {
    /// Those of each workload, in the order of the registry.
    pub fn new(all: Vec<Arc<dyn Participants>>) -> Self {
        Self(all)
    }

    /// Those of type `T`, a workload's own; `None` if there are none.
    pub fn of<T: 'static>(&self) -> Option<&T> {
        self.0.iter().find_map(|participants| participants.inner().downcast_ref())
    }

    /// All, by workload.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Participants>> {
        self.0.iter()
    }

    /// Leaves out those in which nobody takes part.
    pub fn leave_out_empty(&mut self) {
        self.0.retain(|participants| !participants.is_empty());
    }
}

/// Settings of a scheme by workload; nothing of those that it does not mention.
#[derive(Clone, Debug, Default)]
pub struct SchemeParts(Vec<Arc<dyn SchemePart>>);

impl SchemeParts {
    /// The parts, in the order of the registry.
    pub fn new(all: Vec<Arc<dyn SchemePart>>) -> Self {
        Self(all)
    }

    /// That of type `T`, a workload's own; `None` if there is none.
    pub fn of<T: 'static>(&self) -> Option<&T> {
        self.0.iter().find_map(|part| {
            let part: &dyn Any = &**part;
            part.downcast_ref()
        })
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn SchemePart>> {
        self.0.iter()
    }
}

// Identities of runs have these names in them.
impl Serialize for AllParticipants {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_newtype_struct("Casts", &self.0)
    }
}

impl Serialize for SchemeParts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_newtype_struct("SchemeParts", &self.0)
    }
}
