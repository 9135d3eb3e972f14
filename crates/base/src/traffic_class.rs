//! The octet of the IP header by which networks treat packets differently: DSCP and ECN.

use std::fmt;

/// The ECN field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum Ecn {
    /// The sender does not understand ECN.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, code point 1.
    Ect1 = 0b01,
    /// ECN-capable, code point 0.
    Ect0 = 0b10,
    /// Congestion was experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The field in the two lowest bits of an octet; the other six do not matter.
    pub const fn from_low_bits(octet: u8) -> Self {
        match octet & 0b11 {
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            0b11 => Self::Ce,
            _ => Self::NotEct,
        }
    }
}

/// A differentiated services code point, 6 bits (RFC 2474, section 3): which treatment a sender asks
/// for. Networks may treat packets by it, change it or ignore it; those of the laboratory carry it.
///
/// ```
/// # use airlane_base::Dscp;
/// assert_eq!(Dscp::new(34), Some(Dscp::AF41));
/// assert_eq!(Dscp::new(64), None);
/// assert_eq!(Dscp::AF41.to_string(), "AF41");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Dscp(u8);

impl Dscp {
    /// Default forwarding: best effort (RFC 2474, section 4.1).
    pub const DEFAULT: Self = Self(0);
    /// Lower effort than the default: prefetching, downloads in the background (RFC 8622).
    pub const LE: Self = Self(1);
    /// Class selector 1, formerly what is less than best effort (RFC 4594, section 4.10).
    pub const CS1: Self = Self(8);
    /// Class selector 3: broadcast video (RFC 4594, section 4.6).
    pub const CS3: Self = Self(24);
    /// Class selector 4: interactive video, games (RFC 4594, section 4.4).
    pub const CS4: Self = Self(32);
    /// Class selector 5: signalling of calls (RFC 4594, section 4.2).
    pub const CS5: Self = Self(40);
    /// Assured forwarding 3 (RFC 2597), least likely to be dropped: streamed video (RFC 4594,
    /// section 4.5).
    pub const AF31: Self = Self(26);
    /// The same, more likely to be dropped.
    pub const AF32: Self = Self(28);
    /// The same, most likely to be dropped.
    pub const AF33: Self = Self(30);
    /// Assured forwarding 4 (RFC 2597), least likely to be dropped: video calls (RFC 4594,
    /// section 4.3; RFC 8837, section 5).
    pub const AF41: Self = Self(34);
    /// The same, more likely to be dropped.
    pub const AF42: Self = Self(36);
    /// The same, most likely to be dropped.
    pub const AF43: Self = Self(38);
    /// Expedited forwarding (RFC 3246): voice, and whatever else must not wait.
    pub const EF: Self = Self(46);

    /// The code point of this number; `None` above 63.
    pub const fn new(number: u8) -> Option<Self> {
        if number < 64 { Some(Self(number)) } else { None }
    }

    /// Its number, 0 to 63.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// The name where RFCs give one (`DF`, `LE`, `EF`, `CS1` to `CS7`, `AF11` to `AF43`), else the
/// number.
impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, precedence) = (self.0 >> 3, (self.0 >> 1) & 0b11);
        match *self {
            Self::DEFAULT => f.write_str("DF"),
            Self::LE => f.write_str("LE"),
            Self::EF => f.write_str("EF"),
            _ if self.0.is_multiple_of(8) => write!(f, "CS{class}"),
            // RFC 2597, section 6: three bits of class, two of drop precedence, zero.
            _ if self.0.is_multiple_of(2) && (1..=4).contains(&class) => {
                write!(f, "AF{class}{precedence}")
            }
            _ => write!(f, "{}", self.0),
        }
    }
}

/// The TOS octet of IPv4 and the traffic class of IPv6: a DSCP and an ECN field (RFC 2474, section
/// 3; RFC 3168, section 5; RFC 8200, section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TrafficClass {
    /// The upper six bits.
    pub dscp: Dscp,
    /// The lower two bits.
    pub ecn: Ecn,
}

impl TrafficClass {
    /// Traffic class of an octet of a header: every octet has one.
    pub const fn from_octet(octet: u8) -> Self {
        Self { dscp: Dscp(octet >> 2), ecn: Ecn::from_low_bits(octet) }
    }

    /// The octet as it is in headers.
    pub const fn octet(self) -> u8 {
        self.dscp.0 << 2 | self.ecn as u8
    }
}

/// With the default DSCP.
impl From<Ecn> for TrafficClass {
    fn from(ecn: Ecn) -> Self {
        Self { dscp: Dscp::DEFAULT, ecn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_come_back_as_they_were() {
        for octet in 0..=255 {
            assert_eq!(TrafficClass::from_octet(octet).octet(), octet);
        }
        // RFC 3168, figure 2: EF with ECT(0).
        let class = TrafficClass { dscp: Dscp::EF, ecn: Ecn::Ect0 };
        assert_eq!(class.octet(), 0b1011_1010);
        assert_eq!(TrafficClass::from(Ecn::Ce).octet(), 0b11);
    }

    #[test]
    fn code_points_are_six_bits() {
        let numbers: Vec<u8> = (0..=255).filter_map(Dscp::new).map(Dscp::number).collect();
        assert_eq!(numbers, (0..64).collect::<Vec<_>>());
        assert_eq!(Dscp::default(), Dscp::DEFAULT);
    }

    #[test]
    fn code_points_have_their_names() {
        let named = [
            (Dscp::DEFAULT, "DF"),
            (Dscp::LE, "LE"),
            (Dscp::CS1, "CS1"),
            (Dscp::CS3, "CS3"),
            (Dscp::CS4, "CS4"),
            (Dscp::CS5, "CS5"),
            (Dscp::AF31, "AF31"),
            (Dscp::AF32, "AF32"),
            (Dscp::AF33, "AF33"),
            (Dscp::AF41, "AF41"),
            (Dscp::AF42, "AF42"),
            (Dscp::AF43, "AF43"),
            (Dscp::EF, "EF"),
        ];
        for (dscp, name) in named {
            assert_eq!(dscp.to_string(), name);
        }
        let all: Vec<String> = (0..64).filter_map(Dscp::new).map(|d| d.to_string()).collect();
        let assured = all.iter().filter(|name| name.starts_with("AF")).count();
        let selectors = all.iter().filter(|name| name.starts_with("CS")).count();
        assert_eq!((assured, selectors), (12, 7));
        assert_eq!((&*all[44], &*all[63]), ("44", "63"));
    }
}
