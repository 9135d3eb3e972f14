//! Transmission vectors of PPDUs: format, MCS, streams, width; rates, preambles, durations.

use std::fmt;
use std::time::Duration;

use airlane_base::Rate;
use serde::Serialize;

/// The kind of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Format {
    /// 802.11b: DSSS and CCK, long preamble.
    Dsss,
    /// 802.11a and g.
    Ofdm,
    /// 802.11n, mixed format.
    Ht,
    /// 802.11ac, one user.
    Vht,
    /// 802.11ax, one user.
    He,
}

/// The width of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Width {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 160 MHz.
    Mhz160,
}

/// The guard interval between symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Guard {
    /// 0.4 us: HT and VHT.
    Ns400,
    /// 0.8 us: all.
    Ns800,
    /// 1.6 us: HE.
    Ns1600,
    /// 3.2 us: HE.
    Ns3200,
}

/// A transmission vector: the parameters that a PPDU is sent with (802.11-2020, TXVECTOR).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vector {
    /// The kind.
    pub format: Format,
    /// The MCS of HT (0 to 7, whatever the streams), VHT (0 to 9) and HE (0 to 11); of DSSS and OFDM
    /// the place of the rate among theirs (0 to 3, 0 to 7).
    pub mcs: u8,
    /// Spatial streams, 1 to 4.
    pub streams: u8,
    /// The width.
    pub width: Width,
    /// The guard interval.
    pub guard: Guard,
}

/// Rates of DSSS and CCK, kbit/s.
const DSSS_KBPS: [u32; 4] = [1_000, 2_000, 5_500, 11_000];
/// Data bits per symbol of OFDM at 20 MHz (802.11-2020, table 17-4).
const OFDM_BITS: [u32; 8] = [24, 36, 48, 72, 96, 144, 192, 216];
/// Coded bits per subcarrier, and the code rate, of each of these.
const OFDM_CODES: [(u32, u32, u32); 8] =
    [(1, 1, 2), (1, 3, 4), (2, 1, 2), (2, 3, 4), (4, 1, 2), (4, 3, 4), (6, 2, 3), (6, 3, 4)];
/// Coded bits per subcarrier, and the code rate, by MCS (tables 19-27 ff., 21-30 ff., 27-111 ff.).
const CODES: [(u32, u32, u32); 12] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];

/// Longest PPDU of HT and later (802.11-2020, table 19-25).
pub const MAX_PPDU_DURATION: Duration = Duration::from_micros(5_484);
/// Longer than the longest PSDU of any format takes.
const MAX_DURATION: Duration = Duration::from_secs(60);

/// Bits in front of the data, and behind it for each encoder.
const SERVICE_BITS: u64 = 16;
const TAIL_BITS: u64 = 6;

impl Width {
    /// All, narrowest first.
    pub const ALL: [Self; 4] = [Self::Mhz20, Self::Mhz40, Self::Mhz80, Self::Mhz160];

    /// In MHz.
    pub const fn mhz(self) -> u32 {
        match self {
            Self::Mhz20 => 20,
            Self::Mhz40 => 40,
            Self::Mhz80 => 80,
            Self::Mhz160 => 160,
        }
    }

    /// The width of so many MHz, if it is one of these.
    pub fn of_mhz(mhz: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|width| width.mhz() == mhz)
    }
}

impl Guard {
    /// Duration, nanoseconds.
    pub const fn nanos(self) -> u64 {
        match self {
            Self::Ns400 => 400,
            Self::Ns800 => 800,
            Self::Ns1600 => 1_600,
            Self::Ns3200 => 3_200,
        }
    }
}

impl Format {
    /// The highest MCS, or place of a rate.
    pub const fn max_mcs(self) -> u8 {
        match self {
            Self::Dsss => 3,
            Self::Ofdm | Self::Ht => 7,
            Self::Vht => 9,
            Self::He => 11,
        }
    }

    /// True if the format has aggregates (A-MPDU).
    pub const fn has_aggregates(self) -> bool {
        matches!(self, Self::Ht | Self::Vht | Self::He)
    }

    /// The longest PSDU, bytes: of an aggregate where the format has them.
    pub const fn max_bytes(self) -> u32 {
        match self {
            Self::Dsss | Self::Ofdm => 4_095,
            Self::Ht => 65_535,
            Self::Vht => 1_048_575,
            Self::He => 6_500_631,
        }
    }
}

