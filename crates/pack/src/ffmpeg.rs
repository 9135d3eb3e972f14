//! ffmpeg as a process: what it can do, how it is run, stopped, and quoted.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use crate::error::PackError;

/// The first release with `-fps_mode`, which later ones ask for.
const OLDEST: (u32, u32) = (5, 1);
/// Maximum time for which a raised stop flag goes unseen.
const STOP_WITHIN: Duration = Duration::from_millis(50);
/// Lines of ffmpeg's complaints that are kept.
const LAST_WORDS: usize = 40;

/// An ffmpeg that runs.
#[derive(Clone, Debug)]
pub(crate) struct Ffmpeg {
    program: PathBuf,
    /// Version of ffmpeg, in its own words.
    pub(crate) version: String,
    encoders: String,
}

/// Some bytes of a file, to be fed to ffmpeg.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) file: PathBuf,
    pub(crate) offset: u64,
    /// Number of bytes; up to the end without.
    pub(crate) length: Option<u64>,
}

/// Job of one run of ffmpeg.
pub(crate) struct Job<'a> {
    /// In words, such as `encoding 360p`.
    pub(crate) doing: String,
    /// The folder that it runs in: names of files in filters are relative to it.
    pub(crate) dir: &'a Path,
    pub(crate) arguments: Vec<OsString>,
    /// Pieces of files that it reads from its standard input.
    pub(crate) feed: Vec<Piece>,
}

/// Output of a running ffmpeg.
pub(crate) enum Heard {
    /// Bytes of its standard output.
    Bytes(Vec<u8>),
    /// Number of frames that it has put out.
    Frames(u64),
    /// A line of its log.
    Line(String),
    /// A line of its log that is a warning, where levels are named ([`LEVELS`]).
    Warning(String),
}

/// The level of a log with warnings, in which each line names its level.
pub(crate) const LEVELS: &str = "level+warning";

impl Ffmpeg {
    /// Finds out what the ffmpeg at `program`, or the one on the path, can do.
    pub(crate) fn open(program: Option<&Path>, stop: &AtomicBool) -> Result<Self, PackError> {
        let program = program.unwrap_or(Path::new("ffmpeg")).to_owned();
        // It runs in other folders: a path with a slash must not depend on where.
        let program = match program.components().count() {
            0 | 1 => program,
            _ => std::path::absolute(&program).map_err(PackError::io("find", &program))?,
        };
        let mut ffmpeg = Self { program, version: String::new(), encoders: String::new() };
        let version = ffmpeg.text(&["-version"], stop)?;
        let first = version.lines().next().unwrap_or_default();
        let Some(name) = first.strip_prefix("ffmpeg version ") else {
            return Err(
                ffmpeg.lacks(format!("it says of itself {first:?}, not ffmpeg version ..."))
            );
        };
        ffmpeg.version = name.split_whitespace().next().unwrap_or_default().to_owned();
        if release(&ffmpeg.version).is_some_and(|r| r < OLDEST) {
            let found = format!("it is version {}, and 5.1 or later is needed", ffmpeg.version);
            return Err(ffmpeg.lacks(found));
        }
        ffmpeg.encoders = ffmpeg.text(&["-hide_banner", "-encoders"], stop)?;
        Ok(ffmpeg)
    }

    /// The error that it lacks something.
    pub(crate) fn lacks(&self, what: impl Into<String>) -> PackError {
        PackError::PoorFfmpeg { program: self.program.clone(), lacks: what.into() }
    }

    /// Makes sure that it has an encoder.
    pub(crate) fn needs_encoder(&self, name: &str) -> Result<(), PackError> {
        match self.encoders.lines().any(|l| l.split_whitespace().nth(1) == Some(name)) {
            true => Ok(()),
            false => Err(self.lacks(format!("it was built without {name}"))),
        }
    }

