//! The folder that a command leaves its results in.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use airlane_base::InputError;

/// The files that commands of the laboratory write. A command first removes those of an earlier one
/// from its folder, so that old results are not taken for new ones.
const RESULTS: [&str; 6] =
    ["summary.json", "run.json", "report.html", "report.json.gz", "sweep.csv", "sweep.parquet"];

/// The folder for the pages of claims, relative to that for results.
pub const CLAIM_PAGES: &str = "claims";

/// A folder for results that exists and can be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutFolder(PathBuf);

impl OutFolder {
    /// Makes the folder and its parents, proves that it can be written, and takes the results of
    /// an earlier command away. Call it before the work starts, after all other input is known to
    /// be good.
    ///
    /// # Errors
    /// If the folder cannot be made or written.
    pub fn prepare(path: impl Into<PathBuf>) -> Result<Self, InputError> {
        let folder = Self::prove(path)?;
        for name in RESULTS {
            let file = folder.path(name);
            match fs::remove_file(&file) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(unusable(&file, "replace the results of an earlier run", &e));
                }
                _ => {}
            }
        }
        // Only pages are taken away: whatever else lies there is not ours.
        for page in fs::read_dir(folder.path(CLAIM_PAGES)).into_iter().flatten().flatten() {
            let page = page.path();
            if page.extension().is_some_and(|e| e == "html") {
                fs::remove_file(&page)
                    .map_err(|e| unusable(&page, "replace the results of an earlier run", &e))?;
            }
        }
        Ok(folder)
    }

    /// The folder in it that holds a page for each claim, made if it is not there.
    ///
    /// # Errors
    /// If it cannot be made or written.
    pub fn claim_pages(&self) -> Result<Self, InputError> {
        Self::prove(self.path(CLAIM_PAGES))
    }

    /// Makes the folder and its parents, and proves that it can be written.
    ///
    /// # Errors
    /// If the folder cannot be made or written.
    pub fn prove(path: impl Into<PathBuf>) -> Result<Self, InputError> {
        let path = path.into();
        fs::create_dir_all(&path).map_err(|e| unusable(&path, "make the folder", &e))?;
        let folder = Self(path);
        folder.write(".airlane-probe", b"")?;
        let probe = folder.path(".airlane-probe");
        fs::remove_file(&probe).map_err(|e| unusable(&probe, "write into the folder", &e))?;
        Ok(folder)
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The folder itself.
    pub fn dir(&self) -> &Path {
        &self.0
    }

    /// Writes a file whole or not at all: under another name first, then renamed.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), InputError> {
        let file = self.path(name);
        let partial = self.path(&format!(".{name}.{}.partial", std::process::id()));
        let written = fs::File::create(&partial)
            .and_then(|mut f| f.write_all(bytes).and_then(|()| f.sync_all()))
            .and_then(|()| fs::rename(&partial, &file));
        written.map_err(|e| {
            // Nothing to be done about a leftover if even this fails.
            let _ = fs::remove_file(&partial);
            unusable(&file, "write", &e)
        })
    }
}

fn unusable(path: &Path, doing: &str, error: &std::io::Error) -> InputError {
    InputError::new(
        format!("cannot {doing}: {error}"),
        "expected a folder that can be written: see --out",
    )
    .at_file(path)
}