impl Vector {
    /// One of OFDM's eight rates, at which control frames are sent: 0 is 6 Mbit/s, 7 is 54.
    pub const fn ofdm(place: u8) -> Self {
        Self {
            format: Format::Ofdm,
            mcs: place,
            streams: 1,
            width: Width::Mhz20,
            guard: Guard::Ns800,
        }
    }

    /// One of the four rates of 802.11b: 0 is 1 Mbit/s, 3 is 11.
    pub const fn dsss(place: u8) -> Self {
        Self { format: Format::Dsss, ..Self::ofdm(place) }
    }

    /// True if the standard has the vector.
    pub fn is_valid(&self) -> bool {
        let guards: &[Guard] = match self.format {
            Format::Dsss | Format::Ofdm => &[Guard::Ns800],
            Format::Ht | Format::Vht => &[Guard::Ns400, Guard::Ns800],
            Format::He => &[Guard::Ns800, Guard::Ns1600, Guard::Ns3200],
        };
        let max_width = match self.format {
            Format::Dsss | Format::Ofdm => Width::Mhz20,
            Format::Ht => Width::Mhz40,
            Format::Vht | Format::He => Width::Mhz160,
        };
        let max_streams = match self.format {
            Format::Dsss | Format::Ofdm => 1,
            _ => 4,
        };
        self.mcs <= self.format.max_mcs()
            && (1..=max_streams).contains(&self.streams)
            && self.width <= max_width
            && guards.contains(&self.guard)
            && (self.format != Format::Vht || self.fills_symbols())
    }

    /// True if a symbol of VHT has a whole number of bits for each encoder: table by table, those that
    /// do not are left out by the standard (802.11-2020, 21.5).
    fn fills_symbols(&self) -> bool {
        let (bits, num, den) = CODES[usize::from(self.mcs)];
        let coded = self.subcarriers() * u32::from(self.streams) * bits;
        let encoders = self.encoders() as u32;
        // An encoder fills whole periods of its puncturing: `num` bits in, `den` out.
        coded.is_multiple_of(encoders * den) && (coded / den * num).is_multiple_of(encoders * num)
    }

    /// Coded bits of a subcarrier, and the code rate as numerator and denominator: of all but DSSS.
    pub(crate) fn code(&self) -> (u32, u32, u32) {
        match self.format {
            Format::Ofdm => OFDM_CODES[usize::from(self.mcs.min(7))],
            _ => CODES[usize::from(self.mcs.min(11))],
        }
    }

    /// Data subcarriers.
    fn subcarriers(&self) -> u32 {
        match (self.format, self.width) {
            (Format::He, Width::Mhz20) => 234,
            (Format::He, Width::Mhz40) => 468,
            (Format::He, Width::Mhz80) => 980,
            (Format::He, Width::Mhz160) => 1_960,
            (Format::Dsss | Format::Ofdm, _) => 48,
            (_, Width::Mhz20) => 52,
            (_, Width::Mhz40) => 108,
            (_, Width::Mhz80) => 234,
            (_, Width::Mhz160) => 468,
        }
    }

    /// Data bits of a symbol.
    fn bits_per_symbol(&self) -> u64 {
        if self.format == Format::Ofdm {
            return u64::from(OFDM_BITS[usize::from(self.mcs.min(7))]);
        }
        let (bits, num, den) = CODES[usize::from(self.mcs.min(11))];
        u64::from(self.subcarriers() * u32::from(self.streams.max(1)) * bits * num / den)
    }

    /// Duration of a symbol with its guard interval, nanoseconds.
    fn symbol_nanos(&self) -> u64 {
        match self.format {
            Format::He => 12_800 + self.guard.nanos(),
            _ => 3_200 + self.guard.nanos(),
        }
    }

    /// Convolutional encoders of HT and VHT: one per 300 and 540 Mbit/s with the long guard interval.
    fn encoders(&self) -> u64 {
        let long = self.bits_per_symbol() * 250_000;
        match self.format {
            Format::Ht => long.div_ceil(300_000_000).max(1),
            // Five could not share its symbols: the table (21-57) has six.
            Format::Vht if (self.width, self.streams, self.mcs) == (Width::Mhz160, 4, 7) => 6,
            Format::Vht => long.div_ceil(540_000_000).max(1),
            _ => 1,
        }
    }

