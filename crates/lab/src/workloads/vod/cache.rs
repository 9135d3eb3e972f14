//! What all runs of a plan share: the titles as decisions see them, and Minerva's normalisation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use airlane_abr::{AbrKind, Bola, BufferBased, Fixed, Mpc, PlayerConfig, RateBased, TitleModel};
use airlane_base::InputError;
use airlane_media::{Metric, Perceptual, Video};
use airlane_minerva::normalise::NormaliseError;
use airlane_minerva::{
    Blend, Config, Fairness, Fitted, Form, Normalisation, OnDemand, Optimal, RateCurve,
    UtilityKind, ValueFunction, ValueTable,
};
use airlane_origin::Library;
use airlane_origin::Provider;
use airlane_quality::QoeParams;

use super::alpha;
use super::content_draws::ContentDraws;
use super::files::MinervaFiles;
use super::types::{self, Abr, Player, Viewer, Viewers};
use airlane_sim::LabError;
use airlane_sim::identity::text;
use airlane_sim::plan::Plan;
use airlane_sim::workload::Caches;

/// The session that f and the optimum simulate: as long as the paper's.
pub(crate) const SESSION: Duration = Duration::from_secs(200);

/// Data that all runs of a plan share.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Every title that may be watched.
    pub library: Arc<Library>,
    settings: BTreeMap<(String, Metric), Arc<TitleModel>>,
    curves: BTreeMap<(String, ViewerProfile), RateCurve>,
    providers: Vec<BTreeMap<String, Arc<Provider>>>,
}

/// Quality metric and bitrate algorithm of a viewer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ViewerProfile {
    metric: Metric,
    abr: NamedAbr,
}

/// An algorithm, told from others by its name.
#[derive(Clone, Debug)]
struct NamedAbr {
    name: String,
    kind: AbrKind,
}

impl Cache {
    /// Data that the runs of a plan share.
    pub fn of(caches: &Caches) -> Option<&Self> {
        caches.of::<Self>()
    }

    /// Prepares what the runs of `plan` share; Minerva's normalisation takes a moment.
    ///
    /// # Errors
    /// If a title does not go together with the player's settings.
    pub(super) fn new(drawn: &ContentDraws, plan: &Plan) -> Result<Self, LabError> {
        let scenario = &plan.scenario;
        let traffic = Viewers::of(scenario);
        if drawn.corpus.is_none() {
            return Ok(Self {
                library: Arc::default(),
                settings: BTreeMap::new(),
                curves: BTreeMap::new(),
                providers: vec![BTreeMap::new(); scenario.schemes.len()],
            });
        }
        let videos = drawn.titles(traffic);
        let player = &traffic.player;
        let mut settings = BTreeMap::new();
        for metric in traffic.metrics() {
            let of_metric = settings_of(&videos, &Player { metric, ..player.clone() })?;
            settings.extend(of_metric.into_iter().map(|(name, s)| ((name, metric), s)));
        }
        let mut cache = Self {
            library: Arc::new(Library::new(videos).with_opening(player.opening_bytes.clone())),
            settings,
            curves: BTreeMap::new(),
            providers: Vec::new(),
        };
        if scenario.schemes.iter().any(|s| super::minerva_of(s).is_some()) {
            cache.curves = cache.curves_of(traffic);
        }
        let alpha = alpha::per_connection(drawn.content_hash);
        cache.providers = scenario
            .schemes
            .iter()
            .map(|s| match super::minerva_of(s) {
                None => Ok(BTreeMap::new()),
                Some(m) => cache.providers_of((drawn, plan), s.control.weight(), m, alpha),
            })
            .collect::<Result<_, InputError>>()?;
        Ok(cache)
    }

    /// Minerva's provider for a viewer under the `scheme`-th scheme, if it has one.
    pub fn provider(&self, scheme: usize, viewer: &Viewer) -> Option<&Arc<Provider>> {
        self.providers[scheme].get(&viewer.provider).filter(|_| viewer.control.is_none())
    }

    /// A title as the viewer's decisions see it.
    pub fn setting(
        &self,
        traffic: &Viewers,
        viewer: &Viewer,
        title: &str,
    ) -> Option<&Arc<TitleModel>> {
        self.settings.get(&(title.to_owned(), traffic.metric_of(viewer)))
    }

    /// Value of a constant rate to the viewer on a title; `None` if it was not computed.
    pub fn curve(&self, traffic: &Viewers, viewer: &Viewer, title: &str) -> Option<&RateCurve> {
        self.curves.get(&(title.to_owned(), profile_of(traffic, viewer)))
    }

    /// The titles as decisions see them under `metric`, by name.
    pub fn settings(&self, metric: Metric) -> impl Iterator<Item = (&str, &Arc<TitleModel>)> {
        let of_metric = self.settings.iter().filter(move |((_, m), _)| *m == metric);
        of_metric.map(|((name, _), setting)| (name.as_str(), setting))
    }

