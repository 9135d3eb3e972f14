//! Units of figures, and how a figure of one is told in another.

use std::fmt;

/// Dimension of a figure. Only figures of one dimension are told in each other's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A count, a share or a ratio.
    One,
    /// Data over time.
    Rate,
    /// Data.
    Data,
    /// A duration.
    Time,
    /// A number of events over time.
    Frequency,
    /// A ratio on a logarithmic scale.
    Level,
    /// A number of packets.
    Packets,
    /// Quality of pictures, and QoE that is weighed by it: in the unit of the quality metric that
    /// the content has.
    Quality,
}

/// A unit: its dimension, and how many base units of the dimension it has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    symbol: &'static str,
    dimension: Dimension,
    scale: f64,
}

/// The units that texts may name.
const NAMED: [Unit; 14] = [
    Unit::ONE,
    Unit::PERCENT,
    Unit::TIMES,
    Unit::SHARE,
    Unit::BITS_PER_SECOND,
    Unit::MEGABITS_PER_SECOND,
    Unit::BYTES,
    Unit::SECONDS,
    Unit::MILLISECONDS,
    Unit::PER_SECOND,
    Unit::PER_MINUTE,
    Unit::DECIBELS,
    Unit::PACKETS,
    Unit::POINTS,
];

impl Unit {
    /// A count, a share or a ratio, without a symbol.
    pub const ONE: Self = Self::of("", Dimension::One, 1.0);
    /// Hundredths.
    pub const PERCENT: Self = Self::of("%", Dimension::One, 0.01);
    /// A multiple.
    pub const TIMES: Self = Self::of("x", Dimension::One, 1.0);
    /// A part of a whole.
    pub const SHARE: Self = Self::of("share", Dimension::One, 1.0);
    /// Bits per second, the base unit of rates.
    pub const BITS_PER_SECOND: Self = Self::of("bit/s", Dimension::Rate, 1.0);
    /// Millions of bits per second.
    pub const MEGABITS_PER_SECOND: Self = Self::of("Mbit/s", Dimension::Rate, 1e6);
    /// Bytes, the base unit of data.
    pub const BYTES: Self = Self::of("B", Dimension::Data, 1.0);
    /// Seconds, the base unit of time.
    pub const SECONDS: Self = Self::of("s", Dimension::Time, 1.0);
    /// Thousandths of seconds.
    pub const MILLISECONDS: Self = Self::of("ms", Dimension::Time, 1e-3);
    /// So often per second, the base unit of frequencies.
    pub const PER_SECOND: Self = Self::of("1/s", Dimension::Frequency, 1.0);
    /// So often per minute.
    pub const PER_MINUTE: Self = Self::of("1/min", Dimension::Frequency, 1.0 / 60.0);
    /// Decibels.
    pub const DECIBELS: Self = Self::of("dB", Dimension::Level, 1.0);
    /// Packets.
    pub const PACKETS: Self = Self::of("packets", Dimension::Packets, 1.0);
    /// Points of VMAF.
    pub const POINTS: Self = Self::quality("points");

    /// The unit of a quality metric.
    pub const fn quality(symbol: &'static str) -> Self {
        Self::of(symbol, Dimension::Quality, 1.0)
    }

    const fn of(symbol: &'static str, dimension: Dimension, scale: f64) -> Self {
        Self { symbol, dimension, scale }
    }

    /// The unit with a symbol, for texts; `None` if there is none. `"points"` stands for every
    /// quality metric.
    pub fn named(symbol: &str) -> Option<Self> {
        NAMED.into_iter().find(|unit| unit.symbol == symbol)
    }

    /// The symbols that [`Self::named`] knows.
    pub fn symbols() -> impl Iterator<Item = &'static str> {
        NAMED.into_iter().map(|unit| unit.symbol)
    }

    /// Its symbol; empty for a count, a share or a ratio.
    pub const fn symbol(self) -> &'static str {
        self.symbol
    }

    /// Its dimension.
    pub const fn dimension(self) -> Dimension {
        self.dimension
    }

    /// The number of `other` that one of this is; `None` if their dimensions differ.
    pub fn in_units_of(self, other: Self) -> Option<f64> {
        (self.dimension == other.dimension).then(|| self.scale / other.scale)
    }

    /// The unit in which people read figures of this one: Mbit/s for rates, else itself.
    #[must_use]
    pub fn shown(self) -> Self {
        match self.dimension {
            Dimension::Rate => Self::MEGABITS_PER_SECOND,
            _ => self,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol)
    }
}

impl From<Unit> for String {
    fn from(unit: Unit) -> Self {
        unit.symbol.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_told_in_units_of_their_dimension_only() {
        assert_eq!(Unit::BITS_PER_SECOND.in_units_of(Unit::MEGABITS_PER_SECOND), Some(1e-6));
        assert_eq!(Unit::SECONDS.in_units_of(Unit::MILLISECONDS), Some(1e3));
        assert_eq!(Unit::ONE.in_units_of(Unit::PERCENT), Some(100.0));
        assert_eq!(Unit::BITS_PER_SECOND.in_units_of(Unit::SHARE), None);
        assert_eq!(Unit::quality("dB").in_units_of(Unit::POINTS), Some(1.0));
        assert_eq!(Unit::quality("dB").in_units_of(Unit::DECIBELS), None);
    }

    #[test]
    fn a_symbol_names_one_unit() {
        let symbols: Vec<&str> = Unit::symbols().collect();
        for symbol in &symbols {
            assert_eq!(symbols.iter().filter(|s| *s == symbol).count(), 1, "{symbol}");
            assert_eq!(Unit::named(symbol).map(Unit::symbol), Some(*symbol));
        }
        assert_eq!(Unit::named("furlongs"), None);
    }
}