    /// The data rate while data is sent.
    pub fn rate(&self) -> Rate {
        if self.format == Format::Dsss {
            return Rate::from_bps_f64(f64::from(DSSS_KBPS[usize::from(self.mcs.min(3))]) * 1e3);
        }
        let bits = match self.format {
            Format::Ofdm => self.bits_per_symbol() as f64,
            // The tables have it with what HE's symbols lose to whole bits.
            _ => {
                let (bits, num, den) = self.code();
                f64::from(self.subcarriers() * u32::from(self.streams.max(1)) * bits * num)
                    / f64::from(den)
            }
        };
        Rate::from_bps_f64(bits * 1e9 / self.symbol_nanos() as f64)
    }

    /// Duration of everything in front of the data.
    pub fn preamble(&self) -> Duration {
        // Training fields: three streams need four.
        let fields = match self.streams {
            0..=2 => u64::from(self.streams.max(1)),
            _ => 4,
        };
        let nanos = match self.format {
            Format::Dsss => 192_000,
            Format::Ofdm => 20_000,
            Format::Ht => 32_000 + 4_000 * fields,
            Format::Vht => 36_000 + 4_000 * fields,
            Format::He => {
                // 2x training with the short intervals, 4x with the longest.
                let field = match self.guard {
                    Guard::Ns3200 => 16_000,
                    guard => 6_400 + guard.nanos(),
                };
                36_000 + field * fields
            }
        };
        Duration::from_nanos(nanos)
    }

    /// Airtime of a PPDU of so many bytes of PSDU. In the band of 2.4 GHz all but DSSS have
    /// a silence of 6 us behind it, which [`Timing`](crate::Timing) has in the gap.
    pub fn duration(&self, bytes: u32) -> Duration {
        let bits = 8 * u64::from(bytes);
        if self.format == Format::Dsss {
            let kbps = u64::from(DSSS_KBPS[usize::from(self.mcs.min(3))]);
            return self.preamble() + Duration::from_micros((bits * 1_000).div_ceil(kbps));
        }
        // HE has LDPC, which has no tail.
        let tail = if self.format == Format::He { 0 } else { TAIL_BITS * self.encoders() };
        let symbols = (SERVICE_BITS + bits + tail).div_ceil(self.bits_per_symbol());
        let mut nanos = symbols * self.symbol_nanos();
        if matches!(self.format, Format::Ht | Format::Vht) {
            // With the short interval, symbols end on the grid of the long one.
            nanos = nanos.next_multiple_of(4_000);
        }
        self.preamble() + Duration::from_nanos(nanos)
    }

    /// The most bytes of PSDU in a PPDU that is in the air for at most so long.
    pub fn max_bytes(&self, duration: Duration) -> u32 {
        let room = duration.min(MAX_DURATION).saturating_sub(self.preamble()).as_nanos() as u64;
        if self.format == Format::Dsss {
            let kbps = u64::from(DSSS_KBPS[usize::from(self.mcs.min(3))]);
            let bytes = room / 1_000 * kbps / 8_000;
            return bytes.min(u64::from(self.format.max_bytes())) as u32;
        }
        let room = match self.format {
            Format::Ht | Format::Vht => room / 4_000 * 4_000,
            _ => room,
        };
        let tail = if self.format == Format::He { 0 } else { TAIL_BITS * self.encoders() };
        let bits = room / self.symbol_nanos() * self.bits_per_symbol();
        let bytes = bits.saturating_sub(SERVICE_BITS + tail) / 8;
        bytes.min(u64::from(self.format.max_bytes())) as u32
    }

    /// The rate at which a frame that was sent so is answered: the highest of 6, 12 and 24 Mbit/s that is
    /// not above its own (802.11-2020, 10.6.6.5.2); of 1 and 2 Mbit/s where it is DSSS.
    pub fn response(&self) -> Self {
        match self.format {
            Format::Dsss => Self::dsss(self.mcs.min(1)),
            _ => {
                // What counts of HT and later is modulation and code, not streams and width.
                let reference = match self.format {
                    Format::Ofdm => self.mcs,
                    _ => match self.mcs {
                        0 => 0,
                        1 => 2,
                        2 => 3,
                        _ => 4,
                    },
                };
                Self::ofdm(match reference {
                    0 | 1 => 0,
                    2 | 3 => 2,
                    _ => 4,
                })
            }
        }
    }
}

impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.format {
            Format::Dsss | Format::Ofdm => return write!(f, "{} Mbit/s", self.rate().mbps()),
            Format::Ht => "HT",
            Format::Vht => "VHT",
            Format::He => "HE",
        };
        write!(f, "{name}{} MCS {} x{}", self.width.mhz(), self.mcs, self.streams)?;
        write!(f, " GI {} us", self.guard.nanos() as f64 / 1e3)
    }
}
