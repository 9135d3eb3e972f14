//! The receiving role.

use std::convert::Infallible;

use airlane_base::Time;
use airlane_runtime::{RuntimeHandle, UdpSocket};
use bytes::Bytes;
use str0m::Event;
use str0m::media::KeyframeRequestKind;

use crate::CallError;
use crate::assembly::{Assembly, Piece};
use crate::driver::Driver;
use crate::engine::{Engine, MEDIA, ssrc};
use crate::requests::Requests;
use crate::stats::ReceiverStats;

/// The end of a call that receives.
#[derive(Debug)]
pub struct ReceiverHalf {
    pub(crate) engine: Engine,
    pub(crate) stats: ReceiverStats,
}

impl ReceiverHalf {
    /// Record of what it has done, from now on.
    pub fn stats(&self) -> ReceiverStats {
        self.stats.clone()
    }
}

/// A frame that a decoder can take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its number, from 0: what is left out was never complete, or of no use.
    pub number: u32,
    /// Bytes that the source gave.
    pub data: Bytes,
    /// True if it stands alone.
    pub key: bool,
    /// Time of capture, as the sender says.
    pub captured: Time,
    /// Time at which its first packet came.
    pub first_at: Time,
    /// Time at which its last packet came.
    pub last_at: Time,
    /// Time at which it could be decoded: later than `last_at` if one before it was incomplete.
    pub at: Time,
}

/// Receives, on a socket bound to the address that the pair was made for, until it is dropped.
/// `sink` gets each frame once it and all that it builds on are complete, in order and without a
/// delay for playing smoothly; what is missing is asked for, and a key frame if that is of no use.
///
/// # Errors
/// If the socket or str0m fails.
pub async fn receive(
    half: ReceiverHalf,
    runtime: &RuntimeHandle,
    socket: Box<dyn UdpSocket>,
    mut sink: impl FnMut(Delivered) + Send,
) -> Result<Infallible, CallError> {
    let ReceiverHalf { engine, stats } = half;
    let mut driver = Driver::new(engine, runtime, socket);
    let mut assembly = Assembly::default();
    let mut requests = Requests::default();
    let now = driver.now();
    driver.engine().time_out(now)?;
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
            if let Some(key) = assembly.push(&piece) {
                requests.packet(piece.at, key);
            }
        }
        let now = driver.now();
        while let Some(frame) = assembly.pop(now) {
            requests.frame(now);
            stats.change(|s| s.frames += 1);
            sink(frame);
        }
        let due = requests.due(assembly.needs_key(), assembly.lost_since());
        if due.is_some_and(|due| due <= now) {
            requests.ask(now);
            stats.change(|s| s.key_requests += 1);
            driver.engine().call(|rtc| {
                if let Some(stream) = rtc.direct_api().stream_rx(&ssrc()) {
                    stream.request_keyframe(KeyframeRequestKind::Pli);
                }
            });
            continue;
        }
        driver.wait(due.map_or(next, |due| due.min(next))).await?;
    }
}
