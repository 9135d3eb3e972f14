//! Which sessions are weighed, and by what: providers for groups of titles, and the arms of a
//! comparison.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use airlane_abr::{PlayerConfig, TitleModel};
use airlane_base::{Fnv64, InputError};
use airlane_media::{Metric, Perceptual, Video};
use airlane_minerva::{
    ALPHA_PER_CONNECTION, Config, Fairness, Form, Normalisation, RateCurve, StoredNormalisation,
    UtilityKind,
};
use airlane_origin::cmcd::Cmcd;
use airlane_origin::sessions::WeightRule;
use airlane_origin::{Cohort, Provider, SessionPolicy, WeightPolicy};
use airlane_quality::QoeParams;

use super::config::{ServerConfig, Sharing};
use super::titles::Titles;

/// The length of the sessions whose QoE the normalisation averages: the paper's.
const SESSION: Duration = Duration::from_secs(200);

/// Decides for every session.
#[derive(Debug)]
pub struct Groups {
    /// By title.
    providers: BTreeMap<String, Arc<Provider>>,
    sharing: Sharing,
    split: Option<f64>,
    baseline: f64,
    payload_bytes: u64,
}

impl Groups {
    /// Prepares the providers of all titles. A normalisation that no file brings takes up to a
    /// second per title and core.
    ///
    /// # Errors
    /// If a file cannot be read, or does not go with its titles.
    pub fn new(
        titles: &Titles,
        config: &ServerConfig,
        payload_bytes: u64,
    ) -> Result<Self, InputError> {
        let mut groups: BTreeMap<usize, Vec<&Arc<Video>>> = BTreeMap::new();
        for title in titles.all() {
            let Some(video) = &title.video else { continue };
            // The longest prefix that fits; without one the group of all others.
            let group = (0..config.normalisations.len())
                .filter(|&g| title.name.starts_with(&config.normalisations[g].0))
                .max_by_key(|&g| config.normalisations[g].0.len());
            groups.entry(group.map_or(0, |g| g + 1)).or_default().push(video);
        }
        let mut providers = BTreeMap::new();
        if config.sharing != Sharing::Plain {
            for (group, videos) in groups {
                let file = group.checked_sub(1).map(|g| config.normalisations[g].1.as_path());
                let provider = Arc::new(provider(&videos, file, config, payload_bytes)?);
                providers.extend(videos.iter().map(|v| (v.name.clone(), provider.clone())));
            }
        }
        Ok(Self {
            providers,
            sharing: config.sharing,
            split: config.split,
            baseline: config.baseline,
            payload_bytes,
        })
    }

    fn cohort(&self, title: &str, session: &str, cmcd: &Cmcd) -> Cohort {
        if self.sharing == Sharing::Plain {
            Cohort::Plain
        } else if cmcd.is_empty() {
            Cohort::NoCmcd
        } else if !self.providers.contains_key(title) {
            Cohort::NoTable
        } else if self.split.is_some_and(|split| draw(session) >= split) {
            Cohort::Control
        } else {
            Cohort::Minerva
        }
    }
}

impl WeightPolicy for Groups {
    fn terms(&self, title: &str, session: &str, cmcd: &Cmcd) -> SessionPolicy {
        let setting = self.providers.get(title).and_then(|p| p.setting(title, cmcd));
        SessionPolicy {
            cohort: self.cohort(title, session, cmcd),
            setting: setting.map(|(_, setting)| setting.clone()),
        }
    }

    fn rule(&self, title: &str, cohort: Cohort, cmcd: &Cmcd) -> Option<WeightRule> {
        let provider = self.providers.get(title).filter(|_| cohort == Cohort::Minerva);
        let rule = provider.and_then(|p| p.rule(title, cohort, cmcd));
        Some(rule.unwrap_or(WeightRule::Fixed(self.baseline)))
    }

    fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    fn suggestion_bps(&self, title: &str, rate_bps: f64) -> Option<u64> {
        self.providers.get(title)?.suggestion_bps(title, rate_bps)
    }
}

impl Groups {
    /// The measure that players of a title are weighed by unless they name one.
    pub(super) fn metric(&self, title: &str) -> Option<Metric> {
        let provider = self.providers.get(title)?;
        let has = |m: &Metric| provider.titles.contains_key(&(title.to_owned(), *m));
        Some(provider.metric).filter(has)
    }
}

