//! Notice of a server to a client about its uplink.

use airlane_base::Rate;
use thiserror::Error;

use super::Epoch;

/// Length of an encoded [`Notice`] in bytes.
pub const NOTICE_BYTES: usize = 8;

/// The largest rate that a notice carries: 1 Tbit/s.
const MAX_KBPS: f32 = 1e9;

/// A server's word on the bitrate of a client's uplink (the paper's `r_t`), with its number.
///
/// On the wire: the target in kbit/s as a 32-bit IEEE 754 float, 0 for none, then the epoch as a 32-bit
/// integer, both in network byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Notice {
    /// Number of the notice.
    pub epoch: Epoch,
    /// Rate that the uplink is held to; `None`: the client is in the Natural state.
    pub target: Option<Rate>,
}

/// A notice with a target that is no rate.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("a target bitrate of {0} kbit/s: expected 0 for none, or up to 1e9")]
pub struct MalformedNotice(pub f32);

impl Notice {
    /// Encodes the notice. A target under a bit/s counts as the least positive float, so that it does not
    /// read as none.
    pub fn encode(&self) -> [u8; NOTICE_BYTES] {
        let kbps = match self.target {
            None => 0.0,
            Some(rate) => ((rate.as_f64() / 1000.0) as f32).clamp(f32::MIN_POSITIVE, MAX_KBPS),
        };
        let mut bytes = [0; NOTICE_BYTES];
        bytes[..4].copy_from_slice(&kbps.to_be_bytes());
        bytes[4..].copy_from_slice(&self.epoch.0.to_be_bytes());
        bytes
    }

    /// Decodes a notice.
    ///
    /// # Errors
    /// If the target is negative, not finite, or above 1 Tbit/s.
    pub fn decode(bytes: [u8; NOTICE_BYTES]) -> Result<Self, MalformedNotice> {
        let [a, b, c, d, e, f, g, h] = bytes;
        let kbps = f32::from_be_bytes([a, b, c, d]);
        if !(0.0..=MAX_KBPS).contains(&kbps) {
            return Err(MalformedNotice(kbps));
        }
        let target = (kbps > 0.0).then(|| Rate::from_bps_f64(f64::from(kbps) * 1000.0));
        Ok(Self { epoch: Epoch(u32::from_be_bytes([e, f, g, h])), target })
    }
}
