//! `airlane airtime` on captures.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use airlane_base::Time;
use airlane_capture::Writer;
use airlane_wifi::{Address, Frame, FrameKind, Heard, Vector, What, mac};
use serde_json::Value;

use crate::common::Scratch;

const STATION: Address = Address([2, 0, 0, 0, 0, 1]);
const POINT: Address = Address([2, 0, 0, 0, 0, 0xa]);

const CONTROL: Vector = Vector::ofdm(4);

/// Data to a station, 1000 bytes, and its acknowledgement.
fn exchange() -> [Frame; 2] {
    let data = Frame {
        kind: FrameKind::QosData,
        receiver: STATION,
        transmitter: Some(POINT),
        bssid: Some(POINT),
        is_down: true,
        bytes: 1_000,
        is_retry: false,
        sequence: 0,
        remaining: Duration::from_micros(44),
        tid: 0,
        block_ack: None,
    };
    let ack = Frame {
        kind: FrameKind::Ack,
        receiver: POINT,
        transmitter: None,
        bssid: None,
        is_down: false,
        bytes: mac::ACK,
        remaining: Duration::ZERO,
        ..data
    };
    [data, ack]
}

/// Frames at their times, microseconds, as a capture.
fn written(frames: impl IntoIterator<Item = (u64, Frame)>) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (at, frame) in frames {
        let (at, duration) = (Time::from_micros(at), CONTROL.duration(frame.bytes));
        let what = What::Frames { vector: CONTROL, is_aggregate: false, frames: vec![frame] };
        writer.write(&Heard { at, duration, what }).unwrap();
    }
    writer.finish().unwrap()
}

/// A second of data to a station, each acknowledged: 200 MPDUs of 1000 bytes at 24 Mbit/s.
fn capture() -> Vec<u8> {
    let [data, ack] = exchange();
    let answer = CONTROL.duration(data.bytes).as_micros() as u64 + 16;
    written((0..200).map(|n| 5_000 * n).flat_map(|at| [(at, data), (at + answer, ack)]))
}

fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    fs::write(scratch.0.join("a.pcap"), capture()).unwrap();
    scratch
}

#[test]
fn airtime_says_who_used_the_air() {
    let scratch = scratch("airtime");
    let output = scratch.airlane(&["airtime", "a.pcap"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    // 20 + 4 * 84 us of data, 16 of SIFS, 28 of ACK, 110.5 of contention: 200 times 510.5 us.
    assert!(text.contains("a.pcap: 10.3 % of 1.0 s of air used"), "{text}");
    let line = text.lines().find(|l| l.starts_with("02:00:00:00:00:01")).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells[1..10], ["down", "10.26", "0.0", "200", "0.0", "0.0", "24.0", "0.20", "-"]);
    // 918 bytes of payload in 510.5 us of air: 14.4 Mbit/s, of which a station alone is granted 0.8.
    assert_eq!(cells[10], "11.5");
    assert!(text.contains("grant: Mbit/s that Cupid would grant a station"), "{text}");
    assert!(!scratch.0.join("out").exists());

    let json = scratch.airlane(&["airtime", "a.pcap", "--json", "--quiet"]);
    let figures: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(json.stderr.is_empty());
    assert_eq!(figures["stations"][0]["address"], "02:00:00:00:00:01");
    assert_eq!(figures["stations"][0]["down"]["bytes"], 200_000);
    let cupid = &figures["stations"][0]["cupid"];
    let near = |name: &str, expected: f64| {
        let found = cupid[name].as_f64().unwrap();
        assert!((found / expected - 1.0).abs() < 0.02, "{name}: {found}");
    };
    near("reports", 24.0);
    near("utilisation", 0.102);
    near("stations", 1.0);
    near("phy_rate_bps", 24e6);
    near("delta_bps", 14.386e6);
    near("granted_bps", 0.8 * 14.386e6);
    near("granted_as_published_bps", 0.8 * 14.386e6);
    near("confidence", 1.0);
    assert_eq!(cupid["over_time"]["granted_bps"].as_array().unwrap().len(), 24);
    let csv = scratch.airlane(&["airtime", "a.pcap", "--csv"]).stdout;
    let csv = String::from_utf8(csv).unwrap();
    assert!(
        csv.lines().nth(1).unwrap().starts_with("02:00:00:00:00:01,false,02:00:00:00:00:0a,down,")
    );
    let columns = csv.lines().next().unwrap().split(',').count();
    assert!(csv.lines().all(|line| line.split(',').count() == columns), "{csv}");
    assert!(csv.starts_with("station,") && csv.contains(",cupid_granted_bps,"), "{csv}");
}

#[test]
fn airtime_leaves_the_same_summary_whenever_it_is_repeated() {
    let scratch = scratch("airtime-out");
    let read = |folder: &str, file: &str| fs::read(scratch.0.join(folder).join(file)).unwrap();
    for folder in ["deep/one", "two"] {
        let output = scratch.airlane(&["airtime", "a.pcap", "--quiet", "--out", folder]);
        assert!(output.status.success());
    }
    assert_eq!(read("deep/one", "summary.json"), read("two", "summary.json"));
    assert_eq!(read("deep/one", "report.html"), read("two", "report.html"));
    let run: Value = serde_json::from_slice(&read("two", "run.json")).unwrap();
    assert_eq!(run["runs_finished"], 1);
    let difference = scratch.airlane(&["diff", "deep/one", "two", "--check"]);
    assert!(difference.status.success(), "{}", String::from_utf8_lossy(&difference.stdout));
}

#[test]
fn airtime_takes_a_capture_without_frames() {
    let scratch = Scratch::new("airtime-empty");
    for bytes in [0, 24] {
        fs::write(scratch.0.join("a.pcap"), &capture()[..bytes]).unwrap();
        let output = scratch.airlane(&["airtime", "a.pcap", "--out", "out"]);
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains("a.pcap: no frames."));
        assert!(scratch.0.join("out/report.html").exists());
    }
}

