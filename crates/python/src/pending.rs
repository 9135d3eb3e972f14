//! Worlds that have to be run, as Python passes them on to workers.

use airlane_judge::PendingWorld;

/// Number, label and virtual milliseconds of a world.
pub(crate) type World = (usize, String, u64);

pub(crate) fn to_python(PendingWorld { number, label, units }: PendingWorld) -> World {
    (number, label, units)
}

pub(crate) fn of_python((number, label, units): World) -> PendingWorld {
    PendingWorld { number, label, units }
}
