//! `airlane airtime` on captures.

use std::fs;
use std::time::Duration;

use airlane_base::Time;
use airlane_capture::Writer;
use airlane_wifi::{Address, Frame, FrameKind, Heard, Vector, What, mac};
use serde_json::Value;

use crate::common::Scratch;

const STATION: Address = Address([2, 0, 0, 0, 0, 1]);
const POINT: Address = Address([2, 0, 0, 0, 0, 0xa]);

/// A second of data to a station, each acknowledged: 200 MPDUs of 1000 bytes at 24 Mbit/s.
fn capture() -> Vec<u8> {
    let vector = Vector::ofdm(4);
    let mut writer = Writer::new(Vec::new()).unwrap();
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
    for n in 0..200_u64 {
        let mut at = Time::from_micros(5_000 * n);
        for frame in [data, ack] {
            let duration = vector.duration(frame.bytes);
            let what = What::Frames { vector, is_aggregate: false, frames: vec![frame] };
            writer.write(&Heard { at, duration, what }).unwrap();
            at += duration + Duration::from_micros(16);
        }
    }
    writer.finish().unwrap()
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
    assert_eq!(cells[1..], ["down", "10.26", "0.0", "200", "0.0", "0.0", "24.0", "0.20", "-"]);
    assert!(!scratch.0.join("out").exists());

    let json = scratch.airlane(&["airtime", "a.pcap", "--json", "--quiet"]);
    let figures: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(json.stderr.is_empty());
    assert_eq!(figures["stations"][0]["address"], "02:00:00:00:00:01");
    assert_eq!(figures["stations"][0]["down"]["bytes"], 200_000);
    let csv = scratch.airlane(&["airtime", "a.pcap", "--csv"]).stdout;
    let csv = String::from_utf8(csv).unwrap();
    assert!(
        csv.lines().nth(1).unwrap().starts_with("02:00:00:00:00:01,false,02:00:00:00:00:0a,down,")
    );
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
    fs::write(scratch.0.join("a.pcap"), &capture()[..24]).unwrap();
    let output = scratch.airlane(&["airtime", "a.pcap", "--out", "out"]);
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains("a.pcap: no frames."));
    assert!(scratch.0.join("out/report.html").exists());
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
