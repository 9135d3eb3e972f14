//! What a line hears, and whom it passes that on to.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::BytesMut;

use super::{Asked, EndsLine, Line, SMALL_BYTES};
use crate::multipath::error::MultipathError;
use crate::multipath::shared::{PathKey, Shared};
use crate::multipath::trunk::channel::ChannelReceiver;
use crate::multipath::trunk::frame::{Body, TrunkFrame};

/// Bytes for which there is room when a channel is read.
const READ_BYTES: usize = 64 << 10;

impl Line {
    /// Reads the express channel or the other until the line ends. `ask` does what the line cannot do alone.
    pub(in crate::multipath::trunk) async fn listen(
        self: Arc<Self>,
        mut from: Box<dyn ChannelReceiver>,
        is_express: bool,
        buffer: BytesMut,
        mut ask: impl FnMut(Asked) + Send,
    ) -> MultipathError {
        let _ends = EndsLine(&self);
        let hear = async {
            let mut buffer = buffer;
            loop {
                while let Some(frame) = TrunkFrame::decode(&mut buffer)? {
                    if let Some(asked) = self.hear(frame) {
                        ask(asked);
                    }
                }
                buffer.reserve(READ_BYTES);
                let before = buffer.len();
                from.read(&mut buffer).await?;
                let came = (buffer.len() - before) as u64;
                self.received_bytes.fetch_add(came, Ordering::Relaxed);
                self.pulse.on_heard(self.runtime.now(), is_express);
            }
        };
        tokio::select! {
            biased;
            () = self.ended() => MultipathError::Ended,
            heard = hear => match heard {
                Ok(never) => { let _: std::convert::Infallible = never; MultipathError::Ended }
                Err(e) => e,
            },
        }
    }

    fn hear(&self, frame: TrunkFrame) -> Option<Asked> {
        let TrunkFrame { stream, body } = frame;
        let bytes = match &body {
            Body::Lane(frames) | Body::Control(frames) => frames.len(),
            _ => 0,
        };
        if bytes < SMALL_BYTES {
            self.small.fetch_add(1, Ordering::Relaxed);
        }
        let heard = match body {
            Body::Allow(limit) if self.obeys => {
                self.meter.allow_more(limit);
                Ok(())
            }
            // This end has the radio: the other has nothing to allow.
            Body::Allow(_) => {
                self.end();
                Ok(())
            }
            Body::Lane(frames) => self.pass_on(stream, frames, Shared::on_data),
            Body::Control(frames) => self.pass_on(stream, frames, Shared::on_control),
            Body::Open { terms, request } => return Some(Asked::Open { stream, terms, request }),
            Body::Accept(terms) => return Some(Asked::Accept { stream, terms }),
            Body::Reset(reason) => return Some(Asked::Reset { stream, reason }),
            Body::Ping(number) => {
                self.question.update(|(last, count)| (*last, *count) = (number, *count + 1));
                Ok(())
            }
            Body::Pong(number) => {
                self.pulse.on_answer(self.runtime.now(), number);
                Ok(())
            }
        };
        match heard {
            // The peer broke the protocol on this stream: the others go on.
            Err(e) if e.is_fatal() => {
                tracing::debug!(radio = self.radio, stream, "{e}");
                let removed = self.carried().remove(&stream);
                if let Some((shared, _)) = removed {
                    shared.fail(e);
                }
                Some(Asked::Broken { stream })
            }
            // The stream has left this line.
            _ => None,
        }
    }

    /// Hands whole frames to their stream. What comes for one that this line does not carry any
    /// more is late, and was sent over others too.
    fn pass_on(
        &self,
        stream: u32,
        mut frames: BytesMut,
        take: fn(&Shared, PathKey, &mut BytesMut) -> Result<(), MultipathError>,
    ) -> Result<(), MultipathError> {
        let found = self.carried().get(&stream).cloned();
        let Some((shared, key)) = found else { return Ok(()) };
        // What a peer sends to one stream must end no other, even where this end has a fault.
        let taken = catch_unwind(AssertUnwindSafe(|| take(&shared, key, &mut frames)));
        taken.unwrap_or(Err(MultipathError::Panicked))?;
        match frames.is_empty() {
            true => Ok(()),
            false => Err(MultipathError::Protocol("a frame that is cut in two")),
        }
    }
}

#[cfg(test)]
mod tests {
    use airlane_fbdt::Preference;
    use bytes::Bytes;

    use super::*;
    use crate::multipath::shared::NewPath;
    use crate::multipath::terms::Terms;
    use crate::multipath::trunk::line::{LineTerms, Senders};
    use crate::multipath::trunk::testing::{Discards, virtual_time};
    use crate::multipath::{MultipathStream, Protocol, StreamConfig};

    /// A fault of this end.
    fn panics(_: &Shared, _: PathKey, _: &mut BytesMut) -> Result<(), MultipathError> {
        panic!("a fault")
    }

    #[test]
    fn a_fault_that_one_stream_meets_ends_no_other() {
        virtual_time(|runtime| async move {
            let discards = || Box::new(Discards);
            let terms = LineTerms::default();
            let senders = Senders { express: discards(), bulk: discards(), control: None };
            let line = Line::new(runtime.clone(), (0, 1), terms, senders);
            let terms = Terms {
                protocol: Protocol::Fbdt,
                segment_bytes: 4096,
                window_bytes: 1 << 20,
                receive_memory: 4 << 20,
            };
            let StreamConfig { scheme, .. } = StreamConfig::default();
            let stream = |number: u32| {
                let shared = Shared::new(runtime.clone(), scheme);
                let new = NewPath { radio: 0, preference: Preference::default(), expected: None };
                let attached = shared.attach(new, terms, None).unwrap();
                line.add(number, &attached);
                (MultipathStream::new(shared), attached)
            };
            let (one, other) = (stream(1), stream(2));
            let frames = || BytesMut::from(&b"frames"[..]);
            let met = line.pass_on(1, frames(), panics);
            assert!(matches!(met, Err(MultipathError::Panicked)));
            // In the middle of the stream's state.
            let met = line.pass_on(2, frames(), |shared, _, _| {
                shared.with_state_locked(|| panic!("a fault"));
                Ok(())
            });
            assert!(matches!(met, Err(MultipathError::Panicked)));
            assert!(matches!(other.0.failed().await, MultipathError::Panicked));
            // The first was not touched, and the line goes on.
            assert!(one.0.write(Bytes::from_static(b"on")).await.is_ok());
            assert!(!line.over.get());
        });
    }
}
