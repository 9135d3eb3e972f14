//! What the tests share: which ffmpegs there are, and clips made by them.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use airlane_media::Video;
use airlane_media::dash::{self, Presentation};
use airlane_media::table;
use airlane_pack::{Event, PackError, PackReport, PackRequest, pack};

/// A fixed name, with or without a folder, if it runs.
fn runs(program: PathBuf) -> Option<PathBuf> {
    Command::new(&program).arg("-version").output().ok().map(|_| program)
}

pub fn missing(what: &str) -> bool {
    let strict = std::env::var("AIRLANE_STRICT").is_ok_and(|v| v == "1");
    assert!(!strict, "{what} is missing: run make setup");
    eprintln!("left out: {what} is missing, run make setup");
    false
}

/// The ffmpeg on the path.
pub fn plain() -> Option<PathBuf> {
    let found = runs("ffmpeg".into());
    (found.is_some() || missing("ffmpeg")).then_some(found).flatten()
}

/// An ffmpeg with libvmaf: what `AIRLANE_FFMPEG` names, the one on the path, or that of `make
/// setup`.
pub fn with_vmaf() -> Option<PathBuf> {
    let named = std::env::var_os("AIRLANE_FFMPEG").map(PathBuf::from);
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/ffmpeg");
    let found = named.into_iter().chain(["ffmpeg".into(), tools]).filter_map(runs).find(has_vmaf);
    (found.is_some() || missing("an ffmpeg with libvmaf")).then_some(found).flatten()
}

/// Whether an ffmpeg lists libvmaf.
pub fn has_vmaf(program: &PathBuf) -> bool {
    let filters = Command::new(program).args(["-hide_banner", "-filters"]).output().unwrap();
    String::from_utf8_lossy(&filters.stdout).contains(" libvmaf ")
}

/// Makes a clip with arguments of ffmpeg.
pub fn clip(ffmpeg: &Path, to: &Path, arguments: &str) {
    let mut command = Command::new(ffmpeg);
    command.args(["-nostdin", "-v", "error", "-y"]).args(arguments.split_whitespace()).arg(to);
    let out = command.output().unwrap();
    assert!(out.status.success(), "{arguments}: {}", String::from_utf8_lossy(&out.stderr));
}

/// Pictures that move, of a size, rate and length.
pub fn pictures(size: &str, fps: &str, seconds: f64) -> String {
    format!("-f lavfi -i testsrc2=s={size}:r={fps}:d={seconds}")
}

/// How clips are encoded: fast.
pub const FAST: &str = "-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac";

/// Runs a request and collects the warnings.
pub fn run(request: &PackRequest) -> (Result<PackReport, PackError>, Vec<String>) {
    let warnings = RefCell::new(Vec::new());
    let observer = |event| {
        if let Event::Warning(text) = event {
            warnings.borrow_mut().push(text);
        }
    };
    let result = pack(request, &observer, &AtomicBool::new(false));
    (result, warnings.into_inner())
}

/// The manifest in a folder.
pub fn title(dir: &Path) -> Presentation {
    dash::parse(&std::fs::read_to_string(dir.join("manifest.mpd")).unwrap()).unwrap()
}

/// The quality table in a folder.
pub fn quality(dir: &Path) -> Video {
    let table = table::load(dir.join("quality.json")).unwrap();
    assert_eq!(table.traps, Default::default());
    table.video
}
