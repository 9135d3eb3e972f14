//! Requests and responses, one after the other.

use std::sync::Arc;
use std::time::Duration;

use airlane_quality::stats;
use airlane_runtime::RuntimeExt;
use airlane_scenario::{Frame, Place, Reader};
use airlane_sim::LabError;
use airlane_sim::plan::Plan;
use airlane_sim::workload::*;
use airlane_sim::world::RunContext;
use airlane_traffic::bulk;
use parking_lot::Mutex;
use serde::Serialize;

const NAME: &str = "exchange";
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Exchange;

impl Workload for Exchange {
    fn table(&self) -> &'static str {
        NAME
    }

    fn read(&self, tables: &mut Reader<'_>, _: &Frame<'_>) -> Arc<dyn Traffic> {
        Arc::new(Callers(tables.list(NAME, "Requests and responses.", |r| Caller {
            name: r.name_or_none("name", "required", "Name of rows.").unwrap_or_default(),
            bytes: r.count("bytes", (1, 1 << 30), 20_000, "Size of a response."),
        })))
    }
}

impl airlane_judge::Workload for Exchange {}

#[derive(Debug, Serialize)]
struct Caller {
    name: String,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct Callers(Vec<Caller>);

impl Traffic for Callers {
    fn workload(&self) -> &'static str {
        NAME
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|caller| caller.name.clone()).collect()
    }

    fn places(&self) -> Vec<Place> {
        self.0.iter().map(|_| Place { at: vec![0], rtt: None, server: None }).collect()
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![Metric::of_actor("response_s", Unit::SECONDS, Sense::Lower)]
    }

    fn start(&self, context: &mut RunContext<'_>) -> Result<Box<dyn Running>, LabError> {
        let mut responses = Vec::new();
        for Caller { name, bytes } in &self.0 {
            let pair = context.attach()?;
            let server = context.transport(&context.scheme().control);
            let server = context.server(&pair, bulk::sender(server))?;
            pair.server.spawn(NAME, bulk::serve(server, bulk::Supply::default(), |_, _| {}));
            let client = context.client(&pair, bulk::receiver(context.client_transport()))?;
            let took_s = Arc::new(Mutex::new(Vec::new()));
            responses.push((name.clone(), took_s.clone()));
            let (bytes, end, clock) = (*bytes, context.end, pair.client.clone());
            pair.client.spawn(NAME, async move {
                while clock.now() + PAUSE < end {
                    clock.sleep(PAUSE).await;
                    let (begin, got) = (clock.now(), Arc::new(bulk::Received::default()));
                    let fetch = bulk::fetch(&client, pair.address, bytes, Some(end), got.clone());
                    if fetch.await.is_ok() && got.bytes() == bytes {
                        let response_s = (clock.now() - begin).as_secs_f64();
                        took_s.lock().push(response_s);
                    }
                }
            });
        }
        Ok(Box::new(Responses(responses)))
    }
}

impl TrafficReport for Callers {
    fn about(&self, _: &Plan) -> TrafficDescription {
        let who = self.0.iter().map(|caller| format!("the caller {}", caller.name));
        TrafficDescription {
            who: who.collect(),
            count: self.0.len(),
            ..TrafficDescription::default()
        }
    }
}

impl TrafficClaims for Callers {}

/// By caller, the seconds that each of its responses took.
#[derive(Debug)]
struct Responses(Vec<(String, Arc<Mutex<Vec<f64>>>)>);

impl Running for Responses {
    fn end(self: Box<Self>) -> BoxFuture<Box<dyn Part>> {
        Box::pin(async { self as Box<dyn Part> })
    }
}

impl Part for Responses {
    fn result(&self, _: &EndedRun<'_>) -> PartResult {
        let actor = |(name, took_s): &(String, Arc<Mutex<Vec<f64>>>)| {
            let mut figures = Figures::default();
            let took_s = took_s.lock();
            figures.add("response_s", Unit::SECONDS, stats::mean(&took_s));
            let (workload, name) = (NAME.to_owned(), name.clone());
            ActorResult { workload, name, figures, ..ActorResult::default() }
        };
        PartResult { actors: self.0.iter().map(actor).collect(), ..PartResult::default() }
    }
}
