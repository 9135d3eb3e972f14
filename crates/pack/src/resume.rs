//! How far a title is when a run begins: every state that a run which was stopped or killed may
//! leave, where it is kept, and how it is read back.
//!
//! | state | kept as |
//! |---|---|
//! | [`Stage`] of the whole title | `job.json` |
//! | [`RungStage`] of each rung | `video/RUNG/N.m4s`, `encoded-RUNG.json`, `measured-RUNG.json` |
//! | [`AudioStage`] | `audio/`, which gets its name when it is whole |
//!
//! Each of these appears whole or not at all ([`crate::work`]), and only after what it stands for is
//! on the disk. Manifests, playlists, table and poster have no state: they are written anew.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::encode::Encoded;
use crate::error::PackError;
use crate::ladder::Rung;
use crate::order::Order;
use crate::score::Scores;
use crate::work::{Fingerprint, Work, read_json, remove, write_json};

/// Of the job file.
const VERSION: u32 = 1;

/// Definition of a title: its source, and how it is made. Another job is another title.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    version: u32,
    #[serde(rename = "request")]
    pub(crate) order: Order,
    pub(crate) source: Fingerprint,
    stage: Stage,
}

/// Stage of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    /// Pieces are made in the work folder: each rung and the sound has a stage of its own.
    Making,
    /// All is whole and being moved to its place.
    Moving,
    /// The title is there.
    Done,
}

impl Job {
    /// One whose pieces are to be made.
    pub(crate) fn new(order: Order, source: Fingerprint) -> Self {
        Self { version: VERSION, order, source, stage: Stage::Making }
    }

    /// The job that a folder's last run left, if it has one that can be read.
    pub(crate) fn read(work: &Work) -> Option<Self> {
        read_json(&work.path("job.json"))
    }

    /// The job is at `stage` from now on.
    pub(crate) fn enter(&mut self, stage: Stage, work: &Work) -> Result<(), PackError> {
        self.stage = stage;
        write_json(&work.path("job.json"), self)
    }

    fn is_of(&self, order: &Order, source: &Fingerprint) -> bool {
        let mut own = self.order.clone();
        own.files.clear();
        self.version == VERSION && own == *order && self.source == *source
    }
}

/// State of a folder when a run begins, which decides what the run does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    /// No job: the title is begun.
    Nothing,
    /// The job of this request, unfinished: its pieces are made from their stages on.
    Making(Job),
    /// The job of this request with all pieces whole: they are moved to their places.
    Moving(Job),
    /// The title of this request: there is nothing to do.
    Done(Job),
    /// The title of this request without its manifest, as a restart that was killed leaves it: it is
    /// begun anew.
    Damaged(Job),
    /// The job of another request, or of another version of the video: refused, or thrown away on
    /// demand.
    Other(Job),
}

impl Found {
    /// State of the folder `dir`; `work` is open if it has a job file.
    pub(crate) fn in_folder(
        work: Option<&Work>,
        dir: &Path,
        order: &Order,
        source: &Fingerprint,
    ) -> Self {
        let Some(job) = work.and_then(Job::read) else { return Self::Nothing };
        if !job.is_of(order, source) {
            return Self::Other(job);
        }
        match job.stage {
            Stage::Making => Self::Making(job),
            Stage::Moving => Self::Moving(job),
            Stage::Done if dir.join("manifest.mpd").exists() => Self::Done(job),
            Stage::Done => Self::Damaged(job),
        }
    }
}

/// Stage of one rung.
#[derive(Clone, Debug)]
pub(crate) enum RungStage {
    /// Some of its chunks may be whole: encoding goes on after them.
    Encoding,
    /// All chunks are whole.
    Encoded(Encoded),
    /// It has been measured too, with every metric that this run has.
    Measured(Encoded, Scores),
}

/// Scores of a rung, as they are kept until the table is written.
#[derive(Serialize, Deserialize)]
struct Measured {
    vmaf: bool,
    scores: Scores,
}

impl RungStage {
    /// The stage that earlier runs brought a rung to; `vmaf`: this run measures VMAF.
    pub(crate) fn read(work: &Work, rung: &Rung, vmaf: bool) -> Self {
        let Some(encoded) = read_json(&encoded_file(work, rung)) else { return Self::Encoding };
        // Scores without VMAF serve no table with it: another ffmpeg measures again.
        let measured = read_json::<Measured>(&measured_file(work, rung));
        match measured.filter(|m| m.vmaf == vmaf) {
            Some(Measured { scores, .. }) => Self::Measured(encoded, scores),
            None => Self::Encoded(encoded),
        }
    }

    /// The rung has been encoded.
    pub(crate) fn enter_encoded(
        work: &Work,
        rung: &Rung,
        encoded: Encoded,
    ) -> Result<(), PackError> {
        // Scores of earlier chunks are not those of these.
        remove(&measured_file(work, rung))?;
        write_json(&encoded_file(work, rung), &encoded)
    }

