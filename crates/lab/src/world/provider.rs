//! What all runs of a plan share: the titles as decisions see them, and Minerva's normalisation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use airlane_abr::{AbrKind, Bola, BufferBased, Fixed, Mpc, PlayerConfig, RateBased, Setting};
use airlane_apps::content::Library;
use airlane_apps::vod::Provider;
use airlane_base::InputError;
use airlane_media::{Metric, Perceptual, Video};
use airlane_minerva::normalise::NormaliseError;
use airlane_minerva::{
    Blend, Config, Fairness, Fitted, Form, Normalisation, OnDemand, Optimal, RateCurve,
    UtilityKind, ValueFunction, ValueTable,
};
use airlane_quality::QoeParams;

use super::alpha;
use crate::error::LabError;
use crate::minerva_files::MinervaFiles;
use crate::plan::Plan;
use crate::scenario::{self, Abr, Player, Scenario, Viewer};

/// The session that f and the optimum simulate: as long as the paper's.
pub(crate) const SESSION: Duration = Duration::from_secs(200);

/// What all runs of a plan share.
#[derive(Clone, Debug)]
pub struct Content {
    /// Every title that may be watched.
    pub library: Arc<Library>,
    settings: BTreeMap<(String, Metric), Arc<Setting>>,
    curves: BTreeMap<(String, Watched), RateCurve>,
    providers: Vec<BTreeMap<String, Arc<Provider>>>,
}

/// How somebody watches: under which measure, with which algorithm.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Watched {
    metric: Metric,
    abr: Named,
}

/// An algorithm, told from others by its name.
#[derive(Clone, Debug)]
struct Named {
    name: String,
    kind: AbrKind,
}

impl Content {
    /// Prepares what the runs of `plan` share; Minerva's normalisation takes a moment.
    ///
    /// # Errors
    /// If a title does not go together with the player's settings.
    pub fn new(plan: &Plan) -> Result<Self, LabError> {
        let scenario = &plan.scenario;
        let Some(corpus) = &plan.corpus else {
            return Ok(Self {
                library: Arc::default(),
                settings: BTreeMap::new(),
                curves: BTreeMap::new(),
                providers: vec![BTreeMap::new(); scenario.schemes.len()],
            });
        };
        let videos = plan.titles(corpus);
        let player = &scenario.player;
        let mut settings = BTreeMap::new();
        for metric in metrics_of(scenario) {
            let of_metric = settings_of(&videos, &Player { metric, ..player.clone() })?;
            settings.extend(of_metric.into_iter().map(|(name, s)| ((name, metric), s)));
        }
        let mut content = Self {
            library: Arc::new(Library::new(videos).with_opening(player.opening_bytes.clone())),
            settings,
            curves: BTreeMap::new(),
            providers: Vec::new(),
        };
        if scenario.schemes.iter().any(|s| s.minerva.is_some()) {
            content.curves = content.curves_of(scenario);
        }
        let alpha = alpha::per_connection(plan.content_hash);
        content.providers = scenario
            .schemes
            .iter()
            .map(|s| match &s.minerva {
                None => Ok(BTreeMap::new()),
                Some(m) => content.providers_of(plan, s.control.weight(), m, alpha),
            })
            .collect::<Result<_, InputError>>()?;
        Ok(content)
    }

    /// Minerva's provider for a viewer under the `scheme`-th scheme, if it has one.
    pub fn provider(&self, scheme: usize, viewer: &Viewer) -> Option<&Arc<Provider>> {
        self.providers[scheme].get(&viewer.provider).filter(|_| viewer.control.is_none())
    }

    /// A title as the viewer's decisions see it.
    pub fn setting(
        &self,
        scenario: &Scenario,
        viewer: &Viewer,
        title: &str,
    ) -> Option<&Arc<Setting>> {
        let metric = viewer.metric.unwrap_or(scenario.player.metric);
        self.settings.get(&(title.to_owned(), metric))
    }

