//! Live video between processes: a sender, a relay as a base station, a viewer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::common::*;

/// Starts a daemon; its process and the address in its ready line.
fn start(scratch: &Scratch, arguments: &[&str], ready: &str) -> (Process, String) {
    let mut command = scratch.command(arguments);
    command.env("XDG_DATA_HOME", scratch.0.join("data")).stdout(Stdio::piped());
    let mut process = Process(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix(ready).unwrap_or_else(|| panic!("{line}"));
    (process, address.to_owned())
}

/// Seconds after which what a viewer waits for is taken not to come: what it sees in one depends on what
/// else the machine does.
const LIMIT: usize = 120;

/// Report of a viewer.
struct ViewerReport {
    report: Value,
}

impl ViewerReport {
    /// Watches until `enough` is true of the seconds so far; then it is interrupted.
    fn until(
        scratch: &Scratch,
        server: &str,
        options: &[&str],
        enough: impl Fn(&[Value]) -> bool,
    ) -> Self {
        let arguments = [&["recv", server, "--insecure", "--json"], options].concat();
        let mut viewer =
            Process(scratch.command(&arguments).stdout(Stdio::piped()).spawn().unwrap());
        let said = BufReader::new(viewer.0.stdout.take().unwrap());
        let mut lines = said.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        let mut seconds: Vec<Value> = Vec::new();
        while !enough(&seconds) {
            assert!(seconds.len() < LIMIT, "waited in vain: {seconds:?}");
            seconds.push(lines.next().expect("it watches on"));
        }
        interrupt(&viewer);
        seconds.extend(lines);
        assert_eq!(viewer.0.wait().unwrap().code(), Some(130));
        Self { report: seconds.pop().expect("a report") }
    }

    fn shown(&self) -> u64 {
        self.report["shown"].as_u64().unwrap()
    }
}

fn interrupt(process: &Process) {
    let id = process.0.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
}

/// Whether so many frames were shown.
fn frames(wanted: u64) -> impl Fn(&[Value]) -> bool {
    move |seconds| seconds.iter().map(|s| s["frames"].as_u64().unwrap()).sum::<u64>() >= wanted
}

/// Whether so many bits came in a second.
fn bits(seconds: &[Value], wanted: f64) -> bool {
    seconds.iter().any(|s| s["bps"].as_f64().unwrap() > wanted)
}

#[test]
fn a_viewer_behind_a_relay_sees_what_the_relay_lets_pass() {
    let scratch = Scratch::new("live");
    let sender = ["send", "plaza", "--listen", "127.0.0.1:0", "--quiet"];
    let (_sender, at) = start(&scratch, &sender, "ready: live video at ");
    let direct = ViewerReport::until(&scratch, &at, &[], |s| frames(60)(s) && bits(s, 1e6));
    let relay = ["relay", "127.0.0.1:0", &at, "--rate", "600e3", "--rtt", "0.04", "--quiet"];
    let (_relay, narrow) = start(&scratch, &relay, "ready: ");
    let relayed = ViewerReport::until(&scratch, &narrow, &[], |s| frames(60)(s) && bits(s, 100e3));
    for watched in [&direct, &relayed] {
        let [sent, shown] = ["sent", "shown"].map(|key| watched.report[key].as_u64().unwrap());
        assert!((60..=sent).contains(&shown), "{}", watched.report);
    }
    // However long a second became.
    assert!(relayed.report["bps"].as_f64().unwrap() < 600e3, "{}", relayed.report);
}

#[test]
fn what_cannot_be_sent_or_reached_is_said() {
    let scratch = Scratch::new("live-refused");
    let clip = scratch.refused(&["send", "nothing"]);
    assert!(clip.contains("no clip \"nothing\"") && clip.contains("plaza"), "{clip}");
    let none = scratch.refused(&["relay", "localhost:0", "localhost:9", "--rate", "12"]);
    assert!(none.contains("1000 to 100000000000"), "{none}");
    let rate = scratch.refused(&["relay", "localhost:0", "localhost:9", "--trace", "absent"]);
    assert!(rate.contains("absent"), "{rate}");
    let host = scratch.refused(&["recv", "no port"]);
    assert!(host.contains("no port") && host.contains("HOST:PORT"), "{host}");
}

#[test]
fn a_sender_that_cannot_be_reached_is_a_peers_failure() {
    let scratch = Scratch::new("live-unreachable");
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap().to_string();
    let output = scratch.airlane(&["recv", &at, "--insecure", "--quiet"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("silent for too long"), "{said}");
    // The name of nothing is one, too.
    let output = scratch.airlane(&["recv", "nowhere.invalid:1", "--insecure", "--quiet"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn a_viewer_that_gets_no_answer_stops_when_it_is_told_to() {
    let scratch = Scratch::new("live-silent");
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap().to_string();
    let mut viewer =
        Process(scratch.command(&["recv", &at, "--insecure", "--quiet"]).spawn().unwrap());
    silent.recv_from(&mut [0; 2048]).unwrap();
    interrupt(&viewer);
    assert_eq!(viewer.0.wait().unwrap().code(), Some(130));
}

/// Makes a packed layered video of a second; `None` without ffmpeg or libvpx, which it says.
fn packed(scratch: &Scratch) -> Option<String> {
    let film = scratch.0.join("film.mkv");
    let mut ffmpeg = Command::new("ffmpeg");
    ffmpeg.args("-nostdin -v error -f lavfi -i testsrc2=s=320x180:r=25:d=1.2".split(' '));
    let made = ffmpeg.args(["-c:v", "ffv1", "-pix_fmt", "yuv420p"]).arg(&film).status();
    let film = film.to_str().unwrap();
    let arguments = ["pack", "--layered", film, "film.layers", "--rates", "200k,600k", "--quiet"];
    let packed = scratch.airlane(&arguments);
    let said = String::from_utf8_lossy(&packed.stderr).into_owned();
    if made.is_err() || said.contains("cannot load libvpx") {
        let strict = std::env::var("AIRLANE_STRICT").is_ok_and(|v| v == "1");
        assert!(!strict, "ffmpeg or libvpx is missing: run make setup");
        eprintln!("left out: ffmpeg or libvpx is missing, run make setup");
        return None;
    }
    assert!(packed.status.success(), "{said}");
    let line = String::from_utf8(packed.stdout).unwrap();
    assert_eq!(line, "done: film.layers encodings=2 frames=30 duration_s=1.200 size=320x180\n");
    Some(scratch.0.join("film.layers").to_str().unwrap().to_owned())
}

/// What a command of ffmpeg's says of a file.
fn said_of(file: &std::path::Path, program: &str, arguments: &str) -> String {
    let out = Command::new(program).args(arguments.split(' ')).arg(file).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn what_is_watched_of_a_packed_video_is_a_file_that_players_play() {
    let scratch = Scratch::new("live-packed");
    let Some(file) = packed(&scratch) else { return };
    let sender = ["send", &file, "--listen", "127.0.0.1:0", "--quiet"];
    let (_sender, at) = start(&scratch, &sender, "ready: live video at ");
    let relay = ["relay", "127.0.0.1:0", &at, "--rate", "400e3", "--rtt", "0.04", "--quiet"];
    let (_relay, narrow) = start(&scratch, &relay, "ready: ");
    let options = ["--times", "times.csv", "--write", "seen.ivf"];
    let watched = ViewerReport::until(&scratch, &narrow, &options, frames(50));
    let (report, shown) = (&watched.report, watched.shown());
    let seen = scratch.0.join("seen.ivf");
    let entries = "-v error -count_frames -show_entries stream=codec_name,width,nb_read_frames:\
                   packet=pts -of csv=p=0";
    let probed = said_of(&seen, "ffprobe", entries);
    let times: Vec<u64> = probed.lines().filter_map(|line| line.parse().ok()).collect();
    // A late layer may be in the file of a frame that the report does not count.
    assert!(times.len() as u64 >= shown && shown >= 50, "{probed}\n{report}");
    assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
    // Of layers that are joined players show one: as many pictures as frames.
    assert!(probed.contains(&format!("vp9,320,{}", times.len())), "{probed}");
    let decodable = std::fs::read_to_string(scratch.0.join("times.csv")).unwrap();
    assert!(decodable.starts_with("frame,layer,encoding,handed_s,came_s\n"), "{decodable}");
    assert!(decodable.lines().count() as u64 > shown, "{decodable}");
    // The sender begins as soon as it has answered: what comes before the answer is read counts too.
    assert!(decodable.lines().nth(1).is_some_and(|line| line.starts_with("0,0,")), "{decodable}");

    // To a pipe: pictures there, the report elsewhere.
    let mut command = scratch.command(&["recv", &at, "--insecure", "--quiet", "--write", "-"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut viewer = Process(command.spawn().unwrap());
    let mut pictures = viewer.0.stdout.take().unwrap();
    let mut first = [0; 2048];
    pictures.read_exact(&mut first).unwrap();
    assert!(first.starts_with(b"DKIF"));
    interrupt(&viewer);
    pictures.read_to_end(&mut Vec::new()).unwrap();
    let mut said = String::new();
    viewer.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("frames shown"), "{said}");
}

#[test]
fn a_pattern_cannot_be_written_and_a_packed_video_must_be_whole() {
    let scratch = Scratch::new("live-pattern");
    let sender = ["send", "plaza", "--listen", "127.0.0.1:0", "--quiet"];
    let (_sender, at) = start(&scratch, &sender, "ready: live video at ");
    let pattern = scratch.refused(&["recv", &at, "--insecure", "--write", "seen.ivf"]);
    assert!(pattern.contains("pattern") && pattern.contains("pack --layered"), "{pattern}");
    std::fs::write(scratch.0.join("film.layers"), "RIFF and so on").unwrap();
    let file = scratch.refused(&["send", "film.layers"]);
    assert!(file.contains("film.layers") && file.contains("no packed layered video"), "{file}");
}

/// Whether there is libvpx, for those who want to encode.
fn has_libvpx() -> bool {
    let found = airlane_vpx::Library::open(None);
    if let Err(e) = &found {
        let strict = std::env::var("AIRLANE_STRICT").is_ok_and(|v| v == "1");
        assert!(!strict, "{e}");
        eprintln!("left out: {e}");
    }
    found.is_ok()
}

/// Writes raw video of patches that move until it is told to stop, or nobody reads.
fn write_raw(mut to: impl Write, stop: &AtomicBool) -> std::io::Result<()> {
    let (width, height) = (320, 180);
    to.write_all(b"YUV4MPEG2 W320 H180 F25:1 Ip A1:1 C420jpeg\n")?;
    for n in 0.. {
        let mut frame = b"FRAME\n".to_vec();
        let luma = (0..width * height).map(|at| {
            let (x, y) = (at % width + 2 * n, at / width + n);
            (x / 8 * 7_919 + y / 8 * 104_729) % 149 + (x * 31 + y * 17) % 13
        });
        frame.extend(luma.map(|sample| sample as u8));
        frame.resize(frame.len() + width * height / 2, 128);
        to.write_all(&frame)?;
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(())
}

#[test]
fn raw_video_from_a_pipe_is_encoded_for_who_watches_until_it_ends() {
    if !has_libvpx() {
        return;
    }
    let scratch = Scratch::new("live-raw");
    let mut command = scratch.command(&["send", "-", "--listen", "127.0.0.1:0"]);
    command.env("XDG_DATA_HOME", scratch.0.join("data"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut sender = Process(command.spawn().unwrap());
    let (stdin, stop) = (sender.0.stdin.take().unwrap(), Arc::new(AtomicBool::new(false)));
    let writer = {
        let stop = stop.clone();
        std::thread::spawn(move || write_raw(stdin, &stop))
    };
    let mut said = BufReader::new(sender.0.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let at = line.trim().strip_prefix("ready: live video at ").unwrap_or_else(|| panic!("{line}"));
    let watched = ViewerReport::until(&scratch, at, &["--write", "seen.ivf"], frames(30));
    let shown = watched.shown();
    let seen = scratch.0.join("seen.ivf");
    if Command::new("ffprobe").arg("-version").output().is_ok() {
        let entries = "-v error -count_frames -show_entries stream=codec_name,width,nb_read_frames:\
                       packet=pts -of csv=p=0";
        let probed = said_of(&seen, "ffprobe", entries);
        let times: Vec<u64> = probed.lines().filter_map(|line| line.parse().ok()).collect();
        assert!(times.len() as u64 >= shown && times.is_sorted_by(|a, b| a < b), "{probed}");
        assert!(probed.contains(&format!("vp9,320,{}", times.len())), "{probed}");
    }

    // The end of the pipe is the end for viewers and for the sender.
    let mut command = scratch.command(&["recv", at, "--insecure"]);
    let mut viewer = Process(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut seconds = BufReader::new(viewer.0.stdout.take().unwrap());
    let mut second = String::new();
    seconds.read_line(&mut second).unwrap();
    assert!(second.contains("1 s: "), "{second}");
    while second.contains(" 0 frames") {
        second.clear();
        assert!(seconds.read_line(&mut second).unwrap() > 0, "it watches on");
    }
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap().unwrap();
    assert_eq!(viewer.0.wait().unwrap().code(), Some(0));
    assert_eq!(sender.0.wait().unwrap().code(), Some(0));
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("frames handed over") && rest.contains("pictures skipped"), "{rest}");
}

#[test]
fn raw_video_that_cannot_be_sent_says_what_to_do() {
    let scratch = Scratch::new("live-raw-refused");
    let absent = scratch.refused(&["send", "-", "--libvpx", "/nowhere/libvpx.so"]);
    assert!(
        absent.contains("cannot load libvpx") && absent.contains("apt-get install"),
        "{absent}"
    );
    let layers = scratch.refused(&["send", "-", "--video", "frame-rate"]);
    assert!(layers.contains("layers of quality"), "{layers}");
    if !has_libvpx() {
        return;
    }
    let nothing = scratch.refused(&["send", "-"]);
    assert!(nothing.contains("standard input: nothing of YUV4MPEG2"), "{nothing}");
    let gone = scratch.refused(&["send", "gone.y4m"]);
    assert!(gone.contains("gone.y4m: cannot read the video"), "{gone}");
    std::fs::write(scratch.0.join("odd"), "YUV4MPEG2 W64 H64 F30:1 Ip C422\n").unwrap();
    let odd = scratch.refused(&["send", "./odd"]);
    assert!(odd.contains("C422") && odd.contains("-pix_fmt yuv420p"), "{odd}");
}
