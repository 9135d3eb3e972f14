//! The receiving end without I/O.

use std::time::Duration;

use airlane_base::Time;

use crate::assembly::Assembly;
use crate::config::{Config, Estimator};
use crate::gap::Gap;
use crate::meter::Meter;
use crate::sprout::Sprout;
use crate::states::{Delivered, States};
use crate::wire::{Ack, Message, SEEN_BITS, Timing};

/// Without packets for so long, there are no more forecasts until one comes.
const ASLEEP: Duration = Duration::from_secs(10);

/// Sprout, fed tick by tick.
#[derive(Debug)]
struct Forecaster {
    sprout: Sprout,
    meter: Meter,
    tick: Duration,
    next: Time,
    number: u32,
    forecast: Vec<u16>,
}

impl Forecaster {
    fn new(config: &crate::SproutConfig, now: Time) -> Self {
        let sprout = Sprout::new(config);
        let tick = sprout.tick_length();
        let forecast = sprout.forecast();
        Self { sprout, meter: Meter::new(now), tick, next: now + tick, number: 0, forecast }
    }

    /// Does the ticks that are due.
    fn advance(&mut self, now: Time) {
        let before = self.number;
        while self.next <= now {
            let seen = self.meter.tick(self.next);
            self.sprout.tick(seen.packets, seen.exposed, seen.alive);
            self.next += self.tick;
            self.number = self.number.wrapping_add(1);
        }
        if self.number != before {
            self.forecast = self.sprout.forecast();
        }
    }
}

/// The receiving end.
#[derive(Debug)]
pub(crate) struct Receiver {
    config: Config,
    /// The newest packet, and those before it.
    newest: Option<u32>,
    seen: u64,
    heard: Time,
    assembly: Assembly,
    states: States,
    gap: Gap,
    forecaster: Option<Forecaster>,
}

impl Receiver {
    pub(crate) fn new(config: Config) -> Self {
        let gap = Gap::new(config.delay);
        Self {
            config,
            newest: None,
            seen: 0,
            heard: Time::ZERO,
            assembly: Assembly::default(),
            states: States::default(),
            gap,
            forecaster: None,
        }
    }

    /// A datagram came. What can be decoded now, and the answer; `None` if there is none to give.
    pub(crate) fn receive(
        &mut self,
        now: Time,
        datagram: &[u8],
    ) -> Option<(Vec<Delivered>, Vec<u8>)> {
        let (timing, piece) = match Message::decode(datagram)? {
            Message::Data(timing, piece, data) => (timing, Some((piece, data))),
            Message::Filler(timing) => (timing, None),
            Message::Ack(_) => return None,
        };
        if !self.is_new(timing.packet) {
            return None;
        }
        self.estimate(now, &timing, datagram.len());
        let whole = piece.and_then(|(piece, data)| self.assembly.add(now, &piece, data));
        let decoded = whole.map(|whole| self.states.add(now, whole)).unwrap_or_default();
        Some((decoded, self.ack()?))
    }

    /// Notes a packet's number, unless it came before or is too old to tell.
    fn is_new(&mut self, packet: u32) -> bool {
        let Some(newest) = self.newest else {
            self.newest = Some(packet);
            return true;
        };
        if packet > newest {
            let ahead = packet - newest;
            self.seen = self.seen.checked_shl(ahead).unwrap_or(0);
            if ahead <= SEEN_BITS {
                self.seen |= 1 << (ahead - 1);
            }
            self.newest = Some(packet);
            return true;
        }
        let behind = newest - packet;
        if behind == 0 || behind > SEEN_BITS || self.seen >> (behind - 1) & 1 == 1 {
            return false;
        }
        self.seen |= 1 << (behind - 1);
        true
    }

    fn estimate(&mut self, now: Time, timing: &Timing, bytes: usize) {
        let asleep = now.since(self.heard) > ASLEEP;
        self.heard = now;
        self.gap.arrived(now, timing.pause);
        let Estimator::Sprout(config) = &self.config.estimator else { return };
        if asleep || self.forecaster.is_none() {
            self.forecaster = Some(Forecaster::new(config, now));
        }
        if let Some(forecaster) = &mut self.forecaster {
            forecaster.advance(now);
            let part = bytes as f64 / self.config.payload_bytes() as f64;
            forecaster.meter.arrived(now, part, timing.pause, timing.next);
        }
    }