    /// The rung has been measured.
    pub(crate) fn enter_measured(
        work: &Work,
        rung: &Rung,
        vmaf: bool,
        scores: Scores,
    ) -> Result<(), PackError> {
        write_json(&measured_file(work, rung), &Measured { vmaf, scores })
    }
}

/// Stage of the sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AudioStage {
    /// It is encoded from its beginning.
    Encoding,
    /// All of it is whole.
    Encoded,
}

impl AudioStage {
    /// The stage that earlier runs brought the sound to.
    pub(crate) fn read(work: &Work) -> Self {
        if audio_folder(work).exists() { Self::Encoded } else { Self::Encoding }
    }
}

/// Folder of the sound.
pub(crate) fn audio_folder(work: &Work) -> PathBuf {
    work.path("audio")
}

fn encoded_file(work: &Work, rung: &Rung) -> PathBuf {
    work.path(format!("encoded-{}.json", rung.name))
}

fn measured_file(work: &Work, rung: &Rung) -> PathBuf {
    work.path(format!("measured-{}.json", rung.name))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use airlane_base::Rate;

    use super::*;
    use crate::PackRequest;

    fn setup() -> (tempfile::TempDir, Work, Order, Fingerprint) {
        let home = tempfile::tempdir().unwrap();
        let video = home.path().join("a.mp4");
        fs::write(&video, "a video").unwrap();
        let work = Work::open(&home.path().join("out")).unwrap();
        let order = Order::of(&PackRequest::new(&video, home.path().join("out"))).unwrap();
        let source = Fingerprint::of(&video).unwrap();
        (home, work, order, source)
    }

    #[test]
    fn every_stage_of_a_job_is_found_again() {
        let (_home, work, order, source) = setup();
        let find = |order: &Order| Found::in_folder(Some(&work), work.dir(), order, &source);
        assert_eq!(find(&order), Found::Nothing);
        let mut job = Job::new(order.clone(), source.clone());
        job.enter(Stage::Making, &work).unwrap();
        assert_eq!(find(&order), Found::Making(job.clone()));
        job.order.files = vec!["manifest.mpd".to_owned()];
        job.enter(Stage::Moving, &work).unwrap();
        assert_eq!(
            find(&order),
            Found::Moving(job.clone()),
            "the files are no part of the request"
        );
        job.enter(Stage::Done, &work).unwrap();
        assert_eq!(find(&order), Found::Damaged(job.clone()), "there is no manifest");
        fs::write(work.dir().join("manifest.mpd"), "<MPD/>").unwrap();
        assert_eq!(find(&order), Found::Done(job.clone()));
        let mut other = order.clone();
        other.title = "another".to_owned();
        assert_eq!(find(&other), Found::Other(job));
        // A job file that a full disk cut short is none.
        fs::write(work.path("job.json"), "{\"version\":1,").unwrap();
        assert_eq!(find(&order), Found::Nothing);
    }

    #[test]
    fn the_job_file_of_earlier_versions_is_read() {
        let (_home, work, order, source) = setup();
        let mut job = Job::new(order, source);
        job.enter(Stage::Moving, &work).unwrap();
        let text = fs::read_to_string(work.path("job.json")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let members: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(members, ["request", "source", "stage", "version"]);
        assert_eq!((&json["version"], &json["stage"]), (&1.into(), &"moving".into()));
    }

    #[test]
    fn every_stage_of_a_rung_is_found_again() {
        let (_home, work, ..) = setup();
        let rung = Rung {
            name: "144p".to_owned(),
            width: 256,
            height: 144,
            rate: Rate::from_bps(110_000),
        };
        let find = |vmaf| RungStage::read(&work, &rung, vmaf);
        assert!(matches!(find(true), RungStage::Encoding));
        let encoded = Encoded { frames: 250, chunks: 3 };
        RungStage::enter_encoded(&work, &rung, encoded).unwrap();
        assert!(matches!(find(true), RungStage::Encoded(e) if e == encoded));
        RungStage::enter_measured(&work, &rung, false, Scores::default()).unwrap();
        assert!(matches!(find(false), RungStage::Measured(e, _) if e == encoded));
        assert!(matches!(find(true), RungStage::Encoded(_)), "VMAF is still to be measured");
        // Encoded again: the scores are not those of the new chunks.
        fs::remove_file(encoded_file(&work, &rung)).unwrap();
        assert!(matches!(find(false), RungStage::Encoding));
        RungStage::enter_encoded(&work, &rung, encoded).unwrap();
        assert!(matches!(find(false), RungStage::Encoded(_)));
    }

    #[test]
    fn the_sound_is_whole_when_its_folder_has_its_name() {
        let (_home, work, ..) = setup();
        fs::create_dir(work.path("audio.part")).unwrap();
        assert_eq!(AudioStage::read(&work), AudioStage::Encoding);
        fs::rename(work.path("audio.part"), audio_folder(&work)).unwrap();
        assert_eq!(AudioStage::read(&work), AudioStage::Encoded);
    }
}