/// What is said of a capture, by `airlane airtime` with these options.
fn said(name: &str, capture: Vec<u8>, options: &[&str]) -> String {
    let scratch = Scratch::new(name);
    fs::write(scratch.0.join("a.pcap"), capture).unwrap();
    let output = scratch.airlane(&[&["airtime", "a.pcap", "--out", "out"], options].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn airtime_takes_stations_that_leave_in_mid_exchange() {
    let [data, ack] = exchange();
    let rts = Frame { kind: FrameKind::Rts, bssid: None, bytes: mac::RTS, ..data };
    let cts = Frame { kind: FrameKind::Cts, bytes: mac::CTS, remaining: rts.remaining, ..ack };
    // One goes behind the data, one behind RTS, and the access point behind the CTS of a third.
    let to = |n: u8, frame: Frame| Frame { receiver: Address([2, 0, 0, 0, 0, n]), ..frame };
    let text = said(
        "airtime-leave",
        written([
            (0, to(1, data)),
            (370, ack),
            (5_000, to(1, data)),
            (9_000, to(2, rts)),
            (20_000, to(3, rts)),
            (20_044, cts),
            (1_500_000, to(4, data)),
        ]),
        &[],
    );
    let line = |n: u8| text.lines().find(|l| l.starts_with(&format!("02:00:00:00:00:0{n}")));
    let unanswered = |n: u8| line(n).unwrap().split_whitespace().nth(5).unwrap().to_owned();
    assert_eq!([1, 2, 3, 4].map(unanswered), ["50.0", "100.0", "0.0", "100.0"], "{text}");
    assert!(line(1).unwrap().split_whitespace().last().unwrap().parse::<f64>().is_ok(), "{text}");
    assert!(line(4).unwrap().ends_with('-'), "one frame at the end makes no report: {text}");
}

#[test]
fn airtime_takes_what_is_all_noise() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for n in 0..500_u64 {
        let (at, duration) = (Time::from_micros(1_000 * n), Duration::from_micros(300));
        let what = if n % 2 == 0 { What::Energy } else { What::Header(CONTROL) };
        writer.write(&Heard { at, duration, what }).unwrap();
    }
    let text = said("airtime-noise", writer.finish().unwrap(), &[]);
    assert!(text.contains("not decoded"), "{text}");
    let words = "What Cupid would grant cannot be said: no data from an access point to a station";
    assert!(text.contains(words), "{text}");
}

#[test]
fn airtime_takes_two_hundred_stations() {
    let [data, ack] = exchange();
    let receiver = |n: u64| Address([2, 0, 0, 0, 1, (n % 200) as u8]);
    let frames = (0..4_000).flat_map(|n| {
        let at = 600 * n;
        [(at, Frame { receiver: receiver(n), ..data }), (at + 372, ack)]
    });
    let capture = written(frames);
    let text = said("airtime-200", capture.clone(), &[]);
    assert!(text.contains("180 more lines: see --all"), "{text}");
    assert!(text.contains("200.0 stations active on average"), "{text}");
    let text = said("airtime-200-all", capture, &["--all"]);
    let lines: Vec<&str> =
        text.lines().filter(|line| line.starts_with("02:00:00:00:01:")).collect();
    assert_eq!(lines.len(), 200);
    for line in lines {
        let grant: f64 = line.split_whitespace().last().unwrap().parse().unwrap();
        assert!(grant > 0.0 && grant < 0.2, "a part of 200 of 0.8 of 14 Mbit/s: {line}");
    }
}

#[test]
fn airtime_refuses_what_is_no_capture_and_no_monitor_interface() {
    let scratch = scratch("airtime-refused");
    let mut ethernet = capture();
    ethernet[20] = 1;
    fs::write(scratch.0.join("b.pcap"), ethernet).unwrap();
    scratch.file("c.txt", "not a capture at all");
    for (source, words) in [
        ("b.pcap", "link type 1: Ethernet packets"),
        ("c.txt", "expected pcap or pcapng"),
        ("d.pcap", "cannot open the file"),
        ("nothing0", "no file and no network interface is called \"nothing0\""),
    ] {
        let message = scratch.refused(&["airtime", source, "--out", "out"]);
        assert!(message.contains(words), "{message}");
    }
    if std::path::Path::new("/sys/class/net/lo").exists() {
        let message = scratch.refused(&["airtime", "lo", "--out", "out"]);
        assert!(message.contains("lo is the loopback interface; expected one in monitor mode"));
    }
}

/// What is said of a capture that comes on the standard input as `source`, of which so much comes before the
/// pipe stalls; the signal that ends it, if any.
#[cfg(target_os = "linux")]
fn piped(source: &str, bytes: &[u8], signal: Option<&str>) -> (Option<i32>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_airlane"))
        .args(["airtime", source])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(bytes).unwrap();
    if let Some(signal) = signal {
        // Signals are listened to before the capture is opened: its bytes are gone from the pipe then.
        let waits = format!("/proc/{}/task", child.id());
        while fs::read_dir(&waits).unwrap().count() < 2 {
            std::thread::yield_now();
        }
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    } else {
        drop(stdin);
    }
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    (child.wait().unwrap().code(), text)
}

#[cfg(target_os = "linux")]
#[test]
fn airtime_reads_a_pipe_and_a_signal_ends_that() {
    let capture = capture();
    for source in ["-", "/dev/stdin"] {
        let (code, text) = piped(source, &capture, None);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(": 10.3 % of 1.0 s of air used"), "{text}");
    }
    // The pipe stays open: without the signal it would be waited for, for ever.
    for signal in ["-INT", "-TERM"] {
        for bytes in [&capture[..20_001], &capture[..0]] {
            let (code, text) = piped("-", bytes, Some(signal));
            assert_eq!(code, Some(130), "{signal}: {text}");
            assert!(text.contains("captured"), "{signal}: {text}");
            assert!(!text.contains("cut short"), "{signal}: {text}");
        }
    }
}

#[test]
fn airtime_prints_no_share_above_the_whole() {
    let [data, _] = exchange();
    // Twenty stations send at the same time, again and again.
    let frames = (0..400).map(|n| {
        let receiver = Address([2, 0, 0, 0, 2, (n % 20) as u8]);
        (600 * (n / 20), Frame { receiver, ..data })
    });
    let text = said("airtime-impossible", written(frames), &[]);
    assert!(text.contains("utilisation     unknown: "), "{text}");
    assert!(text.contains("No shares can be said"), "{text}");
    for word in text.split_whitespace() {
        assert!(!word.parse::<f64>().is_ok_and(|n| n > 400.0), "{word}: {text}");
    }
    let line = text.lines().find(|l| l.starts_with("02:00:00:00:02:00")).unwrap();
    assert_eq!(line.split_whitespace().nth(2), Some("-"), "{text}");
}
