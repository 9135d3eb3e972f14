//! Workloads as scenarios read them.

use std::any::Any;
use std::fmt::{self, Debug};
use std::sync::Arc;

use airlane_scenario::{
    ControllerConfig, Frame, Participants, Place, Reader, Registry, Scenario, SchemePart,
    WorkloadKeys,
};
use serde::{Serialize, Serializer};

use super::{Traffic, Workload};

/// The registry of these workloads, for scenarios to be read with.
pub fn registry(workloads: impl IntoIterator<Item = &'static dyn Workload>) -> Registry {
    Registry::new(workloads.into_iter().map(|w| Arc::new(Keys(w)) as Arc<dyn WorkloadKeys>))
}

/// Traffic of a scenario, by workload.
pub fn traffic_of(scenario: &Scenario) -> impl Iterator<Item = &Arc<dyn Traffic>> {
    scenario.participants.iter().filter_map(|participants| {
        let traffic: &dyn Any = &**participants;
        traffic.downcast_ref::<ScenarioTraffic>().map(|traffic| &traffic.0)
    })
}

/// Keys of a workload.
#[derive(Debug)]
struct Keys(&'static dyn Workload);

impl WorkloadKeys for Keys {
    fn table(&self) -> &'static str {
        self.0.table()
    }

    fn read(&self, tables: &mut Reader<'_>, frame: &Frame<'_>) -> Arc<dyn Participants> {
        Arc::new(ScenarioTraffic(self.0.read(tables, frame)))
    }

    fn read_scheme(
        &self,
        scheme: &mut Reader<'_>,
        control: &ControllerConfig,
    ) -> Option<Arc<dyn SchemePart>> {
        self.0.read_scheme(scheme, control)
    }

    fn scenarios(&self) -> &'static [(&'static str, &'static str)] {
        self.0.scenarios()
    }
}

/// Traffic of a workload as a scenario holds it.
struct ScenarioTraffic(Arc<dyn Traffic>);

impl Participants for ScenarioTraffic {
    fn workload(&self) -> &'static str {
        self.0.workload()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    fn places(&self) -> Vec<Place> {
        self.0.places()
    }

    fn inner(&self) -> &dyn Any {
        &*self.0
    }
}

impl Debug for ScenarioTraffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for ScenarioTraffic {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}
