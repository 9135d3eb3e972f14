//! One axis of time for all records of a capture, although their clocks jump.

use airlane_base::Time;

/// How far the receiver's clock and the capturing machine's may move apart from one record to the next
/// before one of them is said to have jumped.
const JUMP: i128 = 100_000_000;

/// How far time may go back without a clock having jumped: frames of aggregates and their responses come
/// out of order, and stamps of the capturing machine are that inexact.
pub(crate) const DISORDER: i128 = 20_000_000;

/// One axis of time: zero is the first record, and time follows the receiver's clock. Where that jumps,
/// time goes on by the machine's clock; where that goes back as well, from where it was.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    /// What is subtracted of the machine's clock.
    origin: Option<i128>,
    /// What is added to the receiver's clock to have the axis.
    offset: Option<i128>,
    /// The machine's clock, less time by the receiver's, at the last record that had both.
    apart: i128,
    /// The latest time so far.
    newest: i128,
    /// The last reading of the receiver's clock.
    last: Option<i128>,
    /// Times at which the receiver's clock was behind what it had been.
    pub(crate) steps_back: u64,
    /// Jumps of a clock, forward or back.
    pub(crate) jumps: u64,
}

impl Clock {
    /// The time of a record, nanoseconds: by the receiver's clock if it has one, else by the machine's,
    /// else the latest so far.
    pub(crate) fn time(&mut self, device: Option<i128>, machine: Option<u64>) -> i128 {
        let machine = machine.map(i128::from);
        let by_machine = machine.map(|m| m - *self.origin.get_or_insert(m));
        let mut at = match device {
            Some(device) => {
                self.steps_back += u64::from(self.last.is_some_and(|last| device < last));
                self.last = Some(device);
                self.by_device(device, by_machine)
            }
            None => by_machine.unwrap_or(self.newest),
        };
        if at < self.newest - DISORDER {
            let back = self.newest - at;
            self.jumps += 1;
            match device {
                Some(_) => {
                    self.offset = self.offset.map(|offset| offset + back);
                    self.apart -= back;
                }
                None => self.origin = self.origin.map(|origin| origin - back),
            }
            at = self.newest;
        }
        self.newest = self.newest.max(at);
        at
    }

    fn by_device(&mut self, device: i128, by_machine: Option<i128>) -> i128 {
        let Some(offset) = self.offset else {
            let at = by_machine.unwrap_or(0);
            (self.offset, self.apart) = (Some(at - device), 0);
            return at;
        };
        let at = device + offset;
        let Some(by_machine) = by_machine else { return at };
        let apart = by_machine - at;
        if (apart - self.apart).abs() > JUMP {
            self.jumps += 1;
            (self.offset, self.apart) = (Some(by_machine - device), 0);
            return by_machine;
        }
        self.apart = apart;
        at
    }
}

/// A point on the axis; what would be before its beginning is its beginning.
pub(crate) fn point(nanos: i128) -> Time {
    Time::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
}
