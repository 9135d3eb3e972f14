//! The two ends: requests and frames on one stream of a QUIC connection, which stands for TCP.

use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_quic::{Connection, RecvStream};
use airlane_runtime::RuntimeExt;
use bytes::{Buf, Bytes, BytesMut};

use super::adaptation::Adaptation;
use airlane_live::media_path::OpenError;
use airlane_live::wire::LayerHeader;
use airlane_live::{LayerSet, LiveError, ReceivedLayer};

/// Bytes of a request: the frame, and the level that it is asked for at.
const REQUEST_BYTES: usize = 5;
/// Bytes in front of a frame: its length.
const HEAD_BYTES: usize = 4;
/// Bytes of a frame at most.
const MAX_BYTES: usize = 1 << 24;

/// Description of a video that a viewer has beforehand, as of a manifest.
#[derive(Clone, Debug)]
pub struct Offer {
    /// From one frame to the next.
    pub frame_time: Duration,
    /// The mean rates of the levels, rising.
    pub levels: Vec<Rate>,
}

/// A frame that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct AskedFrame {
    /// Its number, from 0.
    pub frame: u32,
    /// The level.
    pub level: u8,
    /// Estimate of the path's rate at that time; `None` before anything came.
    pub estimate: Option<Rate>,
}

/// Sends the frames that the one who opened the connection asks for, each once it is captured, in the
/// order of the requests. The first request begins the capture. `bytes` says how large a frame is at a
/// level; `began` hears when the capture begins.
///
/// # Errors
/// If the connection fails, or what comes are no requests.
pub async fn serve_one(
    connection: &Connection,
    offer: &Offer,
    bytes: impl Fn(u32, u8) -> u32,
    began: impl FnOnce(Time),
) -> Result<(), LiveError> {
    let clock = connection.runtime().clone();
    let mut began = Some(began);
    let (mut answers, requests) = connection.accept_bi().await.map_err(OpenError::from)?;
    let mut requests = Pieces::new(requests);
    let mut begin = None;
    while let Some(request) = requests.take(REQUEST_BYTES).await? {
        let begin = *begin.get_or_insert_with(|| clock.now());
        if let Some(began) = began.take() {
            began(begin);
        }
        let frame = u32::from_be_bytes([request[0], request[1], request[2], request[3]]);
        let level = request[4];
        if usize::from(level) >= offer.levels.len() {
            return Err(LiveError::Wire("a request for densities that are not offered"));
        }
        let at = begin + offer.frame_time * frame;
        clock.sleep_until(at).await;
        let size = bytes(frame, level);
        let header = LayerHeader { frame, layer: 0, encoding: level, handed: at };
        let body = header.message(size as usize);
        let mut answer = BytesMut::with_capacity(HEAD_BYTES + body.len());
        answer.extend_from_slice(&(body.len() as u32).to_be_bytes());
        answer.extend_from_slice(&body);
        answers.write_all(answer.freeze()).await.map_err(OpenError::from)?;
    }
    Ok(())
}

/// Asks for a frame at each moment at which one is captured, and receives them, until the stream ends.
/// With `most` it leaves frames out while so many that it asked for have not come. `note` hears of each
/// that came, `asked` of each that is asked for.
///
/// # Errors
/// If the connection fails, or what comes is not a stream of frames.
pub async fn watch(
    connection: &Connection,
    offer: &Offer,
    most: Option<usize>,
    mut note: impl FnMut(ReceivedLayer),
    mut asked: impl FnMut(AskedFrame),
) -> Result<(), LiveError> {
    let clock = connection.runtime().clone();
    let (mut requests, answers) = connection.open_bi().await.map_err(OpenError::from)?;
    let mut answers = Frames::new(answers);
    let mut adaptation = Adaptation::new(offer.levels.clone());
    let begin = clock.now();
    let (mut next, mut waiting) = (0_u32, 0_usize);
    let mut tick = clock.sleep_until(begin);
    loop {
        tokio::select! {
            biased;
            () = &mut tick => {
                if most.is_none_or(|most| waiting < most) {
                    let level = adaptation.level() as u8;
                    let mut request = BytesMut::with_capacity(REQUEST_BYTES);
                    request.extend_from_slice(&next.to_be_bytes());
                    request.extend_from_slice(&[level]);
                    let estimate = adaptation.estimate();
                    asked(AskedFrame { frame: next, level, estimate });
                    requests.write_all(request.freeze()).await.map_err(OpenError::from)?;
                    waiting += 1;
                }
                next += 1;
                tick = clock.sleep_until(begin + offer.frame_time * next);
            }
            frame = answers.next(|| clock.now()) => {
                let Some((body, began)) = frame? else { return Ok(()) };
                let at = clock.now();
                waiting = waiting.saturating_sub(1);
                // A frame of one packet comes at a moment, which says nothing of the path.
                if at > began {
                    adaptation.came(Rate::of(body.len() as u64, at - began));
                }
                let header = LayerHeader::read(&body)?;
                let bytes = u32::try_from(body.len()).unwrap_or(u32::MAX);
                let decoded = vec![airlane_live::Decoded {
                    frame: header.frame,
                    layers: LayerSet::lowest(1),
                }];
                note(ReceivedLayer { header, bytes, body: Bytes::new(), at, decoded });
            }
        }
    }
}

/// Reader of a stream, in pieces of the size that is wanted.
struct Pieces {
    stream: RecvStream,
    had: BytesMut,
}

impl Pieces {
    fn new(stream: RecvStream) -> Self {
        Self { stream, had: BytesMut::new() }
    }

    /// Waits until `count` bytes are there; `false` if the stream ends before. Nothing is lost if it is
    /// not waited for to its end.
    async fn fill(&mut self, count: usize) -> Result<bool, LiveError> {
        while self.had.len() < count {
            let piece = self.stream.read_chunk(1 << 16).await.map_err(OpenError::from)?;
            let Some(piece) = piece else { return Ok(false) };
            self.had.extend_from_slice(&piece);
        }
        Ok(true)
    }

    async fn take(&mut self, count: usize) -> Result<Option<Bytes>, LiveError> {
        Ok(self.fill(count).await?.then(|| self.had.split_to(count).freeze()))
    }
}

/// Frames that come on a stream, and when their first byte did.
struct Frames {
    pieces: Pieces,
    /// Time at which the first byte of the frame that is coming was there.
    began: Option<Time>,
}

impl Frames {
    fn new(stream: RecvStream) -> Self {
        Self { pieces: Pieces::new(stream), began: None }
    }

    async fn next(&mut self, now: impl Fn() -> Time) -> Result<Option<(Bytes, Time)>, LiveError> {
        if !self.pieces.fill(1).await? {
            return Ok(None);
        }
        self.began.get_or_insert_with(now);
        if !self.pieces.fill(HEAD_BYTES).await? {
            return Ok(None);
        }
        let had = &self.pieces.had;
        let length = u32::from_be_bytes([had[0], had[1], had[2], had[3]]) as usize;
        if length > MAX_BYTES {
            return Err(LiveError::Wire("a frame that is too large"));
        }
        if !self.pieces.fill(HEAD_BYTES + length).await? {
            return Ok(None);
        }
        self.pieces.had.advance(HEAD_BYTES);
        let body = self.pieces.had.split_to(length).freeze();
        Ok(self.began.take().map(|began| (body, began)))
    }
}
