//! Numbers of the parts of a channel, a type for each kind, and tables that they index.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use crate::direction::Direction;
use crate::node::Port;

/// The number of a part, which is its place in a table.
pub(super) trait Id: Copy + Eq {
    /// The part at a place.
    fn at(place: usize) -> Self;
    /// Its place.
    fn place(self) -> usize;
}

macro_rules! ids {
    ($($(#[$attribute:meta])* $visibility:vis $name:ident;)*) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility struct $name(usize);

        impl Id for $name {
            fn at(place: usize) -> Self {
                Self(place)
            }

            fn place(self) -> usize {
                self.0
            }
        }
    )*};
}

ids! {
    /// An access point of a channel.
    pub ApId;
    /// A station of a channel.
    pub StationId;
    /// A radio: of an access point or of a station.
    pub(super) RadioId;
    /// An access category of a radio.
    pub(super) ContenderId;
    /// A link: the packets from one radio to another, in one category.
    pub(super) LinkId;
    /// A PPDU in the air.
    pub(super) TransmissionId;
    /// A transmitter that is no 802.11.
    pub(super) InterfererId;
}

/// The packets of a station in one direction. As a [`Port`] of the node, stations have two each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StationPort {
    pub(super) station: StationId,
    pub(super) direction: Direction,
}

impl StationPort {
    /// The packets to a station.
    pub(super) fn down(station: StationId) -> Self {
        Self { station, direction: Direction::Down }
    }

    /// The packets from a station.
    pub(super) fn up(station: StationId) -> Self {
        Self { station, direction: Direction::Up }
    }

    /// True if an access point sends these packets.
    pub(super) fn is_down(self) -> bool {
        self.direction == Direction::Down
    }

    /// The packets of the same station in the other direction.
    pub(super) fn opposite(self) -> Self {
        match self.direction {
            Direction::Down => Self::up(self.station),
            Direction::Up => Self::down(self.station),
        }
    }
}

impl Id for StationPort {
    fn at(place: usize) -> Self {
        let station = StationId(place / 2);
        if place.is_multiple_of(2) { Self::down(station) } else { Self::up(station) }
    }

    fn place(self) -> usize {
        2 * self.station.0 + usize::from(!self.is_down())
    }
}

impl From<Port> for StationPort {
    fn from(port: Port) -> Self {
        Self::at(port.0.into())
    }
}

impl From<StationPort> for Port {
    fn from(port: StationPort) -> Self {
        Self(port.place() as u16)
    }
}

/// The parts of one kind, by their numbers.
#[derive(Debug)]
pub(super) struct Table<I, T> {
    parts: Vec<T>,
    ids: PhantomData<fn(I)>,
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Self { parts: Vec::new(), ids: PhantomData }
    }
}

impl<I: Id, T> Table<I, T> {
    /// The number of the part that is added next.
    pub(super) fn next_id(&self) -> I {
        I::at(self.parts.len())
    }

    /// Adds a part.
    pub(super) fn push(&mut self, part: T) -> I {
        let id = self.next_id();
        self.parts.push(part);
        id
    }

    /// Number of its entries.
    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    /// The numbers of all, which holds no reference to them.
    pub(super) fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.parts.len()).map(I::at)
    }

    /// All parts.
    pub(super) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.parts.iter()
    }

    /// All parts.
    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.parts.iter_mut()
    }

    /// The part of a number, if there is one.
    pub(super) fn get(&self, id: I) -> Option<&T> {
        self.parts.get(id.place())
    }

    /// The first part of which something is true.
    pub(super) fn find(&self, is_it: impl FnMut(&T) -> bool) -> Option<I> {
        self.parts.iter().position(is_it).map(I::at)
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.parts[id.place()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.parts[id.place()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_station_has_two_ports() {
        let station = StationId(3);
        let (down, up) = (StationPort::down(station), StationPort::up(station));
        assert_eq!((Port::from(down), Port::from(up)), (Port(6), Port(7)));
        assert_eq!((down, up), (Port(6).into(), Port(7).into()));
        assert_eq!((down.opposite(), up.opposite()), (up, down));
        assert!(down.is_down() && !up.is_down());
    }
}
