//! The UDP forwarder: clients send to it, it sends to the target, and back.

pub(crate) mod clients;
mod listeners;
pub(crate) mod segments;
mod socket;

use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use airlane_base::{DropReason, IP_UDP_HEADER_BYTES, InputError, Time};
use airlane_net::Direction;
use rustix::event::epoll;

use crate::clock::Clock;
use crate::driver::{Book, Outlet, Port};
use crate::engine::{Delivery, Engine};
use crate::error::LinkError;
use crate::totals::{ClientTotals, Reason};
use clients::{ClientKey, Clients};
use listeners::Listeners;
use segments::{Run, datagrams};
use socket::{Intake, Socket, to_ecn};

/// Configuration of a forwarder: its addresses, and limits on its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpSpec {
    /// Addresses that clients send to, at least one; of several it listens at those that the
    /// machine has. Port 0 takes a free one, the same at all of them.
    pub listen: Vec<SocketAddr>,
    /// Address that the forwarder sends to.
    pub target: SocketAddr,
    /// Clients at once. One more takes the place of another: [`Clients`] says whose.
    pub max_clients: usize,
    /// A client that was not heard of for so long is forgotten.
    pub idle: Duration,
}

impl UdpSpec {
    /// A forwarder for at most 256 clients, each of which is forgotten after five minutes of
    /// silence (RFC 4787, REQ-5, recommends it).
    pub fn new(listen: impl IntoIterator<Item = SocketAddr>, target: SocketAddr) -> Self {
        let listen = listen.into_iter().collect();
        Self { listen, target, max_clients: 256, idle: Duration::from_secs(300) }
    }
}

/// Sockets that are ready, of one look.
const EVENTS: usize = 64;
/// So many failures to receive in a row, without a datagram in between, are no ICMP messages.
const MAX_FAILURES: u32 = 1_000;

pub(crate) struct Forwarder {
    listeners: Listeners,
    target: SocketAddr,
    clients: Clients<Socket>,
    /// Watches the clients' sockets, each under its client's number.
    epoll: OwnedFd,
    intake: Intake,
    run: Run,
    /// Buffer in which runs of datagrams are joined.
    joined: Vec<u8>,
    failures: u32,
}

impl Forwarder {
    pub(crate) fn new(spec: &UdpSpec) -> Result<Self, LinkError> {
        if spec.target.port() == 0 || spec.target.ip().is_unspecified() {
            let expected = "expected an address and port that something listens on";
            let found = format!("{} is nowhere to send to", spec.target);
            return Err(InputError::new(found, expected).at_key("target").into());
        }
        if spec.listen.is_empty() {
            let expected = "expected an address and port";
            return Err(InputError::new("nowhere to listen", expected).at_key("listen").into());
        }
        if spec.listen.contains(&spec.target) {
            let found = format!("{} is the forwarder's own address", spec.target);
            return Err(InputError::new(found, "expected another").at_key("target").into());
        }
        let listeners = Listeners::bind(&spec.listen)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(LinkError::system("make an epoll"))?;
        Ok(Self {
            run: Run::new(listeners.sockets().map(Socket::max_segments).min().unwrap_or(1)),
            listeners,
            target: spec.target,
            clients: Clients::new(spec.max_clients, spec.idle),
            epoll,
            intake: Intake::new(),
            joined: Vec::new(),
            failures: 0,
        })
    }

    /// The addresses that it listens on.
    pub(crate) fn addresses(&self) -> Result<Vec<SocketAddr>, LinkError> {
        self.listeners.addresses()
    }

    /// A client's datagrams on their way up.
    fn take_up(
        &mut self,
        clock: &Clock,
        engine: &mut Engine,
        book: &mut Book,
    ) -> Result<(), LinkError> {
        if let Err(source) = self.listeners.read(&mut self.intake, clock) {
            self.failures += 1;
            if self.failures >= MAX_FAILURES {
                return Err(LinkError::System { what: "receive from clients", source });
            }
            return Ok(());
        }
        self.failures = 0;
        let intake = std::mem::take(&mut self.intake);
        for (arrived, bytes) in intake.arrivals() {
            let key = ClientKey {
                peer: arrived.meta.addr,
                listener: arrived.tag,
                local: arrived.meta.dst_ip.filter(|_| self.listeners.get(arrived.tag).wildcard),
            };
            let known = self.clients.find(&key, arrived.at);
            let number = match known.map_or_else(|| self.welcome(key, arrived.at), Ok) {
                Ok(number) => number,
                Err(_) => {
                    let each = |d: &[u8]| d.len() as u64 + u64::from(IP_UDP_HEADER_BYTES);
                    let sizes = datagrams(bytes, arrived.meta.stride).map(each);
                    let all = sizes.fold((0, 0), |(n, sum), size| (n + 1, sum + size));
                    book.turn_away(Direction::Up, all);
                    continue;
                }
            };
            for datagram in datagrams(bytes, arrived.meta.stride) {
                let class = to_ecn(arrived.meta.ecn).into();
                // What finds no memory is counted by the engine.
                let _ = engine.push(
                    arrived.at,
                    Direction::Up,
                    number,
                    class,
                    IP_UDP_HEADER_BYTES,
                    datagram,
                );
            }
        }
        self.intake = intake.emptied();
        Ok(())
    }

