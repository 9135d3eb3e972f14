//! What the qlog files say is what happened.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::common::*;
use airlane_base::Rate;
use airlane_congestion::{Algorithm, ControllerConfig};
use airlane_quic::{Cipher, ControlStats, Endpoint, QuicError, TransportConfig};
use airlane_runtime::RuntimeExt;
use serde_json::Value;

/// Files of a folder by name.
fn files(dir: &Path) -> BTreeMap<String, String> {
    let files = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap());
    files
        .map(|f| {
            let text = std::fs::read_to_string(f.path()).unwrap();
            (f.file_name().into_string().unwrap(), text)
        })
        .collect()
}

/// A transfer over 10 Mbit/s and 20 ms that loses packets in the queue: the sender's statistics
/// and sizes of what came down, and the files.
fn run(
    name: &str,
    seed: u64,
    bytes: u64,
    mut config: TransportConfig,
) -> (ControlStats, Vec<usize>, BTreeMap<String, String>) {
    let dir = scratch(name);
    config.debug_files.qlog_dir = Some(dir.clone());
    let mut net = net(seed, Link::new(Rate::from_mbps(10.0), Duration::from_millis(10), 40_000));
    net.seen.lock().keep = true;
    let (s, c) = (net.server.clone(), net.client.clone());
    let (_, stats) = net.world.run(transfer(s, c, SERVER_ADDR.into(), config, bytes)).unwrap();
    let sizes = net.seen.lock().down.iter().map(|(_, n)| *n).collect();
    drop(net);
    let files = files(&dir);
    std::fs::remove_dir_all(&dir).unwrap();
    (stats, sizes, files)
}

/// The records of a text sequence (RFC 7464): a separator before each, a line feed after.
fn records(text: &str) -> Vec<Value> {
    let mut parts = text.split('\x1e');
    assert_eq!(parts.next(), Some(""));
    parts
        .map(|record| {
            assert!(record.ends_with('\n'), "cut off: {record:?}");
            serde_json::from_str(record).unwrap_or_else(|e| panic!("{e}: {record}"))
        })
        .collect()
}

/// The log of one side: its head, and its events as time, name and data.
fn log(files: &BTreeMap<String, String>, side: &str) -> (Value, Vec<(f64, String, Value)>) {
    let end = format!("-{side}.sqlog");
    let (_, text) = files.iter().find(|(name, _)| name.ends_with(&end)).expect(side);
    let mut records = records(text).into_iter();
    let head = records.next().unwrap();
    let events = records.map(|r| {
        let (time, name) = (r["time"].as_f64().unwrap(), r["name"].as_str().unwrap().to_owned());
        assert_eq!(time, (time * 1e3).round() / 1e3, "{r}");
        assert!(r["data"].is_object(), "{r}");
        (time, name, r["data"].clone())
    });
    (head, events.collect())
}

fn number(data: &Value) -> u64 {
    assert_eq!(data["header"]["packet_type"], "1RTT", "{data}");
    data["header"]["packet_number"].as_u64().unwrap()
}

#[test]
fn both_sides_name_the_connection_and_themselves() {
    let (_, _, files) = run("heads", 1, 10_000, config(Algorithm::Cubic));
    let stems: Vec<_> = files.keys().map(|name| name.split_once('-').unwrap()).collect();
    let [(a, "client.sqlog"), (b, "server.sqlog")] = stems[..] else { panic!("{stems:?}") };
    assert_eq!(a, b);
    for (side, src, dst) in [("client", None, Some(443)), ("server", Some(443), None)] {
        let (head, events) = log(&files, side);
        assert_eq!(
            (&head["qlog_version"], &head["qlog_format"]),
            (&"0.3".into(), &"JSON-SEQ".into())
        );
        assert!(
            head["title"].is_string() && head["description"].as_str().unwrap().contains("cubic")
        );
        let trace = &head["trace"];
        assert_eq!(trace["vantage_point"]["type"], side);
        let common = &trace["common_fields"];
        assert_eq!((&common["ODCID"], &common["group_id"]), (&a.into(), &a.into()));
        assert_eq!(common["time_format"], "relative");
        assert_eq!(common["reference_time"], 0);
        assert_eq!(common["protocol_type"], serde_json::json!(["QUIC", "HTTP3"]));
        let (time, name, data) = &events[0];
        assert_eq!(name, "connectivity:connection_started");
        // The client's first packet is on its way for 10 ms.
        assert_eq!(*time, if side == "client" { 0.0 } else { 10.0 });
        assert!(src.is_none_or(|port| data["src_port"] == port), "{data}");
        assert!(dst.is_none_or(|port| data["dst_port"] == port), "{data}");
        assert!(data["src_ip"].is_string() && data["dst_ip"].is_string(), "{data}");
    }
}

