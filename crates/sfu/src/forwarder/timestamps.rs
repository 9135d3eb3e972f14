//! RTP timestamps that go on where encodings change.

use airlane_base::Time;

use crate::packet::RtpPacket;

/// Frame whose timestamp is the newest that went out.
#[derive(Clone, Copy, Debug)]
struct NewestFrame {
    output: u32,
    arrived: Time,
    captured: Option<Time>,
}

/// The rewriting of timestamps: those of encodings have unrelated offsets (RFC 3550, section 5.1).
#[derive(Debug)]
pub(super) struct Timestamps {
    clock_rate: u32,
    offset: u32,
    encoding: Option<u8>,
    newest: Option<NewestFrame>,
}

/// A timestamp is newer than another, in the half of the circle ahead of it.
fn is_newer(timestamp: u32, than: u32) -> bool {
    (timestamp.wrapping_sub(than) as i32) > 0
}

impl Timestamps {
    pub(super) fn new(clock_rate: u32) -> Self {
        Self { clock_rate, offset: 0, encoding: None, newest: None }
    }

    /// Begins with the first packet of an encoding: it follows the newest frame by the time between the two, by when
    /// they were captured if both tell it, and by a tick at least.
    pub(super) fn begin(&mut self, packet: &RtpPacket<'_>) {
        let is_same = self.encoding.replace(packet.encoding) == Some(packet.encoding);
        let Some(newest) = self.newest else { return };
        if is_same && is_newer(packet.timestamp.wrapping_add(self.offset), newest.output) {
            return;
        }
        let elapsed = match (packet.captured, newest.captured) {
            (Some(now), Some(before)) => now.since(before),
            _ => packet.arrived.since(newest.arrived),
        };
        // A pause of half the circle or more would read as a step back.
        let ticks = (elapsed.as_secs_f64() * f64::from(self.clock_rate)).round();
        let ticks = (ticks as u32).clamp(1, i32::MAX as u32);
        self.offset = newest.output.wrapping_add(ticks).wrapping_sub(packet.timestamp);
    }

    /// The timestamp of a packet of the encoding.
    pub(super) fn map(&mut self, packet: &RtpPacket<'_>) -> u32 {
        let output = packet.timestamp.wrapping_add(self.offset);
        if self.newest.is_none_or(|newest| is_newer(output, newest.output)) {
            let (arrived, captured) = (packet.arrived, packet.captured);
            self.newest = Some(NewestFrame { output, arrived, captured });
        }
        output
    }
}
