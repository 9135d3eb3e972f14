//! The network's elements alone: queue, link and delay, with nothing at the ends.

use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::{Dscp, Ecn, FlowId, IP_UDP_HEADER_BYTES, Packet, Progress, Rate, Seed, Time};
use airlane_link::thread_cpu;
use airlane_net::{
    BuiltDumbbell, Dumbbell, GilbertElliott, Impairment, Limit, PieConfig, QueueSpec, SendJitter,
};

use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::clock::Watch;

const PAYLOAD: usize = 1_350;
const RATE_MBPS: f64 = 100.0;
const RTT: Duration = Duration::from_millis(20);
const FLOWS: [usize; 4] = [1, 8, 80, 800];

/// Chain of elements that the packets go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chain {
    DropTail,
    Pie,
    /// Burst loss in front.
    Loss,
    /// Send jitter in front, and a delay of its own per flow behind.
    Jitter,
}

impl Chain {
    const ALL: [Self; 4] = [Self::DropTail, Self::Pie, Self::Loss, Self::Jitter];

    /// The elements that the bar is about; the others are shown beside it.
    fn is_plain(self) -> bool {
        matches!(self, Self::DropTail | Self::Pie)
    }

    fn name(self) -> &'static str {
        match self {
            Self::DropTail => "droptail, link, delay",
            Self::Pie => "PIE, link, delay",
            Self::Loss => "burst loss, droptail, link, delay",
            Self::Jitter => "send jitter, droptail, link, one delay per flow",
        }
    }

    fn build(self, flows: usize) -> BuiltDumbbell {
        let mut spec = Dumbbell::new(Rate::from_mbps(RATE_MBPS), RTT, 1.5, flows);
        if self == Self::Pie {
            spec.downlink.queue = QueueSpec::Pie(Limit::Bdp(1.5), PieConfig::default());
        }
        if self != Self::Jitter {
            spec.send_jitter = SendJitter::Off;
        }
        match self {
            Self::Jitter => {
                for (i, rtt) in spec.rtts.iter_mut().enumerate() {
                    *rtt += Duration::from_micros(i as u64 * 50);
                }
            }
            Self::Loss => {
                let law = GilbertElliott::bursts(0.01, 3.0);
                spec.downlink.impairments.push(Impairment::GilbertElliott(law));
            }
            Self::DropTail | Self::Pie => {}
        }
        spec.build(Seed(1))
    }
}

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let packets = if setting.quick { 100_000 } else { 2_000_000 };
    let mut slowest_plain = f64::INFINITY;
    let mut notes = Vec::new();
    for chain in Chain::ALL {
        let rates = FLOWS.map(|flows| {
            median((0..setting.rounds(3)).map(|_| packets_per_s(chain.build(flows), packets)))
        });
        let [least, most] = [
            rates.into_iter().fold(f64::INFINITY, f64::min),
            rates.into_iter().fold(0.0, f64::max),
        ];
        if chain.is_plain() {
            slowest_plain = slowest_plain.min(least);
        }
        notes.push(format!("{} {:.1} to {:.1}", chain.name(), least / 1e6, most / 1e6));
    }
    Ok(vec![Figure {
        bar: "elements".into(),
        ours: slowest_plain / 1e6,
        peer: None,
        unit: "million packets/s",
        rule: Rule::AtLeast(5.0),
        note: format!(
            "per second of processor time of one thread, medians; the least of the first two \
             chains over 1, 8, 80 and 800 flows; {}",
            notes.join("; ")
        ),
    }])
}

/// Packets of all flows in turn, at 95 % of the link; what arrives is sent again.
fn packets_per_s(mut built: BuiltDumbbell, packets: u64) -> f64 {
    let network = &built.network;
    let end = |host| SocketAddr::new(network.addresses(host)[0], 443);
    let ends: Vec<(SocketAddr, SocketAddr)> =
        built.servers.iter().zip(&built.clients).map(|(s, c)| (end(*s), end(*c))).collect();
    let gap = Rate::from_mbps(RATE_MBPS).time_for(PAYLOAD as u64 + 28).mul_f64(1.0 / 0.95);
    let blank = Packet {
        id: 0,
        flow: FlowId(0),
        src: ends[0].0,
        dst: ends[0].1,
        ecn: Ecn::NotEct,
        dscp: Dscp::DEFAULT,
        sent: Time::ZERO,
        enqueued: Time::ZERO,
        progress: Progress::default(),
        header_bytes: IP_UDP_HEADER_BYTES,
        payload: vec![0; PAYLOAD],
    };
    let mut spare: Vec<Box<Packet>> = Vec::new();
    let mut now = Time::ZERO;
    let (watch, cpu) = (Watch::start(), thread_cpu());
    for (src, dst) in ends.iter().cycle().take(packets as usize) {
        let mut packet = spare.pop().unwrap_or_else(|| Box::new(blank.clone()));
        (packet.src, packet.dst) = (*src, *dst);
        built.network.send(now, packet);
        now += gap;
        while let Some(at) = built.network.next_event().filter(|at| *at <= now) {
            while let Some(arrived) = built.network.poll(at) {
                spare.push(arrived.packet);
            }
        }
    }
    // A busy machine does not count, where the system tells.
    let used = thread_cpu().zip(cpu).map_or_else(|| watch.elapsed(), |(end, start)| end - start);
    packets as f64 / used.as_secs_f64()
}
