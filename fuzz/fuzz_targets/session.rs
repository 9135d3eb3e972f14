//! Any bytes on the stream of a 360-degree session: they are messages or refused, a message comes out
//! as it went in, and a client keeps to its session.
#![no_main]

use std::time::Duration;

use airlane_apps::tiles::Viewer;
use airlane_apps::tiles::wire::{Begin, FromServer, Report, Request};
use airlane_base::Time;
use bytes::BytesMut;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
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
});
