//! Dependency descriptor of AV1 and others as an RTP header extension: str0m hands on its bytes, `sfu` reads them.

use str0m::rtp::{Extension, ExtensionSerializer, ExtensionValues};

/// URI of the extension (AV1 RTP payload specification, appendix A).
const URI: &str =
    "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension";
/// Number of the extension in offers of our own; answers have the offer's.
pub(crate) const DESCRIPTOR_ID: u8 = 12;
/// Bytes of an extension's value in the one-byte form (RFC 8285, section 4.2).
const MAX_ONE_BYTE_FORM: usize = 16;

/// Bytes of a packet's dependency descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DescriptorBytes(pub(crate) Vec<u8>);

#[derive(Debug)]
struct Serializer;

/// The extension, for the map of a session.
pub(crate) fn dependency_descriptor() -> Extension {
    Extension::with_serializer(URI, Serializer)
}

impl ExtensionSerializer for Serializer {
    fn write_to(&self, buffer: &mut [u8], values: &ExtensionValues) -> usize {
        let Some(DescriptorBytes(bytes)) = values.user_values.get() else { return 0 };
        match buffer.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                bytes.len()
            }
            None => 0,
        }
    }

    fn parse_value(&self, bytes: &[u8], values: &mut ExtensionValues) -> bool {
        values.user_values.set(DescriptorBytes(bytes.to_vec()));
        true
    }

    fn is_video(&self) -> bool {
        true
    }

    fn is_audio(&self) -> bool {
        false
    }

    fn requires_two_byte_form(&self, values: &ExtensionValues) -> bool {
        let bytes = values.user_values.get::<DescriptorBytes>();
        bytes.is_some_and(|DescriptorBytes(bytes)| bytes.len() > MAX_ONE_BYTE_FORM)
    }
}
