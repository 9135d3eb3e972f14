//! A stream over paths that do whatever they like: what is delivered is what was sent.

use airlane_fbdt::{Config, Preference};
use proptest::prelude::*;

use crate::emulated::{Stream, pattern};

/// What may happen to a stream.
#[derive(Clone, Debug)]
enum Event {
    Step(u8),
    Stall(usize, bool),
    Close(usize),
    Open { bytes_per_ms: u64, delay_ms: u64 },
    Prefer(usize, Preference),
}

fn preference() -> impl Strategy<Value = Preference> {
    (any::<bool>(), 0u32..3).prop_map(|(is_backup, price)| Preference { is_backup, price })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (1u8..40).prop_map(Event::Step),
        2 => (0usize..4, any::<bool>()).prop_map(|(path, stuck)| Event::Stall(path, stuck)),
        1 => (0usize..4).prop_map(Event::Close),
        2 => (50u64..2000, 0u64..60)
            .prop_map(|(bytes_per_ms, delay_ms)| Event::Open { bytes_per_ms, delay_ms }),
        2 => (0usize..4, preference())
            .prop_map(|(path, preference)| Event::Prefer(path, preference)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever paths join, stall, end and return, and however they are preferred: every byte once, in order, and both ends within
    /// their memory.
    #[test]
    fn every_byte_is_delivered_once_and_in_order(
        events in prop::collection::vec(event(), 1..60),
        length in 0usize..600_000,
        segment_bytes in 1u32..3000,
        window in 1u32..40,
        memory in 1u64..40,
        last in preference(),
    ) {
        let window_bytes = segment_bytes * window;
        let receive_memory = u64::from(window_bytes) * memory;
        let config = Config { segment_bytes, window_bytes, receive_memory };
        let length = length.min(segment_bytes as usize * 3000);
        let mut stream = Stream::new(config, &[(100, 3)], length);
        for event in events {
            match event {
                Event::Step(ms) => (0..ms).for_each(|_| stream.step()),
                Event::Stall(path, stuck) => {
                    if let Some(path) = stream.paths.get_mut(path) {
                        path.stuck = stuck;
                    }
                }
                Event::Close(path) if path < stream.paths.len() => {
                    let gone = stream.paths.remove(path);
                    stream.carried.remove(path);
                    if let Some(id) = gone.id {
                        stream.sender.close(id);
                    }
                }
                Event::Close(_) => {}
                Event::Open { bytes_per_ms, delay_ms } => {
                    stream.open((bytes_per_ms, delay_ms));
                }
                Event::Prefer(path, preference) => {
                    if let Some(id) = stream.paths.get(path).and_then(|path| path.id) {
                        stream.sender.prefer(id, preference);
                    }
                }
            }
            prop_assert!(stream.receiver.held_bytes() <= receive_memory);
        }
        // One path that works is enough.
        if stream.paths.iter().filter(|path| path.id.is_some()).count() == 16
            && let Some(id) = stream.paths[0].id.take()
        {
            stream.sender.close(id);
        }
        let id = stream.open((2000, 2));
        prop_assert!(id.is_some());
        stream.sender.prefer(id.unwrap(), last);
        let most = stream.now_ms + 200_000;
        stream.finish(most);
        prop_assert!(stream.received == pattern(length));
        stream.receiver.on_end(stream.sender.end().unwrap()).unwrap();
        prop_assert!(stream.receiver.is_done());
    }
}
