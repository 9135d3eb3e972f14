//! What all runs of a plan share: the titles as decisions see them, and Minerva's normalisation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use airlane_abr::{AbrKind, Bola, BufferBased, Fixed, Mpc, PlayerConfig, RateBased, Setting};
use airlane_apps::content::Library;
use airlane_apps::vod::Provider;
use airlane_base::InputError;
use airlane_media::{Corpus, Perceptual, Video};
use airlane_minerva::{Config, Form, Normalisation, RateCurve, UtilityKind};
use airlane_quality::QoeParams;

use super::alpha;
use crate::error::LabError;
use crate::plan::Plan;
use crate::scenario::{self, Abr, Player, Scenario};

/// The session that f and the optimum simulate: as long as the paper's.
const SESSION: Duration = Duration::from_secs(200);

/// What all runs of a plan share.
#[derive(Clone, Debug)]
pub struct Content {
    /// Every title that may be watched.
    pub library: Arc<Library>,
    /// The titles as decisions see them, by name.
    pub settings: BTreeMap<String, Arc<Setting>>,
    /// What a constant rate is worth on each title that is drawn from, by name; empty where
    /// nobody asked for it.
    pub curves: BTreeMap<String, RateCurve>,
    providers: Vec<Option<Arc<Provider>>>,
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
                providers: vec![None; scenario.schemes.len()],
            });
        };
        let videos = titles(plan, corpus);
        let settings = settings_of(&videos, &scenario.player)?;
        let wanted = scenario.schemes.iter().any(|s| s.minerva.is_some());
        let abr = abr_kind(scenario.player.abr, scenario.player.horizon);
        let curves = if wanted { curves_of(&settings, &abr) } else { BTreeMap::new() };
        let library = Arc::new(Library::new(videos));
        let alpha = alpha::per_connection(corpus);
        let providers = scenario
            .schemes
            .iter()
            .map(|s| match &s.minerva {
                None => Ok(None),
                Some(m) => {
                    let baseline = s.control.weight();
                    let alpha = m.alpha.unwrap_or(alpha * baseline);
                    provider(scenario, baseline, m, alpha, &settings, &curves).map(Some)
                }
            })
            .collect::<Result<_, InputError>>()?;
        Ok(Self { library, settings, curves, providers })
    }

    /// Minerva's provider under the `scheme`-th scheme, if it has one.
    pub fn provider(&self, scheme: usize) -> Option<&Arc<Provider>> {
        self.providers[scheme].as_ref()
    }
}

/// Every title that may be watched. Popularity is uniform over what is drawn from, and what is
/// named counts as drawn.
fn titles(plan: &Plan, corpus: &Corpus) -> Vec<Arc<Video>> {
    let named: Vec<&Arc<Video>> = plan.cases.iter().flat_map(|c| &c.videos).collect();
    let least = plan.scenario.min_chunks;
    corpus
        .videos()
        .filter(|v| v.chunks() >= least || named.iter().any(|n| n.name == v.name))
        .cloned()
        .collect()
}

/// A content, once it is prepared.
type Slot = Arc<Mutex<Option<Arc<Content>>>>;

/// The contents of several plans with the same corpus: those that agree in what a content depends
/// on share one.
#[derive(Debug, Default)]
pub struct Contents {
    known: Mutex<BTreeMap<String, Slot>>,
    checked: BTreeSet<String>,
}

impl Contents {
    /// The content of a plan, prepared when somebody asks for it first; whoever asks meanwhile
    /// waits.
    ///
    /// # Errors
    /// As [`Content::new`].
    pub fn of(&self, plan: &Plan) -> Result<Arc<Content>, LabError> {
        let slot = lock(&self.known).entry(content_key(plan)).or_default().clone();
        let mut slot = lock(&slot);
        if let Some(content) = &*slot {
            return Ok(content.clone());
        }
        let content = Arc::new(Content::new(plan)?);
        Ok(slot.insert(content).clone())
    }

    /// Checks what [`Content::new`] checks of the input, without its work.
    ///
    /// # Errors
    /// If a title does not go together with the player's settings.
    pub fn check(&mut self, plan: &Plan) -> Result<(), InputError> {
        if let (Some(corpus), true) = (&plan.corpus, self.checked.insert(content_key(plan))) {
            settings_of(&titles(plan, corpus), &plan.scenario.player)?;
        }
        Ok(())
    }
}

