//! Limit of key-frame requests.

use std::time::Duration;

use airlane_base::Time;

use crate::layer::MAX_SPATIAL_LAYERS;

/// Time between two requests for the same encoding, unless told otherwise: a key frame takes many times the bytes of
/// another, and one request serves all receivers that wait for it.
pub const DEFAULT_KEY_FRAME_INTERVAL: Duration = Duration::from_millis(500);

/// Limit of key-frame requests (RTCP PLI, RFC 4585; FIR, RFC 5104) to a source, for each encoding its own.
#[derive(Clone, Debug)]
pub struct KeyFrameThrottle {
    min_interval: Duration,
    last: [Option<Time>; MAX_SPATIAL_LAYERS],
}

impl Default for KeyFrameThrottle {
    fn default() -> Self {
        Self::new(DEFAULT_KEY_FRAME_INTERVAL)
    }
}

impl KeyFrameThrottle {
    /// A limit of one request in `min_interval`.
    pub fn new(min_interval: Duration) -> Self {
        Self { min_interval, last: [None; MAX_SPATIAL_LAYERS] }
    }

    /// A request for the encoding may be sent now; it counts as sent if so. None may for an encoding that cannot be.
    pub fn is_allowed(&mut self, encoding: u8, now: Time) -> bool {
        let Some(last) = self.last.get_mut(usize::from(encoding)) else { return false };
        if last.is_some_and(|last| now.since(last) < self.min_interval) {
            return false;
        }
        *last = Some(now);
        true
    }
}
