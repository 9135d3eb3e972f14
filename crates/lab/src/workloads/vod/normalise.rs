//! Minerva's normalisation of a corpus, computed once and written to a file for servers of it.

use std::fs;
use std::path::{Path, PathBuf};

use airlane_abr::PlayerConfig;
use airlane_base::InputError;
use airlane_media::{Corpus, Metric};
pub use airlane_minerva::Form;
use airlane_minerva::stored::{FORMAT, PlayerSettings, StoredNormalisation, Titles, VERSION};
use airlane_minerva::{Normalisation, RateCurve};
use airlane_quality::QoeParams;

use super::cache::{SESSION, abr_kind, settings_of, spread};
use super::popularity::Popularity;
use super::{Abr, Player, alpha};
use airlane_judge::request::Outcome;
use airlane_sim::LabError;
use airlane_sim::OutFolder;

/// The forms that a request may ask for, by their names on the command line and in the file.
pub const FORMS: [(&str, Form); 3] = [
    ("fixed-rate", Form::FixedRate),
    ("equation2", Form::Equation2),
    ("fixed-rate-fitted", Form::FixedRateFitted),
];

/// Compute Minerva's normalisation of a corpus.
#[derive(Clone, Debug)]
pub struct NormaliseRequest {
    /// A folder of chunk tables; `None`: the embedded content.
    pub folder: Option<PathBuf>,
    /// The measure of quality.
    pub metric: Metric,
    /// Bitrate algorithm, which chooses the rungs.
    pub abr: Abr,
    /// Form of the average: one of [`FORMS`].
    pub form: Form,
    /// Factor on every weight. `None`: the corpus's own, per plain connection, times `baseline`.
    pub alpha: Option<f64>,
    /// Plain connections that a viewer counts for on average.
    pub baseline: f64,
    /// Popularity of each title: a CSV file. `None`: all the same.
    pub popularity: Option<PathBuf>,
    /// Titles with fewer chunks are left out.
    pub min_chunks: usize,
    /// The file to write. `None`: a table for people.
    pub out: Option<PathBuf>,
}

/// Number of points of f that are shown.
const SHOWN: usize = 12;

/// Computes f over the titles of a corpus, and writes it or shows it.
///
/// # Errors
/// What is wrong with the tables, the popularities or how they go together; what the disk refuses.
pub fn normalise(request: &NormaliseRequest) -> Result<Outcome, LabError> {
    let stored = stored(request)?;
    let line = line(&stored);
    match &request.out {
        None => Ok(outcome(table(&stored.normalisation), line, PathBuf::new())),
        Some(file) => {
            let (folder, name) = place(file)?;
            folder.write(name, stored.to_json().as_bytes())?;
            let line = format!("{line}: {}", file.display());
            Ok(outcome(String::new(), line, folder.dir().to_owned()))
        }
    }
}

fn outcome(table: String, line: String, out: PathBuf) -> Outcome {
    Outcome { table, line, out, failed: 0, stopped: false }
}

/// The normalisation that `request` asks for, with what it was made of.
fn stored(request: &NormaliseRequest) -> Result<StoredNormalisation, LabError> {
    if let Some(out) = &request.out {
        check_place(out, request.folder.as_deref())?;
    }
    let corpus = match &request.folder {
        Some(folder) => Corpus::load_dir(folder)?,
        None => Corpus::embedded()?,
    };
    let popularity = request.popularity.as_ref().map(Popularity::load).transpose()?;
    let videos: Vec<_> =
        corpus.videos().filter(|v| v.chunks() >= request.min_chunks).cloned().collect();
    if videos.is_empty() {
        let longest = corpus.videos().map(|v| v.chunks()).max().unwrap_or(0);
        let found = format!("no title of at least {} chunks", request.min_chunks);
        let expected = format!("the longest has {longest}: see --min-segments");
        return Err(InputError::new(found, expected).at_file(&corpus.name).into());
    }
    let popularity = match popularity {
        None => None,
        Some(popularity) => {
            let known: Vec<&str> = corpus.videos().map(|v| v.name.as_str()).collect();
            Some(popularity.of(videos.iter().map(|v| v.name.as_str()), &known, &corpus.name)?)
        }
    };
    let player = Player { metric: request.metric, abr: request.abr, ..Player::default() };
    let settings = settings_of(&videos, &player)?;
    let abr = abr_kind(player.abr, player.horizon);
    let content_hash = corpus.content_hash();
    let alpha =
        request.alpha.unwrap_or_else(|| alpha::per_connection(content_hash) * request.baseline);
    let of = |title: &str| match &popularity {
        None => 1.0,
        Some(of) => of.get(title).copied().unwrap_or(0.0),
    };
    let f = match request.form {
        Form::Equation2 => {
            let curves = settings.iter().map(|(title, s)| (s.view().curve(), of(title)));
            Normalisation::new(request.form, alpha, curves)
        }
        form => {
            let all = settings.iter().collect();
            let curves = spread(all, |s| RateCurve::simulate(s, &abr, SESSION));
            Normalisation::new(form, alpha, curves.iter().map(|(t, c)| (c.qoe(), of(t))))
        }
    }
    .map_err(|e| {
        InputError::new(e.to_string(), "see docs/design/minerva.md").at_file(&corpus.name)
    })?;
    let any = settings.values().next().map(|s| (s.qoe_params(), s.player()));
    let (qoe, config) = any.ok_or_else(|| LabError::fault("a corpus without titles"))?;
    Ok(StoredNormalisation {
        format: FORMAT.to_owned(),
        version: VERSION,
        airlane: airlane_sim::VERSION.to_owned(),
        corpus: Titles {
            name: corpus.name.clone(),
            content_hash: format!("{content_hash:016x}"),
            min_chunks: request.min_chunks,
            titles: videos.len(),
        },
        metric: request.metric,
        abr: abr_name(request.abr).to_owned(),
        player: player_settings(player.horizon, qoe, config),
        popularity,
        normalisation: f,
    })
}

