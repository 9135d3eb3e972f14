//! Streams that ended in order. What tells the other end of it may be on a subflow that is lost, or that is
//! slower than a new one: the stream is then over here and open there. Where the other end opens or
//! accepts it on a new subflow, it is told again.

use std::collections::VecDeque;

use airlane_base::Time;
use bytes::Bytes;

use crate::stream::shared::NO_PATH_TIMEOUT;
use crate::terms::Terms;

/// So many are remembered: they take some 100 bytes each, here and on every new subflow.
const MAX_ENDED: usize = 128;

/// A stream that ended in order.
#[derive(Clone, Debug)]
pub(crate) struct EndedStream {
    pub(crate) number: u32,
    pub(crate) terms: Terms,
    pub(crate) request: Bytes,
    /// Frames that tell the other end where the stream ends, and that everything has come.
    pub(crate) frames: Bytes,
    /// The session's newest subflow at that time.
    pub(crate) newest_subflow: u64,
    pub(crate) at: Time,
}

/// The latest of them.
#[derive(Debug, Default)]
pub(crate) struct EndedStreams(VecDeque<EndedStream>);

impl EndedStreams {
    /// One more; the oldest is forgotten if there are too many.
    pub(crate) fn add(&mut self, stream: EndedStream) {
        self.0.truncate(MAX_ENDED - 1);
        self.0.push_front(stream);
    }

    /// The stream of this number.
    pub(crate) fn get(&self, number: u32) -> Option<&EndedStream> {
        self.0.iter().find(|stream| stream.number == number)
    }

    /// Those for which the other end may be waiting: later it has given up.
    pub(crate) fn awaited(&self, now: Time) -> impl Iterator<Item = &EndedStream> {
        self.0.iter().take_while(move |stream| now - stream.at <= NO_PATH_TIMEOUT)
    }

    /// The other end knows of none of them.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::Protocol;

    #[test]
    fn the_latest_are_remembered_and_for_a_while_awaited() {
        let terms = Terms {
            protocol: Protocol::Fbdt,
            segment_bytes: 1,
            window_bytes: 1,
            receive_memory: 1,
        };
        let mut ended = EndedStreams::default();
        for number in 0..2 * MAX_ENDED as u32 {
            let at = Time::from_secs_f64(number.into());
            let (request, frames) = (Bytes::new(), Bytes::new());
            ended.add(EndedStream { number, terms, request, frames, newest_subflow: 1, at });
        }
        let last = 2 * MAX_ENDED as u32 - 1;
        assert!(ended.get(last).is_some() && ended.get(last + 1 - MAX_ENDED as u32).is_some());
        assert!(ended.get(last - MAX_ENDED as u32).is_none());
        let now = Time::from_secs_f64(last.into());
        let awaited: Vec<u32> = ended.awaited(now).map(|stream| stream.number).collect();
        assert_eq!((awaited[0], awaited.len()), (last, NO_PATH_TIMEOUT.as_secs() as usize + 1));
        ended.clear();
        assert!(ended.get(last).is_none() && ended.awaited(now).next().is_none());
    }
}
