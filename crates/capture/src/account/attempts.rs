//! Charges frame exchanges of a capture, and infers what of them was not heard.

use std::time::Duration;

use airlane_base::Time;
use airlane_wifi::{
    Access, Address, Band, Exchanges, Frame, FrameExchange, MAX_PPDU_DURATION, Part, Ppdu,
    Precision, Response, Timing, Vector, contention, mac,
};

use super::association::ByAddress;
use super::attempt::{Airtime, Attempt};
use super::flows::Flows;
use crate::transmission::Transmission;

/// Gap between a frame and its response, beyond SIFS, from which on it is taken for frames that were not
/// heard: receivers' clocks count microseconds.
pub(super) const MIN_MISSED: Duration = Duration::from_micros(5);

const TIMING: Timing = Timing::of(Band::Ghz5);
pub(super) const SIFS: Duration = TIMING.sifs;

/// Makes attempts of transmissions.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempts {
    exchanges: Exchanges<ByAddress>,
    ledger: Ledger,
}

/// State by which exchanges are charged.
#[derive(Clone, Debug, Default)]
struct Ledger {
    flows: Flows,
    /// End of the last attempt, and its sender.
    last: Option<(Time, Option<Address>)>,
}

/// Vector of the first frame of an exchange, by which its control frames are sent.
pub(super) fn control(exchange: &FrameExchange) -> Vector {
    exchange.vector.unwrap_or(Vector::ofdm(4)).response()
}

impl Attempts {
    /// Takes a transmission; gives the attempts that it shows to be over.
    pub(super) fn push(&mut self, transmission: &Transmission, mut give: impl FnMut(&Attempt<'_>)) {
        let heard = &transmission.heard;
        let part = Part::new(heard.at, transmission.end(), transmission.timing, &heard.what);
        let Self { exchanges, ledger } = self;
        let placement = exchanges.push(&part);
        for exchange in placement.over {
            give(&ledger.close(&exchange, Some(part.begin)));
        }
        // What the transmission tells helps to infer what was missed before it.
        ledger.flows.learn(&part);
        if let Some(exchange) = placement.before {
            give(&ledger.close(&exchange, Some(part.begin)));
        }
    }

    /// Gives what is open.
    pub(super) fn finish(&mut self, mut give: impl FnMut(&Attempt<'_>)) {
        for exchange in self.exchanges.finish() {
            give(&self.ledger.close(&exchange, None));
        }
    }
}

impl Ledger {
    /// Charges an exchange that is over; the next transmission begins at `next`.
    fn close<'a>(&mut self, exchange: &'a FrameExchange, next: Option<Time>) -> Attempt<'a> {
        let (before, by) = self.last.unwrap_or((Time::ZERO, None));
        let acknowledged = self.flows.acknowledged(exchange);
        let charge = Charge { exchange, flows: &self.flows, acknowledged, before, next };
        // In one TXOP: it has not contended.
        let pause = exchange.begin.since(before);
        let is_continuation = by.is_some()
            && by == exchange.sender
            && exchange.precision != Precision::Machine
            && pause <= SIFS + exchange.precision.tolerance().min(TIMING.slot)
            && exchange.begin >= before;
        let (attempt, end) = charge.attempt(is_continuation);
        self.last = Some((end.max(before), exchange.sender));
        attempt
    }
}

/// An exchange that is being charged.
struct Charge<'a, 'f> {
    exchange: &'a FrameExchange,
    flows: &'f Flows,
    /// Number of frames that its block acknowledgement acknowledges and none before that did.
    acknowledged: Option<u32>,
    /// End of the attempt before.
    before: Time,
    /// Beginning of the next transmission.
    next: Option<Time>,
}

