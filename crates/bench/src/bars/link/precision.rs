//! A train of packets through the forwarder, and when each arrived.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_link::{Clock, Link, LinkConfig, LinkSpec, Mode, UdpSpec, Way};
use airlane_net::trace::{Medium, Trace};
use airlane_net::{Limit, Opportunities, QueueSpec, Supply};

use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};

use super::train::{Sent, Wanted, closed_form, laboratory, train};
use crate::bar::Problem;

/// Kind of link that the train goes through.
#[derive(Clone, Copy)]
pub(super) enum Case {
    /// A constant rate.
    Constant,
    /// A rate that changes every 20 ms.
    Profile,
    /// Opportunities of 1500 bytes each millisecond but for gaps.
    Opportunities,
}

pub(super) const CASES: [Case; 3] = [Case::Constant, Case::Profile, Case::Opportunities];

const RATE_MBPS: f64 = 12.0;
/// Size of the receiver's buffer.
const RECEIVER_BYTES: usize = 8 << 20;
const DELAY: Duration = Duration::from_millis(20);

impl Case {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Profile => "profile",
            Self::Opportunities => "opportunities",
        }
    }

    pub(super) fn link(self) -> &'static str {
        match self {
            Self::Constant => "12 Mbit/s and 20 ms",
            Self::Profile => "a generated LTE trace of 12 Mbit/s in the mean and 20 ms",
            Self::Opportunities => {
                "delivery opportunities in three of four milliseconds, as Mahimahi has them, and \
                 20 ms"
            }
        }
    }

    pub(super) fn reference(self) -> &'static str {
        match self {
            Self::Constant => "the closed form",
            _ => "the laboratory's network in virtual time",
        }
    }

    fn supply(self, seed: u64) -> Result<Supply, Problem> {
        let broken = |e: airlane_base::InputError| Problem::Broke(e.to_string());
        let mean = Rate::from_mbps(RATE_MBPS);
        Ok(match self {
            Self::Constant => Supply::Constant(mean),
            Self::Profile => {
                let length = Duration::from_secs(60);
                let trace = Trace::synthetic(Medium::Lte, Seed(seed), length).map_err(broken)?;
                trace.scaled_to(mean).map_err(broken)?.supply()
            }
            Self::Opportunities => {
                // 16 ms of opportunities, then 4 without.
                let millis = (1..=60_000).filter(|ms| ms % 20 < 16).collect();
                Supply::Opportunities(Arc::new(Opportunities::new(millis).map_err(broken)?))
            }
        })
    }
}

/// One run.
pub(super) struct Run {
    /// Difference between each packet's arrival and its due time, in milliseconds.
    pub(super) errors_ms: Vec<f64>,
    /// Share of a core that the link used while nothing came.
    pub(super) idle_cpu: f64,
}

pub(super) fn run(case: Case, seconds: f64, round: u64) -> Result<Run, Problem> {
    let broken = |what: &str| {
        let what = what.to_owned();
        move |e: std::io::Error| Problem::Broke(format!("{what}: {e}"))
    };
    let supply = case.supply(round)?;
    let queue = QueueSpec::DropTail(Limit::Unlimited);
    let way = Way { delay: DELAY, ..Way::new(supply, queue) };
    let seed = Seed(round);
    let spec = LinkSpec::new(way.clone(), way.clone(), seed);
    let receiver = UdpSocket::bind("127.0.0.1:0").map_err(broken("bind"))?;
    // As much as the system grants: this is about the link's time, not the receiver's.
    let _ = set_socket_recv_buffer_size_force(&receiver, RECEIVER_BYTES)
        .or_else(|_| set_socket_recv_buffer_size(&receiver, RECEIVER_BYTES));
    let target = receiver.local_addr().map_err(broken("address"))?;
    let mode = Mode::Udp(UdpSpec::new([([127, 0, 0, 1], 0).into()], target));
    let mut link = Link::start(&LinkConfig { link: spec, mode, realtime: None })?;
    let clock = link.clock();
    let to = link.address().ok_or_else(|| Problem::Broke("no address".to_owned()))?;
    let sender = UdpSocket::bind("127.0.0.1:0").map_err(broken("bind"))?;

    let before = link.totals()?;
    link.wait(Duration::from_millis(500));
    let idle_cpu = link.totals()?.since(&before).cpu;

    let load = Rate::from_mbps(RATE_MBPS * 0.6);
    let wanted = train(load, clock.now() + Duration::from_millis(10), seconds, round);
    let (sent, arrived) = std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&receiver, clock, wanted.len()));
        let sent = send(&sender, to, clock, &wanted);
        (sent, receiving.join())
    });
    let sent = sent.map_err(broken("send"))?;
    let arrived = arrived.map_err(|_| Problem::Broke("the receiver panicked".to_owned()))?;
    let arrived = arrived.map_err(broken("receive"))?;
    let due = match case {
        Case::Constant => closed_form(Rate::from_mbps(RATE_MBPS), DELAY, &sent),
        _ => laboratory(&way, seed.split("up"), &sent),
    };
    let totals = link.stop()?;
    if totals.up.delivered.0 != sent.len() as u64 || due.len() != sent.len() {
        let (delivered, sent) = (totals.up.delivered.0, sent.len());
        return Err(Problem::Broke(format!("{delivered} of {sent} packets came out")));
    }
    // What the receiver never got is as late as can be.
    let mut errors_ms = vec![f64::INFINITY; due.len()];
    for (number, at) in arrived {
        errors_ms[number] = (at.as_secs_f64() - due[number].as_secs_f64()).abs() * 1e3;
    }
    Ok(Run { errors_ms, idle_cpu })
}

/// Sends each packet at its time or as soon after as this thread runs; notes when.
#[expect(clippy::disallowed_methods, reason = "a bench lives by the machine's clock")]
fn send(
    socket: &UdpSocket,
    to: std::net::SocketAddr,
    clock: Clock,
    wanted: &[Wanted],
) -> std::io::Result<Vec<Sent>> {
    let mut buffer = [0; 1_500];
    let mut sent = Vec::with_capacity(wanted.len());
    for (number, (at, size)) in wanted.iter().enumerate() {
        let wait = *at - clock.now();
        if !wait.is_zero() {
            std::thread::sleep(wait);
        }
        buffer[..8].copy_from_slice(&(number as u64).to_be_bytes());
        sent.push((clock.now(), *size));
        socket.send_to(&buffer[..*size], to)?;
    }
    Ok(sent)
}

/// Receives so many packets; notes the number of each and when it came.
fn receive(socket: &UdpSocket, clock: Clock, count: usize) -> std::io::Result<Vec<(usize, Time)>> {
    // Longer than anything waits in the link; then what is missing is lost.
    socket.set_read_timeout(Some(Duration::from_secs(40)))?;
    let mut buffer = [0; 2_000];
    let mut arrived = Vec::with_capacity(count);
    while arrived.len() < count {
        match socket.recv(&mut buffer) {
            Ok(_) => {
                let mut number = [0; 8];
                number.copy_from_slice(&buffer[..8]);
                arrived.push((u64::from_be_bytes(number) as usize, clock.now()));
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
            Err(e) => return Err(e),
        }
    }
    Ok(arrived)
}