    /// What a constant rate is worth to the viewer on a title; `None` where nobody asked for it.
    pub fn curve(&self, scenario: &Scenario, viewer: &Viewer, title: &str) -> Option<&RateCurve> {
        self.curves.get(&(title.to_owned(), watched(scenario, viewer)))
    }

    /// The titles as decisions see them under `metric`, by name.
    pub fn settings(&self, metric: Metric) -> impl Iterator<Item = (&str, &Arc<Setting>)> {
        let of_metric = self.settings.iter().filter(move |((_, m), _)| *m == metric);
        of_metric.map(|((name, _), setting)| (name.as_str(), setting))
    }

    /// `Q_i(r)` of every title for everybody whose weight follows it: the titles are spread over
    /// the machine's cores.
    fn curves_of(&self, scenario: &Scenario) -> BTreeMap<(String, Watched), RateCurve> {
        let mut all: BTreeMap<(String, Watched), (&Arc<Setting>, AbrKind)> = BTreeMap::new();
        for viewer in scenario.viewers.iter().filter(|v| v.control.is_none()) {
            let watched = watched(scenario, viewer);
            for (title, setting) in self.settings(watched.metric) {
                let abr = abr_of(scenario, viewer);
                all.insert((title.to_owned(), watched.clone()), (setting, abr));
            }
        }
        spread(all.into_iter().collect(), |(setting, abr)| {
            RateCurve::simulate(setting, abr, SESSION)
        })
    }

    /// The providers of a scheme, by name. Popularity is uniform over the ways that a provider's
    /// viewers watch.
    fn providers_of(
        &self,
        plan: &Plan,
        baseline: f64,
        minerva: &scenario::Minerva,
        alpha: f64,
    ) -> Result<BTreeMap<String, Arc<Provider>>, InputError> {
        let scenario = &plan.scenario;
        let mut ways: BTreeMap<&str, BTreeSet<Watched>> = BTreeMap::new();
        for viewer in scenario.viewers.iter().filter(|v| v.control.is_none()) {
            ways.entry(&viewer.provider).or_default().insert(watched(scenario, viewer));
        }
        let provider = |(name, ways): (&str, BTreeSet<Watched>)| {
            let f = self.normalisation(&plan.minerva, &ways, minerva, alpha * baseline)?;
            let titles = self.settings.iter().map(|((t, m), s)| ((t.clone(), *m), s.clone()));
            let viewer = scenario.viewers.iter().find(|v| v.provider == name);
            let config = config(minerva, baseline);
            let provider = Provider {
                values: self.values(plan, &ways, minerva, config.blend.horizon),
                titles: titles.collect(),
                metric: viewer.and_then(|v| v.metric).unwrap_or(scenario.player.metric),
                abr: abr_kind(scenario.player.abr, scenario.player.horizon),
                normalisation: Arc::new(f),
                config,
                payload_bytes: scenario.transport.payload_bytes,
            };
            Ok((name.to_owned(), Arc::new(provider)))
        };
        ways.into_iter().map(provider).collect()
    }