    /// True if ffmpeg measures VMAF with these models, tried on a few frames: some builds have
    /// the filter but not its models.
    pub(crate) fn has_vmaf(&self, model: &str, stop: &AtomicBool) -> Result<bool, PackError> {
        let input = "testsrc2=s=192x108:r=10:d=0.3";
        let graph = format!("[0:v][1:v]libvmaf=model={model}");
        let arguments = [
            "-nostdin",
            "-hide_banner",
            "-v",
            "error",
            "-f",
            "lavfi",
            "-i",
            input,
            "-f",
            "lavfi",
            "-i",
            input,
            "-lavfi",
            &graph,
            "-f",
            "null",
            "-",
        ];
        match self.text(&arguments, stop) {
            Ok(_) => Ok(true),
            Err(PackError::Ffmpeg { .. }) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Output of a short run.
    fn text(&self, arguments: &[&str], stop: &AtomicBool) -> Result<String, PackError> {
        let job = Job {
            doing: "saying what it can do".to_owned(),
            dir: Path::new("."),
            arguments: arguments.iter().map(OsString::from).collect(),
            feed: Vec::new(),
        };
        let mut out = Vec::new();
        self.run(&job, stop, &mut |heard| {
            if let Heard::Bytes(bytes) = heard {
                out.extend(bytes);
            }
            Ok(())
        })?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// Runs a job to its end and returns what ffmpeg complained of on the way. Raising `stop`, or
    /// an error from `on`, ends ffmpeg at once.
    pub(crate) fn run(
        &self,
        job: &Job<'_>,
        stop: &AtomicBool,
        on: &mut dyn FnMut(Heard) -> Result<(), PackError>,
    ) -> Result<Vec<String>, PackError> {
        let feed = if job.feed.is_empty() { Stdio::null() } else { Stdio::piped() };
        let child = Command::new(&self.program)
            .args(&job.arguments)
            .current_dir(job.dir)
            .env("AV_LOG_FORCE_NOCOLOR", "1")
            // SVT-AV1 speaks for itself: errors only.
            .env("SVT_LOG", "1")
            .stdin(feed)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| PackError::NoFfmpeg { program: self.program.clone(), error })?;
        let mut running = Running(child);
        let child = &mut running.0;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut words = VecDeque::new();
        let fed = thread::scope(|scope| {
            let (to, from) = mpsc::sync_channel(16);
            if let Some(stdout) = stdout {
                let to = to.clone();
                scope.spawn(move || hear_bytes(stdout, &to));
            }
            if let Some(stderr) = stderr {
                scope.spawn(move || hear_lines(stderr, &to));
            }
            let feeder = stdin.map(|stdin| scope.spawn(|| give(stdin, &job.feed)));
            let ended = loop {
                if stop.load(Ordering::Relaxed) {
                    break Err(PackError::Stopped);
                }
                match from.recv_timeout(STOP_WITHIN) {
                    Ok(heard) => {
                        if let Heard::Line(line) = &heard {
                            if words.len() == LAST_WORDS {
                                words.pop_front();
                            }
                            words.push_back(line.clone());
                        }
                        if let Err(e) = on(heard) {
                            break Err(e);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break Ok(()),
                }
            };
            if ended.is_err() {
                // The threads end as their pipes do.
                running.end();
            }
            drop(from);
            ended?;
            match feeder.map(|f| f.join()) {
                Some(Ok(fed)) => fed,
                // Nothing in `give` panics.
                Some(Err(_)) | None => Ok(()),
            }
        });
        let fed = match fed {
            // Whoever has read enough closes the pipe: its exit code says whether all is well.
            Err(PackError::Io { error, .. }) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        };
        fed?;
        let status = running.0.wait().map_err(PackError::io("wait for", &self.program))?;
        let words: Vec<String> = words.into();
        if status.success() {
            return Ok(words);
        }
        let reason = match last_words(&words) {
            said if said.is_empty() => format!("it ended with {status} and without a word"),
            said => said,
        };
        Err(PackError::Ffmpeg { doing: job.doing.clone(), reason })
    }
}

/// A process that does not outlive its owner.
struct Running(Child);

impl Running {
    fn end(&mut self) {
        // It may have ended by itself: then there is nothing to do.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

fn hear_bytes(mut from: impl Read, to: &SyncSender<Heard>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(n) = from.read(&mut buffer) {
        let Some(bytes) = buffer.get(..n).filter(|b| !b.is_empty()) else { return };
        if to.send(Heard::Bytes(bytes.to_vec())).is_err() {
            return;
        }
    }
}

/// Standard error carries complaints and, with `-progress pipe:2`, lines such as `frame=12`.
fn hear_lines(from: impl Read, to: &SyncSender<Heard>) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        let heard = match progress_line(&text) {
            None if text.is_empty() => None,
            None => Some(leveled(text)),
            Some(("frame", count)) => count.trim().parse().ok().map(Heard::Frames),
            Some(_) => None,
        };
        if heard.is_some_and(|h| to.send(h).is_err()) {
            return;
        }
        line.clear();
    }
}

/// A line such as `[mov @ 0x55] [error] text` without the level.
fn leveled(line: String) -> Heard {
    for level in ["[warning] ", "[error] ", "[fatal] ", "[panic] "] {
        let Some((before, text)) = line.split_once(level) else { continue };
        if before.is_empty() || (before.starts_with('[') && before.ends_with("] ")) {
            let text = format!("{before}{text}");
            return if level == "[warning] " { Heard::Warning(text) } else { Heard::Line(text) };
        }
    }
    Heard::Line(line)
}

/// Key and value of a line that `-progress` writes.
fn progress_line(line: &str) -> Option<(&str, &str)> {
    const KEYS: [&str; 11] = [
        "frame",
        "fps",
        "bitrate",
        "total_size",
        "out_time_us",
        "out_time_ms",
        "out_time",
        "dup_frames",
        "drop_frames",
        "speed",
        "progress",
    ];
    let (key, value) = line.split_once('=')?;
    (KEYS.contains(&key) || key.starts_with("stream_")).then_some((key, value))
}

fn give(mut to: ChildStdin, pieces: &[Piece]) -> Result<(), PackError> {
    for piece in pieces {
        let failed = || PackError::io("read", &piece.file);
        let mut file = File::open(&piece.file).map_err(failed())?;
        file.seek(SeekFrom::Start(piece.offset)).map_err(failed())?;
        io::copy(&mut file.take(piece.length.unwrap_or(u64::MAX)), &mut to).map_err(failed())?;
    }
    to.flush().map_err(PackError::io("feed", "ffmpeg"))
}

/// The release of a version such as `5.1.9-0+deb12u1`; snapshots have none.
fn release(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('n').split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The last complaints as one line, without addresses and repetitions.
pub(crate) fn last_words(words: &[String]) -> String {
    let mut said: Vec<String> = Vec::new();
    for word in words {
        let word = without_address(word);
        let noise = word.starts_with("Last message repeated") || word == "Conversion failed!";
        if !noise && !word.is_empty() && !said.contains(&word) {
            said.push(word);
        }
    }
    said.split_off(said.len().saturating_sub(4)).join("; ")
}

/// `[mov,mp4 @ 0x55] moov atom not found` without what is in brackets.
fn without_address(line: &str) -> String {
    let mut line = line.trim();
    while let Some((name, rest)) = line.strip_prefix('[').and_then(|l| l.split_once("] "))
        && (name.contains(" @ 0x") || name.starts_with("enc:"))
    {
        line = rest.trim_start();
    }
    line.to_owned()
}

/// An input file as ffmpeg takes it whatever its name is.
pub(crate) fn input(file: &Path) -> OsString {
    let mut name = OsString::from("file:");
    name.push(file);
    name
}

/// Adds arguments, given as text or as paths.
pub(crate) fn push<A: AsRef<OsStr>>(
    to: &mut Vec<OsString>,
    arguments: impl IntoIterator<Item = A>,
) {
    to.extend(arguments.into_iter().map(|a| a.as_ref().to_owned()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_short_and_without_addresses() {
        let words = [
            "[mov,mp4,m4a @ 0x55729973b5c0] moov atom not found",
            "[in#0 @ 0x5] Error opening input: Invalid data found when processing input",
            "Last message repeated 1 times",
            "[in#0 @ 0x5] Error opening input: Invalid data found when processing input",
            "[vost#0:0/libx264 @ 0x2d5] [enc:libx264 @ 0x2d6] no",
        ];
        assert_eq!(
            last_words(&words.map(str::to_owned)),
            "moov atom not found; Error opening input: Invalid data found when processing input; no"
        );
    }

    #[test]
    fn warnings_are_told_from_errors() {
        let of = |line: &str| match leveled(line.to_owned()) {
            Heard::Warning(text) => (true, text),
            Heard::Line(text) => (false, text),
            _ => unreachable!("a line is heard as a line"),
        };
        assert_eq!(of("[mov @ 0x5] [warning] odd"), (true, "[mov @ 0x5] odd".to_owned()));
        assert_eq!(of("[warning] odd"), (true, "odd".to_owned()));
        assert_eq!(of("[mov @ 0x5] [error] bad"), (false, "[mov @ 0x5] bad".to_owned()));
        assert_eq!(of("a [warning] b"), (false, "a [warning] b".to_owned()));
    }

    #[test]
    fn releases_are_told_from_snapshots() {
        assert_eq!(release("5.1.9-0+deb12u1"), Some((5, 1)));
        assert_eq!(release("n7.0"), Some((7, 0)));
        assert_eq!(release("9.0.2-static"), Some((9, 0)));
        assert_eq!(release("N-109542-g2bdddcab"), None);
        assert_eq!(progress_line("frame= 12"), Some(("frame", " 12")));
        assert_eq!(progress_line("key frame=12"), None);
    }
}
