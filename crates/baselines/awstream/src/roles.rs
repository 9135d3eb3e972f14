//! The two ends: frames on one stream of a QUIC connection, which stands for TCP.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_quic::{Connection, SendStream};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Buf, Bytes, BytesMut};
use tokio::sync::mpsc;

use super::adaptation::{Adaptation, AdaptationConfig, Tick};
use airlane_live::media_path::OpenError;
use airlane_live::wire::LayerHeader;
use airlane_live::{LiveError, ReceivedLayer};

/// From one look at the queue to the next.
const TICK: Duration = Duration::from_millis(100);
/// Every so many frames one is sent, level by level.
const SKIPS: [u32; 8] = [30, 15, 10, 6, 5, 3, 2, 1];
/// Bytes in front of a frame: its kind, and its length.
const HEAD_BYTES: usize = 5;
/// A frame of video, and what a probe sends.
const FRAME: u8 = 1;
const PADDING: u8 = 2;
/// Bytes of a frame at most.
const MAX_BYTES: usize = 1 << 24;

/// A frame that was captured.
#[derive(Clone, Copy, Debug)]
pub struct SentFrame {
    /// Its number, from 0.
    pub frame: u32,
    /// Time of capture.
    pub at: Time,
    /// Its bytes; `None` if it was left out.
    pub bytes: Option<u32>,
    /// The delivery rate of late.
    pub delivered: Rate,
}

/// Sends the frames of a clip to whoever opened the connection, until `until`. All of them have the rate
/// `whole`; a frame has so many `bytes` after the last one that was sent. `note` hears of each.
///
/// # Errors
/// If the connection fails.
pub async fn serve_one(
    connection: &Connection,
    whole: Rate,
    bytes: impl Fn(u32, Option<u32>) -> u32,
    frame_time: Duration,
    until: Time,
    mut note: impl FnMut(SentFrame),
) -> Result<(), LiveError> {
    let clock = connection.runtime().clone();
    let stream = connection.open_uni().await.map_err(OpenError::from)?;
    let queue = Queue::start(&clock, stream);
    let levels = SKIPS.map(|skip| whole.scale(1.0 / f64::from(skip)));
    let mut adaptation = Adaptation::new(AdaptationConfig::default(), levels.to_vec());
    let begin = clock.now();
    let mut next_tick = begin + TICK;
    let (mut acked, mut delivered) = (connection.control().stats().acked_bytes, Rate::ZERO);
    let mut before = None;
    for frame in 0.. {
        let at = begin + frame_time * frame;
        if at >= until {
            break;
        }
        while next_tick <= at {
            clock.sleep_until(next_tick).await;
            next_tick += TICK;
            let now = connection.control().stats().acked_bytes;
            delivered = Rate::of(now - acked, TICK);
            acked = now;
            let padding = adaptation.tick(Tick { waiting: queue.waiting(), delivered });
            let padding = padding.bytes_in(TICK) as usize;
            if padding > HEAD_BYTES {
                queue.push(PADDING, Bytes::from(vec![0; padding - HEAD_BYTES]));
            }
        }
        clock.sleep_until(at).await;
        let handed = clock.now();
        let goes = frame % SKIPS[adaptation.level()] == 0;
        let size = goes.then(|| bytes(frame, before));
        if let Some(size) = size {
            before = Some(frame);
            let header = LayerHeader { frame, layer: 0, encoding: 0, handed };
            queue.push(FRAME, header.message(size as usize));
        }
        note(SentFrame { frame, at: handed, bytes: size, delivered });
    }
    clock.sleep_until(until).await;
    Ok(())
}

/// Queue of frames that wait to be handed to the transport.
struct Queue {
    frames: mpsc::UnboundedSender<Bytes>,
    waiting: Arc<AtomicU64>,
}

impl Queue {
    fn start(clock: &RuntimeHandle, mut stream: SendStream) -> Self {
        let (frames, mut next) = mpsc::unbounded_channel::<Bytes>();
        let waiting = Arc::new(AtomicU64::new(0));
        let left = waiting.clone();
        clock.spawn("awstream queue", async move {
            while let Some(frame) = next.recv().await {
                let size = frame.len() as u64;
                // An error says that the other end is gone.
                if stream.write_all(frame).await.is_err() {
                    return;
                }
                left.fetch_sub(size, Ordering::Relaxed);
            }
        });
        Self { frames, waiting }
    }

    /// Bytes that the transport has not taken yet.
    fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    fn push(&self, kind: u8, body: Bytes) {
        let mut frame = BytesMut::with_capacity(HEAD_BYTES + body.len());
        frame.extend_from_slice(&[kind]);
        frame.extend_from_slice(&(body.len() as u32).to_be_bytes());
        frame.extend_from_slice(&body);
        self.waiting.fetch_add(frame.len() as u64, Ordering::Relaxed);
        // The queue is gone with the connection.
        drop(self.frames.send(frame.freeze()));
    }
}

/// Receives frames until the stream ends. `note` hears of each.
///
/// # Errors
/// If the connection fails, or what comes is not a stream of frames.
pub async fn receive(
    connection: &Connection,
    mut note: impl FnMut(ReceivedLayer),
) -> Result<(), LiveError> {
    let clock = connection.runtime().clone();
    let mut stream = connection.accept_uni().await.map_err(OpenError::from)?;
    let mut had = BytesMut::new();
    while let Some(piece) = stream.read_chunk(1 << 16).await.map_err(OpenError::from)? {
        had.extend_from_slice(&piece);
        while had.len() >= HEAD_BYTES {
            let (kind, length) = (had[0], u32::from_be_bytes([had[1], had[2], had[3], had[4]]));
            let length = length as usize;
            if length > MAX_BYTES {
                return Err(LiveError::Wire("a frame that is too large"));
            }
            if had.len() < HEAD_BYTES + length {
                break;
            }
            had.advance(HEAD_BYTES);
            let body = had.split_to(length);
            if kind == FRAME {
                let header = LayerHeader::read(&body)?;
                let bytes = u32::try_from(body.len()).unwrap_or(u32::MAX);
                note(ReceivedLayer {
                    header,
                    bytes,
                    body: Bytes::new(),
                    at: clock.now(),
                    decoded: Vec::new(),
                });
            }
        }
    }
    Ok(())
}
