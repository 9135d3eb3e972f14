//! Headers of frames and messages of a call (`docs/reference/wire/calls.md`).

use airlane_base::Rate;
use airlane_call::wire::{
    FromParticipant, FromServer, HEADER_BYTES, MAX_FRAME_BYTES, MediaHeader, ParticipantId, Track,
    UplinkReport,
};
use airlane_plum::{Epoch, Notice};
use bytes::BytesMut;

/// Any bytes as a header and as messages of both ends: refused, or the same after the first time that they were
/// written (a rate is then one that a float of kbit/s can say).
pub fn call(data: &[u8]) {
    let mut bytes = BytesMut::from(data);
    while let Ok(Some(message)) = FromParticipant::decode(&mut bytes) {
        let once = again(|to| message.encode(to), FromParticipant::decode);
        assert_eq!(again(|to| once.encode(to), FromParticipant::decode), once);
    }
    let mut bytes = BytesMut::from(data);
    while let Ok(Some(message)) = FromServer::decode(&mut bytes) {
        let once = again(|to| message.encode(to), FromServer::decode);
        assert_eq!(again(|to| once.encode(to), FromServer::decode), once);
    }
    let Some(header) = data.first_chunk::<HEADER_BYTES>() else { return };
    if let Ok((header, report)) = MediaHeader::decode_up(*header) {
        assert!(header.payload_bytes <= MAX_FRAME_BYTES);
        let written = header.encode_up(&report);
        let read = written.first_chunk().map(|bytes| MediaHeader::decode_up(*bytes));
        assert!(matches!(read, Some(Ok((same, _))) if same == header));
    }
    if let Ok((header, notice)) = MediaHeader::decode_down(*header) {
        let written = header.encode_down(&notice);
        let read = written.first_chunk().map(|bytes| MediaHeader::decode_down(*bytes));
        assert!(matches!(read, Some(Ok((same, _))) if same == header));
    }
}

/// A message that was written, read again.
fn again<T, E: std::fmt::Debug>(
    encode: impl FnOnce(&mut BytesMut),
    decode: impl FnOnce(&mut BytesMut) -> Result<Option<T>, E>,
) -> T {
    let mut bytes = BytesMut::new();
    encode(&mut bytes);
    decode(&mut bytes).expect("what was encoded").expect("all of it")
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let report = UplinkReport { epoch: Some(Epoch(3)), estimate: Some(Rate::from_bps(2_500_000)) };
    let notice = Notice { epoch: Epoch(4), target: Some(Rate::from_bps(900_000)) };
    let header = MediaHeader {
        track: Track::Camera,
        is_key: false,
        temporal_layer: 2,
        reference_distance: 1,
        has_speech: false,
        source: ParticipantId(2),
        frame: 77,
        captured: std::time::Duration::from_millis(1234),
        payload_bytes: 5000,
    };
    let (mut up, mut down) = (BytesMut::new(), BytesMut::new());
    FromParticipant::Join("Ada".to_owned()).encode(&mut up);
    FromParticipant::Report(report).encode(&mut up);
    FromParticipant::RequestKeyFrame(ParticipantId(1), Track::Screen).encode(&mut up);
    FromServer::Welcome(ParticipantId(0)).encode(&mut down);
    FromServer::Joined(ParticipantId(1), "Grace".to_owned()).encode(&mut down);
    FromServer::Notice(notice).encode(&mut down);
    FromServer::RequestKeyFrame(Track::Camera).encode(&mut down);
    FromServer::Pause(true).encode(&mut down);
    FromServer::Left(ParticipantId(1)).encode(&mut down);
    vec![
        up.to_vec(),
        down.to_vec(),
        header.encode_up(&report).to_vec(),
        header.encode_down(&notice).to_vec(),
    ]
}
