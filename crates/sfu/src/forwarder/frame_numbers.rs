//! Frame numbers of dependency descriptors that go on where encodings change.

use std::borrow::Cow;

use crate::info::DescribedFrame;

/// The rewriting of dependency descriptors.
#[derive(Default, Debug)]
pub(super) struct FrameNumbers {
    offset: u16,
    newest: Option<u16>,
    has_begun: bool,
}

impl FrameNumbers {
    /// Begins with another encoding: its next frame follows the newest.
    pub(super) fn restart(&mut self) {
        self.has_begun = false;
    }

    /// The descriptor with its frame number and its active decode targets rewritten.
    pub(super) fn rewrite<'a>(
        &mut self,
        bytes: &'a [u8],
        frame: &DescribedFrame,
        active: Option<u32>,
    ) -> Cow<'a, [u8]> {
        let number = frame.descriptor.frame_number;
        if !self.has_begun {
            self.has_begun = true;
            let next = self.newest.map_or(number, |newest| newest.wrapping_add(1));
            self.offset = next.wrapping_sub(number);
        }
        let output = number.wrapping_add(self.offset);
        let is_newer = |newest: u16| (output.wrapping_sub(newest) as i16) > 0;
        if self.newest.is_none_or(is_newer) {
            self.newest = Some(output);
        }
        if active.is_some() && active != frame.descriptor.active_decode_targets {
            let mut descriptor = frame.descriptor.clone();
            descriptor.frame_number = output;
            descriptor.active_decode_targets = active;
            // A descriptor that has no room for the targets goes on without them: they are a hint.
            if let Ok(bytes) = descriptor.encode(Some(&frame.structure.structure)) {
                return Cow::Owned(bytes);
            }
        }
        let mut out = Cow::Borrowed(bytes);
        if output != number
            && let Some(place) = out.to_mut().get_mut(1..3)
        {
            place.copy_from_slice(&output.to_be_bytes());
        }
        out
    }
}
