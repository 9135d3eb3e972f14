//! How many packets per second go through queue, link and delay on one core.
//!
//! `cargo run --release -p airlane-net --example elements`

use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::{Ecn, FlowId, Packet, Rate, Seed, Time};
use airlane_net::{
    BuiltDumbbell, Dumbbell, GilbertElliott, Impairment, Limit, PieConfig, QueueSpec, SendJitter,
};

const PACKETS: u64 = 4_000_000;
const PAYLOAD: usize = 1_350;

/// Packets of all flows in turn, at 95 % of the link; what arrives gives its buffer to the next.
fn run(mut d: BuiltDumbbell, rate: Rate) -> (u64, f64, u64) {
    let ends: Vec<(SocketAddr, SocketAddr)> = d
        .servers
        .iter()
        .zip(&d.clients)
        .map(|(s, c)| {
            let at = |h| SocketAddr::new(d.network.addresses(h)[0], 443);
            (at(*s), at(*c))
        })
        .collect();
    let gap = rate.time_for(PAYLOAD as u64 + 28).mul_f64(1.0 / 0.95);
    let mut spare: Vec<Vec<u8>> = Vec::new();
    let started = cpu_seconds();
    let mut now = Time::ZERO;
    let mut delivered = 0;
    for i in 0..PACKETS {
        let (src, dst) = ends[i as usize % ends.len()];
        let payload = spare.pop().unwrap_or_else(|| vec![0; PAYLOAD]);
        let packet = Packet {
            id: 0,
            flow: FlowId(0),
            src,
            dst,
            ecn: Ecn::NotEct,
            sent: now,
            enqueued: now,
            payload,
        };
        d.network.send(now, packet);
        now += gap;
        while let Some(at) = d.network.next_event().filter(|at| *at <= now) {
            while let Some(x) = d.network.poll(at) {
                delivered += 1;
                spare.push(x.packet.payload);
            }
        }
    }
    (delivered, cpu_seconds() - started, d.network.packet_hash())
}

/// Seconds of CPU that this thread used, so that a busy machine does not count; where the system
/// does not tell, seconds of the clock.
fn cpu_seconds() -> f64 {
    let nanos = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|s| s.split_whitespace().next()?.parse::<f64>().ok());
    nanos.map_or_else(
        || {
            static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
            #[expect(clippy::disallowed_methods, reason = "this measures the machine")]
            let now = std::time::Instant::now();
            now.duration_since(*START.get_or_init(|| now)).as_secs_f64()
        },
        |n| n / 1e9,
    )
}

fn main() {
    let rtt = Duration::from_millis(20);
    println!("{:<52} {:>13} {:>10}  packet hash", "elements", "packets/cpu-s", "delivered");
    for flows in [1, 8, 80, 800] {
        for (name, pie, jitter, mixed, loss) in [
            ("droptail, link, delay", false, false, false, false),
            ("pie, link, delay", true, false, false, false),
            ("jitter, droptail, link, one delay each", false, true, true, false),
            ("burst loss, droptail, link, delay", false, false, false, true),
        ] {
            let rate = Rate::from_mbps(100.0);
            let mut spec = Dumbbell::new(rate, rtt, 1.5, flows);
            if pie {
                spec.downlink.queue = QueueSpec::Pie(Limit::Bdp(1.5), PieConfig::default());
            }
            if !jitter {
                spec.send_jitter = SendJitter::Off;
            }
            for (i, flow) in spec.flows.iter_mut().enumerate() {
                if mixed {
                    flow.rtt += Duration::from_micros(i as u64 * 50);
                }
                if loss {
                    let law = GilbertElliott::bursts(0.01, 3.0);
                    flow.impair_down.push(Impairment::GilbertElliott(law));
                }
            }
            let (delivered, seconds, hash) = run(spec.build(Seed(1)), rate);
            let label = format!("{name}, {flows} flows");
            println!("{label:<52} {:>13.0} {delivered:>10}  {hash:016x}", PACKETS as f64 / seconds);
        }
    }
}