    /// f for viewers who watch in these `ways`: from the scheme's file, or averaged over the titles.
    /// `alpha` is what the scheme gets that has none of its own, nor a file.
    fn normalisation(
        &self,
        files: &MinervaFiles,
        ways: &BTreeSet<Watched>,
        minerva: &scenario::Minerva,
        alpha: f64,
    ) -> Result<Normalisation, InputError> {
        let about = |e: NormaliseError| InputError::new(e.to_string(), "").at_key("scheme.minerva");
        if let Some(stored) = files.normalisation(minerva) {
            let alpha = minerva.alpha.unwrap_or(stored.normalisation.alpha());
            return stored.normalisation.with_alpha(alpha).map_err(about);
        }
        let alpha = minerva.alpha.unwrap_or(alpha);
        let popularity = |title: &str| files.popularity(minerva, title);
        let watched = || self.curves.iter().filter(|((_, w), _)| ways.contains(w));
        let curves = || watched().map(|((title, _), c)| (c.qoe(), popularity(title)));
        let setting = |((title, w), curve): (&(String, Watched), &'_ RateCurve)| {
            let setting = self.settings.get(&(title.clone(), w.metric))?;
            Some((setting.clone(), curve.qoe().clone(), popularity(title)))
        };
        use scenario::Normalisation as N;
        match (minerva.fairness, minerva.normalisation) {
            (Some(scenario::Fairness::Proportional), _) => {
                let titles: Vec<_> = watched().filter_map(setting).collect();
                Normalisation::proportional(alpha, titles.iter().map(|(s, q, p)| (&**s, q, *p)))
            }
            (_, None | Some(N::FixedRate)) => Normalisation::new(Form::FixedRate, alpha, curves()),
            (_, Some(N::Fitted)) => Normalisation::new(Form::FixedRateFitted, alpha, curves()),
            (_, Some(N::None)) => Normalisation::new(Form::Linear, alpha, curves()),
            (_, Some(N::MeanCurve)) => {
                let views = ways.iter().flat_map(|w| self.settings(w.metric));
                let curves = views.map(|(title, s)| (s.view().curve(), popularity(title)));
                Normalisation::new(Form::Equation2, alpha, curves)
            }
        }
        .map_err(about)
    }

    /// The value functions that a scheme wants to have at hand, of the titles that are watched in
    /// some case: tables take seconds each.
    fn values(
        &self,
        plan: &Plan,
        ways: &BTreeSet<Watched>,
        minerva: &scenario::Minerva,
        horizon: usize,
    ) -> Values {
        use scenario::Value as V;
        let kind = match minerva.value {
            None | Some(V::OnDemand | V::Sent) => return Values::new(),
            Some(kind) => kind,
        };
        let videos = plan.cases.iter().flat_map(|c| &c.videos).map(|v| v.name.as_str());
        let mut wanted: BTreeMap<(String, Metric, String), (&Arc<Setting>, AbrKind)> =
            BTreeMap::new();
        for title in videos {
            for way in ways {
                let Some(setting) = self.settings.get(&(title.to_owned(), way.metric)) else {
                    continue;
                };
                let key = (title.to_owned(), way.metric, way.abr.name.clone());
                wanted.insert(key, (setting, way.abr.kind));
            }
        }
        spread(wanted.into_iter().collect(), |(setting, abr)| {
            value_function(kind, setting, *abr, horizon)
        })
    }
}

/// The value function of one title for a player that runs `abr`.
pub(crate) fn value_function(
    kind: scenario::Value,
    setting: &Arc<Setting>,
    abr: AbrKind,
    horizon: usize,
) -> Arc<dyn ValueFunction> {
    use scenario::Value as V;
    match kind {
        // What a player sends is what it simulates.
        V::OnDemand | V::Sent => Arc::new(OnDemand::new(setting.clone(), Arc::new(abr), horizon)),
        V::Table => Arc::new(ValueTable::build(setting, &abr, horizon)),
        V::Fitted => {
            let table = ValueTable::build(setting, &abr, horizon);
            Arc::new(Fitted::of_table(&table, setting.mean_rate_bps()[0]))
        }
        V::Optimal => Arc::new(Optimal::new(setting.clone(), horizon)),
    }
}

/// Value functions by title, measure and name of the algorithm.
type Values = BTreeMap<(String, Metric, String), Arc<dyn ValueFunction>>;

