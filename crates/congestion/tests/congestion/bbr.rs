//! BBR of a sender whose application limits it, on a path that drops packets.

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_congestion::{
    Ack, BbrConfig, Controller, ControllerConfig, Limit, Loss, LossCause, RateSample, Rtt, Sent,
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
    app_limited: bool,
    rtt: Duration,
    /// Packets that are always in flight: without them each round ends idle.
    others: u64,
}

impl Stream {
    fn new() -> Self {
        Self::with(BbrConfig::default())
    }

    fn with(config: BbrConfig) -> Self {
        let bbr = ControllerConfig::TunedBbr(config).build(Time::ZERO, MTU, Seed(1));
        Self { bbr, now: Time::ZERO, pn: 0, delivered: 0, app_limited: true, rtt: RTT, others: 0 }
    }

    /// A round trip in which the first `n` packets meet `fate`.
    fn round(&mut self, n: u64, fate: Fate) {
        let (first, sent_at) = (self.pn, self.now);
        for i in 0..PACKETS {
            self.bbr.on_sent(&Sent {
                now: self.now,
                pn: first + i,
                bytes: MTU,
                in_flight: (self.others + i + 1) * MTU,
            });
        }
        self.pn += PACKETS;
        self.now += self.rtt;
        let (now, prior_delivered) = (self.now, self.delivered);
        for i in 0..PACKETS {
            let (pn, in_flight) = (first + i, (self.others + PACKETS - 1 - i) * MTU);
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
                        app_limited: self.app_limited,
                    };
                    self.bbr.on_ack(&Ack {
                        now,
                        pn,
                        bytes: MTU,
                        sent_at,
                        in_flight,
                        limit: Limit::Application,
                        rtt: Rtt { latest: self.rtt, smoothed: self.rtt, min: RTT },
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

#[test]
fn without_a_gain_after_drops_it_paces_on_as_before() {
    let mut stream = Stream::with(BbrConfig { drop_pacing_gain: 0.0, ..BbrConfig::default() });
    for n in [0, 0, 10, 0, 0, 0, 0] {
        stream.round(n, Fate::Lost);
    }
    stream.round(1, Fate::Dropped);
    for _ in 0..16 {
        stream.round(0, Fate::Arrives);
        assert!(stream.gain() < 1.3, "{}", stream.gain());
    }
}

/// The least window in 30 s that follow the first 5 s, in packets.
fn min_window(config: BbrConfig) -> u64 {
    let mut stream = Stream::with(config);
    stream.others = 1;
    (0..100).for_each(|_| stream.round(0, Fate::Arrives));
    // A round trip as short as the least would let that live on.
    stream.rtt += Duration::from_millis(1);
    let windows = (0..600).map(|_| {
        stream.round(0, Fate::Arrives);
        stream.bbr.window() / MTU
    });
    windows.min().unwrap()
}

#[test]
fn a_least_round_trip_that_lives_longer_is_probed_later() {
    assert_eq!(min_window(BbrConfig::default()), 4);
    let rtprop_window = Duration::from_secs(100);
    assert!(min_window(BbrConfig { rtprop_window, ..BbrConfig::default() }) >= PACKETS);
}

#[test]
fn the_largest_bandwidth_is_kept_for_the_time_that_is_asked() {
    // Ten rounds are half a second here, so a window of a second has twenty.
    for (min_window_s, rounds) in [(0, 10), (1, 20)] {
        let min_bandwidth_window = Duration::from_secs(min_window_s);
        let mut stream = Stream::with(BbrConfig { min_bandwidth_window, ..BbrConfig::default() });
        stream.app_limited = false;
        (0..30).for_each(|_| stream.round(0, Fate::Arrives));
        let before = stream.bbr.bandwidth();
        // Half of the packets are lost, so that the path looks half as fast.
        let kept = (0..100).take_while(|_| {
            stream.round(PACKETS / 2, Fate::Lost);
            stream.bbr.bandwidth() == before
        });
        let kept = kept.count();
        assert!((rounds - 1..=rounds + 2).contains(&kept), "{min_window_s} s: {kept} rounds");
    }
}
