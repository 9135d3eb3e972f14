//! What the tests share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use airlane_abr::{Abr, AbrKind, PlayerConfig, TitleModel};
use airlane_media::{Metric, Perceptual, Video};
use airlane_minerva::{Form, Normalisation, RateCurve};
use airlane_quality::QoeParams;

pub const WITHIN: Duration = Duration::from_secs(200);

pub fn setting_with(video: Arc<Video>, player: PlayerConfig) -> Arc<TitleModel> {
    let view = Perceptual::new(video, Metric::Vmaf).unwrap();
    Arc::new(TitleModel::new(view, QoeParams::default(), player).unwrap())
}

pub fn setting(video: Arc<Video>) -> Arc<TitleModel> {
    setting_with(video, PlayerConfig::default())
}

pub fn abr() -> Arc<dyn Abr> {
    Arc::new(AbrKind::default())
}

pub fn curves(settings: &[Arc<TitleModel>]) -> Vec<RateCurve> {
    settings.iter().map(|s| RateCurve::simulate(s, &*abr(), WITHIN)).collect()
}

pub fn normalisation(settings: &[Arc<TitleModel>], alpha: f64) -> Arc<Normalisation> {
    let curves = curves(settings);
    let f = Normalisation::uniform(Form::FixedRate, alpha, curves.iter().map(RateCurve::qoe));
    Arc::new(f.unwrap())
}

/// The real content, `None` (and a line that says so) if it is not there.
pub fn comyco() -> Option<PathBuf> {
    let data = std::env::var_os("AIRLANE_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let dir = data.join("video/comyco");
    if dir.is_dir() {
        return Some(dir);
    }
    assert!(
        std::env::var_os("AIRLANE_STRICT").is_none_or(|v| v != "1"),
        "{} is missing and AIRLANE_STRICT=1",
        dir.display()
    );
    println!("left out: {} is missing", dir.display());
    None
}
