//! What Minerva's schemes read from files: popularities of titles, and normalisations that were
//! computed before.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use airlane_base::{Fnv64, InputError};
use airlane_minerva::{Form, StoredNormalisation};

use super::content_draws::ContentDraws;
use super::popularity::Popularity;
use super::types::{Fairness, Minerva, Viewer, Viewers};
use airlane_scenario::Scenario;

/// The files that have been read, for plans of several scenarios.
#[derive(Clone, Debug, Default)]
pub(super) struct FileCache {
    popularities: BTreeMap<PathBuf, Arc<Popularity>>,
    normalisations: BTreeMap<PathBuf, Arc<StoredNormalisation>>,
}

/// Content of the files of a plan's schemes, by their names in the scenario.
#[derive(Clone, Debug, Default)]
pub struct MinervaFiles {
    /// By title.
    popularities: BTreeMap<PathBuf, BTreeMap<String, f64>>,
    normalisations: BTreeMap<PathBuf, Arc<StoredNormalisation>>,
}

impl MinervaFiles {
    /// Reads the files that the schemes name, and checks that they go together with it.
    ///
    /// # Errors
    /// What is wrong with a file; a popularity of an unknown title or none of a known one; a
    /// normalisation of another measure of quality, or for another fairness.
    pub(super) fn read(
        drawn: &ContentDraws,
        traffic: &Viewers,
        scenario: &Scenario,
        cache: &mut FileCache,
    ) -> Result<Self, InputError> {
        let mut files = Self::default();
        let folder = scenario.source.folder.clone().unwrap_or_default();
        // Without viewers there is no f.
        let Some(corpus) = &drawn.corpus else { return Ok(files) };
        for (number, scheme) in scenario.schemes.iter().enumerate() {
            let Some(minerva) = super::minerva_of(scheme) else { continue };
            if let Some(name) = &minerva.popularity {
                let popularity = cached(&mut cache.popularities, &folder.join(name), |file| {
                    Popularity::load(file)
                })?;
                let known: Vec<&str> = corpus.videos().map(|v| v.name.as_str()).collect();
                let titles = drawn.titles(traffic);
                let titles = titles.iter().map(|v| v.name.as_str());
                files
                    .popularities
                    .insert(name.clone(), popularity.of(titles, &known, &corpus.name)?);
            }
            if let Some(name) = &minerva.normalisation_file {
                let stored = cached(&mut cache.normalisations, &folder.join(name), |file| {
                    StoredNormalisation::load(file)
                })?;
                suits(traffic, minerva, &stored).map_err(|e| {
                    e.at_file(&scenario.source.name)
                        .at_key(format!("scheme.{number}.minerva.normalisation_file"))
                })?;
                files.normalisations.insert(name.clone(), stored);
            }
        }
        Ok(files)
    }

    /// The popularity of a title under a scheme: that of its file, or the same for all.
    pub(super) fn popularity(&self, minerva: &Minerva, title: &str) -> f64 {
        let of = minerva.popularity.as_ref().and_then(|name| self.popularities.get(name));
        of.map_or(1.0, |of| of.get(title).copied().unwrap_or(0.0))
    }

    /// The normalisation that a scheme has from a file.
    pub(super) fn normalisation(&self, minerva: &Minerva) -> Option<&StoredNormalisation> {
        self.normalisations.get(minerva.normalisation_file.as_ref()?).map(|stored| &**stored)
    }

    /// A hash of what a scheme has from its files: a file may change and keep its name.
    pub(super) fn digest(&self, minerva: Option<&Minerva>) -> u64 {
        let popularity = minerva.and_then(|m| self.popularities.get(m.popularity.as_ref()?));
        let normalisation = minerva.and_then(|m| self.normalisation(m));
        let mut hash = Fnv64::new();
        hash.write(format!("{popularity:?} {normalisation:?}").as_bytes());
        hash.finish()
    }
}

/// The content of a file, read when it is asked for first.
fn cached<T>(
    known: &mut BTreeMap<PathBuf, Arc<T>>,
    file: &Path,
    load: impl FnOnce(&Path) -> Result<T, InputError>,
) -> Result<Arc<T>, InputError> {
    if let Some(content) = known.get(file) {
        return Ok(content.clone());
    }
    let content = Arc::new(load(file)?);
    known.insert(file.to_owned(), content.clone());
    Ok(content)
}

/// Checks that the utilities of a scenario's viewers are what a stored normalisation maps to rates.
/// Titles, players and their settings may be others: what is loaded is what the provider decided
/// on.
fn suits(
    traffic: &Viewers,
    minerva: &Minerva,
    stored: &StoredNormalisation,
) -> Result<(), InputError> {
    let of_scheme = traffic.viewers.iter().filter(|v| v.control.is_none());
    let metric = |v: &Viewer| traffic.metric_of(v);
    if let Some(viewer) = of_scheme.clone().find(|v| metric(v) != stored.metric) {
        let found = format!("found a normalisation of {}", stored.metric);
        let expected = format!("expected one of {}, as {} watches", metric(viewer), viewer.name);
        return Err(InputError::new(found, expected));
    }
    let proportional = minerva.fairness == Some(Fairness::Proportional);
    if (stored.normalisation.form() == Form::Proportional) != proportional {
        let (found, expected) = match proportional {
            true => ("max-min", "proportional"),
            false => ("proportional", "max-min"),
        };
        return Err(InputError::new(
            format!("found a normalisation for {found} fairness"),
            format!("expected one for {expected} fairness, as the scheme has it"),
        ));
    }
    Ok(())
}
