//! Two sessions and a link from one to the other: a rate that may change, an Octopus queue, a delay.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::{Ecn, IP_UDP_HEADER_BYTES, Rate, Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig};
use airlane_messages::{
    Config, Delivered, Event, Ids, Protection, ReceiveLimits, Secret, SendOptions, Session,
};
use airlane_octopus::{Capacity, Header, Options, Queue};

pub const PAYLOAD_BYTES: u16 = 1200;

pub fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// Where the session of this number is.
pub fn address(id: u32) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, id as u8], 4_000))
}

pub fn config(ids: Ids, send: u8, receive: u8) -> Config {
    let secret = |n| Secret([n; 32]);
    Config {
        payload_bytes: PAYLOAD_BYTES,
        max_payload_bytes: None,
        controller: ControllerConfig::new(Algorithm::Bbr),
        seed: Seed(7),
        random_secret: [send; 32],
        remote: address(ids.remote),
        // The receiver asked for the session, the sender answered.
        follows: ids.local == 1,
        keep_alive_interval: None,
        send: SendOptions::default(),
        receive: ReceiveLimits::default(),
        protection: Protection::Sealed { send: secret(send), receive: secret(receive) },
        ids,
        key_packets: Some(100),
    }
}

/// A sender that looks for the path's MTU and a receiver that pings while it hears nothing, as the
/// daemons' are.
pub fn daemons() -> (Session, Session) {
    let sender = config(Ids { local: 1, remote: 2 }, 1, 2);
    let receiver = config(Ids { local: 2, remote: 1 }, 2, 1);
    let keep_alive_interval = Some(Duration::from_millis(250));
    (
        Session::new(Time::ZERO, Config { max_payload_bytes: Some(1452), ..sender }),
        Session::new(Time::ZERO, Config { keep_alive_interval, ..receiver }),
    )
}

/// A sender and a receiver that know each other.
pub fn pair() -> (Session, Session) {
    pair_with(None)
}

/// The same, with another protection.
pub fn pair_with(protection: Option<Protection>) -> (Session, Session) {
    let session = |local, remote| {
        let config = config(Ids { local, remote }, local as u8, remote as u8);
        let protection = protection.clone().unwrap_or(config.protection);
        Session::new(Time::ZERO, Config { protection, ..config })
    };
    (session(1, 2), session(2, 1))
}

/// What the link does to a packet besides, given its number.
pub type Fault = Box<dyn FnMut(u64) -> Treatment>;

/// What happens to a packet in front of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    Pass,
    Lose,
    Twice,
    /// It comes so much later.
    Late(Duration),
    /// A bit is changed.
    Change(usize),
}

/// The world of a test.
pub struct Link {
    pub sender: Session,
    pub receiver: Session,
    pub now: Time,
    /// Capacity at a time; none: nothing leaves.
    rate: Box<dyn Fn(Time) -> Option<Rate>>,
    queue: Queue<(SocketAddr, Vec<u8>)>,
    delay: Duration,
    fault: Fault,
    /// The largest UDP payload that the link carries at a time, bytes.
    pub passes: Box<dyn Fn(Time) -> usize>,
    /// Where the receiver is at a time; `None`: nothing comes to it or from it.
    pub receiver_at: Box<dyn Fn(Time) -> Option<SocketAddr>>,
    /// Code point of a packet at the receiver, from the one that it left with.
    pub ecn: Box<dyn FnMut(Ecn) -> Ecn>,
    receiver_stands: bool,
    packets: u64,
    /// What comes to the receiver and the sender, by time and order.
    forth: BTreeMap<(Time, u64), (SocketAddr, Vec<u8>)>,
    back: BTreeMap<(Time, u64), (SocketAddr, Vec<u8>)>,
    /// When the link has sent what it is sending.
    free: Time,
    pub delivered: Vec<Delivered>,
    pub dropped_here: Vec<(u16, u32)>,
    /// Headers in the order in which their packets left the sender, with the time.
    pub left: Vec<(Time, Header)>,
    /// Headers of what the network's queue dropped.
    pub dropped_there: u64,
}

impl Link {
    pub fn new(rate: impl Fn(Time) -> Option<Rate> + 'static, delay: Duration) -> Self {
        Self::between(pair(), rate, delay)
    }

