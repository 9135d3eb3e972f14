//! Decodes VP9.

use std::sync::Arc;

use crate::library::Context;
use crate::{Library, VpxError};

/// The luma of a picture: rows of samples.
#[derive(Clone, Copy, Debug)]
pub struct Luma<'a> {
    /// Samples of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// From one row to the next.
    pub stride: usize,
    /// The samples.
    pub samples: &'a [u8],
}

/// A decoder of one stream.
pub struct Decoder {
    library: Arc<Library>,
    context: Box<Context>,
}

// SAFETY: libvpx keeps nothing by thread: a context may be used by one thread after the other.
unsafe impl Send for Decoder {}

impl Decoder {
    /// A decoder that has nothing yet.
    ///
    /// # Errors
    /// If libvpx refuses.
    pub fn new(library: &Arc<Library>) -> Result<Self, VpxError> {
        let mut context = Context::new();
        library.begin_decoder(&mut context)?;
        Ok(Self { library: library.clone(), context })
    }

    /// Decodes a frame, or a superframe, and returns the luma of the picture that it shows, if any.
    ///
    /// # Errors
    /// If it cannot be decoded.
    pub fn decode(&mut self, frame: &[u8]) -> Result<Option<Luma<'_>>, VpxError> {
        let size = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let context: *mut Context = &mut *self.context;
        // SAFETY: the context was begun, and the bytes are there for the call.
        let code = unsafe {
            (self.library.decode)(context, frame.as_ptr(), size, std::ptr::null_mut(), 0)
        };
        self.library.check(code, "decoding")?;
        let mut at = std::ptr::null();
        // SAFETY: the context was begun; the picture is libvpx's until the next call for the context,
        // which takes `self` anew.
        let image = unsafe { (self.library.get_image)(context, &mut at).as_ref() };
        let Some(image) = image else { return Ok(None) };
        let [width, height] = image.shown.map(|n| n as usize);
        let stride = usize::try_from(image.strides[0]).unwrap_or(0);
        if width == 0 || height == 0 || stride < width || image.planes[0].is_null() {
            return Err(self.library.unusable("its pictures are laid out in another way"));
        }
        // SAFETY: a plane has `stride` bytes for each row but the last, of which `width` are looked at.
        let samples =
            unsafe { std::slice::from_raw_parts(image.planes[0], stride * (height - 1) + width) };
        Ok(Some(Luma { width, height, stride, samples }))
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: it was begun, and nobody uses it any more.
        unsafe { (self.library.destroy)(&mut *self.context) };
    }
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").field("library", &self.library).finish_non_exhaustive()
    }
}
