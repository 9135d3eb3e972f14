//! A relay between two sockets, and packets through it.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use airlane_octopus::{HEADER_BYTES, Header, Marking};

use super::super::link::forward::{Load, pin, receive, send};
use crate::bar::{Problem, median};
use crate::clock::Watch;
use crate::process::{Running, airlane};

/// Payload of a packet.
pub(super) const PAYLOAD: usize = 1_200;
/// Packets of a message, of a burst, and bursts before message numbers begin anew.
const MESSAGE: usize = 4;
const BURST: usize = 32;
const BURSTS: usize = 1_024;
/// Bits per second that the link carries: more than is sent.
const LINK_BPS: &str = "4e9";
/// A packet that has not come by then is lost.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// `airlane relay` as a process, with what stands at both of its ends.
pub(super) struct Relay {
    pub(super) process: Running,
    sender: UdpSocket,
    viewer: UdpSocket,
    /// Address that the sender sends to.
    to: SocketAddr,
}

/// Result of sending at full speed.
pub(super) struct Moved {
    /// Payload that came, in 10^9 bits per second.
    pub(super) gbps: f64,
    /// Share of the packets that did not.
    pub(super) lost: f64,
}

fn broke(e: io::Error) -> Problem {
    Problem::Broke(format!("relay: {e}"))
}

fn bound() -> Result<UdpSocket, Problem> {
    let socket = UdpSocket::bind("127.0.0.1:0").map_err(broke)?;
    socket.set_read_timeout(Some(READ_TIMEOUT)).map_err(broke)?;
    Ok(socket)
}

impl Relay {
    /// Starts one on the first core with this queue, under the program `under` if it is given.
    pub(super) fn start(queue: &str, under: Option<&[&str]>) -> Result<Self, Problem> {
        let (sender, viewer) = (bound()?, bound()?);
        let target = sender.local_addr().map_err(broke)?.to_string();
        let airlane = airlane()?;
        let mut command = match under {
            Some([program, options @ ..]) => {
                let mut command = Command::new(program);
                command.args(options).arg(airlane);
                command
            }
            _ => Command::new(airlane),
        };
        command.args(["relay", "127.0.0.1:0", &target, "--rate", LINK_BPS, "--rtt", "0"]);
        command.args(["--queue", queue, "--packets", "10000", "--quiet"]);
        // A process runs where the thread that started it may.
        let start = || {
            pin(0)?;
            Running::announced("airlane relay", &mut command)
        };
        let started = std::thread::scope(|scope| scope.spawn(start).join());
        let (process, line) =
            started.map_err(|_| Problem::Broke("a thread panicked".to_owned()))??;
        let at = line.split_whitespace().find_map(|word| word.parse::<SocketAddr>().ok());
        let at = at.ok_or_else(|| Problem::Broke(format!("airlane relay printed: {line}")))?;
        // The way back is known once the viewer has been heard of.
        viewer.connect(at).map_err(broke)?;
        viewer.send(b"hello").map_err(broke)?;
        let (_, to) = sender.recv_from(&mut [0; 16]).map_err(broke)?;
        Ok(Self { process, sender, viewer, to })
    }

    /// As much as it moves of `gbps`.
    pub(super) fn full_speed(&self, gbps: f64, span: Duration) -> Result<Moved, Problem> {
        let packets: Vec<u8> = (0..BURSTS * BURST).flat_map(packet).collect();
        let bursts: Vec<Vec<u8>> = packets.chunks(BURST * PAYLOAD).map(<[u8]>::to_vec).collect();
        let load = Load { bursts: &bursts, payload: PAYLOAD, gbps, span };
        let done = AtomicBool::new(false);
        let (sent, came) = std::thread::scope(|scope| {
            let receiving = scope.spawn(|| {
                pin(1)?;
                receive(&self.viewer, &done).map_err(broke)
            });
            let sending = scope.spawn(|| {
                pin(1)?;
                let sent = send(&self.sender, self.to, &load).map_err(broke);
                settle();
                sent
            });
            let sent = sending.join();
            done.store(true, Ordering::Relaxed);
            (sent, receiving.join())
        });
        let panicked = |_| Problem::Broke("a thread panicked".to_owned());
        let ((sent, took), came) = (sent.map_err(panicked)??, came.map_err(panicked)??);
        Ok(Moved {
            gbps: came as f64 * PAYLOAD as f64 * 8e-9 / took.as_secs_f64(),
            lost: 1.0 - came as f64 / sent.max(1) as f64,
        })
    }

    /// Median time from the sender to the viewer, microseconds.
    pub(super) fn delay_us(&self, quick: bool) -> Result<f64, Problem> {
        let count = if quick { 500 } else { 2_000 };
        one_by_one(&self.sender, self.to, &self.viewer, count)
    }

    /// Sends so many packets, each after the one before has come.
    pub(super) fn pass(&self, count: usize) -> Result<(), Problem> {
        one_by_one(&self.sender, self.to, &self.viewer, count).map(drop)
    }
}

/// Median time between two sockets without a relay, microseconds.
pub(super) fn direct_us(quick: bool) -> Result<f64, Problem> {
    let (sender, viewer) = (bound()?, bound()?);
    let to = viewer.local_addr().map_err(broke)?;
    one_by_one(&sender, to, &viewer, if quick { 500 } else { 2_000 })
}

/// Packet number `n` of a stream: messages that may all be dropped, and droppers that reach none of them.
/// What is dropped on purpose would not be moved.
fn packet(n: usize) -> Vec<u8> {
    let (message, number) = (n / MESSAGE, n % MESSAGE);
    let marking = Marking {
        priority: (message % 3 + 1) as u8,
        drops: (message % 30 == 0).then_some(4),
        bitrate_kbps: 4_000 * (message as u32 % 3),
        slack_ms: 0,
    };
    let (first, last) = (number == 0, number + 1 == MESSAGE);
    let header = Header { stream: 1, message: message as u32, marking, first, last };
    let mut bytes = vec![0; PAYLOAD];
    bytes[..HEADER_BYTES].copy_from_slice(&header.encode().expect("values in their ranges"));
    bytes
}

/// Sends packets a millisecond apart, each after the one before has come; the median of what they took,
/// microseconds.
#[expect(clippy::disallowed_methods, reason = "a bench lives by the machine's clock")]
fn one_by_one(
    from: &UdpSocket,
    to: SocketAddr,
    at: &UdpSocket,
    count: usize,
) -> Result<f64, Problem> {
    let mut buffer = [0; 2_000];
    let mut took = Vec::with_capacity(count);
    for n in 0..count {
        let bytes = packet(n);
        std::thread::sleep(Duration::from_millis(1));
        let watch = Watch::start();
        from.send_to(&bytes, to).map_err(broke)?;
        at.recv(&mut buffer).map_err(broke)?;
        took.push(watch.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(took))
}

/// Waits until what is on its way has arrived.
#[expect(clippy::disallowed_methods, reason = "a bench lives by the machine's clock")]
fn settle() {
    std::thread::sleep(Duration::from_millis(300));
}
