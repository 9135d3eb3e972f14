//! Whatever a file says: it is read to its end, in bounded memory, without a panic.

use airlane_capture::{LinkType, Packet, Radiotap, Record, Writer};
use proptest::prelude::*;

use crate::common::{Air, account, read};

fn sample() -> Vec<u8> {
    let mut air = Air::new();
    air.attempt(0, 1, 3, true);
    air.attempt(1, 0, 1, false);
    let mut writer = Writer::new(Vec::new()).expect("memory takes it");
    air.heard.iter().for_each(|heard| writer.write(heard).expect("a sound record"));
    writer.finish().expect("memory takes it")
}

fn packet(bytes: &[u8], link: LinkType) -> Record<'_> {
    Record { nanos: Some(0), link, interface: 0, bytes, original: bytes.len() as u32 }
}

/// A capture of these packets, with radiotap, in microseconds.
fn capture(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for n in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 127] {
        out.extend(n.to_le_bytes());
    }
    for (micros, bytes) in packets {
        let len = bytes.len() as u32;
        for n in [(micros / 1_000_000) as u32, (micros % 1_000_000) as u32, len, len] {
            out.extend(n.to_le_bytes());
        }
        out.extend(bytes);
    }
    out
}

/// A beacon with a receiver's clock, at 6 Mbit/s.
fn beacon(tsft_us: u64, is_damaged: bool) -> Vec<u8> {
    let mut out = vec![0, 0, 18, 0];
    out.extend(0b111_u32.to_le_bytes());
    out.extend(tsft_us.to_le_bytes());
    out.extend([if is_damaged { 0x50 } else { 0x10 }, 12]);
    out.extend([0x80, 0, 0, 0]);
    out.extend([0xff; 6]);
    out.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x10, 0]);
    out.extend([0; 40]);
    out
}

#[test]
fn malformed_packets_are_counted_and_skipped() {
    let sound = beacon(1_000, false);
    let cut_header = sound[..30].to_vec();
    let longer_than_it_is = [vec![0, 0, 200, 0], vec![0; 8]].concat();
    let version = [vec![1], sound[1..].to_vec()].concat();
    let packets: Vec<(u64, Vec<u8>)> =
        [sound.clone(), cut_header, longer_than_it_is, version, vec![], beacon(2_000, false)]
            .into_iter()
            .zip([0, 10, 20, 30, 40, 50])
            .map(|(bytes, at)| (at, bytes))
            .collect();
    let whole = read(capture(&packets)).expect("a capture");
    assert_eq!(whole.records, 6);
    assert_eq!((whole.counts.bad_radiotap, whole.counts.bad_header), (3, 1));
    assert_eq!((whole.counts.undamaged(), whole.transmissions.len()), (2, 2));
}

#[test]
fn damaged_frames_are_air_but_no_stations() {
    let packets = [(0, beacon(1_000, false)), (5_000, beacon(6_000, true))];
    let whole = read(capture(&packets)).expect("a capture");
    assert_eq!((whole.counts.undamaged(), whole.counts.damaged), (1, 1));
    let summary = account(&whole.transmissions);
    assert_eq!((summary.transmissions, summary.stations.len()), (2, 1));
    assert_eq!(summary.unattributed.air.heard, summary.stations[0].other.air.heard);
}

#[test]
fn clocks_that_jump_do_not_turn_time_back() {
    // The receiver's clock starts anew in the middle, and steps back a little as well; once the machine's
    // clock is set back by an hour.
    let hour = 3_600_000_000;
    let mut packets = Vec::new();
    for n in 0..100_u64 {
        let machine = 2 * hour + n * 10_000 - if n >= 70 { hour } else { 0 };
        let receiver = match n {
            0..40 => 900_000_000 + n * 10_000,
            55 => 535_000,
            _ => n * 10_000,
        };
        packets.push((machine, beacon(receiver, false)));
    }
    let whole = read(capture(&packets)).expect("a capture");
    assert_eq!(whole.transmissions.len(), 100);
    assert!(whole.counts.jumps >= 2, "{}", whole.counts.jumps);
    assert!(whole.counts.steps_back >= 2, "{}", whole.counts.steps_back);
    let ends: Vec<_> = whole.transmissions.iter().map(|t| t.end()).collect();
    assert!(ends.is_sorted());
    let summary = account(&whole.transmissions);
    let span = summary.span.as_secs_f64();
    assert!((0.9..1.2).contains(&span), "{span}");
    assert!(summary.utilisation < 0.1, "{}", summary.utilisation);
}

proptest! {
    #[test]
    fn any_bytes_are_a_capture_or_none(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let _ = read(bytes.clone()).map(|whole| account(&whole.transmissions));
        let _ = Radiotap::parse(&bytes);
        for link in [LinkType::Radiotap, LinkType::Ieee80211 { has_fcs: true }] {
            let _ = Packet::parse(&packet(&bytes, link));
        }
    }

    #[test]
    fn any_change_to_a_capture_is_survived(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut bytes = sample();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let _ = read(bytes).map(|whole| account(&whole.transmissions));
    }
}
