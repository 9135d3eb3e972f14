//! When a receiver asks for a key frame.
//!
//! First packets are asked for (NACK), which str0m does; a key frame is the last resort. The times
//! are libwebrtc's (`video/video_receive_stream2.h`).

use std::time::Duration;

use airlane_base::Time;

/// Time that a key frame is waited for before it is asked for, and asked for again
/// (`kMaxWaitForKeyFrame`).
const WAIT_FOR_KEY: Duration = Duration::from_millis(200);

/// Time that any frame is waited for while packets come (`kMaxWaitForFrame`).
const WAIT_FOR_FRAME: Duration = Duration::from_secs(3);

/// A stream from which nothing came for so long is over for the time being.
const INACTIVE: Duration = Duration::from_secs(5);

/// State of a receiver that decides when a key frame is requested.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requests {
    /// Times of the first packet and of the last one.
    packets: Option<(Time, Time)>,
    /// Time at which the last packet of a key frame came.
    key_packet: Option<Time>,
    /// Time at which the last frame was delivered.
    frame: Option<Time>,
    /// Time at which a key frame was last asked for.
    asked: Option<Time>,
}

impl Requests {
    pub(crate) fn packet(&mut self, at: Time, key: bool) {
        self.packets = Some((self.packets.map_or(at, |(first, _)| first), at));
        if key {
            self.key_packet = Some(at);
        }
    }

    pub(crate) fn frame(&mut self, at: Time) {
        self.frame = Some(at);
    }

    pub(crate) fn ask(&mut self, at: Time) {
        self.asked = Some(at);
    }

    /// Time at which a key frame is to be asked for as things are. `needs_key`: only a key frame
    /// helps. `lost_since`: time since which a packet is missing that is out of reach.
    pub(crate) fn due(&self, needs_key: bool, lost_since: Option<Time>) -> Option<Time> {
        let (first, last) = self.packets?;
        // One that is on its way is not asked for again.
        let again = self.asked.max(self.key_packet).map(|t| t + WAIT_FOR_KEY);
        let lost = match lost_since {
            _ if needs_key => Some(first.max(self.frame.unwrap_or(first)) + WAIT_FOR_KEY),
            // Even if it came now, str0m would refuse it.
            Some(since) => Some(since),
            None => None,
        };
        let quiet = self.frame.max(self.asked).unwrap_or(first) + WAIT_FOR_FRAME;
        let due = lost.map_or(quiet, |lost| lost.max(again.unwrap_or(lost)).min(quiet));
        (due < last + INACTIVE).then_some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn a_missing_key_frame_is_asked_for_again_and_again() {
        let mut requests = Requests::default();
        assert_eq!(requests.due(true, None), None);
        requests.packet(ms(10), false);
        assert_eq!(requests.due(true, None), Some(ms(210)));
        requests.ask(ms(210));
        assert_eq!(requests.due(true, None), Some(ms(410)));
        requests.packet(ms(400), true);
        assert_eq!(requests.due(true, None), Some(ms(600)));
    }

    #[test]
    fn what_is_lost_for_good_is_waited_for_less_than_what_may_come() {
        let mut requests = Requests::default();
        requests.packet(ms(10), true);
        requests.frame(ms(100));
        assert_eq!(requests.due(false, None), Some(ms(3_100)));
        assert_eq!(requests.due(false, Some(ms(500))), Some(ms(500)));
        requests.ask(ms(500));
        assert_eq!(requests.due(false, Some(ms(500))), Some(ms(700)));
        assert_eq!(requests.due(false, None), Some(ms(3_500)));
    }

    #[test]
    fn a_stream_that_stopped_is_left_alone() {
        let mut requests = Requests::default();
        requests.packet(ms(10), true);
        requests.frame(ms(10));
        assert_eq!(requests.due(false, None), Some(ms(3_010)));
        requests.ask(ms(3_010));
        assert_eq!(requests.due(false, None), None);
    }
}