    /// `Q_i(r)` of every title for everybody whose weight follows it: the titles are spread over
    /// the machine's cores.
    fn curves_of(&self, traffic: &Viewers) -> BTreeMap<(String, ViewerProfile), RateCurve> {
        let mut all: BTreeMap<(String, ViewerProfile), (&Arc<TitleModel>, AbrKind)> =
            BTreeMap::new();
        for viewer in traffic.viewers.iter().filter(|v| v.control.is_none()) {
            let profile = profile_of(traffic, viewer);
            for (title, setting) in self.settings(profile.metric) {
                let abr = abr_of(traffic, viewer);
                all.insert((title.to_owned(), profile.clone()), (setting, abr));
            }
        }
        spread(all.into_iter().collect(), |(setting, abr)| {
            RateCurve::simulate(setting, abr, SESSION)
        })
    }

    /// The providers of a scheme, by name. Popularity is uniform over the metrics and algorithms of
    /// a provider's viewers.
    fn providers_of(
        &self,
        (drawn, plan): (&ContentDraws, &Plan),
        baseline: f64,
        minerva: &types::Minerva,
        alpha: f64,
    ) -> Result<BTreeMap<String, Arc<Provider>>, InputError> {
        let traffic = Viewers::of(&plan.scenario);
        let mut views: BTreeMap<&str, BTreeSet<ViewerProfile>> = BTreeMap::new();
        for viewer in traffic.viewers.iter().filter(|v| v.control.is_none()) {
            views.entry(&viewer.provider).or_default().insert(profile_of(traffic, viewer));
        }
        let provider = |(name, views): (&str, BTreeSet<ViewerProfile>)| {
            let f = self.normalisation(&drawn.files, &views, minerva, alpha * baseline)?;
            let titles = self.settings.iter().map(|((t, m), s)| ((t.clone(), *m), s.clone()));
            let viewer = traffic.viewers.iter().find(|v| v.provider == name);
            let config = config(minerva, baseline);
            let provider = Provider {
                values: self.values(drawn, &views, minerva, config.blend.horizon),
                titles: titles.collect(),
                metric: viewer.and_then(|v| v.metric).unwrap_or(traffic.player.metric),
                abr: abr_kind(traffic.player.abr, traffic.player.horizon),
                normalisation: Arc::new(f),
                config,
                payload_bytes: plan.scenario.transport.payload_bytes,
            };
            Ok((name.to_owned(), Arc::new(provider)))
        };
        views.into_iter().map(provider).collect()
    }

    /// f for viewers who watch as in `views`: from the scheme's file, or averaged over the titles.
    /// `alpha` is the default, for schemes without an alpha and without a file.
    fn normalisation(
        &self,
        files: &MinervaFiles,
        views: &BTreeSet<ViewerProfile>,
        minerva: &types::Minerva,
        alpha: f64,
    ) -> Result<Normalisation, InputError> {
        let about = |e: NormaliseError| InputError::new(e.to_string(), "").at_key("scheme.minerva");
        if let Some(stored) = files.normalisation(minerva) {
            let alpha = minerva.alpha.unwrap_or(stored.normalisation.alpha());
            return stored.normalisation.with_alpha(alpha).map_err(about);
        }
        let alpha = minerva.alpha.unwrap_or(alpha);
        let popularity = |title: &str| files.popularity(minerva, title);
        let watched = || self.curves.iter().filter(|((_, w), _)| views.contains(w));
        let curves = || watched().map(|((title, _), c)| (c.qoe(), popularity(title)));
        let setting = |((title, w), curve): (&(String, ViewerProfile), &'_ RateCurve)| {
            let setting = self.settings.get(&(title.clone(), w.metric))?;
            Some((setting.clone(), curve.qoe().clone(), popularity(title)))
        };
        use types::Normalisation as N;
        match (minerva.fairness, minerva.normalisation) {
            (Some(types::Fairness::Proportional), _) => {
                let titles: Vec<_> = watched().filter_map(setting).collect();
                Normalisation::proportional(alpha, titles.iter().map(|(s, q, p)| (&**s, q, *p)))
            }
            (_, None | Some(N::FixedRate)) => Normalisation::new(Form::FixedRate, alpha, curves()),
            (_, Some(N::Fitted)) => Normalisation::new(Form::FixedRateFitted, alpha, curves()),
            (_, Some(N::None)) => Normalisation::new(Form::Linear, alpha, curves()),
            (_, Some(N::MeanCurve)) => {
                let of_metrics = views.iter().flat_map(|w| self.settings(w.metric));
                let curves = of_metrics.map(|(title, s)| (s.view().curve(), popularity(title)));
                Normalisation::new(Form::Equation2, alpha, curves)
            }
        }
        .map_err(about)
    }