    /// A socket for a new client.
    fn welcome(&mut self, key: ClientKey, now: Time) -> std::io::Result<u32> {
        let any: IpAddr = match self.target {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(self.target)?;
        let socket = Socket::new(socket)?;
        // Closing the socket of the displaced one ends the watch over it.
        let (number, _displaced) = self.clients.insert(key, socket, now);
        let watched = self.clients.get(number).map(|(_, socket)| {
            let data = epoll::EventData::new_u64(u64::from(number));
            epoll::add(&self.epoll, socket, data, epoll::EventFlags::IN)
        });
        if let Some(Err(e)) = watched {
            self.clients.remove(number);
            return Err(e.into());
        }
        Ok(number)
    }

    /// The target's datagrams on their way down.
    fn take_down(&mut self, clock: &Clock, engine: &mut Engine) -> Result<(), LinkError> {
        let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut room = [const { MaybeUninit::uninit() }; EVENTS];
        let events = match epoll::wait(&self.epoll, &mut room, Some(&at_once)) {
            Ok((events, _)) => events,
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(e) => return Err(LinkError::system("look which clients have answers")(e)),
        };
        for event in events {
            let data = event.data;
            let number = data.u64() as u32;
            let Some((_, socket)) = self.clients.get(number) else { continue };
            // An ICMP message, such as that nobody listens there yet, says nothing to a client.
            let _ = self.intake.read(socket, number, clock);
            if self.intake.is_full() {
                break;
            }
        }
        for (arrived, bytes) in self.intake.arrivals() {
            self.clients.answer(arrived.tag, arrived.at);
            let class = to_ecn(arrived.meta.ecn).into();
            for datagram in datagrams(bytes, arrived.meta.stride) {
                let _ = engine.push(
                    arrived.at,
                    Direction::Down,
                    arrived.tag,
                    class,
                    IP_UDP_HEADER_BYTES,
                    datagram,
                );
            }
        }
        self.intake.empty();
        Ok(())
    }

    /// Sends the run to whom it is for.
    fn depart(&mut self, outlet: &mut Outlet<'_>) {
        let deliveries = self.run.deliveries();
        let Some(&Delivery { direction, tag, ref packet, .. }) = deliveries.first() else { return };
        let Some((key, upstream)) = self.clients.get(tag) else {
            let gone = Err(Reason::Link(DropReason::Unreachable));
            outlet.done(self.run.drain(), gone);
            return;
        };
        let (socket, to, from) = match direction {
            Direction::Up => (upstream, self.target, None),
            Direction::Down => (&self.listeners.get(key.listener).socket, key.peer, key.local),
        };
        let several = deliveries.len() > 1;
        if several {
            self.joined.clear();
            for delivery in deliveries {
                self.joined.extend_from_slice(&delivery.packet.payload);
            }
            let (ecn, segment) = (packet.ecn, packet.payload.len());
            if socket.send(to, from, ecn, &self.joined, Some(segment)).is_ok() {
                outlet.done(self.run.drain(), Ok(()));
                return;
            }
        }
        // One by one: each gets what is its own.
        for delivery in self.run.drain() {
            let (ecn, payload) = (delivery.packet.ecn, &delivery.packet.payload);
            let sent = socket.send(to, from, ecn, payload, None);
            outlet.done(std::iter::once(delivery), sent);
        }
        if several {
            self.part(direction, tag);
        }
    }

    /// After joined datagrams were refused: if that is for good (an old kernel, a network card that
    /// computes no checksums), none are joined any more, and the socket starts afresh, so that it
    /// does not take the ECN field for the cause.
    fn part(&mut self, direction: Direction, tag: u32) {
        let socket = match direction {
            Direction::Up => self.clients.get_mut(tag),
            Direction::Down => {
                let client = self.clients.get(tag);
                client.map(|(key, _)| self.listeners.socket_mut(key.listener))
            }
        };
        if let Some(socket) = socket.filter(|socket| socket.max_segments() == 1) {
            self.run = Run::new(1);
            // Without a fresh start it goes on as it is.
            let _ = socket.renew();
        }
    }
}

impl Port for Forwarder {
    fn sources(&self) -> [BorrowedFd<'_>; 2] {
        [self.listeners.source(), self.epoll.as_fd()]
    }

    fn receive(
        &mut self,
        ready: [bool; 2],
        clock: &Clock,
        engine: &mut Engine,
        book: &mut Book,
    ) -> Result<(), LinkError> {
        if ready[0] {
            self.take_up(clock, engine, book)?;
        }
        if ready[1] {
            self.take_down(clock, engine)?;
        }
        Ok(())
    }

    fn send(&mut self, delivery: Delivery, outlet: &mut Outlet<'_>) {
        if let Err(delivery) = self.run.push(delivery) {
            self.depart(outlet);
            if self.run.push(delivery).is_err() {
                unreachable!("an empty run takes any delivery");
            }
        }
    }

    fn flush(&mut self, outlet: &mut Outlet<'_>) {
        self.depart(outlet);
    }

    fn look_after(&mut self, now: Time) -> Option<Time> {
        // Closing their sockets is all there is to do.
        drop(self.clients.expired(now));
        self.clients.next_look()
    }

    fn clients(&self) -> ClientTotals {
        self.clients.totals()
    }

    fn sockets(&self) -> [Vec<u64>; 2] {
        let upstream = self.clients.values().map(Socket::inode).collect();
        [self.listeners.sockets().map(Socket::inode).collect(), upstream]
    }
}
