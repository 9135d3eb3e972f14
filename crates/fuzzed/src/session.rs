//! The stream of a 360-degree session (`docs/design/viewport.md`).

use std::time::Duration;

use airlane_base::Time;
use airlane_tiles::Viewer;
use airlane_tiles::wire::{Begin, FromServer, Part, Report, Request};
use bytes::{Bytes, BytesMut};

/// Any bytes on the stream: they are messages or refused, a message comes out as it went in, and a
/// client keeps to its session.
pub fn session(data: &[u8]) {
    if let Ok(Some(request)) = Request::decode(&mut BytesMut::from(data)) {
        let mut again = BytesMut::new();
        request.encode(&mut again);
        assert_eq!(Request::decode(&mut again), Ok(Some(request)));
    }
    if let Ok(Some(report)) = Report::decode(&mut BytesMut::from(data)) {
        let mut again = BytesMut::new();
        report.encode(&mut again);
        assert_eq!(Report::decode(&mut again), Ok(Some(report)));
    }
    let mut bytes = BytesMut::from(data);
    let begin = match Begin::decode(&mut bytes) {
        Ok(Some(Some(begin))) => begin,
        _ => Begin { columns: 2, rows: 2, gop: Duration::from_secs(1), gops: 3 },
    };
    let mut viewer = Viewer::new("title", begin, Time::ZERO);
    let mut now = Time::ZERO;
    while let Ok(Some(message)) = FromServer::decode(&mut bytes) {
        let mut again = BytesMut::new();
        message.encode(&mut again);
        assert_eq!(FromServer::decode(&mut again), Ok(Some(message.clone())));
        now += Duration::from_millis(300);
        while let Some((_, report)) = viewer.on_time(now) {
            assert_eq!(report.arrived.len(), usize::from(begin.columns) * usize::from(begin.rows));
        }
        if viewer.on_message(now, message).is_err() {
            return;
        }
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut request = BytesMut::new();
    Request { title: "lake".to_owned(), gops: 3 }.encode(&mut request);
    let mut report = BytesMut::new();
    let arrived = (0..12).map(|tile| tile % 5 != 0).collect();
    let busy = Duration::from_millis(40);
    Report { gop: 2, busy, bytes: 90_000, arrived }.encode(&mut report);
    // From a server: a session of two GoPs of 3 by 2 tiles, one of whose tiles comes in two parts.
    let mut served = BytesMut::new();
    let begin = Begin { columns: 3, rows: 2, gop: Duration::from_secs(1), gops: 2 };
    Begin::encode(Some(&begin), &mut served);
    let part = |gop, tile, tile_bytes, offset, bytes| {
        let payload = Bytes::from(vec![tile as u8; bytes]);
        FromServer::Part(Part { gop, tile, level: 1, tile_bytes, offset, payload })
    };
    let messages = [
        part(0, 0, 30, 0, 20),
        part(0, 0, 30, 20, 10),
        part(0, 5, 8, 0, 8),
        FromServer::GopEnd(0),
        part(1, 2, 12, 0, 12),
        FromServer::GopEnd(1),
    ];
    messages.iter().for_each(|message| message.encode(&mut served));
    vec![request.to_vec(), report.to_vec(), served.to_vec()]
}
