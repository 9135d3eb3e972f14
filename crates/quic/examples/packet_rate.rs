//! Packets per second of one Cubic flow over 50 Mbit/s and 20 ms in virtual time, both ends and a
//! minimal network included, per second of processor time where the system tells it (a busy machine
//! does not spoil it). `cargo run --release -p airlane-quic --example packet_rate [SECONDS]`

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use airlane_base::Rate;
use airlane_congestion::Algorithm;
use airlane_quic::{AckPolicy, Cipher, TransportConfig};
use common::*;

/// Processor time of this process so far, on Linux: user time in ticks of 10 ms.
fn cpu() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let ticks: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(11)?.parse().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

#[expect(clippy::disallowed_methods, reason = "it measures real time")]
fn main() {
    let seconds: u64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(60);
    let rtt = Duration::from_millis(20);
    let cases = [
        ("null", Cipher::Null, AckPolicy::EverySecond),
        ("null, decimated", Cipher::Null, AckPolicy::chromium(rtt)),
        ("tls", Cipher::lab_tls().expect("a certificate"), AckPolicy::EverySecond),
    ];
    for (name, cipher, acks) in cases {
        let rate = Rate::from_mbps(50.0);
        let mut net = net(1, Link::new(rate, rtt / 2, 187_500));
        let config = TransportConfig { cipher, acks, ..config(Algorithm::Cubic) };
        let (s, c) = (net.server.clone(), net.client.clone());
        let bytes = rate.bytes_in(Duration::from_secs(seconds)) * 9 / 10;
        let (start, cpu_start) = (Instant::now(), cpu());
        let run = net.world.run(transfer(s, c, SERVER_ADDR.into(), config, bytes));
        let (took, _) = run.expect("a transfer");
        let used = cpu().zip(cpu_start).map(|(end, start)| end - start);
        let real = used.unwrap_or_else(|| start.elapsed()).as_secs_f64();
        let packets = net.seen.lock().packets;
        println!(
            "{name}: {:.0} packets/s, {:.0}x real time, goodput {:.2} Mbit/s",
            packets as f64 / real,
            took.as_secs_f64() / real,
            Rate::of(bytes, took).mbps(),
        );
    }
}