    /// The value functions that a scheme precomputes, of all titles watched in any case: a table
    /// takes seconds.
    fn values(
        &self,
        drawn: &ContentDraws,
        views: &BTreeSet<ViewerProfile>,
        minerva: &types::Minerva,
        horizon: usize,
    ) -> Values {
        use types::Value as V;
        let kind = match minerva.value {
            None | Some(V::OnDemand | V::Sent) => return Values::new(),
            Some(kind) => kind,
        };
        let videos = drawn.draws.iter().flat_map(|d| &d.videos).map(|v| v.name.as_str());
        let mut wanted: BTreeMap<(String, Metric, String), (&Arc<TitleModel>, AbrKind)> =
            BTreeMap::new();
        for title in videos {
            for view in views {
                let Some(setting) = self.settings.get(&(title.to_owned(), view.metric)) else {
                    continue;
                };
                let key = (title.to_owned(), view.metric, view.abr.name.clone());
                wanted.insert(key, (setting, view.abr.kind));
            }
        }
        spread(wanted.into_iter().collect(), |(setting, abr)| {
            value_function(kind, setting, *abr, horizon)
        })
    }
}

/// The value function of one title for a player that runs `abr`.
pub(crate) fn value_function(
    kind: types::Value,
    setting: &Arc<TitleModel>,
    abr: AbrKind,
    horizon: usize,
) -> Arc<dyn ValueFunction> {
    use types::Value as V;
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
    let threads = airlane_sim::pool::available_cores().clamp(1, all.len().max(1));
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

fn config(minerva: &types::Minerva, baseline: f64) -> Config {
    let own = Config::default();
    Config {
        baseline_connections: baseline,
        utility: match minerva.utility {
            Some(types::Utility::ClientAware) => UtilityKind::ClientAware,
            Some(types::Utility::Basic) => UtilityKind::Basic,
            // Appendix D is about mean curves: docs/design/minerva.md has both beside each other.
            None if minerva.fairness == Some(types::Fairness::Proportional) => UtilityKind::Basic,
            None => UtilityKind::ClientAware,
        },
        blend: Blend {
            past: minerva.past.unwrap_or(own.blend.past),
            future: minerva.future.unwrap_or(own.blend.future),
            horizon: minerva.horizon.unwrap_or(own.blend.horizon),
        },
        fairness: match minerva.fairness {
            None | Some(types::Fairness::MaxMin) => Fairness::MaxMin,
            Some(types::Fairness::Proportional) => Fairness::Proportional,
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
) -> Result<BTreeMap<String, Arc<TitleModel>>, InputError> {
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
            Ok((v.name.clone(), Arc::new(TitleModel::new(view, qoe, config)?)))
        })
        .collect()
}

fn profile_of(traffic: &Viewers, viewer: &Viewer) -> ViewerProfile {
    ViewerProfile { metric: traffic.metric_of(viewer), abr: NamedAbr::of(abr_of(traffic, viewer)) }
}

impl NamedAbr {
    fn of(kind: AbrKind) -> Self {
        Self { name: kind.to_string(), kind }
    }
}

impl PartialEq for NamedAbr {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for NamedAbr {}

impl PartialOrd for NamedAbr {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NamedAbr {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.name.cmp(&other.name)
    }
}

/// The algorithm that the viewer's player runs.
pub(crate) fn abr_of(traffic: &Viewers, viewer: &Viewer) -> AbrKind {
    abr_kind(viewer.abr.unwrap_or(traffic.player.abr), traffic.player.horizon)
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
        Abr::Custom(custom) => AbrKind::Custom(custom),
    }
}

/// Checks what [`Cache::new`] checks of the input, without its work.
pub(super) fn check(drawn: &ContentDraws, plan: &Plan) -> Result<(), InputError> {
    let traffic = Viewers::of(&plan.scenario);
    for metric in traffic.metrics() {
        settings_of(&drawn.titles(traffic), &Player { metric, ..traffic.player.clone() })?;
    }
    Ok(())
}

/// All that a cache depends on but the corpus.
pub(super) fn key(drawn: &ContentDraws, plan: &Plan) -> String {
    let Viewers { viewers, player, min_chunks, arrivals: _ } = Viewers::of(&plan.scenario);
    let schemes: Vec<_> = plan
        .scenario
        .schemes
        .iter()
        .map(|s| {
            let minerva = super::minerva_of(s);
            (s.control.weight(), minerva, drawn.files.digest(minerva))
        })
        .collect();
    let watched: BTreeSet<String> = viewers
        .iter()
        .map(|v| text(&(v.metric, v.abr, &v.provider, v.control.is_some())))
        .collect();
    // Value functions are had for what is watched; else titles that are drawn are among those of
    // enough chunks.
    let all = schemes.iter().any(|(_, m, _)| m.is_some_and(|m| m.value.is_some()));
    let named = drawn.draws.iter().flat_map(|d| &d.videos);
    let named: BTreeSet<&str> =
        named.filter(|v| all || v.chunks() < *min_chunks).map(|v| v.name.as_str()).collect();
    let none = drawn.corpus.is_none();
    let payload = plan.scenario.transport.payload_bytes;
    text(&(none, player, min_chunks, payload, schemes, watched, named))
}
