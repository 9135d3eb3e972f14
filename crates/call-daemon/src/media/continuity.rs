//! Sequence numbers and timestamps of a stream that goes on while its sources change (RFC 3550, section 5.1).

use airlane_base::Time;

/// First sequence number of a stream: its high part is known to be 0 at the receiver (RFC 3711, section 3.3.1).
const FIRST_SEQUENCE: u64 = 1;

/// Numbers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketNumbers {
    /// Extended sequence number.
    pub(crate) sequence: u64,
    /// RTP timestamp, in ticks of the codec's clock.
    pub(crate) timestamp: u32,
}

/// Mapping of one source after the other into one stream. Between two sources the timestamp advances by the time
/// that has passed, the sequence number by one.
#[derive(Clone, Debug)]
pub(crate) struct Continuity {
    /// Ticks of the codec's clock per second.
    clock_hz: u32,
    offset: Option<Offset>,
    /// Highest numbers sent, and when.
    last: Option<(PacketNumbers, Time)>,
}

/// Distance from a source's numbers to those of the stream.
#[derive(Clone, Copy, Debug)]
struct Offset {
    /// First sequence number of the source that is mapped, and of the stream that it is mapped to.
    first: (u64, u64),
    timestamp: u32,
}

impl Continuity {
    pub(crate) fn new(clock_hz: u32) -> Self {
        Self { clock_hz, offset: None, last: None }
    }

    /// Takes the next packet for the first one of another source.
    pub(crate) fn begin_source(&mut self) {
        self.offset = None;
    }

    /// Numbers of the stream for those of the source; `None` for packets from before the first one.
    pub(crate) fn map(&mut self, now: Time, from: PacketNumbers) -> Option<PacketNumbers> {
        let offset = *self.offset.get_or_insert_with(|| match self.last {
            None => Offset { first: (from.sequence, FIRST_SEQUENCE), timestamp: 0 },
            Some((last, at)) => {
                let ticks = now.since(at).as_secs_f64() * f64::from(self.clock_hz);
                let timestamp = last.timestamp.wrapping_add((ticks as u32).max(1));
                Offset {
                    first: (from.sequence, last.sequence + 1),
                    timestamp: timestamp.wrapping_sub(from.timestamp),
                }
            }
        });
        let ahead = from.sequence.checked_sub(offset.first.0)?;
        let numbers = PacketNumbers {
            sequence: offset.first.1 + ahead,
            timestamp: from.timestamp.wrapping_add(offset.timestamp),
        };
        if self.last.is_none_or(|(last, _)| numbers.sequence > last.sequence) {
            self.last = Some((numbers, now));
        }
        Some(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(sequence: u64, timestamp: u32) -> PacketNumbers {
        PacketNumbers { sequence, timestamp }
    }

    #[test]
    fn a_second_source_goes_on_where_the_first_one_ended() {
        let mut stream = Continuity::new(90_000);
        let at = Time::from_millis;
        assert_eq!(stream.map(at(0), numbers(70_000, 500)), Some(numbers(1, 500)));
        assert_eq!(stream.map(at(20), numbers(70_003, 2300)), Some(numbers(4, 2300)));
        // Out of order, and from before the beginning.
        assert_eq!(stream.map(at(21), numbers(70_001, 500)), Some(numbers(2, 500)));
        assert_eq!(stream.map(at(21), numbers(69_999, 0)), None);
        stream.begin_source();
        // 100 ms after the last packet: 9000 ticks.
        assert_eq!(stream.map(at(120), numbers(5, u32::MAX)), Some(numbers(5, 11_300)));
        assert_eq!(stream.map(at(140), numbers(6, 1799)), Some(numbers(6, 13_100)));
    }
}
