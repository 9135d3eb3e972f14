//! The receiving role.

use std::convert::Infallible;
use std::task::Poll;

use airlane_base::Time;
use airlane_runtime::{RuntimeHandle, UdpSocket};
use str0m::Event;
use str0m::media::KeyframeRequestKind;

use crate::CallError;
use crate::assembly::Assembly;
use crate::delivered::Delivered;
use crate::driver::Driver;
use crate::engine::{Engine, MEDIA, ssrc};
use crate::messages::Messages;
use crate::pair::Delivery;
use crate::partial_frame::Piece;
use crate::requests::Requests;
use crate::stats::ReceiverStats;

/// The end of a call that receives.
#[derive(Debug)]
pub struct ReceiverHalf {
    pub(crate) engine: Engine,
    pub(crate) delivery: Delivery,
    pub(crate) stats: ReceiverStats,
}

impl ReceiverHalf {
    /// Record of what it has done, from now on.
    pub fn stats(&self) -> ReceiverStats {
        self.stats.clone()
    }
}

/// Receives, on a socket bound to the address that the pair was made for, until it is dropped.
/// `sink` gets each frame that [`Delivery`] says, without a delay for playing smoothly; packets that are missing are
/// asked for.
///
/// # Errors
/// If the socket or str0m fails.
pub async fn receive(
    half: ReceiverHalf,
    runtime: &RuntimeHandle,
    socket: Box<dyn UdpSocket>,
    mut sink: impl FnMut(Delivered) + Send,
) -> Result<Infallible, CallError> {
    let ReceiverHalf { engine, delivery, stats } = half;
    let mut driver = Driver::new(engine, runtime, socket);
    let mut frames = Frames::new(delivery);
    let now = driver.now();
    driver.engine().time_out(now)?;
    let mut sink = |stats: &ReceiverStats, frame| {
        stats.change(|s| s.frames += 1);
        sink(frame);
    };
    loop {
        let sent = |datagram: &[u8]| stats.change(|s| s.sent.add(datagram));
        let next = driver.settle(sent).await?;
        while let Some(event) = driver.next_event() {
            let Event::RtpPacket(packet) = event else { continue };
            if *packet.header.ssrc != MEDIA {
                continue;
            }
            let piece = Piece {
                sequence: *packet.seq_no,
                last: packet.header.marker,
                payload: packet.payload,
                at: driver.engine().clock.time(packet.timestamp),
            };
            if let Some(message) = frames.push(&piece) {
                sink(&stats, message);
            }
        }
        let now = driver.now();
        while let Some(frame) = frames.pop(now) {
            sink(&stats, frame);
        }
        let due = frames.key_frame_due();
        if due.is_some_and(|due| due <= now) {
            frames.ask(now);
            stats.change(|s| s.key_requests += 1);
            driver.engine().call(|rtc| {
                if let Some(stream) = rtc.direct_api().stream_rx(&ssrc()) {
                    stream.request_keyframe(KeyframeRequestKind::Pli);
                }
            });
            continue;
        }
        let until = due.map_or(next, |due| due.min(next));
        if let Some(bytes) = driver.wait(until, |_| Poll::Pending).await? {
            stats.change(|s| s.received.add(bytes));
        }
    }
}

/// Frames that have begun to come, by the way in which they are handed on.
enum Frames {
    Decodable(Assembly, Requests),
    Whole(Messages),
}

impl Frames {
    fn new(delivery: Delivery) -> Self {
        match delivery {
            Delivery::Decodable => Self::Decodable(Assembly::default(), Requests::default()),
            Delivery::Whole => Self::Whole(Messages::default()),
        }
    }

    /// Takes a packet, and returns the message that it completes.
    fn push(&mut self, piece: &Piece) -> Option<Delivered> {
        match self {
            Self::Decodable(assembly, requests) => {
                if let Some(key) = assembly.push(piece) {
                    requests.packet(piece.at, key);
                }
                None
            }
            Self::Whole(messages) => messages.push(piece),
        }
    }

    /// The next frame that can be decoded.
    fn pop(&mut self, now: Time) -> Option<Delivered> {
        let Self::Decodable(assembly, requests) = self else { return None };
        let frame = assembly.pop(now)?;
        requests.frame(now);
        Some(frame)
    }

    /// Time at which a key frame is to be asked for.
    fn key_frame_due(&self) -> Option<Time> {
        let Self::Decodable(assembly, requests) = self else { return None };
        requests.due(assembly.needs_key(), assembly.lost_since())
    }

    fn ask(&mut self, now: Time) {
        if let Self::Decodable(_, requests) = self {
            requests.ask(now);
        }
    }
}
