//! Bitrate of media that follows a congestion controller, or a target.

use std::time::Duration;

use airlane_base::{IP_UDP_HEADER_BYTES, Rate, Time};
use airlane_quic::ControlStats;

/// UDP payload of a full packet in bytes, as the laboratory's connections have it. Others differ by under 1 % in
/// what headers add.
const FULL_PAYLOAD_BYTES: u16 = 1350;
/// Time for which a restored bitrate holds while the controller estimates less.
const RESTORE_TIME: Duration = Duration::from_secs(2);

/// Settings of a bitrate that follows a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateConfig {
    /// Share of the bytes of IP packets that is media: the rest is headers and acknowledgements.
    pub media_share: f64,
    /// Bytes that wait from which on the bitrate is halved.
    pub max_pending_bytes: u64,
}

impl Default for RateConfig {
    /// 18 000 bytes, as in the authors' code of Plum.
    fn default() -> Self {
        Self { media_share: 0.93, max_pending_bytes: 18_000 }
    }
}

/// Bandwidth that a controller estimates, in IP bytes. Of one that estimates none it is the window over the
/// smoothed round trip (Plum, section VI).
pub fn estimate(stats: &ControlStats) -> Option<Rate> {
    let payload = match stats.bandwidth {
        Some(rate) => rate,
        None => Rate::of(stats.window, stats.rtt?.smoothed),
    };
    let full = f64::from(FULL_PAYLOAD_BYTES);
    (payload > Rate::ZERO).then(|| payload.scale((full + f64::from(IP_UDP_HEADER_BYTES)) / full))
}

impl RateConfig {
    /// Bitrate of media in the Natural state, `pending` bytes of which wait.
    pub fn natural(&self, estimate: Rate, pending: u64) -> Rate {
        let factor = if pending > self.max_pending_bytes { 0.5 } else { 1.0 };
        estimate.scale(self.media_share * factor)
    }

    /// Bitrate of media where IP packets may take `rate`.
    pub fn media(&self, rate: Rate) -> Rate {
        rate.scale(self.media_share)
    }
}

/// Bitrate of one end of a channel: natural, held to a target, or restored after it was held.
#[derive(Clone, Debug)]
pub(crate) struct Bitrate {
    config: RateConfig,
    /// True if the bitrate from before a hold is restored.
    restores: bool,
    /// A restored bitrate, and until when it holds.
    restored: Option<(Rate, Time)>,
}

/// The controller or hold that a bitrate follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guidance {
    /// Bandwidth that the controller estimates, in IP bytes.
    pub(crate) estimate: Option<Rate>,
    /// Bytes that wait.
    pub(crate) pending: u64,
    /// Rate that the end is held to, in IP bytes.
    pub(crate) target: Option<Rate>,
    /// Rate from before a hold that has just ended, in IP bytes.
    pub(crate) retained: Option<Rate>,
}

impl Bitrate {
    pub(crate) fn new(config: RateConfig, restores: bool) -> Self {
        Self { config, restores, restored: None }
    }

    /// Bitrate of media now; 0 before there is an estimate. A restored bitrate holds until bytes wait: then there
    /// is no room for it any more.
    pub(crate) fn update(&mut self, now: Time, guidance: &Guidance) -> Rate {
        let Guidance { estimate, pending, target, retained } = *guidance;
        let natural = estimate.map(|estimate| self.config.natural(estimate, pending));
        let natural = natural.unwrap_or(Rate::ZERO);
        if let Some(rate) = retained.filter(|_| self.restores) {
            self.restored = Some((self.config.media(rate), now + RESTORE_TIME));
        }
        self.restored = self.restored.filter(|(_, until)| {
            now < *until && target.is_none() && pending <= self.config.max_pending_bytes
        });
        let free = self.restored.map_or(natural, |(rate, _)| natural.max(rate));
        target.map_or(free, |target| free.min(self.config.media(target)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn mbps(rate: f64) -> Option<Rate> {
        Some(Rate::from_mbps(rate))
    }

    fn bitrate() -> Bitrate {
        Bitrate::new(RateConfig { media_share: 1.0, max_pending_bytes: 1000 }, true)
    }

    const NOTHING: Guidance = Guidance { estimate: None, pending: 0, target: None, retained: None };

    #[test]
    fn it_follows_the_controller_and_is_halved_while_bytes_wait() {
        let natural = Guidance { estimate: mbps(4.0), ..NOTHING };
        assert_eq!(bitrate().update(at(0), &NOTHING), Rate::ZERO);
        assert_eq!(bitrate().update(at(0), &natural), Rate::from_mbps(4.0));
        let waits = Guidance { pending: 1001, ..natural };
        assert_eq!(bitrate().update(at(0), &waits), Rate::from_mbps(2.0));
    }

    #[test]
    fn a_target_bounds_it_and_never_raises_it() {
        let held = |target| Guidance { estimate: mbps(4.0), target: mbps(target), ..NOTHING };
        assert_eq!(bitrate().update(at(0), &held(1.0)), Rate::from_mbps(1.0));
        assert_eq!(bitrate().update(at(0), &held(9.0)), Rate::from_mbps(4.0));
    }

    #[test]
    fn a_restored_bitrate_holds_until_its_time_is_over_or_bytes_wait() {
        let low = Guidance { estimate: mbps(1.0), ..NOTHING };
        let freed = Guidance { retained: mbps(5.0), ..low };
        let mut restored = bitrate();
        assert_eq!(restored.update(at(0), &freed), Rate::from_mbps(5.0));
        assert_eq!(restored.update(at(1_999), &low), Rate::from_mbps(5.0));
        assert_eq!(restored.update(at(2_000), &low), Rate::from_mbps(1.0));
        let mut crowded = bitrate();
        crowded.update(at(0), &freed);
        let waits = Guidance { pending: 1001, ..low };
        assert_eq!(crowded.update(at(100), &waits), Rate::from_mbps(0.5));
        assert_eq!(crowded.update(at(200), &low), Rate::from_mbps(1.0));
        let mut never = Bitrate::new(RateConfig::default(), false);
        assert!(never.update(at(0), &freed) < Rate::from_mbps(1.0));
    }
}
