//! Hosts and their sockets.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::Waker;

use airlane_base::{IP_UDP_HEADER_BYTES, Packet, Progress, Time};
use rustc_hash::FxHashMap;

/// Packets that a socket holds for a receiver that is slow: as much as a generous kernel buffer.
const RECEIVE_BUFFER_PACKETS: usize = 16_384;

/// Boxes of received packets that are kept to be filled again.
const SPARE_PACKETS: usize = 1024;

/// First port that is given out when none is asked for.
const FIRST_EPHEMERAL_PORT: u16 = 49_152;

/// A host's place in the table.
pub(super) type HostId = usize;
/// A socket's place in the table.
pub(super) type SocketId = usize;

#[derive(Default)]
struct Socket {
    queue: VecDeque<Box<Packet>>,
    waker: Option<Waker>,
}

/// Task that waits for room to send on a socket.
struct Sender {
    socket: SocketId,
    /// Addresses that it sends from and to.
    way: (IpAddr, IpAddr),
    waker: Waker,
}

struct Host {
    name: String,
    /// At least one.
    ips: Vec<IpAddr>,
}

/// The hosts of a world.
#[derive(Default)]
pub(super) struct Hosts {
    hosts: Vec<Host>,
    taken: BTreeSet<IpAddr>,
    sockets: Vec<Socket>,
    /// Asked for every packet, and never iterated: the order of a hash map must not show.
    bound: FxHashMap<SocketAddr, SocketId>,
    /// Tasks that wait for room to send, in the order of their waiting.
    senders: Vec<Sender>,
    /// Boxes whose packets were received: most packets are sent in one of them.
    #[expect(clippy::vec_box, reason = "the boxes are what is kept")]
    spare: Vec<Box<Packet>>,
    packets: u64,
    /// Packets that no socket wanted, or whose socket was full.
    undelivered: u64,
}

impl Hosts {
    pub(super) fn add(&mut self, name: &str, ips: &[IpAddr]) -> HostId {
        assert!(!ips.is_empty(), "host {name} has no address");
        for ip in ips {
            assert!(self.taken.insert(*ip), "two hosts have the address {ip}");
        }
        self.hosts.push(Host { name: name.to_owned(), ips: ips.to_vec() });
        self.hosts.len() - 1
    }

    pub(super) fn name(&self, host: HostId) -> &str {
        &self.hosts[host].name
    }

    pub(super) fn bind(
        &mut self,
        host: HostId,
        local: SocketAddr,
    ) -> io::Result<(SocketId, SocketAddr)> {
        let socket = self.sockets.len();
        let ips = &self.hosts[host].ips;
        let ip = if local.ip().is_unspecified() { ips[0] } else { local.ip() };
        if !ips.contains(&ip) {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        let is_free = |port: &u16| !self.bound.contains_key(&SocketAddr::new(ip, *port));
        let port = match local.port() {
            0 => (FIRST_EPHEMERAL_PORT..).find(is_free),
            port => Some(port).filter(is_free),
        };
        let addr = SocketAddr::new(ip, port.ok_or(io::ErrorKind::AddrInUse)?);
        self.bound.insert(addr, socket);
        self.sockets.push(Socket::default());
        Ok((socket, addr))
    }

    pub(super) fn close(&mut self, addr: SocketAddr) {
        if let Some(socket) = self.bound.remove(&addr) {
            self.sockets[socket] = Socket::default();
            self.senders.retain(|sender| sender.socket != socket);
        }
    }

    /// Registers the task that waits for room to send on a socket, in the place of an earlier one.
    pub(super) fn wait_to_send(&mut self, socket: SocketId, way: (IpAddr, IpAddr), waker: &Waker) {
        match self.senders.iter_mut().find(|sender| sender.socket == socket) {
            Some(sender) => {
                sender.way = way;
                sender.waker.clone_from(waker);
            }
            None => self.senders.push(Sender { socket, way, waker: waker.clone() }),
        }
    }

    /// Wakes the tasks for which there is room.
    pub(super) fn wake_senders(&mut self, has_room: impl Fn(IpAddr, IpAddr) -> bool) {
        for sender in self.senders.extract_if(.., |sender| has_room(sender.way.0, sender.way.1)) {
            sender.waker.wake();
        }
    }

    /// Makes the packet of a datagram.
    pub(super) fn packet(
        &mut self,
        now: Time,
        src: SocketAddr,
        datagram: &crate::Datagram<'_>,
    ) -> Box<Packet> {
        let packet = Packet {
            id: self.packets,
            flow: airlane_base::FlowId::default(),
            src,
            dst: datagram.dst,
            ecn: datagram.ecn,
            dscp: datagram.dscp,
            sent: now,
            enqueued: now,
            progress: Progress::default(),
            header_bytes: IP_UDP_HEADER_BYTES,
            payload: datagram.payload.to_vec(),
        };
        self.packets += 1;
        match self.spare.pop() {
            Some(mut spare) => {
                *spare = packet;
                spare
            }
            None => Box::new(packet),
        }
    }

    /// Keeps the box of a packet that was received.
    pub(super) fn keep(&mut self, packet: Box<Packet>) {
        if self.spare.len() < SPARE_PACKETS {
            self.spare.push(packet);
        }
    }

    /// Hands a packet that arrives at `now` to the socket it is for; the waker is to be woken by the
    /// caller, who holds no lock then.
    pub(super) fn deliver(&mut self, now: Time, mut packet: Box<Packet>) -> Option<Waker> {
        packet.enqueued = now;
        let socket = self.bound.get(&packet.dst).map(|s| &mut self.sockets[*s]);
        match socket {
            Some(s) if s.queue.len() < RECEIVE_BUFFER_PACKETS => {
                s.queue.push_back(packet);
                s.waker.take()
            }
            _ => {
                self.undelivered += 1;
                None
            }
        }
    }

    pub(super) fn receive(&mut self, socket: SocketId, waker: &Waker) -> Option<Box<Packet>> {
        let s = &mut self.sockets[socket];
        let packet = s.queue.pop_front();
        if packet.is_none() {
            match &mut s.waker {
                Some(w) => w.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
        }
        packet
    }

    pub(super) fn sent(&self) -> u64 {
        self.packets
    }

    pub(super) fn undelivered(&self) -> u64 {
        self.undelivered
    }
}