    /// Time at which the next forecast is due.
    pub(crate) fn due(&self) -> Option<Time> {
        let forecaster = self.forecaster.as_ref()?;
        (forecaster.next.since(self.heard) <= ASLEEP).then_some(forecaster.next)
    }

    /// Makes a forecast if one is due, and says it.
    pub(crate) fn tick(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.due().is_none_or(|due| due > now) {
            return None;
        }
        self.forecaster.as_mut()?.advance(now);
        self.ack()
    }

    fn ack(&self) -> Option<Vec<u8>> {
        let (frame, state) = self.states.newest().unwrap_or_default();
        let (tick, forecast) = match &self.forecaster {
            Some(forecaster) => (forecaster.number, forecaster.forecast.clone()),
            None => (0, Vec::new()),
        };
        let gap = self.gap.mean();
        let ack = Ack { newest: self.newest?, seen: self.seen, state, frame, gap, tick, forecast };
        Some(Message::Ack(ack).encode(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SproutConfig;

    fn filler(packet: u32) -> Vec<u8> {
        Message::Filler(Timing { packet, ..Timing::default() }).encode(1_372)
    }

    fn answer(receiver: &mut Receiver, ms: u64, packet: u32) -> Option<Ack> {
        let (_, answer) = receiver.receive(Time::from_millis(ms), &filler(packet))?;
        match Message::decode(&answer) {
            Some(Message::Ack(ack)) => Some(ack),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn acknowledgements_say_what_came() {
        let mut receiver = Receiver::new(Config::new(Estimator::Own));
        assert_eq!(answer(&mut receiver, 0, 3).unwrap().gap, None);
        let ack = answer(&mut receiver, 2, 5).unwrap();
        assert_eq!((ack.newest, ack.seen), (5, 0b10));
        assert_eq!(ack.gap, Some(Duration::from_millis(2)));
        let ack = answer(&mut receiver, 4, 4).unwrap();
        assert_eq!((ack.newest, ack.seen), (5, 0b11));
        // Twice, and too old.
        assert_eq!(answer(&mut receiver, 4, 4), None);
        assert_eq!(answer(&mut receiver, 5, 69).unwrap().seen, 1 << 63);
        assert_eq!(answer(&mut receiver, 5, 4), None);
        assert_eq!(answer(&mut receiver, 5, u32::MAX).unwrap().seen, 0);
        assert_eq!((receiver.due(), receiver.tick(Time::FAR_FUTURE)), (None, None));
    }

    #[test]
    fn forecasts_fall_in_an_outage_and_end_when_nothing_comes() {
        let config = Config::new(Estimator::Sprout(SproutConfig::default()));
        let mut receiver = Receiver::new(config);
        let mut last = Ack::default();
        (0..500).for_each(|n| last = answer(&mut receiver, 2 * u64::from(n), n).unwrap());
        // Fifty come in 100 ms.
        assert!((25..50).contains(&last.forecast[4]), "{last:?}");
        let mut ticks = 0;
        while let Some(due) = receiver.due() {
            let answer = receiver.tick(due).unwrap();
            let Some(Message::Ack(ack)) = Message::decode(&answer) else { panic!() };
            assert_eq!(ack.newest, 499);
            if ticks == 50 {
                assert_eq!(ack.forecast[4], 0);
            }
            ticks += 1;
        }
        assert!((499..502).contains(&ticks), "{ticks}");
        // After that it begins anew.
        assert!(answer(&mut receiver, 60_000, 500).unwrap().forecast[4] > 0);
    }

    #[test]
    fn strange_datagrams_do_no_harm() {
        let config = Config::new(Estimator::Sprout(SproutConfig::default()));
        let mut receiver = Receiver::new(config);
        let mut state = 1_u64;
        for n in 0..20_000 {
            let mut bytes = filler(n);
            bytes.truncate(60);
            for byte in &mut bytes {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte = (state >> 56) as u8;
            }
            bytes[0] = 1 + (state >> 40) as u8 % 2;
            receiver.receive(Time::from_micros(n.into()), &bytes);
        }
    }
}
