//! What a live source is encoded with, as the sender sees it: any encoder, on any clock.

use std::fmt::Debug;
use std::sync::Arc;

use airlane_live::Order;
use airlane_media::y4m::Header;
use airlane_runtime::BoxFuture;
use airlane_vpx::VpxError;
use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;

/// Maker of encoders: one for each viewer of a source.
pub trait EncoderFactory: Debug + Send + Sync + 'static {
    /// Tries an encoder, so that nobody watches before it is known that there is one.
    ///
    /// # Errors
    /// If such pictures cannot be encoded.
    fn check(&self, header: &Header) -> Result<(), VpxError>;

    /// An encoder of such pictures, which keeps `permit` until it uses nothing of the machine any more.
    ///
    /// # Errors
    /// If there is no room for it.
    fn encoder(
        &self,
        header: Header,
        permit: EncoderPermit,
    ) -> Result<Box<dyn LayerEncoder>, VpxError>;
}

/// Encoder of the pictures for one viewer, one at a time.
pub trait LayerEncoder: Send {
    /// The layers of a picture (planar 4:2:0, 8 bits), lowest first, or what went wrong. A picture that
    /// comes while this is under way is skipped.
    fn encode(
        &mut self,
        picture: Arc<Vec<u8>>,
        order: Order,
    ) -> BoxFuture<Result<Vec<Bytes>, String>>;
}

/// Place of one encoder among those that a sender may have, free again when this is dropped.
#[derive(Debug)]
pub struct EncoderPermit(
    #[expect(dead_code, reason = "given back when it is dropped")] pub(super) OwnedSemaphorePermit,
);
