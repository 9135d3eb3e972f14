//! What the writer writes reads back the same.

use std::time::Duration;

use airlane_base::Time;
use airlane_capture::{Transmission, Writer};
use airlane_wifi::{
    Address, BlockAck, Format, Frame, FrameKind, Guard, Heard, Vector, What, Width, mac,
};
use proptest::prelude::*;

use crate::common::{account, read};

fn written(heard: &[Heard]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).expect("memory takes it");
    for record in heard {
        writer.write(record).expect("a sound record");
    }
    writer.finish().expect("memory takes it")
}

fn vectors() -> impl Strategy<Value = Vector> {
    let format =
        prop::sample::select(vec![Format::Dsss, Format::Ofdm, Format::Ht, Format::Vht, Format::He]);
    let width = prop::sample::select(Width::ALL.to_vec());
    let guards = vec![Guard::Ns400, Guard::Ns800, Guard::Ns1600, Guard::Ns3200];
    let guard = prop::sample::select(guards);
    (format, 0_u8..12, 1_u8..5, width, guard)
        .prop_map(|(format, mcs, streams, width, guard)| Vector {
            format,
            mcs,
            streams,
            width,
            guard,
        })
        .prop_filter("the standard has it", Vector::is_valid)
}

fn addresses() -> impl Strategy<Value = Address> {
    any::<[u8; 6]>().prop_map(Address)
}

/// Any frame that 802.11 can express.
fn frames() -> impl Strategy<Value = Frame> {
    let kinds = prop::sample::select(&FrameKind::ALL[..]);
    let who = (addresses(), addresses(), prop::option::of(addresses()), 0_u8..4);
    let bits = (any::<bool>(), any::<bool>(), 0_u16..4_096, 0_u8..16, 0_u64..32_767_000);
    let block_ack = (0_u16..4_096, any::<[u64; 4]>(), any::<bool>());
    (kinds, who, bits, block_ack, 64_u32..12_000).prop_map(|(kind, who, bits, block_ack, bytes)| {
        let (receiver, transmitter, bssid, relation) = who;
        let (is_down, is_retry, sequence, tid, remaining) = bits;
        let mut frame = Frame {
            kind,
            receiver,
            transmitter: Some(transmitter),
            bssid: match relation {
                0 => Some(receiver),
                1 => Some(transmitter),
                _ => bssid,
            },
            is_down,
            bytes,
            is_retry,
            sequence,
            remaining: Duration::from_nanos(remaining),
            tid,
            block_ack: None,
        };
        match kind {
            FrameKind::QosData | FrameKind::Null => {}
            FrameKind::Data => frame.tid = 0,
            FrameKind::Beacon | FrameKind::Management => {
                frame.tid = 0;
                frame.bssid = Some(bssid.unwrap_or(transmitter));
            }
            _ => {
                (frame.bssid, frame.sequence) = (None, 0);
                let has_tid = matches!(kind, FrameKind::BlockAck | FrameKind::BlockAckRequest);
                frame.tid = if has_tid { tid } else { 0 };
                if matches!(kind, FrameKind::Cts | FrameKind::Ack)
                    || (kind == FrameKind::Other && relation == 0)
                {
                    frame.transmitter = None;
                }
                if kind == FrameKind::BlockAck {
                    let (start, came, is_long) = block_ack;
                    frame.bytes = if is_long { mac::BLOCK_ACK_256 } else { mac::BLOCK_ACK_64 };
                    let came = if is_long { came } else { [came[0], 0, 0, 0] };
                    frame.block_ack = Some(BlockAck { start, came });
                }
            }
        }
        frame
    })
}

fn records() -> impl Strategy<Value = Heard> {
    let what = prop_oneof![
        Just(What::Energy),
        vectors().prop_map(What::Header),
        (vectors(), frames()).prop_map(|(vector, frame)| What::Frames {
            vector,
            is_aggregate: false,
            frames: vec![frame]
        }),
        (vectors(), prop::collection::vec(frames(), 1..20))
            .prop_map(|(vector, frames)| What::Frames { vector, is_aggregate: true, frames }),
    ];
    let hour = 3_600_000_000_000;
    (0_u64..hour, 0_u64..20_000_000, what).prop_map(|(at, duration, what)| Heard {
        at: Time::from_nanos(at),
        duration: Duration::from_nanos(duration),
        what,
    })
}

proptest! {
    #[test]
    fn records_read_back_the_same(heard in prop::collection::vec(records(), 0..40)) {
        let whole = read(written(&heard)).expect("our own capture");
        let back: Vec<Heard> = whole.transmissions.iter().map(|t| t.heard.clone()).collect();
        prop_assert_eq!(&back, &heard);
        prop_assert_eq!((whole.counts.bad_radiotap, whole.counts.bad_header), (0, 0));
        let exact: Vec<Transmission> = heard.into_iter().map(Transmission::exact).collect();
        prop_assert_eq!(account(&whole.transmissions), account(&exact));
    }
}