/// A number from 0 to 1 that is always the same for a session and evenly spread over sessions.
fn draw(session: &str) -> f64 {
    let mut hash = Fnv64::new();
    hash.write(session.as_bytes());
    // FNV leaves the high bits of short texts nearly alike: a seed's split mixes them.
    let mixed = airlane_base::Seed(hash.finish()).split("arm").0;
    (mixed >> 11) as f64 / (1u64 << 53) as f64
}

/// The provider of a group of titles.
fn provider(
    videos: &[&Arc<Video>],
    file: Option<&Path>,
    request: &ServerConfig,
    payload_bytes: u64,
) -> Result<Provider, InputError> {
    let stored = file.map(StoredNormalisation::load).transpose()?;
    let metric = match &stored {
        Some(stored) => stored.metric,
        None => request.metric.unwrap_or_else(|| common_metric(videos)),
    };
    let player = PlayerConfig { buffer_cap: request.player_buffer, chunk_overhead: Duration::ZERO };
    let mut titles = BTreeMap::new();
    for video in videos {
        for metric in video.metrics() {
            let view = Perceptual::new((*video).clone(), metric)?;
            let qoe = metric.penalties(QoeParams::default());
            let setting = Arc::new(TitleModel::new(view, qoe, player)?);
            titles.insert((video.name.clone(), metric), setting);
        }
    }
    let config = Config {
        baseline_connections: request.baseline,
        fairness: match request.sharing {
            Sharing::Proportional => Fairness::Proportional,
            _ => Fairness::MaxMin,
        },
        // Appendix D is about mean curves.
        utility: match request.sharing {
            Sharing::Proportional => UtilityKind::Basic,
            _ => UtilityKind::ClientAware,
        },
        mu: match request.sharing {
            Sharing::Bounded(mu) => Some(mu),
            _ => None,
        },
        ..Config::default()
    };
    let normalisation = match stored {
        Some(stored) => {
            let alpha = request.alpha.unwrap_or(stored.normalisation.alpha());
            stored.normalisation.with_alpha(alpha)
        }
        None => {
            let alpha = request.alpha.unwrap_or(ALPHA_PER_CONNECTION * request.baseline);
            let own: Vec<&Arc<TitleModel>> =
                titles.iter().filter(|((_, m), _)| *m == metric).map(|(_, s)| s).collect();
            let curves = curves(&own, request);
            match config.fairness {
                Fairness::MaxMin => Normalisation::uniform(
                    Form::FixedRate,
                    alpha,
                    curves.iter().map(RateCurve::qoe),
                ),
                Fairness::Proportional => {
                    let pairs = own.iter().zip(&curves);
                    Normalisation::proportional(alpha, pairs.map(|(s, c)| (&***s, c.qoe(), 1.0)))
                }
            }
        }
    };
    let place = file.unwrap_or(&request.folder);
    Ok(Provider {
        titles,
        metric,
        abr: request.abr,
        values: BTreeMap::new(),
        normalisation: Arc::new(normalisation.map_err(|e| {
            InputError::new(e.to_string(), "see docs/design/minerva.md, Normalisation")
                .at_file(place)
        })?),
        config,
        payload_bytes,
    })
}

/// `Q_i(r)` of each title, spread over the machine's cores.
fn curves(settings: &[&Arc<TitleModel>], request: &ServerConfig) -> Vec<RateCurve> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let part = settings.len().div_ceil(cores).max(1);
    std::thread::scope(|scope| {
        let work = |part: &[&Arc<TitleModel>]| -> Vec<RateCurve> {
            part.iter().map(|s| RateCurve::simulate(s, &request.abr, SESSION)).collect()
        };
        let parts: Vec<_> =
            settings.chunks(part).map(|part| scope.spawn(move || work(part))).collect();
        parts
            .into_iter()
            .flat_map(|p| p.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
            .collect()
    })
}

/// The first measure that all titles have, in the order of tables; VMAF if there is none.
fn common_metric(videos: &[&Arc<Video>]) -> Metric {
    let all = |m: &Metric| videos.iter().all(|v| v.has(*m));
    Metric::ALL.into_iter().find(all).unwrap_or(Metric::Vmaf)
}
