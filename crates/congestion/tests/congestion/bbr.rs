//! BBR of a sender whose application limits it, on a path that drops packets.

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_congestion::{
    Ack, Algorithm, Controller, ControllerConfig, Limit, Loss, LossCause, RateSample, Rtt, Sent,
};

const MTU: u64 = 1200;
const RTT: Duration = Duration::from_millis(50);
const PACKETS: u64 = 50;

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Arrives,
    Lost,
    Dropped,
}

/// A sender of [`PACKETS`] packets a round trip, which it could send faster.
struct Stream {
    bbr: Box<dyn Controller>,
    now: Time,
    pn: u64,
    delivered: u64,
}

impl Stream {
    fn new() -> Self {
        let bbr = ControllerConfig::new(Algorithm::Bbr).build(Time::ZERO, MTU, Seed(1));
        Self { bbr, now: Time::ZERO, pn: 0, delivered: 0 }
    }

    /// A round trip in which the first `n` packets meet `fate`.
    fn round(&mut self, n: u64, fate: Fate) {
        let (first, sent_at) = (self.pn, self.now);
        for i in 0..PACKETS {
            self.bbr.on_sent(&Sent {
                now: self.now,
                pn: first + i,
                bytes: MTU,
                in_flight: (i + 1) * MTU,
            });
        }
        self.pn += PACKETS;
        self.now += RTT;
        let (now, prior_delivered) = (self.now, self.delivered);
        for i in 0..PACKETS {
            let (pn, in_flight) = (first + i, (PACKETS - 1 - i) * MTU);
            match if i < n { fate } else { Fate::Arrives } {
                Fate::Lost => self.bbr.on_loss(&Loss {
                    now,
                    pn,
                    bytes: MTU,
                    sent_at,
                    in_flight,
                    cause: LossCause::Reordering,
                }),
                Fate::Dropped => self.bbr.on_dropped(now),
                Fate::Arrives => {
                    self.delivered += MTU;
                    let sample = RateSample {
                        rate: Rate::of((PACKETS - n) * MTU, RTT),
                        prior_delivered,
                        delivered: self.delivered,
                        app_limited: true,
                    };
                    self.bbr.on_ack(&Ack {
                        now,
                        pn,
                        bytes: MTU,
                        sent_at,
                        in_flight,
                        limit: Limit::Application,
                        rtt: Rtt { latest: RTT, smoothed: RTT, min: RTT },
                        sample: Some(sample),
                    });
                }
            }
        }
    }

    /// The rate at which packets leave, in bandwidths.
    fn gain(&self) -> f64 {
        self.bbr.pacing_rate().unwrap().as_f64() / self.bbr.bandwidth().unwrap().as_f64()
    }
}

#[test]
fn startup_ends_by_what_does_not_arrive_where_the_application_is_the_limit() {
    for fate in [Fate::Lost, Fate::Dropped] {
        let mut stream = Stream::new();
        for _ in 0..50 {
            stream.round(0, fate);
        }
        assert!(!stream.bbr.has_filled_path());
        // Five of fifty are too few to tell: there are paths that lose some.
        for _ in 0..50 {
            stream.round(5, fate);
        }
        assert!(!stream.bbr.has_filled_path());
        stream.round(6, fate);
        stream.round(0, fate);
        assert!(stream.bbr.has_filled_path());
    }
}

#[test]
fn what_the_network_drops_on_purpose_is_not_held_back_by_the_sender() {
    let mut stream = Stream::new();
    for n in [0, 0, 10, 0, 0, 0, 0] {
        stream.round(n, Fate::Lost);
    }
    assert!(stream.bbr.has_filled_path() && stream.gain() < 1.3, "{}", stream.gain());
    stream.round(1, Fate::Dropped);
    for _ in 0..90 {
        stream.round(0, Fate::Arrives);
        assert!((stream.gain() / 2.0 - 1.0).abs() < 0.02, "{}", stream.gain());
    }
    // Five seconds later it may be another path.
    for _ in 0..20 {
        stream.round(0, Fate::Arrives);
    }
    assert!(stream.gain() < 1.3, "{}", stream.gain());
    // A packet that should have arrived says so at once.
    stream.round(1, Fate::Dropped);
    stream.round(1, Fate::Lost);
    assert!(stream.gain() < 1.3, "{}", stream.gain());
}
