//! Which frames go into a PPDU.

use airlane_base::Time;
use airlane_wifi::{Format, Response, Vector, mac};

use super::config::ApConfig;
use super::link::Link;
use super::minstrel::Choice;
use crate::node::Dropped;

/// Content of a PPDU: its frames.
#[derive(Clone, Debug, Default)]
pub(super) struct Psdu {
    /// The numbers of its frames, in order.
    pub(super) numbers: Vec<u64>,
    /// Bytes.
    pub(super) bytes: u32,
    /// Number of its frames that have been sent before.
    pub(super) repeated: u32,
}

impl Psdu {
    /// Fills it: first what was sent before, in order, then new frames, until the window, the format or
    /// the time in the air is full. Nothing is left behind that was there before.
    pub(super) fn fill(
        &mut self,
        link: &mut Link,
        now: Time,
        (ap, choice): (&ApConfig, &Choice),
        drops: &mut Vec<Dropped>,
    ) {
        let vector = &choice.vector;
        self.numbers.clear();
        (self.bytes, self.repeated) = (0, 0);
        let has_aggregates = !matches!(vector.format, Format::Dsss | Format::Ofdm);
        // What samples a rate is a frame alone.
        let max_frames = if has_aggregates && !choice.is_sample { ap.window } else { 1 };
        let max_bytes = vector.max_bytes(ap.max_air);
        let max_amsdu = if has_aggregates { ap.max_amsdu } else { 0 };
        for (number, mpdu) in link.window.outstanding() {
            let bytes = mac::in_aggregate(mpdu.bytes);
            // One frame is sent however long it takes.
            let is_full = self.bytes + bytes > max_bytes && !self.numbers.is_empty();
            if is_full || self.numbers.len() == max_frames {
                break;
            }
            self.numbers.push(number);
            self.bytes += bytes;
            self.repeated += u32::from(mpdu.tries > 0);
        }
        // Frames go in order: new ones follow once all that failed have been sent again.
        let is_again = link.window.outstanding().count() == self.numbers.len();
        while is_again && self.numbers.len() < max_frames && link.window.has_room() {
            let room = match self.numbers.is_empty() {
                true => u32::MAX,
                false => max_bytes.saturating_sub(self.bytes),
            };
            let Some(mpdu) = link.next_mpdu(now, (room, max_amsdu), ap.is_encrypted, drops) else {
                break;
            };
            self.bytes += mac::in_aggregate(mpdu.bytes);
            self.numbers.push(link.window.push(mpdu));
        }
        self.finish(link, vector);
    }

    /// A frame alone has no delimiter in formats that may send it so.
    fn finish(&mut self, link: &mut Link, vector: &Vector) {
        let is_bare = matches!(vector.format, Format::Dsss | Format::Ofdm | Format::Ht);
        if let ([number], true) = (self.numbers.as_slice(), is_bare)
            && let Some(mpdu) = link.window.get_mut(*number)
        {
            self.bytes = mpdu.bytes;
        }
    }

    /// Kind of response that it asks for.
    pub(super) fn response(&self, window: usize) -> Response {
        match (self.numbers.len(), window) {
            (1, _) => Response::Ack,
            (_, 0..=64) => Response::BlockAck64,
            _ => Response::BlockAck256,
        }
    }
}
