//! Tests of the sender, of which some look inside.

use super::*;
use crate::SproutConfig;

const AT: fn(u64) -> Time = Time::from_millis;

fn sender(estimator: Estimator) -> Sender {
    Sender::new(Config::new(estimator))
}

fn frame(bytes: usize) -> Option<Frame> {
    Some(Frame::new(vec![1; bytes]))
}

/// All that leaves within 30 ms, by its timing.
fn drain(sender: &mut Sender, ms: u64) -> Vec<(Time, Timing)> {
    let mut sent = Vec::new();
    for us in (ms * 1_000..(ms + 30) * 1_000).step_by(100) {
        let now = Time::from_micros(us);
        if let Some(bytes) = sender.poll(now, Some(AT(ms + 33))) {
            match Message::decode(&bytes) {
                Some(Message::Data(timing, ..) | Message::Filler(timing)) => {
                    sent.push((now, timing));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    sent
}

fn acknowledge(sender: &mut Sender, ms: u64, ack: Ack) {
    sender.receive(AT(ms), &Message::Ack(ack).encode(0));
}

#[test]
fn budgets_are_what_fits_beside_what_is_in_flight() {
    let mut sender = sender(Estimator::Own);
    let size = sender.config.fragment_bytes();
    assert_eq!(size, 1_327);
    // 100 ms of gaps of 10 ms.
    let ask = sender.ask(AT(0), AT(0));
    assert_eq!((ask.budget, ask.reference), (10 * size - 8, None));
    sender.answer(AT(0), &ask, frame(3 * size - 8));
    let sent = drain(&mut sender, 0);
    let times: Vec<u64> = sent.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
    assert_eq!(times, [0, 2, 4]);
    assert_eq!(sent[1].1, Timing { packet: 1, ..Timing::default() });
    assert_eq!(sent[2].1.next, Duration::from_millis(29));
    let ask = sender.ask(AT(33), AT(33));
    assert_eq!((ask.budget, ask.reference), (7 * size - 8, Some(0)));
    // One more than fits.
    sender.answer(AT(33), &ask, frame(ask.budget + 1));
    assert!(drain(&mut sender, 33).is_empty());
    let gap = Some(Duration::from_millis(4));
    acknowledge(&mut sender, 60, Ack { newest: 1, seen: 1, gap, ..Ack::default() });
    let ask = sender.ask(AT(66), AT(66));
    assert_eq!(ask.budget, 24 * size - 8);
    sender.answer(AT(66), &ask, frame(ask.budget));
    let sent = drain(&mut sender, 66);
    assert_eq!((sent.len(), sent[0].1.pause), (24, Duration::from_millis(62)));
    assert_eq!(sender.ask(AT(99), AT(99)).budget, 0);
    let stats = sender.config.stats.read();
    assert_eq!((stats.frames, stats.skipped, stats.media.packets), (2, 1, 27));
}

#[test]
fn silence_gives_up_what_is_in_flight_and_tries_little() {
    let mut sender = sender(Estimator::Own);
    let ask = sender.ask(AT(0), AT(0));
    sender.answer(AT(0), &ask, frame(ask.budget));
    assert_eq!(drain(&mut sender, 0).len(), 10);
    assert_eq!(sender.due(), AT(1_000));
    sender.check(AT(999));
    assert_eq!(sender.ask(AT(999), AT(999)).budget, 0);
    sender.check(AT(1_000));
    let ask = sender.ask(AT(1_000), AT(1_000));
    assert_eq!((ask.budget, ask.reference), (2 * 1_327 - 8, None));
    // The source has nothing so small: padding, and no more of it.
    sender.answer(AT(1_000), &ask, None);
    assert_eq!(drain(&mut sender, 1_000).len(), 5);
    let ask = sender.ask(AT(1_033), AT(1_033));
    assert_eq!(ask.budget, 0);
    sender.answer(AT(1_033), &ask, None);
    assert!(drain(&mut sender, 1_033).is_empty());
    acknowledge(&mut sender, 1_100, Ack { newest: 14, ..Ack::default() });
    assert!(sender.is_done());
    assert_eq!(sender.ask(AT(1_100), AT(1_100)).budget, 10 * 1_327 - 8);
}

#[test]
fn a_frame_of_any_size_goes_when_only_their_rate_is_tuned() {
    let config = Config { mode: Mode::FrameRate, ..Config::new(Estimator::Own) };
    let mut sender = Sender::new(config);
    let ask = sender.ask(AT(0), AT(0));
    sender.answer(AT(0), &ask, frame(20 * 1_327));
    assert_eq!(drain(&mut sender, 0).len(), 15);
    assert_eq!(sender.ask(AT(33), AT(33)).budget, 0);
}

#[test]
fn a_forced_frame_goes_whatever_fits_and_takes_the_place_of_padding() {
    let config = Config { padding: false, ..Config::new(Estimator::Own) };
    let mut sender = Sender::new(config);
    let ask = sender.ask(AT(0), AT(0));
    sender.answer(AT(0), &ask, None);
    assert!(drain(&mut sender, 0).is_empty());
    let forced = |bytes| frame(bytes).map(|frame| Frame { forced: true, ..frame });
    let ask = sender.ask(AT(33), AT(33));
    sender.answer(AT(33), &ask, forced(15 * 1_327 - 8));
    assert_eq!(drain(&mut sender, 33).len(), 15);
    // More than a frame may have is refused all the same.
    let ask = sender.ask(AT(66), AT(66));
    sender.answer(AT(66), &ask, forced(2_048 * 1_327));
    assert!(drain(&mut sender, 66).is_empty());
    let stats = sender.config.stats.read();
    assert_eq!((stats.frames, stats.skipped, stats.other.packets), (1, 2, 0));
}

#[test]
fn forecasts_age() {
    let mut sender = sender(Estimator::Sprout(SproutConfig::default()));
    let ask = sender.ask(AT(0), AT(0));
    sender.answer(AT(0), &ask, frame(2 * 1_327 - 8));
    drain(&mut sender, 0);
    let forecast = vec![1, 4, 8, 12, 16, 21, 26, 31, 36, 41];
    let ack = Ack { newest: 1, seen: 1, tick: 1, forecast, ..Ack::default() };
    acknowledge(&mut sender, 60, ack.clone());
    // A later answer with the same forecast does not make it younger.
    acknowledge(&mut sender, 75, ack);
    assert_eq!(sender.allowed(AT(60)), 16.0);
    assert_eq!(sender.allowed(AT(80)), 20.0);
    assert_eq!(sender.allowed(AT(160)), 25.0);
    assert_eq!(sender.allowed(AT(240)), 5.0);
    assert_eq!(sender.allowed(AT(400)), MIN_PACKETS);
    // A skipped frame leaves a heartbeat.
    let ask = sender.ask(AT(66), AT(66));
    sender.last_heavy = Some(AT(66));
    sender.answer(AT(66), &ask, None);
    let sent = drain(&mut sender, 66);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].1.next, Duration::from_millis(33));
}

#[test]
fn strange_answers_do_no_harm() {
    let mut sender = sender(Estimator::Own);
    let ask = sender.ask(AT(0), AT(0));
    sender.answer(AT(0), &ask, frame(2_000));
    drain(&mut sender, 0);
    acknowledge(&mut sender, 50, Ack { newest: u32::MAX, ..Ack::default() });
    acknowledge(&mut sender, 50, Ack { newest: 2, ..Ack::default() });
    assert_eq!(sender.newest_acked, None);
    let gap = Some(Duration::ZERO);
    acknowledge(&mut sender, 50, Ack { newest: 1, gap, ..Ack::default() });
    let budget = sender.ask(AT(60), AT(60)).budget;
    assert_eq!(budget, 200 * 1_327 - 8);
    let mut state = 1_u64;
    for n in 0..20_000_u64 {
        let ask = sender.ask(AT(n), AT(n));
        sender.answer(AT(n), &ask, frame(ask.budget.min(3_000)));
        while sender.poll(AT(n), Some(AT(n + 1))).is_some() {}
        sender.check(AT(n));
        let mut bytes = Message::Ack(Ack::default()).encode(0);
        for byte in &mut bytes[3..] {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (state >> 56) as u8;
        }
        // No forecast: most of these are acknowledgements.
        bytes[29] = 0;
        let length = if n % 8 == 0 { 40 } else { bytes.len() };
        sender.receive(AT(n), &bytes[..length]);
        let held = (sender.flight.len(), sender.waiting.len());
        assert!(held.0 <= MAX_FLIGHT && held.1 <= 201, "{held:?} at {n}");
    }
}
