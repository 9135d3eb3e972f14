//! Any bytes on a path of FBDT: they are frames or refused, a frame comes out as it went in, and
//! neither end holds more than was agreed.
#![no_main]

use airlane_base::Time;
use airlane_fbdt::wire::Frame;
use airlane_fbdt::{Config, Receiver, Sender};
use bytes::BytesMut;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let config = Config { segment_bytes: 256, window_bytes: 4096, receive_memory: 16_384 };
    let mut sender = Sender::new(config, 16_384);
    let Some(path) = sender.open(Time::ZERO) else { return };
    let mut receiver = Receiver::new(config);
    let mut bytes = BytesMut::from(data);
    while let Ok(Some(frame)) = Frame::decode(&mut bytes) {
        let mut again = BytesMut::new();
        frame.encode(&mut again);
        assert_eq!(Frame::decode(&mut again), Ok(Some(frame.clone())));
        let refused = match frame {
            Frame::Segment(segment) => receiver.on_segment(Time::ZERO, segment).is_err(),
            Frame::End(windows) => receiver.on_end(windows).is_err(),
            Frame::Ack(ack) => sender.on_ack(Time::ZERO, path, &ack).is_err(),
        };
        if refused {
            return;
        }
        assert!(receiver.held_bytes() <= config.receive_memory);
        let _ = receiver.ack(0);
    }
});