#[test]
fn the_log_accounts_for_every_packet() {
    let bytes = 3_000_000;
    for cipher in [Cipher::Null, Cipher::lab_tls().unwrap()] {
        let config = sealed(cipher, Algorithm::Cubic);
        let (stats, _, files) = run("sums", 1, bytes, config);
        let k = stats;
        let (_, events) = log(&files, "server");
        let mut flying = BTreeMap::new();
        let (mut sent, mut acked, mut lost) = ((0, 0), (0, 0), (0, 0));
        let mut last = BTreeMap::new();
        let mut states = Vec::new();
        let mut before = 0.0;
        for (time, name, data) in &events {
            assert!(*time >= before, "{time} after {before}");
            before = *time;
            match name.as_str() {
                "transport:packet_sent" => {
                    let length = data["raw"]["length"].as_u64().unwrap();
                    assert!((20..=1350).contains(&length), "{data}");
                    assert_eq!(flying.insert(number(data), length), None);
                    sent = (sent.0 + 1, sent.1 + length);
                }
                "transport:packets_acked" => {
                    assert_eq!(data["packet_number_space"], "application_data");
                    for pn in data["packet_numbers"].as_array().unwrap() {
                        let length = flying.remove(&pn.as_u64().unwrap()).expect("sent before");
                        acked = (acked.0 + 1, acked.1 + length);
                    }
                }
                "recovery:packet_lost" => {
                    let length = flying.remove(&number(data)).expect("sent before");
                    lost = (lost.0 + 1, lost.1 + length);
                }
                "recovery:metrics_updated" => {
                    let data = data.as_object().unwrap();
                    assert!(!data.is_empty());
                    for (key, value) in data {
                        let value = value.as_f64().unwrap();
                        assert_ne!(last.insert(key.clone(), value), Some(value), "{key} again");
                    }
                    if let Some(rtt) = last.get("latest_rtt") {
                        assert!(last["min_rtt"] <= *rtt && *rtt >= 20.0, "{last:?}");
                    }
                }
                "recovery:congestion_state_updated" => {
                    assert_eq!(data.get("old").and_then(Value::as_str), states.last().copied());
                    states.push(data["new"].as_str().unwrap());
                }
                "connectivity:connection_started" => {}
                other => panic!("{other}: {data}"),
            }
        }
        // Nothing is left in flight but what the end of the connection cut short.
        assert_eq!(sent, (k.sent_packets, k.sent_bytes));
        assert_eq!(acked, (k.acked_packets, k.acked_bytes));
        assert_eq!(lost, (k.lost_packets, k.lost_bytes));
        assert_eq!(sent.0, acked.0 + lost.0 + flying.len() as u64);
        assert_eq!(sent.1, acked.1 + lost.1 + flying.values().sum::<u64>());
        assert_eq!(last["bytes_in_flight"], k.in_flight as f64);
        assert_eq!(last["congestion_window"], k.window as f64);
        assert_eq!(last["ssthresh"], k.ssthresh.unwrap() as f64);
        // All of the payload, repairs, and headers of 30 to 60 bytes in 1350.
        assert!(lost.0 > 10 && acked.1 > bytes, "{lost:?} {acked:?}");
        assert!(acked.1 < bytes + bytes / 20, "{acked:?}");
        assert_eq!(states[..3], ["open", "recovery", "congestion_avoidance"], "{states:?}");
    }
}

#[test]
fn the_same_seed_writes_the_same_bytes_wherever_the_clock_starts() {
    let files = |name: &str, seed, clock_shift, cipher| {
        let config = TransportConfig { clock_shift, ..sealed(cipher, Algorithm::Bbr) };
        run(name, seed, 500_000, config).2
    };
    for cipher in [Cipher::Null, Cipher::lab_tls().unwrap()] {
        let first = files("first", 3, Duration::ZERO, cipher.clone());
        assert_eq!(first.len(), 2);
        assert!(log(&first, "server").1.len() > 500);
        assert_eq!(first, files("again", 3, Duration::ZERO, cipher.clone()));
        let shift = Duration::from_nanos(123_456_789_123);
        assert_eq!(first, files("shifted", 3, shift, cipher.clone()));
        let other = files("other", 4, Duration::ZERO, cipher);
        assert!(first.keys().all(|name| !other.contains_key(name)), "{:?}", first.keys());
    }
}

