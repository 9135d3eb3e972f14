//! As much UDP as one core moves: the forwarder's thread on one, its peers on the other.

use std::io::{ErrorKind, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_link::{Link, LinkConfig, LinkSpec, Mode, UdpSpec, Way};
use airlane_net::{Limit, QueueSpec};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::bar::Problem;
use crate::clock::Watch;

/// Payload of a packet.
const PAYLOAD: usize = 1_400;
/// Rate of the link: more than is sent.
const LINK_GBPS: f64 = 2.0;

/// Result of a run.
pub(super) struct Moved {
    /// Packets that arrived at the receiver.
    packets: u64,
    /// In how long.
    span: Duration,
    /// Processor time of the forwarder's thread per packet that it delivered, in microseconds.
    pub(super) cpu_per_packet_us: f64,
    /// Share of the packets that did not arrive.
    pub(super) lost: f64,
}

impl Moved {
    /// Payload that arrived, in 10^9 bits per second.
    pub(super) fn gbps(&self) -> f64 {
        self.packets as f64 * PAYLOAD as f64 * 8e-9 / self.span.as_secs_f64()
    }

    /// Payload that a core would move if it did nothing else, in 10^9 bits per second.
    pub(super) fn of_a_core(&self) -> f64 {
        PAYLOAD as f64 * 8e-3 / self.cpu_per_packet_us
    }
}

/// Sends at `gbps` of payload in bursts of `batch` packets, each burst in one call.
pub(super) fn run(batch: usize, gbps: f64, span: Duration) -> Result<Moved, Problem> {
    let broken = |e: std::io::Error| Problem::Broke(format!("UDP at full speed: {e}"));
    let rate = Rate::from_mbps(LINK_GBPS * 1e3);
    let way = Way::new(rate, QueueSpec::DropTail(Limit::Bytes(8 << 20)));
    let receiver = UdpSocket::bind("127.0.0.1:0").map_err(broken)?;
    let target = receiver.local_addr().map_err(broken)?;
    let mode = Mode::Udp(UdpSpec::new([([127, 0, 0, 1], 0).into()], target));
    let request =
        LinkConfig { link: LinkSpec::new(way.clone(), way, Seed(1)), mode, realtime: None };
    // A thread runs where the one that started it may.
    let start = || {
        pin(0)?;
        Ok::<_, Problem>(Link::start(&request)?)
    };
    let link = std::thread::scope(|scope| scope.spawn(start).join());
    let mut link = link.map_err(|_| Problem::Broke("a thread panicked".to_owned()))??;
    let to = link.address().ok_or_else(|| Problem::Broke("no address".to_owned()))?;
    let done = AtomicBool::new(false);
    let before = link.totals()?;
    let (sent, received) = std::thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            pin(1)?;
            receive(&receiver, &done).map_err(broken)
        });
        let sending = scope.spawn(|| {
            pin(1)?;
            let socket = UdpSocket::bind("127.0.0.1:0").map_err(broken)?;
            let bursts = [vec![vec![0; PAYLOAD]; batch].concat()];
            let load = Load { bursts: &bursts, payload: PAYLOAD, gbps, span };
            send(&socket, to, &load).map_err(broken)
        });
        let sent = sending.join();
        // What is on its way arrives.
        link.wait(Duration::from_millis(300));
        done.store(true, Ordering::Relaxed);
        (sent, receiving.join())
    });
    let panicked = |_| Problem::Broke("a thread panicked".to_owned());
    let ((sent, took), received) = (sent.map_err(panicked)??, received.map_err(panicked)??);
    let totals = link.stop()?;
    let delivered = (totals.up.delivered.0 - before.up.delivered.0).max(1);
    let cpu = totals.cpu.saturating_sub(before.cpu);
    Ok(Moved {
        packets: received,
        span: took,
        cpu_per_packet_us: cpu.as_secs_f64() * 1e6 / delivered as f64,
        lost: 1.0 - received as f64 / sent.max(1) as f64,
    })
}

/// Keeps this thread on a core.
pub(crate) fn pin(core: usize) -> Result<(), Problem> {
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores)
        .map_err(|e| Problem::Skipped(format!("it takes two cores: {e}")))
}

/// Load that is sent.
pub(crate) struct Load<'a> {
    /// Bursts in turn, each of packets of the same size in a row; each leaves in one call.
    pub(crate) bursts: &'a [Vec<u8>],
    /// Payload of a packet.
    pub(crate) payload: usize,
    /// Payload in 10^9 bits per second.
    pub(crate) gbps: f64,
    /// For so long.
    pub(crate) span: Duration,
}

/// Sends until the time is over; packets sent and the time that it took.
#[expect(clippy::disallowed_methods, reason = "a bench lives by the machine's clock")]
pub(crate) fn send(
    socket: &UdpSocket,
    to: SocketAddr,
    load: &Load<'_>,
) -> std::io::Result<(u64, Duration)> {
    let state = UdpSocketState::new(socket.into())?;
    let watch = Watch::start();
    let (mut next, mut sent) = (Duration::ZERO, 0);
    let mut bursts = load.bursts.iter().cycle();
    loop {
        let now = watch.elapsed();
        let Some(contents) = bursts.next().filter(|_| now < load.span) else {
            return Ok((sent, now));
        };
        if next > now {
            // Sleeping is for whoever has the time: it leaves the core to the receiver.
            std::thread::sleep(next - now);
        }
        let segment_size = (contents.len() > load.payload).then_some(load.payload);
        let destination = to;
        let transmit = Transmit { destination, ecn: None, contents, segment_size, src_ip: None };
        loop {
            match state.try_send(socket.into(), &transmit) {
                Ok(()) => break,
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) => return Err(e),
            }
        }
        sent += (contents.len() / load.payload) as u64;
        next += Duration::from_secs_f64(contents.len() as f64 * 8e-9 / load.gbps);
    }
}

/// Counts packets until told to end.
pub(crate) fn receive(socket: &UdpSocket, done: &AtomicBool) -> std::io::Result<u64> {
    let state = UdpSocketState::new(socket.into())?;
    state.set_recv_buffer_size(socket.into(), 8 << 20)?;
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    let mut buffers = vec![[0_u8; 1 << 16]; BATCH_SIZE];
    let mut packets = 0;
    while !done.load(Ordering::Relaxed) {
        let mut slices: Vec<IoSliceMut<'_>> =
            buffers.iter_mut().map(|b| IoSliceMut::new(b)).collect();
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        match state.recv(socket.into(), &mut slices, &mut metas) {
            Ok(count) => {
                let in_one = |meta: &RecvMeta| meta.len.div_ceil(meta.stride.max(1)) as u64;
                packets += metas[..count].iter().map(in_one).sum::<u64>();
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
    }
    Ok(packets)
}