fn lock<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is in it is there or not, whoever panicked.
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All of a plan that its content depends on but the corpus.
fn content_key(plan: &Plan) -> String {
    let Scenario { player, min_chunks, transport, schemes, .. } = &plan.scenario;
    let schemes: Vec<_> = schemes.iter().map(|s| (s.control.weight(), s.minerva)).collect();
    // Titles that are drawn are among those of enough chunks.
    let short = plan.cases.iter().flat_map(|c| &c.videos).filter(|v| v.chunks() < *min_chunks);
    let short: BTreeSet<&str> = short.map(|v| v.name.as_str()).collect();
    let none = plan.corpus.is_none();
    format!("{none} {player:?} {min_chunks} {} {schemes:?} {short:?}", transport.payload_bytes)
}

/// The titles as decisions see them, by name.
///
/// # Errors
/// If a title lacks the player's metric or has too many rungs.
pub fn settings_of(
    videos: &[Arc<Video>],
    player: &Player,
) -> Result<BTreeMap<String, Arc<Setting>>, InputError> {
    let qoe = QoeParams { beta: player.beta, gamma: player.gamma, smoothness: player.smoothness };
    let config = PlayerConfig { buffer_cap: player.buffer_cap, chunk_overhead: player.overhead };
    videos
        .iter()
        .map(|v| {
            let view = Perceptual::new(v.clone(), player.metric)?;
            Ok((v.name.clone(), Arc::new(Setting::new(view, qoe, config)?)))
        })
        .collect()
}

/// `Q_i(r)` of every title: the titles are spread over the machine's cores.
fn curves_of(
    settings: &BTreeMap<String, Arc<Setting>>,
    abr: &AbrKind,
) -> BTreeMap<String, RateCurve> {
    let all: Vec<&Arc<Setting>> = settings.values().collect();
    let threads = crate::pool::available_cores().clamp(1, all.len().max(1));
    let curves: Vec<RateCurve> = std::thread::scope(|scope| {
        let parts: Vec<_> = all
            .chunks(all.len().div_ceil(threads).max(1))
            .map(|part| {
                scope.spawn(move || {
                    part.iter().map(|s| RateCurve::simulate(s, abr, SESSION)).collect::<Vec<_>>()
                })
            })
            .collect();
        parts
            .into_iter()
            .flat_map(|p| p.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
            .collect()
    });
    curves.into_iter().map(|c| (c.name().to_owned(), c)).collect()
}

/// The algorithm by the scenario's name for it.
pub(super) fn abr_kind(abr: Abr, horizon: usize) -> AbrKind {
    match abr {
        Abr::RobustMpc => AbrKind::Mpc(Mpc { horizon, ..Mpc::robust() }),
        Abr::Mpc => AbrKind::Mpc(Mpc { horizon, ..Mpc::plain() }),
        Abr::Bola => AbrKind::Bola(Bola::default()),
        Abr::Buffer => AbrKind::BufferBased(BufferBased::default()),
        Abr::Rate => AbrKind::RateBased(RateBased::default()),
        Abr::Fixed(rung) => AbrKind::Fixed(Fixed(rung)),
    }
}

fn provider(
    scenario: &Scenario,
    baseline: f64,
    minerva: &scenario::Minerva,
    alpha: f64,
    settings: &BTreeMap<String, Arc<Setting>>,
    curves: &BTreeMap<String, RateCurve>,
) -> Result<Arc<Provider>, InputError> {
    let normalisation = match minerva.normalisation {
        None | Some(scenario::Normalisation::FixedRate) => {
            Normalisation::uniform(Form::FixedRate, alpha, curves.values().map(RateCurve::qoe))
        }
        Some(scenario::Normalisation::MeanCurve) => {
            let views = settings.values().map(|s| s.view().curve());
            Normalisation::uniform(Form::Equation2, alpha, views)
        }
    }
    .map_err(|e| InputError::new(e.to_string(), "").at_key("scheme.minerva"))?;
    let utility = match minerva.utility {
        None | Some(scenario::Utility::ClientAware) => UtilityKind::ClientAware,
        Some(scenario::Utility::Basic) => UtilityKind::Basic,
    };
    Ok(Arc::new(Provider {
        titles: settings.clone(),
        abr: Arc::new(abr_kind(scenario.player.abr, scenario.player.horizon)),
        normalisation: Arc::new(normalisation),
        config: Config {
            baseline_connections: baseline,
            utility,
            mu: minerva.mu,
            ..Config::default()
        },
        payload_bytes: scenario.transport.payload_bytes,
    }))
}
