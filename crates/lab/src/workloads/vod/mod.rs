//! Video on demand: viewers who watch films, each from an origin of its own; under Minerva origins
//! weigh their connections by what viewers get out of them.

mod alpha;
mod browsers;
mod cache;
mod claims;
mod content_draws;
mod figures;
mod files;
pub mod normalise;
pub mod popularity;
mod read;
mod report;
mod roles;
mod series;
pub(crate) mod session;
mod types;
mod verdict;
mod words;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use airlane_abr::PlayerModel;
use airlane_base::InputError;
use airlane_media::Metric as Quality;
use airlane_minerva::Update;

use airlane_judge::Demo;
use airlane_judge::ExternalResult;
use airlane_scenario::Place;
use airlane_scenario::SchemePart;
use airlane_scenario::{ControllerConfig, Frame, Reader, Scenario, Scheme};
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::Results;
use airlane_sim::plan::{Plan, Sources};
use airlane_sim::workload::{
    ByMetric, CachedMetrics, Caches, ClaimContext, ClaimRun, ClaimSection, Draws, EndedRun, Flow,
    GridVerdict, Headline, Metric, OverTime, Part, PartResult, ReportSection, Running, SceneRuns,
    Traffic, TrafficClaims, TrafficDescription, TrafficReport, Unit, Workload,
};
use airlane_sim::world::{FlowSample, RunContext, RunOutput};

pub(crate) use alpha::CALIBRATED;
pub use cache::{Cache, settings_of};
pub(crate) use cache::{abr_of, spread, value_function};
pub use content_draws::{ContentDraws, ViewingDraw, draw_from};
pub(crate) use figures::metric_unit;
pub use files::MinervaFiles;
pub use types::*;
pub use verdict::{Side, on_viewers};

/// The name of the workload.
pub(crate) const NAME: &str = "vod";

/// The workload.
#[derive(Debug)]
pub(crate) struct Vod;

impl Workload for Vod {
    fn table(&self) -> &'static str {
        "viewer"
    }

    fn read(&self, tables: &mut Reader<'_>, frame: &Frame<'_>) -> Arc<dyn Traffic> {
        Arc::new(read::tables(tables, frame))
    }

    fn read_scheme(
        &self,
        keys: &mut Reader<'_>,
        control: &ControllerConfig,
    ) -> Option<Arc<dyn SchemePart>> {
        Some(Arc::new(read::of_scheme(keys, control)?))
    }

    fn scenarios(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("four-viewers", include_str!("../../../../../scenarios/four-viewers.toml")),
            ("buffer-pooling", include_str!("../../../../../scenarios/buffer-pooling.toml")),
            ("fig9", include_str!("../../../../../scenarios/fig9.toml")),
            ("devices", include_str!("../../../../../scenarios/devices.toml")),
            ("viewers-wifi", include_str!("../../../../../scenarios/viewers-wifi.toml")),
        ]
    }
}

impl airlane_judge::Workload for Vod {
    fn demo(&self) -> Option<Demo> {
        Some(Demo { scenario: "four-viewers", duration_s: None })
    }

    fn demo_takes_content(&self) -> bool {
        true
    }

    fn claims(&self) -> &'static [(&'static str, &'static str)] {
        &[("minerva", include_str!("../../../../../claims/minerva.toml"))]
    }

    fn defaults(&self) -> String {
        claims::defaults()
    }

    fn measured_elsewhere(&self, folder: &Path) -> Option<Result<ExternalResult, LabError>> {
        folder.join(browsers::FILE).is_file().then(|| browsers::findings(folder))
    }
}

/// Settings of a scheme for Minerva; `None` without it.
pub fn minerva_of(scheme: &Scheme) -> Option<&Minerva> {
    scheme.parts.of()
}

impl SchemePart for Minerva {
    fn sets_weights(&self) -> bool {
        true
    }

    fn note(&self) -> Vec<String> {
        words::minerva_note(self)
    }
}

impl Viewers {
    /// Those of a scenario.
    ///
    /// # Panics
    /// Never: every scenario that was read has viewers, if none at all.
    pub fn of(scenario: &Scenario) -> &Self {
        scenario.participants.of().expect("every workload reads every scenario")
    }

    /// The measure of a viewer's quality.
    pub fn metric_of(&self, viewer: &Viewer) -> Quality {
        viewer.metric.unwrap_or(self.player.metric)
    }

    /// The quality metrics of the viewers.
    fn metrics(&self) -> BTreeSet<Quality> {
        self.viewers.iter().map(|v| self.metric_of(v)).collect()
    }

    /// The metric of those who watch: that of the first, where they have several. Figures over
    /// viewers whose metrics have several units are not shown.
    fn watched_metric(&self) -> Quality {
        self.viewers.first().map_or(self.player.metric, |first| self.metric_of(first))
    }