/// The algorithm's name in scenarios.
fn abr_name(abr: Abr) -> &'static str {
    Abr::adaptive().find(|(_, known)| *known == abr).map_or("fixed", |(name, _)| name)
}

fn player_settings(horizon: usize, qoe: QoeParams, config: PlayerConfig) -> PlayerSettings {
    PlayerSettings {
        horizon,
        buffer_cap_s: config.buffer_cap.as_secs_f64(),
        overhead_s: config.chunk_overhead.as_secs_f64(),
        beta: qoe.beta,
        gamma: qoe.gamma,
        smoothness: qoe.smoothness,
    }
}

/// Titles and settings that f is computed from, in a line.
fn line(stored: &StoredNormalisation) -> String {
    let StoredNormalisation { corpus, metric, abr, popularity, normalisation: f, .. } = stored;
    let Titles { name, content_hash, min_chunks, titles } = corpus;
    let form = FORMS.iter().find(|(_, form)| *form == f.form()).map_or("", |(name, _)| name);
    let popularity = if popularity.is_some() { "from a file" } else { "uniform" };
    format!(
        "{name}, content {content_hash}: f of {titles} titles of at least {min_chunks} chunks, \
         {metric}, {abr}, {form}, popularity {popularity}, alpha {}",
        f.alpha()
    )
}

/// f at evenly spaced utilities over its table.
fn table(f: &Normalisation) -> String {
    let (least, most) = f.points().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), p| {
        (least.min(p.0), most.max(p.0))
    });
    let mut out = format!("{:>8}  {:>12}\n", "u", "f(u), Mbit/s");
    for i in 0..SHOWN {
        let u = least + (most - least) * i as f64 / (SHOWN - 1) as f64;
        out.push_str(&format!("{u:>8.4}  {:>12.4}\n", f.eval(u) / 1e6));
    }
    out
}

/// Checks that the result may be written to `out`.
fn check_place(out: &Path, content: Option<&Path>) -> Result<(), InputError> {
    let refuse = |found: &str, expected: &str| {
        Err(InputError::new(format!("--out: {found}"), expected).at_file(out))
    };
    if out.is_dir() {
        return refuse("found a folder", "expected a file, such as f.json");
    }
    // Every JSON file of a content folder is a chunk table: the folder would be refused from then
    // on.
    let same = |content: &Path| {
        let parent = fs::canonicalize(parent(out)).ok();
        parent.is_some() && parent == fs::canonicalize(content).ok()
    };
    if content.is_some_and(same) {
        return refuse("found a file among the chunk tables", "expected one in another folder");
    }
    Ok(())
}

/// The folder of a file.
fn parent(file: &Path) -> &Path {
    file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The folder of a file, which exists and can be written, and the file's name in it.
fn place(file: &Path) -> Result<(OutFolder, &str), InputError> {
    let name = file.file_name().and_then(|n| n.to_str()).ok_or_else(|| {
        InputError::new("--out: no name of a file", "expected one, such as f.json").at_file(file)
    })?;
    Ok((OutFolder::prove(parent(file))?, name))
}
