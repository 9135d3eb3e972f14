//! What Minerva's schemes read from files: popularities of titles, and normalisations that were
//! computed before.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use airlane_base::{Fnv64, InputError};
use airlane_minerva::{Form, StoredNormalisation};

use crate::plan::Plan;
use crate::popularity::Popularity;
use crate::scenario::{Fairness, Minerva, Scenario};

/// The files that have been read, for plans of several scenarios.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileCache {
    popularities: BTreeMap<PathBuf, Arc<Popularity>>,
    normalisations: BTreeMap<PathBuf, Arc<StoredNormalisation>>,
}

/// What the files of a plan's schemes say, by their names in the scenario.
#[derive(Clone, Debug, Default)]
pub struct MinervaFiles {
    /// By title.
    popularities: BTreeMap<PathBuf, BTreeMap<String, f64>>,
    normalisations: BTreeMap<PathBuf, Arc<StoredNormalisation>>,
}

impl MinervaFiles {
    /// Reads the files that the schemes of `plan` name, and checks that they go together with it.
    ///
    /// # Errors
    /// What is wrong with a file; a popularity of an unknown title or none of a known one; a
    /// normalisation of another measure of quality, or for another fairness.
    pub(crate) fn read(plan: &Plan, cache: &mut FileCache) -> Result<Self, InputError> {
        let mut files = Self::default();
        let folder = plan.scenario.source.folder.clone().unwrap_or_default();
        // Nobody watches: there is nothing that f could be of.
        let Some(corpus) = &plan.corpus else { return Ok(files) };
        for (number, scheme) in plan.scenario.schemes.iter().enumerate() {
            let Some(minerva) = &scheme.minerva else { continue };
            if let Some(name) = &minerva.popularity {
                let popularity = cached(&mut cache.popularities, &folder.join(name), |file| {
                    Popularity::load(file)
                })?;
                let known: Vec<&str> = corpus.videos().map(|v| v.name.as_str()).collect();
                let titles = plan.titles(corpus);
                let titles = titles.iter().map(|v| v.name.as_str());
                files
                    .popularities
                    .insert(name.clone(), popularity.of(titles, &known, &corpus.name)?);
            }
            if let Some(name) = &minerva.normalisation_file {
                let stored = cached(&mut cache.normalisations, &folder.join(name), |file| {
                    StoredNormalisation::load(file)
                })?;
                suits(&plan.scenario, minerva, &stored).map_err(|e| {
                    e.at_file(&plan.scenario.source.name)
                        .at_key(format!("scheme.{number}.minerva.normalisation_file"))
                })?;
                files.normalisations.insert(name.clone(), stored);
            }
        }
        Ok(files)
    }

    /// The popularity of a title under a scheme: that of its file, or the same for all.
    pub(crate) fn popularity(&self, minerva: &Minerva, title: &str) -> f64 {
        let of = minerva.popularity.as_ref().and_then(|name| self.popularities.get(name));
        of.map_or(1.0, |of| of.get(title).copied().unwrap_or(0.0))
    }

    /// The normalisation that a scheme has from a file.
    pub(crate) fn normalisation(&self, minerva: &Minerva) -> Option<&StoredNormalisation> {
        self.normalisations.get(minerva.normalisation_file.as_ref()?).map(|stored| &**stored)
    }

    /// A hash of what a scheme has from its files: a file may change and keep its name.
    pub(crate) fn digest(&self, minerva: Option<&Minerva>) -> u64 {
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

/// Whether utilities of a scenario's viewers are what a stored normalisation maps to rates. Titles,
/// players and their settings may be others: what is loaded is what the provider decided on.
fn suits(
    scenario: &Scenario,
    minerva: &Minerva,
    stored: &StoredNormalisation,
) -> Result<(), InputError> {
    let of_scheme = scenario.viewers.iter().filter(|v| v.control.is_none());
    let metric = |v: &crate::scenario::Viewer| v.metric.unwrap_or(scenario.player.metric);
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
