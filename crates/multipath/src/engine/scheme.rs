//! The schemes that a stream's engines are made from.

use std::sync::Arc;

use airlane_fbdt::Options as FbdtOptions;

use super::EngineFactory;
use crate::terms::Protocol;

/// The scheme by which a stream's paths send: what makes its engines.
#[derive(Clone, Debug)]
pub enum Scheme {
    /// FBDT, with the parts that it has.
    Fbdt(FbdtOptions),
    /// Another, from outside.
    Other(Arc<dyn EngineFactory>),
}

impl Scheme {
    /// Bytes under way up to which a stream uses the low-latency channel: a keystroke then waits for no
    /// bulk transfer.
    pub(crate) fn max_low_latency_bytes(&self) -> u64 {
        match self {
            Self::Fbdt(_) => 4 << 10,
            Self::Other(engines) => engines.max_low_latency_bytes(),
        }
    }

    /// The frames of its streams.
    pub(crate) fn protocol(&self) -> Protocol {
        match self {
            Self::Fbdt(_) => Protocol::Fbdt,
            Self::Other(engines) => engines.protocol(),
        }
    }
}
