//! Reasons for which a packet cannot be read.

/// Reason for which a descriptor cannot be read or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DescriptorError {
    /// The descriptor goes on behind the end of its bytes.
    #[error("the descriptor is cut off")]
    Truncated,
    /// The descriptor is longer than a header extension can be.
    #[error("a dependency descriptor of {0} bytes; at most 255 fit into a header extension")]
    TooLong(usize),
    /// The packet has no dependency descriptor, and its codec needs one.
    #[error("the packet has no dependency descriptor")]
    Missing,
    /// No template structure came before the packet.
    #[error("no template structure came before the packet")]
    NoStructure,
    /// The template is not in the structure: that of another coded video sequence is in use.
    #[error("template {0} is not in the structure")]
    UnknownTemplate(u8),
    /// The structure has more templates, layers or reference pictures than the format allows.
    #[error("the descriptor has more than {max} {of}")]
    TooMany {
        /// Things of which there are too many.
        of: &'static str,
        /// Number that the format allows.
        max: usize,
    },
    /// Numbers that the format has no bits for, or lists of different lengths.
    #[error("the descriptor cannot be written: {0}")]
    Inexpressible(&'static str),
    /// The encoding's index is not below the number of encodings.
    #[error("encoding {0} was not announced")]
    UnknownEncoding(u8),
}
