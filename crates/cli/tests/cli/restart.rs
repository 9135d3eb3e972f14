//! A server that is killed, and what its players do until it is there again.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::Duration;

use crate::common::*;
use airlane_base::Rate;
use airlane_media::dash::{self, Chunk, Kind, Object, Presentation, Representation};

/// Longer than players differ in when they begin.
const CHUNKS: usize = 24;
/// Of video in a chunk, and what a player holds at most.
const CHUNK_MS: u64 = 500;
const BUFFER: &str = "1";
/// The server is away for longer than that.
const AWAY: Duration = Duration::from_secs(2);

/// A title of one rung.
fn write_title(scratch: &Scratch) {
    let chunk = |n: usize| {
        let url = format!("{n}.m4s");
        scratch.file(&format!("titles/film/{url}"), &"x".repeat(20_000));
        let object = Object { url, range: None };
        Chunk { object, time: n as u64 * CHUNK_MS, duration: CHUNK_MS }
    };
    let film = Representation {
        bandwidth: Rate::from_bps(320_000),
        width: Some(640),
        height: Some(360),
        chunks: (0..CHUNKS).map(chunk).collect(),
        ..Representation::new("only", Kind::Video, "avc1.64001f", 1000)
    };
    let film = Presentation { video: vec![film], ..Presentation::default() };
    scratch.file("titles/film/manifest.mpd", &dash::write(&film));
}

/// A server at `port`, 0 for any, that serves when this returns; and its port.
fn serve(scratch: &Scratch, port: &str) -> (Process, String) {
    let listen = format!("127.0.0.1:{port}");
    let arguments =
        ["serve", "titles", "--listen", &listen, "--quiet", "--access-log", "access.json"];
    let mut command = scratch.command(&arguments);
    command.env("XDG_DATA_HOME", scratch.0.join("data")).stdout(Stdio::piped());
    let mut server = Process(command.spawn().unwrap());
    let mut ready = String::new();
    let mut lines = BufReader::new(server.0.stdout.take().unwrap());
    lines.read_line(&mut ready).unwrap();
    let port = ready.strip_prefix("ready: https://127.0.0.1:").and_then(|r| r.split_once('/'));
    let port = port.unwrap_or_else(|| panic!("{ready}")).0.to_owned();
    (server, port)
}

fn pause(time: Duration) {
    #[expect(clippy::disallowed_methods, reason = "other processes live by the machine's clock")]
    std::thread::sleep(time);
}

/// The value of a key in a session's line.
fn value<'a>(line: &'a str, key: &str) -> &'a str {
    let start = line.find(&format!(" {key}=")).unwrap_or_else(|| panic!("no {key}: {line}"));
    line[start + key.len() + 2..].split_whitespace().next().unwrap()
}

#[test]
fn players_survive_a_server_that_is_killed() {
    let scratch = Scratch::new("restart");
    write_title(&scratch);
    let (server, port) = serve(&scratch, "0");
    let url = format!("https://127.0.0.1:{port}/film/manifest.mpd");
    let play = |http: &str| {
        let arguments = ["play", &url, "--insecure", "--quiet", "--http", http, "--buffer", BUFFER];
        Process(scratch.command(&arguments).stdout(Stdio::piped()).spawn().unwrap())
    };
    let players = ["3", "2", "1"].map(play);
    let answers = || fs::read_to_string(scratch.0.join("access.json")).unwrap();
    // Each is playing: one may begin later than another.
    let chunks = || {
        let answers = answers();
        ["h3", "h2", "http/1.1"].map(|carrier| {
            let of = format!("\"carrier\":\"{carrier}\"");
            answers.lines().filter(|line| line.contains(".m4s") && line.contains(&of)).count()
        })
    };
    for _ in 0..12_000 {
        if chunks().iter().all(|n| *n >= 3) {
            break;
        }
        pause(Duration::from_millis(10));
    }
    // SIGKILL: no goodbye to anybody.
    drop(server);
    let before = chunks();
    let playing = before.iter().all(|n| (3..CHUNKS).contains(n));
    assert!(playing, "{before:?} chunks before the end of the server");
    pause(AWAY);
    let (_server, again) = serve(&scratch, &port);
    assert_eq!(again, port);
    for mut player in players {
        let mut line = String::new();
        player.0.stdout.take().unwrap().read_to_string(&mut line).unwrap();
        let code = player.0.wait().unwrap().code();
        assert!(line.trim_end().ends_with("result=done"), "{line}");
        assert_eq!(code, Some(0));
        assert_eq!(value(&line, "chunks"), format!("{CHUNKS}/{CHUNKS}"));
        assert_ne!(value(&line, "retries"), "0", "{line}");
        // It held a second of video at most.
        let stalled: f64 = value(&line, "stalled_s").parse().unwrap();
        assert!(value(&line, "stalls") != "0" && stalled >= 0.5, "{line}");
    }
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused_with_what_to_do() {
    let scratch = Scratch::new("unknown");
    write_title(&scratch);
    let (_server, port) = serve(&scratch, "0");
    let url = format!("https://127.0.0.1:{port}/film/manifest.mpd");
    for http in ["best", "3", "2", "1"] {
        let output = scratch.airlane(&["play", &url, "--quiet", "--http", http]);
        let line = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(line.contains("--insecure"), "over {http}: {line}");
    }
}
