//! The BSS Load element of beacons (802.11-2020, 9.4.2.27).

use super::Reading;

/// Its number.
const ELEMENT: u8 = 11;
/// Its length.
const LENGTH: u8 = 5;

/// A BSS Load element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BssLoad {
    /// Stations that are associated.
    pub stations: u16,
    /// The share of time in which the access point sensed the channel busy, in 255ths.
    pub utilisation: u8,
    /// Capacity that is left to admit, in 32 us per second.
    pub admission: u16,
}

/// Error in an element.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BssLoadError {
    /// Another element.
    #[error("found element {0}; expected {ELEMENT}, BSS Load")]
    Element(u8),
    /// Another length, or fewer bytes than it says.
    #[error("found a length of {0}; expected {LENGTH}")]
    Length(usize),
}

impl BssLoad {
    /// Reads the element: number, length, five bytes.
    ///
    /// # Errors
    /// [`BssLoadError`] of what is no such element.
    pub fn decode(element: &[u8]) -> Result<Self, BssLoadError> {
        match element {
            [ELEMENT, LENGTH, s0, s1, utilisation, a0, a1, ..] => Ok(Self {
                stations: u16::from_le_bytes([*s0, *s1]),
                utilisation: *utilisation,
                admission: u16::from_le_bytes([*a0, *a1]),
            }),
            [ELEMENT, LENGTH, rest @ ..] => Err(BssLoadError::Length(rest.len())),
            [ELEMENT, length, ..] => Err(BssLoadError::Length((*length).into())),
            [ELEMENT] | [] => Err(BssLoadError::Length(0)),
            [other, ..] => Err(BssLoadError::Element(*other)),
        }
    }

    /// Finds it among the elements of a beacon; `None` if there is none, or none that can be read.
    pub fn find(mut elements: &[u8]) -> Option<Self> {
        while let [id, length, rest @ ..] = elements {
            let whole = elements.get(..2 + usize::from(*length))?;
            if *id == ELEMENT
                && let Ok(load) = Self::decode(whole)
            {
                return Some(load);
            }
            elements = &rest[usize::from(*length)..];
        }
        None
    }

    /// Reading of the element.
    pub fn reading(&self) -> Reading {
        Reading {
            without_contention: Some(f64::from(self.utilisation) / 255.0),
            stations: Some(self.stations.into()),
            shares: Vec::new(),
        }
    }
}