    /// The unit of that metric.
    fn unit(&self) -> Unit {
        metric_unit(self.watched_metric())
    }
}

impl Traffic for Viewers {
    fn workload(&self) -> &'static str {
        NAME
    }

    fn is_empty(&self) -> bool {
        self.viewers.is_empty()
    }

    fn names(&self) -> Vec<String> {
        self.viewers.iter().map(|viewer| viewer.name.clone()).collect()
    }

    fn places(&self) -> Vec<Place> {
        self.viewers
            .iter()
            .map(|viewer| Place { at: vec![viewer.at], rtt: viewer.rtt, server: None })
            .collect()
    }

    fn adapts(&self) -> bool {
        true
    }

    fn offered_bps(&self) -> Option<f64> {
        None
    }

    fn metrics(&self) -> Vec<Metric> {
        figures::metrics(self)
    }

    fn prepare(
        &self,
        scenario: &Scenario,
        common: &Common<'_>,
        sources: &mut Sources,
    ) -> Result<Arc<dyn Draws>, InputError> {
        Ok(Arc::new(ContentDraws::read(self, scenario, common, sources)?))
    }

    fn start(&self, context: &mut RunContext<'_>) -> Result<Box<dyn Running>, LabError> {
        roles::start(self, context)
    }
}

impl TrafficReport for Viewers {
    fn about(&self, plan: &Plan) -> TrafficDescription {
        words::about(self, plan)
    }

    fn headlines(&self) -> Vec<Headline> {
        report::headlines(self)
    }

    fn verdict(&self, results: &Results<'_>) -> Option<String> {
        Some(report::verdict(self, results))
    }

    fn verdict_of_grid(&self) -> Option<GridVerdict> {
        Some(GridVerdict { who: "the worst viewer", figure: "the worst viewer's QoE" })
    }

    fn section(&self, results: &Results<'_>, caches: &Caches) -> ReportSection {
        report::section(self, results, caches)
    }
}

impl TrafficClaims for Viewers {
    fn claim_run_metrics(&self) -> Vec<Metric> {
        claims::run_metrics(self)
    }

    fn read_cached(&self, json: serde_json::Value) -> Option<CachedMetrics> {
        claims::read_cached(json)
    }

    fn claim_figure(&self, metric: &str, run: &ClaimRun) -> Option<f64> {
        claims::figure(metric, run)
    }

    fn claim_metrics(&self, names: &[String]) -> Vec<Metric> {
        claims::metrics(self, names)
    }

    fn claim_samples(&self, compared: &SceneRuns<'_>) -> ByMetric {
        claims::of_draws(compared)
    }

    fn measure_metrics(&self, measure: &str) -> Option<Vec<Metric>> {
        claims::measure_metrics(self, measure)
    }

    fn measure(&self, measure: &str, plan: &Plan, caches: &Caches) -> Option<ByMetric> {
        claims::measure(measure, plan, caches)
    }

    fn claim_section(&self, compared: &SceneRuns<'_>, samples: &ByMetric) -> ClaimSection {
        claims::section(self, compared, samples)
    }
}

/// Results of the viewers of a run.
#[derive(Clone, Debug)]
pub struct Output(pub Vec<ViewerOutput>);

/// A viewer's session.
#[derive(Clone, Debug)]
pub struct ViewerOutput {
    /// Name.
    pub name: String,
    /// The buffer and all chunks; `model.setting()` has the video.
    pub model: PlayerModel,
    /// Reason why it ended early, if it did.
    pub failure: Option<String>,
    /// Minerva's updates.
    pub updates: Vec<Update>,
    /// The server's side of the connection over time.
    pub samples: Vec<FlowSample>,
}

impl Output {
    /// The viewers of a run.
    pub fn of(run: &RunOutput) -> &[ViewerOutput] {
        run.parts.of::<Self>().map_or(&[], |output| &output.0)
    }
}

impl Part for Output {
    fn flows(&self) -> Vec<Flow<'_>> {
        fn flow(ViewerOutput { name, model, samples, .. }: &ViewerOutput) -> Flow<'_> {
            Flow {
                title: words::viewer_title(name),
                note: words::video(model.setting().video()),
                greedy: false,
                samples,
            }
        }
        self.0.iter().map(flow).collect()
    }

    fn result(&self, run: &EndedRun<'_>) -> PartResult {
        figures::result(self, run)
    }

    fn keep(&self, run: &ClaimContext<'_>) -> Option<CachedMetrics> {
        Some(claims::keep(self, run))
    }

    fn over_time(&self, run: &EndedRun<'_>) -> OverTime {
        series::over_time(self, run)
    }
}
