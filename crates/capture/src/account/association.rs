//! Association of a capture's transmissions to frame exchanges.

use std::time::Duration;

use airlane_base::Time;
use airlane_wifi::{
    Association, FrameExchange, MAX_PPDU_DURATION, Part, PartKind, Precision, Response, Role, mac,
};

use super::attempts::{MIN_MISSED, SIFS, control};

/// Longest response that was not decoded: a block acknowledgement at 6 Mbit/s.
const MAX_RESPONSE: Duration = Duration::from_micros(100);

/// The association by addresses, and by time as far as the clock of the capture is exact.
#[derive(Clone, Debug, Default)]
pub(super) struct ByAddress;

impl Association for ByAddress {
    fn role(&self, exchange: &FrameExchange, part: &Part<'_>) -> Option<Role> {
        if exchange.response.is_some() {
            return None;
        }
        let tolerance = exchange.precision.max(part.precision).tolerance();
        let next = exchange.end + SIFS;
        let is_next = part.begin <= next + tolerance;
        let is_reserved = part.begin <= exchange.reserved.max(next) + tolerance;
        let is_timed = exchange.precision != Precision::Machine;
        let (sender, receiver) = (exchange.sender, exchange.receiver);
        let (role, continues) = match (part.kind, &exchange.ppdu) {
            (PartKind::Cts(frame), None) => {
                let is_first = exchange.cts.is_none();
                (Role::Cts, is_first && sender == Some(frame.receiver) && is_next)
            }
            (PartKind::Ppdu { frames, .. }, None) => {
                let first = &frames[0];
                let is_theirs = first.transmitter.is_some()
                    && sender == first.transmitter
                    && receiver.is_none_or(|receiver| receiver == first.receiver);
                (Role::Ppdu, is_theirs && is_reserved)
            }
            (PartKind::Unread, None) => {
                let cts = control(exchange).duration(mac::CTS) + MIN_MISSED;
                let is_cts = exchange.cts.is_none() && part.duration() <= cts;
                (if is_cts { Role::Cts } else { Role::Ppdu }, is_next && is_timed)
            }
            (PartKind::Response(frame), None) => {
                let is_theirs = sender == Some(frame.receiver)
                    && (frame.transmitter.is_none()
                        || receiver.is_none()
                        || frame.transmitter == receiver);
                (Role::Response, is_theirs && is_reserved)
            }
            (PartKind::Response(frame), Some(ppdu)) => {
                let is_theirs = match sender {
                    None => is_timed,
                    Some(sender) => {
                        sender == frame.receiver
                            && (frame.transmitter.is_none()
                                || receiver.is_none_or(|receiver| receiver.is_group())
                                || frame.transmitter == receiver)
                    }
                };
                // More frames of an aggregate may have been in the air than were heard.
                let may_be_longer =
                    ppdu.is_aggregate && part.begin <= ppdu.begin + MAX_PPDU_DURATION + tolerance;
                let is_due = ppdu.response != Response::None && (is_next || may_be_longer);
                (Role::Response, is_theirs && is_due)
            }
            (PartKind::Unread, Some(ppdu)) => {
                let is_due = ppdu.first.is_some() && ppdu.response != Response::None && is_next;
                (Role::Response, is_due && is_timed && part.duration() <= MAX_RESPONSE)
            }
            _ => return None,
        };
        continues.then_some(role)
    }

    /// An exchange at the same time as another, or whose response is not due yet. Of times that others'
    /// clocks tell that is not known well enough.
    fn stays_open(&self, exchange: &FrameExchange, at: Time) -> bool {
        exchange.precision == Precision::Exact
            && exchange.response.is_none()
            && exchange.sender.is_some()
            && at <= exchange.end + SIFS + Precision::Exact.tolerance()
    }
}
