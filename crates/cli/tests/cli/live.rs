//! Live video between processes: a sender, a relay as a base station, a viewer.

use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Command, Stdio};

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

/// What a viewer reports after a few seconds.
fn watch(scratch: &Scratch, server: &str) -> serde_json::Value {
    let output =
        scratch.airlane(&["recv", server, "--insecure", "--json", "--quiet", "--duration", "4"]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_viewer_behind_a_relay_sees_what_the_relay_lets_pass() {
    let scratch = Scratch::new("live");
    let sender = ["send", "plaza", "--listen", "127.0.0.1:0", "--quiet"];
    let (_sender, at) = start(&scratch, &sender, "ready: live video at ");
    let direct = watch(&scratch, &at);
    let relay = ["relay", "127.0.0.1:0", &at, "--rate", "600e3", "--rtt", "0.04", "--quiet"];
    let (_relay, narrow) = start(&scratch, &relay, "ready: ");
    let relayed = watch(&scratch, &narrow);
    for report in [&direct, &relayed] {
        let [sent, shown] = ["sent", "shown"].map(|key| report[key].as_f64().unwrap());
        assert!(shown > 0.5 * sent && shown > 60.0, "{report}");
    }
    let bps = |report: &serde_json::Value| report["bps"].as_f64().unwrap();
    assert!(bps(&direct) > 1e6, "{direct}");
    assert!((100e3..600e3).contains(&bps(&relayed)), "{relayed}");
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
fn a_viewer_that_gets_no_answer_stops_when_it_is_told_to() {
    let scratch = Scratch::new("live-silent");
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap().to_string();
    let mut viewer =
        Process(scratch.command(&["recv", &at, "--insecure", "--quiet"]).spawn().unwrap());
    silent.recv_from(&mut [0; 2048]).unwrap();
    let viewer_id = viewer.0.id().to_string();
    let interrupt = Command::new("kill").args(["-INT", &viewer_id]).status().unwrap();
    assert!(interrupt.success());
    assert_eq!(viewer.0.wait().unwrap().code(), Some(130));
}
