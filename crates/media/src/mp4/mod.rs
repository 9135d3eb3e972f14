//! The boxes of fragmented MP4 files (ISO/IEC 14496-12) that say where chunks begin, how long
//! they are and what is in them.
//!
//! [`Init`] is what an initialisation segment says of its track, [`fragments`] are the samples of
//! a media segment, [`Index`] is a `sidx` box, which [`find_index`] finds. Nothing is decoded, and any bytes are survived.

mod boxes;
mod codec;
mod fragment;
mod index;
mod init;
mod search;

pub use boxes::{Header, header};
pub use fragment::{Fragment, Sample, fragments, retime};
pub use index::{Index, Subsegment};
pub use init::{Init, Track, has_encrypted_video};
pub use search::{IndexSearch, find_index};