    /// A link between these two.
    pub fn between(
        (sender, receiver): (Session, Session),
        rate: impl Fn(Time) -> Option<Rate> + 'static,
        delay: Duration,
    ) -> Self {
        Self {
            sender,
            receiver,
            now: Time::ZERO,
            rate: Box::new(rate),
            queue: Queue::new(Capacity { packets: 250, ip_bytes: 375_000 }, Options::default()),
            delay,
            fault: Box::new(|_| Treatment::Pass),
            passes: Box::new(|_| 65_507),
            receiver_at: Box::new(|_| Some(address(2))),
            ecn: Box::new(|ecn| ecn),
            receiver_stands: false,
            packets: 0,
            forth: BTreeMap::new(),
            back: BTreeMap::new(),
            free: Time::ZERO,
            delivered: Vec::new(),
            dropped_here: Vec::new(),
            left: Vec::new(),
            dropped_there: 0,
        }
    }

    pub fn with_fault(mut self, fault: impl FnMut(u64) -> Treatment + 'static) -> Self {
        self.fault = Box::new(fault);
        self
    }

    /// Lets time pass until `until`, in steps of 100 us.
    pub fn run(&mut self, until: Time) {
        while self.now < until {
            self.step();
            self.now += Duration::from_micros(100);
        }
    }

    /// The same while the receiver does nothing: what comes to it waits.
    pub fn run_sender_alone(&mut self, time: Duration) {
        let until = self.now + time;
        self.receiver_stands = true;
        self.run(until);
        self.receiver_stands = false;
    }

    fn step(&mut self) {
        let now = self.now;
        let stands = self.receiver_stands;
        for session in [Some(&mut self.sender), (!stands).then_some(&mut self.receiver)] {
            let Some(session) = session else { continue };
            if session.deadline().is_some_and(|at| at <= now) {
                session.time_out(now);
            }
        }
        let mut out = Vec::new();
        while let Some(to) = self.sender.poll_transmit(now, &mut out) {
            let number = self.packets;
            self.packets += 1;
            let header = Header::decode(&out).expect("a header");
            self.left.push((now, header));
            if out.len() > (self.passes)(now) {
                continue;
            }
            let mut packet = out.clone();
            let mut times = 1;
            match (self.fault)(number) {
                Treatment::Pass => {}
                Treatment::Lose => times = 0,
                Treatment::Twice => times = 2,
                Treatment::Late(by) => {
                    self.forth.insert((now + self.delay + by, number), (to, packet.clone()));
                    times = 0;
                }
                Treatment::Change(bit) => {
                    let bit = bit % (8 * packet.len());
                    packet[bit / 8] ^= 1 << (bit % 8);
                }
            }
            let header = Header::decode(&packet).ok();
            for _ in 0..times {
                let bytes = packet.len() as u32 + u32::from(IP_UDP_HEADER_BYTES);
                let lost = &mut self.dropped_there;
                let packet = (to, packet.clone());
                self.queue.enqueue(now, 0, header.as_ref(), bytes, packet, |_| *lost += 1);
            }
        }
        while !stands && self.receiver.poll_transmit(now, &mut out).is_some() {
            self.packets += 1;
            if let Some(from) = (self.receiver_at)(now) {
                self.back.insert((now + self.delay, self.packets), (from, out.clone()));
            }
        }
        while self.free <= now
            && let Some(rate) = (self.rate)(now)
        {
            let lost = &mut self.dropped_there;
            let Some(packet) = self.queue.dequeue(now, |_| *lost += 1) else { break };
            let bytes = packet.1.len() as u64 + u64::from(IP_UDP_HEADER_BYTES);
            self.free = self.free.max(now) + rate.time_for(bytes);
            self.packets += 1;
            self.forth.insert((self.free + self.delay, self.packets), packet);
        }
        while let Some(next) = self.forth.first_entry().filter(|e| !stands && e.key().0 <= now) {
            let (to, mut packet) = next.remove();
            if (self.receiver_at)(now) == Some(to) {
                let ecn = (self.ecn)(self.sender.ecn());
                let _ = self.receiver.handle(now, address(1), ecn, &mut packet);
            }
        }
        while let Some(next) = self.back.first_entry().filter(|e| e.key().0 <= now) {
            let (from, mut packet) = next.remove();
            let _ = self.sender.handle(now, from, Ecn::NotEct, &mut packet);
        }
        while let Some(event) = self.receiver.poll_event() {
            if let Event::Message(message) = event {
                self.delivered.push(message);
            }
        }
        while let Some(event) = self.sender.poll_event() {
            if let Event::Dropped { stream, message, .. } = event {
                self.dropped_here.push((stream, message));
            }
        }
    }
}
