//! Requests and responses, one after the other: a workload that only tests have. It shows that a
//! workload is a folder and a line of the registry.

mod tests;

use std::sync::Arc;
use std::time::Duration;

use airlane_apps::bulk;
use airlane_base::Time;
use airlane_quality::stats;
use airlane_report::model::{Better, Column, Table};
use airlane_runtime::RuntimeExt;
use parking_lot::Mutex;
use serde::Serialize;

use crate::error::LabError;
use crate::plan::Plan;
use crate::scenario::{Frame, Reader, range};
use crate::story::{Results, cell, over};
use crate::workload::{
    About, ActorResult, BoxFuture, Cast, Chapter, Ended, Figures, Headline, InSweep, Metric, Part,
    PartResult, Place, RunResult, Running, Sense, Stocks, Workload,
};
use crate::world::Stage;

const NAME: &str = "exchange";

pub(crate) struct Exchange;

impl Workload for Exchange {
    fn table(&self) -> &'static str {
        "exchange"
    }

    fn read(&self, tables: &mut Reader<'_>, _: &Frame<'_>) -> Arc<dyn Cast> {
        let mut number = 0;
        Arc::new(Callers(tables.list("exchange", "Requests and responses.", |r| {
            number += 1;
            let name = r.name_or_none("name", "\"exchange\" and its number", "Name of rows.");
            Caller {
                name: name.unwrap_or_else(|| format!("exchange{number}")),
                bytes: r.count("bytes", (1, 1 << 30), 20_000, "Size of a response."),
                pause: r.time("pause_s", range(0.0, 60.0, "0.1"), 0.1, "Before a request."),
            }
        })))
    }
}

#[derive(Debug, Serialize)]
struct Caller {
    name: String,
    bytes: u64,
    pause: Duration,
}

#[derive(Debug, Serialize)]
struct Callers(Vec<Caller>);

fn slowest(run: &RunResult) -> Option<f64> {
    let all = run.of(NAME).filter_map(|caller| caller.value("response_s"));
    all.max_by(f64::total_cmp)
}

impl Cast for Callers {
    fn workload(&self) -> &'static str {
        NAME
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|caller| caller.name.clone()).collect()
    }

    fn places(&self) -> Vec<Place> {
        self.0.iter().map(|_| Place { at: vec![0], rtt: None }).collect()
    }

    fn offered_bps(&self) -> Option<f64> {
        self.is_empty().then_some(0.0)
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![
            Metric::of_actor("response_s", "s", Sense::Lower),
            Metric::of_actor("responses", "", Sense::Higher),
            Metric::of_run("slowest_response_s", "s", Sense::Lower),
        ]
    }

    fn start(&self, stage: &mut Stage<'_>) -> Result<Box<dyn Running>, LabError> {
        let mut roles = Vec::new();
        for caller in &self.0 {
            let pair = stage.attach()?;
            let control = &stage.scheme().control;
            let listen = stage.server(&pair, bulk::sender(stage.transport(control)))?;
            pair.server
                .spawn("exchange server", bulk::serve(listen, bulk::Supply::default(), |_, _| {}));
            let client = stage.client(&pair, bulk::receiver(stage.client_transport()))?;
            let took = Arc::new(Mutex::new(Vec::new()));
            roles.push((caller.name.clone(), took.clone()));
            let (bytes, pause, end, clock) =
                (caller.bytes, caller.pause, stage.end, pair.client.clone());
            pair.client.spawn("exchange client", async move {
                while clock.now() + pause < end {
                    clock.sleep(pause).await;
                    let began: Time = clock.now();
                    let got = Arc::new(bulk::Received::default());
                    let done =
                        bulk::fetch(&client, pair.address, bytes, Some(end), got.clone()).await;
                    if done.is_ok() && got.bytes() == bytes {
                        let took_s = (clock.now() - began).as_secs_f64();
                        took.lock().push(took_s);
                    }
                }
            });
        }
        Ok(Box::new(Roles(roles)))
    }

    fn about(&self, _: &Plan) -> About {
        let who = self.0.iter().map(|caller| format!("the caller {}", caller.name));
        About { who: who.collect(), count: self.0.len(), ..About::default() }
    }

    fn headlines(&self) -> Vec<Headline> {
        let column = Column::number("Slowest caller", "s", 3).better(Better::Lower);
        vec![Headline::new(column, slowest).on_terminal("slowest").in_sweep(InSweep::Drawn)]
    }

    fn verdict(&self, results: &Results<'_>) -> Option<String> {
        let mean = results.samples(0, slowest).mean()?;
        Some(format!("The slowest caller waits {mean:.3} s."))
    }

    fn chapter(&self, results: &Results<'_>, _: &Stocks) -> Chapter {
        let columns = vec![
            Column::text("Caller").merged(),
            Column::text("Scheme"),
            Column::number("Response", "s", 3),
        ];
        let mut table = Table::new("Requests and responses", columns);
        table.note = over(results);
        for (n, name) in results.actors(NAME).into_iter().enumerate() {
            for (i, scheme) in results.plan.scenario.schemes.iter().enumerate() {
                let samples = results.of_actor(i, (NAME, n), |a| a.value("response_s"));
                let response = cell(&samples, &format!("{name}/{}", scheme.name), Some(0.0));
                table.push(vec![name.into(), scheme.title.as_str().into(), response]);
            }
        }
        Chapter { tables: vec![table], ..Chapter::default() }
    }
}

struct Roles(Vec<(String, Arc<Mutex<Vec<f64>>>)>);

impl Running for Roles {
    fn end(self: Box<Self>) -> BoxFuture<Box<dyn Part>> {
        let all = self.0.into_iter().map(|(name, took_s)| (name, took_s.lock().clone()));
        let output = Output(all.collect());
        Box::pin(async { Box::new(output) as Box<dyn Part> })
    }
}

/// What came of the callers: the seconds that each response took.
#[derive(Debug)]
struct Output(Vec<(String, Vec<f64>)>);

impl Part for Output {
    fn result(&self, _: &Ended<'_>) -> PartResult {
        let mut result = PartResult::default();
        for (name, took_s) in &self.0 {
            let mut figures = Figures::default();
            figures.add("response_s", "s", stats::mean(took_s));
            figures.add("responses", "", Some(took_s.len() as f64));
            result.actors.push(ActorResult {
                workload: NAME.to_owned(),
                name: name.clone(),
                figures,
                ..ActorResult::default()
            });
        }
        let slowest = self.0.iter().filter_map(|(_, took_s)| stats::mean(took_s));
        result.figures.add("slowest_response_s", "s", slowest.max_by(f64::total_cmp));
        result
    }
}
