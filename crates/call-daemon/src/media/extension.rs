//! RTP header extensions that str0m hands on as they are: the dependency descriptor of AV1 and others, which `sfu` reads,
//! and the marks of PDU Sets, which a cell reads.

use airlane_pdu_set::{PduSetFields, PduSetMark};
use str0m::rtp::{Extension, ExtensionMap, ExtensionSerializer, ExtensionValues};

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

/// Mark of a packet's PDU Set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(pub(crate) PduSetMark);

#[derive(Debug)]
struct MarkSerializer;

/// The extension for marks of PDU Sets, for the map of a session.
pub(crate) fn pdu_set_mark() -> Extension {
    Extension::with_serializer(airlane_pdu_set::URN, MarkSerializer)
}

/// True if sessions take this extension where a client offers it, whatever else they take.
pub(crate) fn is_known(uri: &str) -> bool {
    uri == URI || ExtensionMap::standard().iter().any(|(_, known)| known.as_uri() == uri)
}

/// Writes the value of an extension; the number of its bytes, 0 where it has no room.
fn write(bytes: &[u8], buffer: &mut [u8]) -> usize {
    let Some(place) = buffer.get_mut(..bytes.len()) else { return 0 };
    place.copy_from_slice(bytes);
    bytes.len()
}

impl ExtensionSerializer for MarkSerializer {
    fn write_to(&self, buffer: &mut [u8], values: &ExtensionValues) -> usize {
        let Some(Mark(mark)) = values.user_values.get() else { return 0 };
        write(&mark.encode(), buffer)
    }

    fn parse_value(&self, bytes: &[u8], values: &mut ExtensionValues) -> bool {
        let mark = PduSetMark::decode(bytes, PduSetFields::default());
        if let Ok(mark) = mark {
            values.user_values.set(Mark(mark));
        }
        mark.is_ok()
    }

    fn is_video(&self) -> bool {
        true
    }

    fn is_audio(&self) -> bool {
        false
    }
}

impl ExtensionSerializer for Serializer {
    fn write_to(&self, buffer: &mut [u8], values: &ExtensionValues) -> usize {
        let Some(DescriptorBytes(bytes)) = values.user_values.get() else { return 0 };
        write(bytes, buffer)
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
