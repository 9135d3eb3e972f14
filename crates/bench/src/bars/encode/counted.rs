//! Encoders that are counted: how many pictures they were given, and what these took.

use std::sync::Arc;
use std::time::Duration;

use airlane_live::Order;
use airlane_live_daemon::{EncoderFactory, EncoderPermit, LayerEncoder, VpxEncoders};
use airlane_media::y4m::Header;
use airlane_runtime::BoxFuture;
use airlane_vpx::VpxError;
use bytes::Bytes;
use parking_lot::Mutex;

use crate::clock::Watch;

/// The pictures of one viewer.
#[derive(Clone, Debug, Default)]
pub(super) struct Encoded {
    /// Time that each took, from its handing over until its layers were there.
    pub(super) took: Vec<Duration>,
    pub(super) bytes: usize,
}

/// libvpx's encoders, counted.
#[derive(Debug)]
pub(super) struct CountedEncoders {
    encoders: VpxEncoders,
    all: Mutex<Vec<Arc<Mutex<Encoded>>>>,
}

impl CountedEncoders {
    pub(super) fn new(encoders: VpxEncoders) -> Self {
        Self { encoders, all: Mutex::default() }
    }

    /// Pictures that were encoded, in the order in which the viewers came.
    pub(super) fn all(&self) -> Vec<Encoded> {
        self.all.lock().iter().map(|encoded| encoded.lock().clone()).collect()
    }
}

impl EncoderFactory for CountedEncoders {
    fn check(&self, header: &Header) -> Result<(), VpxError> {
        self.encoders.check(header)
    }

    fn encoder(
        &self,
        header: Header,
        permit: EncoderPermit,
    ) -> Result<Box<dyn LayerEncoder>, VpxError> {
        let encoder = self.encoders.encoder(header, permit)?;
        let encoded = Arc::<Mutex<Encoded>>::default();
        self.all.lock().push(encoded.clone());
        Ok(Box::new(Counted { encoder, encoded }))
    }
}

struct Counted {
    encoder: Box<dyn LayerEncoder>,
    encoded: Arc<Mutex<Encoded>>,
}

impl LayerEncoder for Counted {
    fn encode(
        &mut self,
        picture: Arc<Vec<u8>>,
        order: Order,
    ) -> BoxFuture<Result<Vec<Bytes>, String>> {
        let (encoded, watch) = (self.encoded.clone(), Watch::start());
        let encoding = self.encoder.encode(picture, order);
        Box::pin(async move {
            let layers = encoding.await?;
            let mut encoded = encoded.lock();
            encoded.took.push(watch.elapsed());
            encoded.bytes += layers.iter().map(Bytes::len).sum::<usize>();
            Ok(layers)
        })
    }
}
