//! What a peer can have a receiver hold.

use airlane_base::Time;
use airlane_fbdt::wire::{MAX_WINDOWS, Segment};
use airlane_fbdt::{Config, Receiver, ReceiverError, Sender};
use bytes::Bytes;

const NOW: Time = Time::ZERO;

#[test]
fn windows_that_are_begun_and_not_filled_count_as_memory() {
    let config = Config { segment_bytes: 256, window_bytes: 1 << 20, receive_memory: 8 << 20 };
    let count = config.window_bytes / config.segment_bytes;
    let mut receiver = Receiver::new(config);
    let mut begun = 0;
    // One byte each, the last of its window; the first window never comes.
    let refused = (1..MAX_WINDOWS as u64).find_map(|window| {
        let payload = Bytes::from_static(b"x");
        let segment = Segment { window, index: count - 1, count, payload };
        begun += u64::from(count);
        receiver.on_segment(NOW, segment).err()
    });
    assert!(matches!(refused, Some(ReceiverError::Memory(_))), "{refused:?}");
    let fits = (config.receive_memory + u64::from(config.window_bytes)) / 256;
    assert!(begun <= fits + MAX_WINDOWS as u64 + u64::from(count), "{begun}");
}

#[test]
fn a_sender_that_keeps_to_the_memory_is_never_refused() {
    let config = Config { segment_bytes: 256, window_bytes: 16 << 10, receive_memory: 64 << 10 };
    let mut sender = Sender::new(config, 1 << 20);
    let mut receiver = Receiver::new(config);
    let path = sender.open(NOW).unwrap();
    // Windows of a byte, and whole ones behind them, of which the application takes all but a segment
    // of the first.
    let mut sent = 0;
    for piece in std::iter::repeat_n(1, MAX_WINDOWS / 2).chain([256 << 10]) {
        sender.push(&mut Bytes::from(vec![7; piece]));
        while let Some(segment) = sender.next(NOW, path) {
            sent += segment.payload.len();
            receiver.on_segment(NOW, segment).unwrap();
        }
    }
    assert!(sent > 48 << 10 && sent <= 64 << 10, "{sent}");
    let mut taken = 0;
    for round in 1.. {
        while receiver.held_bytes() > 256
            && let Some(piece) = receiver.read(NOW)
        {
            taken += piece.len();
        }
        sender.on_ack(NOW, path, &receiver.ack(sent as u64)).unwrap();
        let before = sent;
        while let Some(segment) = sender.next(NOW, path) {
            sent += segment.payload.len();
            receiver.on_segment(NOW, segment).unwrap();
        }
        if sent == before {
            break;
        }
        assert!(round < 100 && sent - taken <= 64 << 10);
    }
    assert_eq!(sent, MAX_WINDOWS / 2 + (256 << 10));
}
