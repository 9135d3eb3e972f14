//! The receiving side of a session: the participant's frames, over its connection or its media transport.

use std::sync::Arc;

use airlane_quic::RecvStream;
use bytes::Bytes;

use super::Session;
use crate::arriving::{each_stream, read_header};
use crate::error::CallError;
use crate::media_transport::exchange;
use crate::queue::Frame;
use crate::server::room::Room;
use crate::wire::{MediaHeader, Track};

/// Receives the participant's frames until something fails.
pub(super) async fn receive(room: &Arc<Room>, session: &Arc<Session>) -> CallError {
    let receive = |stream| {
        let (room, session) = (room.clone(), session.clone());
        async move { receive_frame(&room, &session, stream).await }
    };
    each_stream(&session.connection, &room.clock, receive).await
}

async fn receive_frame(
    room: &Room,
    session: &Session,
    mut stream: RecvStream,
) -> Result<(), CallError> {
    let (header, first) = read_header(&mut stream).await?;
    let (header, report) = MediaHeader::decode_up(header)?;
    session.on_report(report);
    let payload = session.arriving.read_payload(&mut stream, first, header.payload_bytes).await?;
    on_frame(room, session, header, payload);
    Ok(())
}

/// Exchanges video over the participant's media transport until it fails; without one it never ends.
pub(super) async fn exchange_video(room: &Arc<Room>, session: &Arc<Session>) -> CallError {
    let (of_room, of_session) = (room.clone(), session.clone());
    let arrived = move |header, payload: Bytes| {
        let (header, report) = MediaHeader::decode_up(header)?;
        of_session.on_report(report);
        if payload.len() != header.payload_bytes as usize {
            return Err(CallError::Protocol("a message of another length than its header says"));
        }
        on_frame(&of_room, &of_session, header, payload);
        Ok(())
    };
    exchange(session.media.as_ref(), &session.sender, &room.clock, arrived).await
}

/// Takes a frame of the participant that has arrived whole.
fn on_frame(room: &Room, session: &Session, header: MediaHeader, payload: Bytes) {
    let now = room.clock.now();
    match header.track {
        Track::Audio if header.has_speech => room.on_speech(now, session.id),
        Track::Audio => {}
        Track::Padding => return,
        Track::Camera | Track::Screen => {
            let shared = &mut *session.shared.lock();
            // The last frames of a track that was muted may come after that was said.
            let Some(sent) = shared.sent.get_mut(&header.track) else { return };
            sent.video.add(now, u64::from(header.payload_bytes));
            if header.is_key {
                shared.deferred.remove(&header.track);
            }
        }
    }
    let header = MediaHeader { source: session.id, ..header };
    room.forward(&Frame { header, payload });
}
