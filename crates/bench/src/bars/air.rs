//! The medium of 802.11, beside ns-3 in the same scenes: saturated, and under a transfer.

use std::time::Duration;

use airlane_base::{Dscp, Ecn, FlowId, IP_UDP_HEADER_BYTES, Packet, Progress, Seed, Time};
use airlane_lab::workloads::bulk;
use airlane_link::thread_cpu;
use airlane_net::air::{
    Air, ApConfig, ChannelConfig, Descriptors, Protection, RateControl, SchedulerKind, Signal,
    StationConfig,
};
use airlane_net::{Capacity, Direction, Limit, Node, QueueSpec};
use airlane_scenario::Cipher;
use airlane_wifi::{Format, Guard, Width};

use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::clock::Watch;
use crate::ns3::Builds;
use crate::scene::{AIR, Scene};

const IP_BYTES: u32 = 1_500;
/// Packets that wait at most.
const WAITING: u64 = 600;
/// HE at 80 MHz, two streams, aggregates of 64: the fastest that a laptop and its access point have.
const MCS: u8 = 11;

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let builds = Builds::medium(setting);
    let (builds, missing) = match &builds {
        Ok(builds) => (builds.all(), builds.missing()),
        Err(problem) => (&[][..], problem.to_string()),
    };
    let build = builds.first();
    let seconds = if setting.quick { 1 } else { 5 };
    let saturated = ["--down=1", "--mcs=11"].map(String::from);
    let transfer = ["--down=1", "--mcs=5", "--traffic=tcp", "--ip=1378"].map(String::from);
    let (mut air, mut peer) = (Vec::new(), Vec::new());
    let (mut null, mut tls, mut tcp) = (Vec::new(), Vec::new(), Vec::new());
    let (mut real, mut carried) = (0.0, 0.0);
    let with_null = Scene::own(AIR, &[])?;
    let with_tls = Scene::own(AIR, &[])?.sealed_with(Cipher::Tls);
    for _ in 0..setting.rounds(3) {
        let (packets, used) = saturate(Duration::from_secs(seconds));
        air.push(packets as f64 / used.as_secs_f64());
        real = seconds as f64 / used.as_secs_f64();
        null.push(bits_per_s(&with_null)?.0);
        let (rate, goodput) = bits_per_s(&with_tls)?;
        tls.push(rate);
        carried = goodput;
        if let Some(build) = build {
            let run = build.air(&saturated, seconds)?;
            peer.push(run.packets as f64 / run.cpu_s);
            let run = build.air(&transfer, seconds.min(2))?;
            tcp.push(run.total_bps * seconds.min(2) as f64 / run.cpu_s);
        }
    }
    let name = build.map_or_else(|| format!("left out: {missing}"), |build| build.name());
    let peer = (!peer.is_empty()).then(|| median(peer));
    let tcp = (!tcp.is_empty()).then(|| median(tcp) / 1e6);
    let one = |cipher: &str, ours: Vec<f64>, times: f64, note: String| Figure {
        bar: format!("air.quic.{cipher}"),
        ours: median(ours) / 1e6,
        peer: tcp,
        unit: "Mbit/s",
        rule: Rule::TimesPeer(times),
        note,
    };
    Ok(vec![
        Figure {
            bar: "air.saturated".into(),
            ours: median(air),
            peer,
            unit: "packets/s",
            rule: Rule::TimesPeer(20.0),
            note: format!(
                "packets of 1500 bytes that came per second of processor time: one station, HE80 MCS {MCS}, two \
                 streams, aggregates of 64, a full queue; ours {real:.0} times as fast as real time, the medium \
                 alone, as ns-3's packets go from MAC to MAC without an IP stack; medians; {name}"
            ),
        },
        one(
            "null",
            null,
            8.0,
            format!(
                "application bits carried per second of processor time: one transfer of Cubic, HE80 MCS 5, two \
                 streams, 20 ms: {:.0} Mbit/s of virtual time; QUIC beside ns-3's TCP; medians",
                carried / 1e6
            ),
        ),
        one("tls", tls, 3.0, "the same with TLS".into()),
    ])
}

/// A full queue for so long: packets that came, and what it took.
fn saturate(span: Duration) -> (u64, Duration) {
    let config = ApConfig {
        format: Format::He,
        width: Width::Mhz80,
        guard: Guard::Ns800,
        streams: 2,
        window: 64,
        max_air: Duration::from_micros(5_484),
        max_amsdu: 0,
        retries: 7,
        protection: Protection::Never,
        is_encrypted: false,
        has_categories: false,
        contention: None,
        scheduler: SchedulerKind::RoundRobin,
        queue: QueueSpec::DropTail(Limit::Packets(1_000)),
        pool: Capacity::Unlimited,
        rate_control: RateControl::Fixed { mcs: MCS, streams: 2 },
        slow_below: None,
        descriptors: Descriptors::Unlimited,
        has_beacons: false,
        position: None,
        power_dbm: 20.0,
        snr_to_others_db: 40.0,
    };
    let station = StationConfig {
        signal: Signal::Fixed(50.0),
        up_db: 0.0,
        snr_to_others_db: 40.0,
        power_save: None,
        contention: None,
        queue: config.queue.clone(),
        rate_control: None,
    };
    let mut air = Air::new(ChannelConfig::default(), Seed(1));
    let ap = air.add_ap(config);
    let port = Air::port(air.add_station(ap, station), Direction::Down);
    let end = Time::ZERO + span;
    let (mut now, mut came, mut drops) = (Time::ZERO, 0, Vec::new());
    for id in 0..WAITING {
        air.push(now, port, packet(id), &mut drops);
    }
    let (watch, cpu) = (Watch::start(), thread_cpu());
    while let Some(at) = air.next_event().filter(|at| *at <= end) {
        now = at;
        while let Some(packet) = air.poll(now, &mut drops) {
            came += 1;
            air.push(now, port, packet, &mut drops);
        }
    }
    let used = thread_cpu().zip(cpu).map_or_else(|| watch.elapsed(), |(end, start)| end - start);
    (came, used)
}

fn packet(id: u64) -> Box<Packet> {
    let end = std::net::SocketAddr::from(([10, 0, 0, 1], 1));
    Box::new(Packet {
        id,
        flow: FlowId(0),
        src: end,
        dst: end,
        ecn: Ecn::NotEct,
        dscp: Dscp::default(),
        sent: Time::ZERO,
        enqueued: Time::ZERO,
        progress: Progress::default(),
        header_bytes: IP_UDP_HEADER_BYTES,
        payload: vec![0; (IP_BYTES - u32::from(IP_UDP_HEADER_BYTES)) as usize],
    })
}

/// Application bits per second of the processor, and per second of virtual time.
fn bits_per_s(scene: &Scene) -> Result<(f64, f64), Problem> {
    let run = scene.run_seed(1)?;
    let Some(transfer) = bulk::Output::of(&run.output).first() else {
        return Err(Problem::Broke("the scene has a transfer".into()));
    };
    let bits = transfer.bytes as f64 * 8.0;
    Ok((bits / run.cpu.as_secs_f64(), bits / scene.seconds()))
}