#[test]
fn packets_have_the_same_sizes_under_both_ciphers() {
    let packets = |name: &str, cipher| {
        let config = sealed(cipher, Algorithm::Reno);
        let (_, sizes, files) = run(name, 5, 300_000, config);
        let sent = |side| -> Vec<(u64, u64)> {
            let events = log(&files, side).1.into_iter();
            events
                .filter(|(_, name, _)| name == "transport:packet_sent")
                .map(|(_, _, data)| (number(&data), data["raw"]["length"].as_u64().unwrap()))
                .collect()
        };
        (sizes, sent("server"), sent("client"))
    };
    let null = packets("null", Cipher::Null);
    assert!(null.0.len() > 200 && null.1.len() > 200 && null.2.len() > 1, "{null:?}");
    assert_eq!(null, packets("tls", Cipher::lab_tls().unwrap()));
}

/// Weights and rates that a role sets, with the times.
fn asked(name: &str, algorithm: ControllerConfig) -> Vec<(f64, Value)> {
    let dir = scratch(name);
    let mut net = net(1, Link::new(Rate::from_mbps(10.0), Duration::from_millis(10), 40_000));
    let (s, c) = (net.server.clone(), net.client.clone());
    let mut config = controlled(algorithm);
    config.debug_files.qlog_dir = Some(dir.clone());
    net.world
        .run(async move {
            let (_s, _c, _to_server, to_client) =
                pair(&s, &c, SERVER_ADDR.into(), config).await.unwrap();
            for (second, weight) in [(1, 2.5), (2, 2.5), (3, 0.75)] {
                s.sleep_until(airlane_base::Time::from_millis(second * 1000)).await;
                to_client.control().set_weight(weight);
                to_client.control().set_rate(Rate::from_bps(second * 1_000_000));
            }
        })
        .unwrap();
    drop(net);
    let events = log(&files(&dir), "server").1;
    std::fs::remove_dir_all(&dir).unwrap();
    let asked = events.into_iter().filter(|(_, name, _)| name == "airlane:weight_updated");
    asked.map(|(time, _, data)| (time, data)).collect()
}

#[test]
fn weights_and_rates_are_written_when_they_change() {
    use serde_json::json;
    let cubic = asked("weights", ControllerConfig::new(Algorithm::Cubic));
    assert_eq!(cubic, [(1e3, json!({"weight": 2.5})), (3e3, json!({"weight": 0.75}))]);
    let explicit = asked("rates", ControllerConfig::Explicit { rate: Rate::from_bps(1_000_000) });
    assert_eq!(explicit, [(2e3, json!({"rate": 2_000_000})), (3e3, json!({"rate": 3_000_000}))]);
}

#[test]
fn a_folder_that_cannot_be_made_is_refused() {
    let dir = scratch("refused");
    let file = dir.join("file");
    std::fs::write(&file, "not a folder").unwrap();
    let net = net(1, Link::new(Rate::from_mbps(10.0), Duration::from_millis(10), 40_000));
    let below = file.join("logs");
    let mut config = config(Algorithm::Reno);
    config.debug_files.qlog_dir = Some(below.clone());
    let refused = Endpoint::client(&net.client, ([0, 0, 0, 0], 0).into(), config).map(|_| ());
    let Err(QuicError::Io { path, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(path, Some(below));
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_costs_the_log_and_not_the_connection() {
    let (stats, _, files) = run("disk", 1, 1_000_000, config(Algorithm::Reno));
    let dir = scratch("disk");
    for name in files.keys() {
        std::os::unix::fs::symlink("/dev/full", dir.join(name)).unwrap();
    }
    let mut net = net(1, Link::new(Rate::from_mbps(10.0), Duration::from_millis(10), 40_000));
    let (s, c) = (net.server.clone(), net.client.clone());
    let mut config = config(Algorithm::Reno);
    config.debug_files.qlog_dir = Some(dir.clone());
    let (_, full) = net.world.run(transfer(s, c, SERVER_ADDR.into(), config, 1_000_000)).unwrap();
    assert_eq!(full.acked_bytes, stats.acked_bytes);
    std::fs::remove_dir_all(&dir).unwrap();
}
