//! One TCP flow of the kernel's through a pair of devices between two namespaces.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_link::{Clock, Link, LinkConfig, LinkSpec, Mode, TunSpec, Way};
use airlane_net::{Limit, QueueSpec};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::set_tcp_congestion;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::bar::Problem;

const RATE_MBPS: f64 = 50.0;
const DELAY: Duration = Duration::from_millis(10);
/// Share of a packet of 1500 bytes that is payload, beside the headers of IPv4 and of TCP with
/// timestamps.
const PAYLOAD_SHARE: f64 = 1_448.0 / 1_500.0;
/// Until the flow has found the rate.
const START: Duration = Duration::from_secs(3);
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 79, 0, 2)), 5201);

/// Most payload that can get through, in Mbit/s.
pub(super) fn bound_mbps() -> f64 {
    RATE_MBPS * PAYLOAD_SHARE
}

/// Payload that arrives per second, in Mbit/s, over `span` after the start.
pub(super) fn run(algorithm: &'static str, span: Duration) -> Result<f64, Problem> {
    let broken = |e: io::Error| Problem::Broke(format!("TCP over {algorithm}: {e}"));
    let names = ["benchl", "benchr"].map(|side| format!("{side}{}", std::process::id() % 100_000));
    let end = |i: usize| {
        let name = &names[i];
        format!("{name}@{name}=10.79.0.{}/24", i + 1)
            .parse()
            .map_err(|e: airlane_base::InputError| Problem::Broke(e.to_string()))
    };
    let queue = QueueSpec::DropTail(Limit::Bdp(1.5));
    let way =
        Way { delay: DELAY, queue_rtt: DELAY * 2, ..Way::new(Rate::from_mbps(RATE_MBPS), queue) };
    let mode = Mode::Tun(TunSpec::new(end(0)?, end(1)?));
    let link = LinkSpec::new(way.clone(), way, Seed(1));
    let link = Link::start(&LinkConfig { link, mode, realtime: None })?;
    let clock = link.clock();
    let [left, right] = &names;
    let (ready, listening) = mpsc::channel();
    let (received, poured) = std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            enter(right)?;
            let listener = TcpListener::bind(SERVER)?;
            // Who waits for it is still there.
            let _ = ready.send(());
            count(&listener, clock, span)
        });
        let client = scope.spawn(move || {
            enter(left)?;
            // Whatever the server says is told by the server.
            let _ = listening.recv_timeout(Duration::from_secs(5));
            let stream = TcpStream::connect_timeout(&SERVER, Duration::from_secs(4))?;
            set_tcp_congestion(&stream, algorithm)?;
            pour(stream)
        });
        let received = server.join();
        (received, client.join())
    });
    let panicked = |_| Problem::Broke("a thread panicked".to_owned());
    poured.map_err(panicked)?.map_err(&broken)?;
    received.map_err(panicked)?.map_err(&broken)
}

/// Moves this thread into a namespace.
fn enter(name: &str) -> io::Result<()> {
    let file = File::open(Path::new("/run/netns").join(name))?;
    Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Writes until the other side has enough.
fn pour(mut stream: TcpStream) -> io::Result<()> {
    let block = vec![7; 1 << 16];
    loop {
        match stream.write_all(&block) {
            Ok(()) => {}
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
                ) =>
            {
                return Ok(());
            }
            Err(e) => return Err(e),
        }
    }
}

/// Megabits of payload per second, over `span` after the start.
fn count(listener: &TcpListener, clock: Clock, span: Duration) -> io::Result<f64> {
    let timeout = Timespec { tv_sec: 5, tv_nsec: 0 };
    if poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timeout))? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut buffer = vec![0; 1 << 16];
    let accepted = clock.now();
    let (mut from, mut bytes) = (None, 0);
    loop {
        let n = stream.read(&mut buffer)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let now = clock.now();
        match from {
            None if now - accepted >= START => from = Some(now),
            None => {}
            Some(from) => {
                bytes += n;
                if now - from >= span {
                    return Ok(bytes as f64 * 8e-6 / (now - from).as_secs_f64());
                }
            }
        }
    }
}
