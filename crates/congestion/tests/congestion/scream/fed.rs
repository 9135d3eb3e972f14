//! A SCReAM sender whose packets are acknowledged one by one.

use std::time::Duration;

use airlane_base::Time;
use airlane_congestion::controller::{Limit, LossCause, Rtt};
use airlane_congestion::{Ack, Controller, Loss, Marked, Scream, Sent};

/// Bytes of each packet.
pub const MSS: u64 = 1_000;

/// A sender whose packets are acknowledged one by one, one per millisecond.
pub struct Fed {
    pub scream: Scream,
    pub pn: u64,
    pub now: Time,
    pub rtt: Duration,
    pub in_flight: u64,
}

impl Fed {
    /// `in_flight`: bytes in flight at all times.
    pub fn new(rtt_ms: u64, in_flight: u64) -> Self {
        let (scream, rtt) = (Scream::new(MSS), Duration::from_millis(rtt_ms));
        Self { scream, pn: 0, now: Time::from_secs_f64(10.0), rtt, in_flight }
    }

    pub fn window(&self) -> f64 {
        self.scream.reference_window()
    }

    /// Time passes, and a packet is sent and another acknowledged.
    pub fn acknowledge(&mut self) {
        self.now += Duration::from_millis(1);
        let (now, pn, in_flight, latest) = (self.now, self.pn, self.in_flight, self.rtt);
        self.pn += 1;
        let in_advance = self.rtt.as_millis() as u64;
        self.scream.on_sent(&Sent { now, pn: pn + in_advance, bytes: MSS, in_flight });
        self.scream.on_ack(&Ack {
            now,
            pn,
            bytes: MSS,
            sent_at: now - latest,
            in_flight,
            limit: Limit::Application,
            rtt: Rtt { latest, smoothed: latest, min: latest },
            sample: None,
        });
        self.scream.on_ack_end(now, in_flight);
    }

    pub fn acknowledge_for(&mut self, time: Duration) {
        (0..time.as_millis()).for_each(|_| self.acknowledge());
    }

    /// The packet acknowledged last was marked.
    pub fn mark(&mut self) {
        let (now, in_flight) = (self.now, self.in_flight);
        let (pn, sent_at) = (self.pn - 1, now - self.rtt);
        self.scream.on_marked(&Marked { now, pn, sent_at, in_flight, packets: 1 });
    }

    /// The next packet to be acknowledged was lost.
    pub fn lose(&mut self) {
        let (now, in_flight, pn) = (self.now, self.in_flight, self.pn);
        let (sent_at, cause) = (now - self.rtt, LossCause::Reordering);
        self.pn += 1;
        self.scream.on_loss(&Loss { now, pn, bytes: MSS, sent_at, in_flight, cause });
    }

    /// Time passes until the window can be reduced again.
    pub fn wait(&mut self) {
        self.acknowledge_for(Duration::from_millis(25));
    }
}
