//! A fragment of a message.

use airlane_octopus::Header;
use bytes::Bytes;

/// A fragment of a message that waits to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub(crate) header: Header,
    pub(crate) number: u16,
    pub(crate) data: Bytes,
}