/// Works on all entries, spread over the machine's cores.
pub(crate) fn spread<K: Ord + Clone + Sync + Send, T: Sync, R: Send>(
    all: Vec<(K, T)>,
    work: impl Fn(&T) -> R + Sync,
) -> BTreeMap<K, R> {
    let threads = crate::pool::available_cores().clamp(1, all.len().max(1));
    let work = &work;
    std::thread::scope(|scope| {
        let parts: Vec<_> = all
            .chunks(all.len().div_ceil(threads).max(1))
            .map(|part| {
                scope.spawn(move || {
                    part.iter().map(|(key, of)| (key.clone(), work(of))).collect::<Vec<_>>()
                })
            })
            .collect();
        parts
            .into_iter()
            .flat_map(|p| p.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
            .collect()
    })
}

/// The measures of quality that somebody watches under.
pub(super) fn metrics_of(scenario: &Scenario) -> BTreeSet<Metric> {
    scenario.viewers.iter().map(|v| v.metric.unwrap_or(scenario.player.metric)).collect()
}

fn config(minerva: &scenario::Minerva, baseline: f64) -> Config {
    let own = Config::default();
    Config {
        baseline_connections: baseline,
        utility: match minerva.utility {
            Some(scenario::Utility::ClientAware) => UtilityKind::ClientAware,
            Some(scenario::Utility::Basic) => UtilityKind::Basic,
            // Appendix D is about mean curves: docs/minerva.md has both beside each other.
            None if minerva.fairness == Some(scenario::Fairness::Proportional) => {
                UtilityKind::Basic
            }
            None => UtilityKind::ClientAware,
        },
        blend: Blend {
            past: minerva.past.unwrap_or(own.blend.past),
            future: minerva.future.unwrap_or(own.blend.future),
            horizon: minerva.horizon.unwrap_or(own.blend.horizon),
        },
        fairness: match minerva.fairness {
            None | Some(scenario::Fairness::MaxMin) => Fairness::MaxMin,
            Some(scenario::Fairness::Proportional) => Fairness::Proportional,
        },
        mu: minerva.mu,
        interval_round_trips: minerva.interval_rtts.unwrap_or(own.interval_round_trips),
        conservative: minerva.conservative.unwrap_or(own.conservative),
        smoothed: minerva.smoothed.unwrap_or(own.smoothed),
    }
}

/// The titles as decisions see them, by name.
///
/// # Errors
/// If a title lacks the player's metric or has too many rungs.
pub fn settings_of(
    videos: &[Arc<Video>],
    player: &Player,
) -> Result<BTreeMap<String, Arc<Setting>>, InputError> {
    let scale = if player.scaled_penalties { player.metric.span() / 100.0 } else { 1.0 };
    let qoe = QoeParams {
        beta: scale * player.beta,
        gamma: scale * player.gamma,
        smoothness: player.smoothness,
    };
    let config = PlayerConfig { buffer_cap: player.buffer_cap, chunk_overhead: player.overhead };
    videos
        .iter()
        .map(|v| {
            let view = Perceptual::new(v.clone(), player.metric)?;
            Ok((v.name.clone(), Arc::new(Setting::new(view, qoe, config)?)))
        })
        .collect()
}

fn watched(scenario: &Scenario, viewer: &Viewer) -> Watched {
    Watched {
        metric: viewer.metric.unwrap_or(scenario.player.metric),
        abr: Named::of(abr_of(scenario, viewer)),
    }
}

impl Named {
    fn of(kind: AbrKind) -> Self {
        Self { name: kind.to_string(), kind }
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Named {}

impl PartialOrd for Named {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Named {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.name.cmp(&other.name)
    }
}

/// The algorithm that the viewer's player runs.
pub(crate) fn abr_of(scenario: &Scenario, viewer: &Viewer) -> AbrKind {
    abr_kind(viewer.abr.unwrap_or(scenario.player.abr), scenario.player.horizon)
}

/// The algorithm by the scenario's name for it.
pub(crate) fn abr_kind(abr: Abr, horizon: usize) -> AbrKind {
    match abr {
        Abr::RobustMpc => AbrKind::Mpc(Mpc { horizon, ..Mpc::robust() }),
        Abr::Mpc => AbrKind::Mpc(Mpc { horizon, ..Mpc::plain() }),
        Abr::Bola => AbrKind::Bola(Bola::default()),
        Abr::Buffer => AbrKind::BufferBased(BufferBased::default()),
        Abr::Rate => AbrKind::RateBased(RateBased::default()),
        Abr::Fixed(rung) => AbrKind::Fixed(Fixed(rung)),
    }
}