impl<'a> Charge<'a, '_> {
    /// The attempt that the exchange was, and its end.
    fn attempt(&self, is_continuation: bool) -> (Attempt<'a>, Time) {
        let exchange = self.exchange;
        let mut air = Airtime::default();
        self.protection(&mut air);
        let mut end = exchange.end;
        let mut is_unanswered = false;
        let mut ppdu_air = Duration::ZERO;
        match (&exchange.ppdu, &exchange.response) {
            (Some(ppdu), response) => {
                ppdu_air = ppdu.duration;
                air.heard += ppdu.duration;
                if let Some(response) = response {
                    let missed = self.missed(ppdu, response);
                    ppdu_air += missed;
                    air.answered += missed;
                    air.gaps += SIFS;
                    air.heard += response.duration;
                } else if ppdu.first.is_some() && ppdu.response != Response::None {
                    // Others wait that long.
                    is_unanswered = true;
                    let vector = ppdu.vector.map_or(control(exchange), |v| v.response());
                    air.gaps += SIFS + vector.duration(ppdu.response.bytes());
                }
            }
            (None, Some(response)) if exchange.is_protected() => {
                ppdu_air = self.between(response);
                air.announced += ppdu_air;
                air.gaps += 2 * SIFS;
                air.heard += response.duration;
            }
            (None, Some(response)) => {
                ppdu_air = self.guess(response);
                air.answered += ppdu_air;
                air.gaps += SIFS;
                air.heard += response.duration;
            }
            (None, None) if exchange.cts.is_some() => {
                // Granted, and nothing heard: until somebody else sends, at most as long as announced.
                let until = self.next.map_or(exchange.reserved, |next| exchange.reserved.min(next));
                ppdu_air = until.since(exchange.end).saturating_sub(SIFS);
                air.announced += ppdu_air;
                if !ppdu_air.is_zero() {
                    air.gaps += SIFS;
                    end = until;
                }
            }
            (None, None) => {
                // An RTS without a CTS: others wait that long.
                is_unanswered = true;
                air.gaps += SIFS + control(exchange).duration(mac::CTS);
            }
        }
        if !is_continuation {
            let access =
                exchange.ppdu.as_ref().and_then(|ppdu| ppdu.first.as_ref()).map(Frame::access);
            air.contention = contention(&TIMING, &access.unwrap_or(Access::BEST_EFFORT));
        }
        (self.sum(air, ppdu_air, is_unanswered), end)
    }

    /// RTS and CTS, and the gaps behind them.
    fn protection(&self, air: &mut Airtime) {
        let exchange = self.exchange;
        let control = control(exchange);
        match (exchange.rts, exchange.cts) {
            (Some(rts), cts) => {
                air.heard += rts + cts.unwrap_or_default();
                if cts.is_some() {
                    air.gaps += SIFS;
                } else if !exchange.is_protection_alone() {
                    // Without a CTS an RTS came to nothing, unless what it is for was heard.
                    air.announced += control.duration(mac::CTS);
                    air.gaps += SIFS;
                }
            }
            (None, Some(cts)) => {
                air.heard += cts;
                // A sender that uses RTS has sent one here as well.
                if self.flows.is_protected(exchange) {
                    air.announced += control.duration(mac::RTS);
                    air.gaps += SIFS;
                }
            }
            (None, None) => return,
        }
        if exchange.ppdu.is_some() {
            air.gaps += SIFS;
        }
    }

    /// Duration of a PPDU that was not heard between RTS or CTS and its response.
    fn between(&self, response: &Ppdu) -> Duration {
        let FrameExchange { begin, rts, cts, .. } = *self.exchange;
        let from = begin + rts.unwrap_or_default() + cts.unwrap_or_default();
        let beside = match (rts, cts) {
            (Some(_), None) => control(self.exchange).duration(mac::CTS) + 3 * SIFS,
            (Some(_), Some(_)) => 3 * SIFS,
            _ => 2 * SIFS,
        };
        response.begin.since(from).saturating_sub(beside).min(MAX_PPDU_DURATION)
    }

    /// Time that a PPDU took beyond its frames that were heard.
    fn missed(&self, ppdu: &Ppdu, response: &Ppdu) -> Duration {
        if !ppdu.is_aggregate {
            return Duration::ZERO;
        }
        let missed = if self.exchange.precision == Precision::Machine {
            // Clocks are too coarse: by what is acknowledged beyond what was heard.
            let frames = self.acknowledged.unwrap_or(0).saturating_sub(ppdu.mpdus);
            match (self.exchange.sender, frames, ppdu.vector) {
                (Some(sender), 1.., Some(vector)) => self
                    .flows
                    .guess(sender, self.exchange.receiver, frames)
                    .saturating_sub(vector.preamble()),
                _ => Duration::ZERO,
            }
        } else {
            let end = ppdu.begin + ppdu.duration;
            let between = response.begin.since(end).saturating_sub(SIFS);
            if between < MIN_MISSED { Duration::ZERO } else { between }
        };
        missed.min(MAX_PPDU_DURATION.saturating_sub(ppdu.duration))
    }

    /// Duration of a PPDU of which only the response was heard: at most the silence before that.
    fn guess(&self, response: &Ppdu) -> Duration {
        let Some(sender) = self.exchange.sender else { return Duration::ZERO };
        let guess = match self.acknowledged {
            Some(frames) => self.flows.guess(sender, self.exchange.receiver, frames),
            None => self.flows.guess_alone(sender),
        };
        match self.exchange.precision {
            Precision::Machine => guess,
            _ => guess.min(response.begin.since(self.before).saturating_sub(SIFS)),
        }
    }

    /// The attempt with this airtime, of which the PPDU took `ppdu_air`.
    fn sum(&self, air: Airtime, ppdu_air: Duration, is_unanswered: bool) -> Attempt<'a> {
        let exchange = self.exchange;
        let ppdu = exchange.ppdu.as_ref();
        let is_data = match ppdu.and_then(|ppdu| ppdu.kind()) {
            Some(kind) => kind.is_data(),
            // Not heard: RTS and block acknowledgements are for data.
            None => self.acknowledged.is_some() || (exchange.is_protected() && !ppdu_air.is_zero()),
        };
        let vector = ppdu.and_then(|ppdu| ppdu.vector);
        let rate = vector.or(self.flows.vector(exchange)).map(|vector| vector.rate().as_f64());
        let decoded = ppdu.filter(|ppdu| ppdu.first.is_some());
        let unheard = match decoded {
            Some(ppdu) => ppdu_air.saturating_sub(ppdu.duration),
            // Less a preamble.
            None => ppdu_air.saturating_sub(Vector::ofdm(0).preamble() * 2),
        };
        let inferred_bytes = match (is_data, rate) {
            (true, Some(bps)) if !exchange.is_protection_alone() => {
                (unheard.as_secs_f64() * bps / 8.0) as u64
            }
            _ => 0,
        };
        Attempt { exchange, air, ppdu: ppdu_air, is_data, inferred_bytes, is_unanswered }
    }
}
