//! Joined datagrams: taken apart, and put together.

use airlane_base::{Dscp, Ecn, IP_UDP_HEADER_BYTES, Time, TrafficClass};
use airlane_link::{Delivery, Direction, Engine, Run, datagrams};
use proptest::prelude::*;

#[test]
fn a_buffer_holds_datagrams_of_one_size_and_a_shorter_last_one() {
    let sizes = |bytes: usize, stride: usize| -> Vec<usize> {
        datagrams(&vec![0; bytes], stride).map(<[u8]>::len).collect()
    };
    assert_eq!(sizes(3_000, 1_000), [1_000; 3]);
    assert_eq!(sizes(3_500, 1_000), [1_000, 1_000, 1_000, 500]);
    assert_eq!(sizes(700, 1_000), [700]);
    assert_eq!(sizes(0, 0), [0], "an empty datagram is a datagram");
    assert_eq!(sizes(5, 0), [1; 5], "no stride is no reason to hang");
}

/// Deliveries of these tags, classes and sizes.
fn deliveries(of: &[(u32, TrafficClass, usize)]) -> Vec<Delivery> {
    let mut engine = Engine::new(&crate::common::open());
    for (i, (tag, class, size)) in of.iter().enumerate() {
        let payload = vec![i as u8; *size];
        let way = Direction::Up;
        let taken = engine.push(Time::ZERO, way, *tag, *class, IP_UDP_HEADER_BYTES, &payload);
        assert!(taken.is_some());
    }
    std::iter::from_fn(|| engine.poll(Time::from_millis(1_000_000))).collect()
}

proptest! {
    #[test]
    fn runs_leave_in_order_and_the_kernel_can_take_them_apart(
        of in proptest::collection::vec(
            (
                0_u32..2,
                prop_oneof![
                    10 => Just(Ecn::Ect0.into()),
                    2 => Just(Ecn::Ce.into()),
                    1 => Just(TrafficClass { dscp: Dscp::EF, ecn: Ecn::Ect0 }),
                ],
                prop_oneof![5 => Just(1_200_usize), 2 => 0_usize..1_600, 1 => Just(9_000)],
            ),
            0..120,
        ),
        most in 1_usize..70,
    ) {
        let mut run = Run::new(most);
        let mut runs: Vec<Vec<Delivery>> = Vec::new();
        for delivery in deliveries(&of) {
            if let Err(delivery) = run.push(delivery) {
                runs.push(run.drain().collect());
                run.push(delivery).expect("an empty run takes anything");
            }
        }
        runs.push(run.drain().collect());
        let all: Vec<_> = runs
            .iter()
            .flatten()
            .map(|d| (d.tag, d.packet.traffic_class(), d.packet.payload.len()))
            .collect();
        prop_assert_eq!(&all, &of);
        for run in runs.iter().filter(|run| run.len() > 1) {
            prop_assert!(run.len() <= most);
            let one = |d: &Delivery| (d.direction, d.tag, d.packet.traffic_class());
            prop_assert!(run.iter().all(|d| one(d) == one(&run[0])));
            let stride = run[0].packet.payload.len();
            prop_assert!((1..=1_452).contains(&stride));
            let joined: Vec<u8> = run.iter().flat_map(|d| d.packet.payload.clone()).collect();
            prop_assert!(joined.len() <= 65_507);
            let apart: Vec<&[u8]> = datagrams(&joined, stride).collect();
            let each: Vec<&[u8]> = run.iter().map(|d| &d.packet.payload[..]).collect();
            prop_assert_eq!(apart, each);
        }
    }
}

#[test]
fn a_steady_stream_is_joined_as_far_as_allowed() {
    let mut run = Run::new(64);
    let taken = deliveries(&[(0, TrafficClass::default(), 1_200); 100])
        .into_iter()
        .filter_map(|d| run.push(d).ok())
        .count();
    assert_eq!(taken, 54, "54 x 1200 bytes are the most below 65000");
    assert_eq!(run.deliveries().len(), 54);
}
