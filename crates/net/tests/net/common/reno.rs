//! Senders that fill a queue.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_net::{Dumbbell, LinkReport, Port, QueueSpec};

use super::packet;

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A Reno-like sender of endless data: slow start, additive increase, one halving per window.
struct Reno {
    src: IpAddr,
    dst: IpAddr,
    window: f64,
    threshold: f64,
    next: u64,
    recover: u64,
    outstanding: VecDeque<u64>,
    heard: Time,
}

impl Reno {
    fn on_ack(&mut self, now: Time, seq: u64) {
        self.heard = now;
        let Ok(at) = self.outstanding.binary_search(&seq) else { return };
        self.outstanding.remove(at);
        self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
        // Packets overtaken by three are lost.
        while self.outstanding.front().is_some_and(|lost| lost + 3 <= seq) {
            let lost = self.outstanding.pop_front().unwrap();
            if lost >= self.recover {
                self.window = (self.window / 2.0).max(2.0);
                self.threshold = self.window;
                self.recover = self.next;
            }
        }
    }

    fn on_silence(&mut self, now: Time) {
        if now - self.heard > MS(1_000) {
            self.outstanding.clear();
            (self.threshold, self.window, self.heard) = (self.window / 2.0, 2.0, now);
            self.recover = self.next;
        }
    }
}

/// Bottleneck statistics from 10 s to 30 s under `flows` of these behind
/// `queue` on 100 Mbit/s, 50 ms.
pub fn load(flows: usize, queue: QueueSpec) -> LinkReport {
    let mut spec = Dumbbell::new(Rate::from_mbps(100.0), MS(50), 1.0, flows);
    spec.downlink.queue = queue;
    let mut d = spec.build(Seed(9));
    let n = &mut d.network;
    let mut senders: Vec<Reno> = (0..flows)
        .map(|i| Reno {
            src: n.addresses(d.servers[i])[0],
            dst: n.addresses(d.clients[i])[0],
            window: 10.0,
            threshold: f64::INFINITY,
            next: 0,
            recover: 0,
            outstanding: VecDeque::new(),
            heard: Time::ZERO,
        })
        .collect();
    let mut before = None;
    let mut tick = Time::ZERO;
    loop {
        let now = n.next_event().map_or(tick, |at| at.min(tick));
        if now >= Time::from_millis(10_000) && before.is_none() {
            before = n.link_stats(d.downlink, Port::ONLY, now);
        }
        if now >= Time::from_millis(30_000) {
            let after = n.link_stats(d.downlink, Port::ONLY, now).unwrap();
            n.check_conservation().unwrap();
            return after.since(&before.unwrap());
        }
        let mut active = None;
        if now == tick {
            // Starts are spread over the first second.
            tick += MS(20);
            active = Some(now.as_nanos() / 20_000_000 % flows as u64);
        }
        while let Some(x) = n.poll(now) {
            let flow = x.packet.flow.0 as usize;
            if x.host == d.clients[flow] {
                let mut ack = packet(senders[flow].dst, senders[flow].src, 60);
                ack.payload[..8].copy_from_slice(&x.packet.payload[..8]);
                n.send(now, ack);
            } else {
                let seq = u64::from_le_bytes(x.packet.payload[..8].try_into().unwrap());
                senders[flow].on_ack(now, seq);
                pump(&mut senders[flow], n, now);
            }
        }
        if let Some(i) = active {
            senders[i as usize].on_silence(now);
            pump(&mut senders[i as usize], n, now);
        }
    }
}

fn pump(s: &mut Reno, n: &mut airlane_net::Network, now: Time) {
    while (s.outstanding.len() as f64) + 1.0 <= s.window {
        let mut p = packet(s.src, s.dst, 1_500);
        p.payload[..8].copy_from_slice(&s.next.to_le_bytes());
        s.outstanding.push_back(s.next);
        s.next += 1;
        n.send(now, p);
    }
}
