//! The receiving side of a subflow: frames are passed on to their streams.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::BytesMut;

use super::{EndsSubflow, SMALL_BYTES, StreamRequest, Subflow};
use crate::error::MultipathError;
use crate::stream::shared::{PathKey, Shared};
use crate::subflow::channel::ChannelReceiver;
use crate::subflow::frame::{Body, SubflowFrame};

/// Bytes for which there is room when a channel is read.
const READ_BYTES: usize = 64 << 10;

impl Subflow {
    /// Reads the low-latency channel or the other until the subflow ends. `ask` does what the subflow cannot do alone.
    pub(crate) async fn listen(
        self: Arc<Self>,
        mut from: Box<dyn ChannelReceiver>,
        is_low_latency: bool,
        buffer: BytesMut,
        mut ask: impl FnMut(StreamRequest) + Send,
    ) -> MultipathError {
        let _ends = EndsSubflow(&self);
        let hear = async {
            let mut buffer = buffer;
            loop {
                while let Some(frame) = SubflowFrame::decode(&mut buffer)? {
                    if let Some(asked) = self.hear(frame) {
                        ask(asked);
                    }
                }
                buffer.reserve(READ_BYTES);
                let before = buffer.len();
                from.read(&mut buffer).await?;
                let came = (buffer.len() - before) as u64;
                self.received_bytes.fetch_add(came, Ordering::Relaxed);
                self.liveness.on_heard(self.runtime.now(), is_low_latency);
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

    fn hear(&self, frame: SubflowFrame) -> Option<StreamRequest> {
        let SubflowFrame { stream, body } = frame;
        let bytes = match &body {
            Body::Data(frames) | Body::Control(frames) => frames.len(),
            _ => 0,
        };
        if bytes < SMALL_BYTES {
            self.small.fetch_add(1, Ordering::Relaxed);
        }
        let heard = match body {
            Body::Credit(limit) if self.takes_credit => {
                self.meter.raise_limit(limit);
                Ok(())
            }
            // This end has the interface: the other has nothing to set_limit.
            Body::Credit(_) => {
                self.end();
                Ok(())
            }
            Body::Data(frames) => self.pass_on(stream, frames, Shared::on_data),
            Body::Control(frames) => self.pass_on(stream, frames, Shared::on_control),
            Body::Open { terms, request } => {
                return Some(StreamRequest::Open { stream, terms, request });
            }
            Body::Accept(terms) => return Some(StreamRequest::Accept { stream, terms }),
            Body::Reset(reason) => return Some(StreamRequest::Reset { stream, reason }),
            Body::Ping(number) => {
                self.question.update(|(last, count)| (*last, *count) = (number, *count + 1));
                Ok(())
            }
            Body::Pong(number) => {
                self.liveness.on_answer(self.runtime.now(), number);
                Ok(())
            }
        };
        match heard {
            // The peer broke the protocol on this stream: the others go on.
            Err(e) if e.is_fatal() => {
                tracing::debug!(interface = self.interface, stream, "{e}");
                let removed = self.carried().remove(&stream);
                if let Some((shared, _)) = removed {
                    shared.fail(e);
                }
                Some(StreamRequest::Broken { stream })
            }
            // The stream has left this subflow.
            _ => None,
        }
    }

    /// Hands whole frames to their stream. What comes for one that this subflow does not carry any
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
    use crate::stream::shared::NewPath;
    use airlane_runtime::virtual_time::run_alone;

    use crate::subflow::testing::Discards;
    use crate::subflow::{Senders, SubflowConfig};
    use crate::terms::Terms;
    use crate::{MultipathStream, Protocol, StreamConfig};

    /// A fault of this end.
    fn panics(_: &Shared, _: PathKey, _: &mut BytesMut) -> Result<(), MultipathError> {
        panic!("a fault")
    }

    #[test]
    fn a_fault_that_one_stream_meets_ends_no_other() {
        run_alone(|runtime| async move {
            let discards = || Box::new(Discards);
            let terms = SubflowConfig::default();
            let senders = Senders { low_latency: discards(), bulk: discards(), control: None };
            let subflow = Subflow::new(runtime.clone(), (0, 1), terms, senders);
            let terms = Terms {
                protocol: Protocol::Fbdt,
                segment_bytes: 4096,
                window_bytes: 1 << 20,
                receive_memory: 4 << 20,
            };
            let StreamConfig { scheme, .. } = StreamConfig::default();
            let stream = |number: u32| {
                let shared = Shared::new(runtime.clone(), scheme.clone());
                let new =
                    NewPath { interface: 0, preference: Preference::default(), expected: None };
                let attached = shared.attach(new, terms, None).unwrap();
                subflow.add(number, &attached);
                (MultipathStream::new(shared), attached)
            };
            let (one, other) = (stream(1), stream(2));
            let frames = || BytesMut::from(&b"frames"[..]);
            let met = subflow.pass_on(1, frames(), panics);
            assert!(matches!(met, Err(MultipathError::Panicked)));
            // In the middle of the stream's state.
            let met = subflow.pass_on(2, frames(), |shared, _, _| {
                shared.with_state_locked(|| panic!("a fault"));
                Ok(())
            });
            assert!(matches!(met, Err(MultipathError::Panicked)));
            assert!(matches!(other.0.failed().await, MultipathError::Panicked));
            // The first was not touched, and the subflow goes on.
            assert!(one.0.write(Bytes::from_static(b"on")).await.is_ok());
            assert!(!subflow.over.get());
        });
    }
}
