//! Trains of packets, and when they must arrive.

use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::{
    Dscp, Ecn, FlowId, IP_UDP_HEADER_BYTES, Packet, Progress, Rate, Rng, Seed, Time,
};
use airlane_link::{Way, dumbbell};
use rand::RngExt;

/// Payload bytes: small, middling, full.
const SIZES: [usize; 3] = [72, 572, 1_400];
/// Every so often a burst.
const BURST_EVERY: Duration = Duration::from_millis(250);
const BURST: usize = 20;

/// A packet to be sent: when, and its payload in bytes.
pub(super) type Wanted = (Time, usize);
/// A packet that was sent: when, and its payload in bytes.
pub(super) type Sent = (Time, usize);

/// Poisson arrivals with bursts, `load` bits per second in all, for so long from `start` on.
pub(super) fn train(load: Rate, start: Time, seconds: f64, seed: u64) -> Vec<Wanted> {
    let mut rng = Seed(seed).split("train").rng();
    let size = |rng: &mut Rng| SIZES[rng.random_range(0..SIZES.len())];
    let end = start + Duration::from_secs_f64(seconds);
    let mut all: Vec<Wanted> = Vec::new();
    let mut at = start;
    while at < end {
        all.extend((0..BURST).map(|_| (at, size(&mut rng))));
        at += BURST_EVERY;
    }
    let mean = SIZES.iter().sum::<usize>() as f64 / SIZES.len() as f64;
    let mean = mean + f64::from(IP_UDP_HEADER_BYTES);
    let in_bursts = BURST as f64 * mean * 8.0 / BURST_EVERY.as_secs_f64();
    let gap = mean * 8.0 / (load.as_f64() - in_bursts).max(1.0);
    at = start;
    loop {
        at += Duration::from_secs_f64(-gap * (1.0 - rng.random::<f64>()).ln());
        if at >= end {
            break;
        }
        all.push((at, size(&mut rng)));
    }
    all.sort_by_key(|(at, _)| *at);
    all
}

/// Times at which packets leave a link of constant rate behind a constant delay: each begins when
/// it is there and the one before is gone, and takes its bits over the rate.
pub(super) fn closed_form(rate: Rate, delay: Duration, sent: &[Sent]) -> Vec<Time> {
    let mut free = Time::ZERO;
    let leave = |(at, payload): &Sent| {
        let bytes = *payload as u64 + u64::from(IP_UDP_HEADER_BYTES);
        free = (*at + delay).max(free) + rate.time_for(bytes);
        free
    };
    sent.iter().map(leave).collect()
}

/// Times at which the laboratory's elements deliver them; nothing is lost on the way.
pub(super) fn laboratory(way: &Way, seed: Seed, sent: &[Sent]) -> Vec<Time> {
    let mut built = dumbbell(way).build(seed);
    let end = |host| SocketAddr::new(built.network.addresses(host)[0], 9);
    let (src, dst) = (end(built.servers[0]), end(built.clients[0]));
    for (at, payload) in sent {
        built.network.send(
            *at,
            Box::new(Packet {
                id: 0,
                flow: FlowId(0),
                src,
                dst,
                ecn: Ecn::NotEct,
                dscp: Dscp::DEFAULT,
                sent: *at,
                enqueued: *at,
                progress: Progress::default(),
                header_bytes: IP_UDP_HEADER_BYTES,
                payload: vec![0; *payload],
            }),
        );
    }
    let late = Time::FAR_FUTURE - Duration::from_secs(1);
    std::iter::from_fn(|| built.network.poll(late)).map(|d| d.at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_net::{Limit, QueueSpec};

    #[test]
    fn the_closed_form_is_what_the_laboratory_does() {
        let (rate, delay) = (Rate::from_mbps(10.0), Duration::from_millis(7));
        let way = Way { delay, ..Way::new(rate, QueueSpec::DropTail(Limit::Unlimited)) };
        let sent = train(rate.scale(0.8), Time::from_millis(3), 5.0, 9);
        let bits: usize = sent.iter().map(|(_, n)| (n + 28) * 8).sum();
        assert!((bits as f64 / 5.0 / rate.as_f64() - 0.8).abs() < 0.05, "{bits}");
        assert_eq!(closed_form(rate, delay, &sent), laboratory(&way, Seed(1), &sent));
    }
}
