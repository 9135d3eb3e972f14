//! Captures whose clocks are none, whose interfaces have one each, and whose aggregates are not marked.

use std::time::Duration;

use airlane_capture::{FileCounts, Records};

use crate::common::{account, read, read_all};

/// A packet of a made capture: the machine's clock in microseconds, the interface and the bytes.
type Record = (u64, u32, Vec<u8>);

/// A receiver's clock by the true time, microseconds.
type Stamps = fn(u64) -> Option<u64>;
type Speed = fn(u64) -> u64;

const OFDM: u8 = 108;

/// A beginning of radiotap: the receiver's clock, if there is one, and the rate in units of 500 kbit/s.
fn legacy_tap(tsft: Option<u64>, rate: u8) -> Vec<u8> {
    let mut out = vec![0, 0, 0, 0];
    let present: u32 = if tsft.is_some() { 0b101 } else { 0b100 };
    out.extend(present.to_le_bytes());
    out.extend(tsft.into_iter().flat_map(u64::to_le_bytes));
    out.push(rate);
    out[2] = out.len() as u8;
    out
}

/// The same of HT, 40 MHz, MCS 15, with the reference of an aggregate if there is one.
fn ht_tap(tsft: Option<u64>, reference: Option<u32>) -> Vec<u8> {
    let mut out = vec![0, 0, 0, 0];
    let present =
        u32::from(tsft.is_some()) | 1 << 19 | if reference.is_some() { 1 << 20 } else { 0 };
    out.extend(present.to_le_bytes());
    out.extend(tsft.into_iter().flat_map(u64::to_le_bytes));
    out.extend([0x07, 0x05, 15]);
    if let Some(reference) = reference {
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(reference.to_le_bytes());
        out.extend([0; 4]);
    }
    out[2] = out.len() as u8;
    out
}

fn address(n: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, n]
}

/// QoS data of so many bytes from access point 0x10 + `net` to station `net`.
fn data(tap: Vec<u8>, net: u8, sequence: u16, bytes: usize) -> Vec<u8> {
    let mut out = tap;
    let len = out.len();
    out.extend([0x88, 2, 0, 0]);
    out.extend([address(net), address(0x10 + net), address(0x10 + net)].concat());
    out.extend((sequence << 4).to_le_bytes());
    out.resize(len + bytes, 0);
    out
}

/// An ACK to the access point of that network.
fn ack(tap: Vec<u8>, net: u8) -> Vec<u8> {
    [tap, vec![0xd4, 0, 0, 0], address(0x10 + net).to_vec()].concat()
}

/// A compressed block acknowledgement of 32 frames.
fn block_ack(tap: Vec<u8>, net: u8, start: u16) -> Vec<u8> {
    let addresses = [address(0x10 + net), address(net)].concat();
    let bits = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    [
        tap,
        vec![0x94, 0, 0, 0],
        addresses,
        vec![5, 0],
        (start << 4).to_le_bytes().to_vec(),
        bits.to_vec(),
    ]
    .concat()
}

fn pcap(records: &[Record]) -> Vec<u8> {
    let mut out = Vec::new();
    for n in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 127] {
        out.extend(n.to_le_bytes());
    }
    for (micros, _, bytes) in records {
        let len = bytes.len() as u32;
        for n in [1_000 + (micros / 1_000_000) as u32, (micros % 1_000_000) as u32, len, len] {
            out.extend(n.to_le_bytes());
        }
        out.extend(bytes);
    }
    out
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let len = (12 + padded as u32).to_le_bytes();
    let mut out = [kind.to_le_bytes(), len].concat();
    out.extend(body);
    out.resize(8 + padded, 0);
    out.extend(len);
    out
}

/// The header of a section.
fn section() -> Vec<u8> {
    let version = [1, 0, 0, 0];
    block(0x0a0d_0d0a, &[&[0x4d, 0x3c, 0x2b, 0x1a], &version[..], &[0xff; 8]].concat())
}

/// An interface of a link type; its unit of time is ten to the power of minus `resolution` seconds, and
/// `offset_s` seconds are added.
fn interface(link: u16, resolution: u8, offset_s: u64) -> Vec<u8> {
    let mut body = link.to_le_bytes().to_vec();
    body.extend([0; 6]);
    body.extend([9, 0, 1, 0, resolution, 0, 0, 0]);
    body.extend([14, 0, 8, 0]);
    body.extend(offset_s.to_le_bytes());
    body.extend([0; 4]);
    block(1, &body)
}

/// A packet on an interface.
fn packet(ticks: u64, on: u32, bytes: &[u8]) -> Vec<u8> {
    let len = bytes.len() as u32;
    let mut body = Vec::new();
    for n in [on, (ticks >> 32) as u32, ticks as u32, len, len] {
        body.extend(n.to_le_bytes());
    }
    body.extend(bytes);
    block(6, &body)
}

/// Data and an ACK 300 us later, each 5 ms for 0.3 s; the receiver's clock by a function of the true time.
fn exchanges(clock: impl Fn(u64) -> Option<u64>) -> Vec<Record> {
    let of = |n: u64| {
        let (at, answer) = (5_000 * n, 5_000 * n + 263);
        let sequence = n as u16;
        [
            (at, 0, data(legacy_tap(clock(at), OFDM), 1, sequence, 1_438)),
            (answer, 0, ack(legacy_tap(clock(answer), OFDM), 1)),
        ]
    };
    (0..60).flat_map(of).collect()
}

#[test]
fn a_clock_that_is_none_leaves_the_times_to_the_machine() {
    let sound = account(&read(pcap(&exchanges(Some))).expect("a capture").transmissions);
    assert_eq!(sound.stations[0].down.attempts, 60);
    let clocks: [(&str, Stamps); 6] = [
        ("always zero", |_| Some(0)),
        ("stands still", |_| Some(77_000_000)),
        ("stops", |us| Some(9_000_000 + us.min(100_000))),
        ("zero from some time on", |us| Some(if us < 100_000 { 9_000_000 + us } else { 0 })),
        ("zero now and then", |us| Some(if us % 3 == 0 { 0 } else { 9_000_000 + us })),
        ("jumps back and forth", |us| Some(if us % 2 == 0 { us } else { 1 << 40 })),
    ];
    for (what, clock) in clocks {
        let whole = read(pcap(&exchanges(clock))).expect("a capture");
        let summary = account(&whole.transmissions);
        let span = summary.span.as_secs_f64();
        assert!((0.29..0.31).contains(&span), "{what}: {span}");
        let (used, expected) = (summary.utilisation, sound.utilisation);
        assert!((used / expected - 1.0).abs() < 0.1, "{what}: {used}, {expected}");
        assert_eq!(summary.stations[0].down.attempts, 60, "{what}");
        let is_told = whole.counts.clock_unusable > 0 || whole.counts.jumps > 0;
        assert!(is_told, "{what}: {:?}", whole.counts);
        assert!(!summary.is_impossible(), "{what}");
    }
}

#[test]
fn a_clock_of_another_speed_leaves_the_times_to_the_machine() {
    let beacons = |clock: Speed| -> Vec<Record> {
        (0..2_000_u64)
            .map(|n| {
                (5_000 * n, 0, data(legacy_tap(Some(clock(5_000 * n)), OFDM), 1, n as u16, 200))
            })
            .collect()
    };
    let clocks: [(&str, Speed); 3] = [
        ("a tenth", |us| us / 10),
        ("ten times", |us| us * 10),
        ("a thousand times", |us| us * 1_000),
    ];
    for (what, clock) in clocks {
        let whole = read(pcap(&beacons(clock))).expect("a capture");
        let span = account(&whole.transmissions).span.as_secs_f64();
        assert!((9.9..10.6).contains(&span), "{what}: {span}");
        assert!(
            whole.counts.clock_unusable + whole.counts.jumps > 1_500,
            "{what}: {:?}",
            whole.counts
        );
    }
}

#[test]
fn a_machine_s_clock_that_stands_still_leaves_the_times_to_the_receiver() {
    let still: Vec<Record> = exchanges(|us| Some(9_000_000 + us))
        .into_iter()
        .map(|(_, on, bytes)| (0, on, bytes))
        .collect();
    let whole = read(pcap(&still)).expect("a capture");
    let summary = account(&whole.transmissions);
    assert!((0.29..0.31).contains(&summary.span.as_secs_f64()), "{:?}", summary.span);
    assert_eq!((whole.counts.jumps, summary.stations[0].down.attempts), (0, 60));
}

#[test]
fn each_interface_has_a_clock_and_exchanges_of_its_own() {
    // The second one's clock is 30 ms ahead, or an hour; what it hears comes between data and ACK of the
    // other.
    for ahead in [30_000, 3_600_000_000] {
        let mut out = [section(), interface(127, 6, 0), interface(127, 9, 500)].concat();
        for n in 0..200_u64 {
            let at = 1_000_000_000 + 5_000 * n;
            for (late, net) in [(0, 1), (100, 2)] {
                let tsft = |at: u64| Some(at + if net == 2 { ahead } else { 0 });
                // Nanoseconds, 500 s less, on the second one.
                let ticks = |at: u64| if net == 2 { (at - 500_000_000) * 1_000 } else { at };
                let sent = data(legacy_tap(tsft(at + late), OFDM), net, n as u16, 1_438);
                out.extend(packet(ticks(at + late), u32::from(net) - 1, &sent));
            }
            for (late, net) in [(263, 1), (363, 2)] {
                let at = at + late;
                let tsft = Some(at + if net == 2 { ahead } else { 0 });
                let ticks = if net == 2 { (at - 500_000_000) * 1_000 } else { at };
                out.extend(packet(ticks, u32::from(net) - 1, &ack(legacy_tap(tsft, OFDM), net)));
            }
        }
        let whole = read(out).expect("a capture");
        let summary = account(&whole.transmissions);
        assert!((0.99..1.01).contains(&summary.span.as_secs_f64()), "{ahead}: {:?}", summary.span);
        assert_eq!((whole.counts.jumps, summary.interfaces), (0, 2));
        for station in summary.stations.iter().filter(|station| !station.is_access_point) {
            let down = &station.down;
            assert_eq!((down.attempts, down.unanswered), (200, 0), "{ahead}: {}", station.address);
        }
    }
}

#[test]
fn interfaces_of_a_later_section_are_others() {
    let mut out = Vec::new();
    for (part, tsft) in [(0, 5_000_000), (1, 900_000_000), (2, 0)] {
        out.extend([section(), interface(127, 6, 0)].concat());
        for n in 0..20_u64 {
            let at = 5_000 * (20 * part + n);
            let bytes = data(legacy_tap(Some(tsft + 5_000 * n), OFDM), 1, n as u16, 500);
            out.extend(packet(at, 0, &bytes));
        }
    }
    let whole = read(out).expect("a capture");
    assert_eq!((whole.transmissions.len(), whole.counts.jumps), (60, 0));
    let span = account(&whole.transmissions).span.as_secs_f64();
    assert!((0.29..0.31).contains(&span), "{span}");
}

/// What is read of a file, and what it was like.
fn counts(bytes: Vec<u8>) -> (usize, FileCounts) {
    let mut records = Records::unzipped(std::io::Cursor::new(bytes)).expect("a capture");
    let mut frames = 0;
    while records.read().expect("a capture").is_some() {
        frames += 1;
    }
    (frames, records.counts())
}

#[test]
fn an_interface_of_802_11_may_come_late_among_others() {
    let other = |n: u64| packet(n, 0, &[0; 25]);
    let mut out = [section(), interface(251, 6, 0), other(0), other(1)].concat();
    out.extend(interface(127, 6, 0));
    for n in 0..50_u64 {
        out.extend(packet(
            5_000 * n,
            1,
            &data(legacy_tap(Some(5_000 * n), OFDM), 1, n as u16, 200),
        ));
    }
    out.extend(other(260_000));
    let (frames, file) = counts(out.clone());
    assert_eq!((frames, file.foreign, file.foreign_link), (50, 3, Some(251)));
    assert_eq!(read(out).expect("a capture").transmissions.len(), 50);
    // Where there is none at all, that is said.
    let none = [section(), interface(1, 6, 0), other(0)].concat();
    let error = read_all(Records::unzipped(std::io::Cursor::new(none)).expect("a capture"));
    assert!(error.err().expect("refused").to_string().contains("link type 1: Ethernet packets"));
}

/// Twenty aggregates of 32 frames, each with a block acknowledgement, as drivers mark them or do not.
fn aggregates(tap: impl Fn(u64, u64) -> Vec<u8>, spread: u64) -> Vec<Record> {
    let mut out = Vec::new();
    for n in 0..20_u64 {
        let start = (32 * n) as u16;
        let end = 1_341 + 1_490 * n;
        for frame in 0..32_u64 {
            let bytes = data(tap(n, frame), 1, start + frame as u16, 1_504);
            out.push((end + spread * frame, 0, bytes));
        }
        let answer =
            legacy_tap(tap(0, 0).get(4).filter(|p| **p & 1 != 0).map(|_| 1_490 * n + 1_357), 48);
        out.push((end + 48, 0, block_ack(answer, 1, start)));
    }
    out
}

#[test]
fn aggregates_are_found_without_their_status() {
    let cases: [(&str, Vec<Record>); 5] = [
        ("by the machine's clock", aggregates(|_, _| ht_tap(None, None), 0)),
        ("some us apart", aggregates(|_, _| ht_tap(None, None), 1)),
        ("by the receiver's clock", aggregates(|n, _| ht_tap(Some(1_490 * n), None), 0)),
        // 1512 bytes at 300 Mbit/s take 40.3 us.
        ("frames stamped one by one", aggregates(|n, f| ht_tap(Some(1_490 * n + 40 * f), None), 1)),
        ("one reference for all", aggregates(|_, _| ht_tap(None, Some(7)), 0)),
    ];
    for (what, records) in cases {
        let whole = read(pcap(&records)).expect("a capture");
        let summary = account(&whole.transmissions);
        assert_eq!(whole.transmissions.len(), 40, "{what}");
        let down = &summary.stations[0].down;
        assert_eq!((down.attempts, down.unanswered, down.frames), (20, 0, 640), "{what}");
        assert!(
            summary.utilisation_without_contention > 0.8 && !summary.is_impossible(),
            "{what}: {summary:?}"
        );
        assert!(summary.share(&down.air).is_some_and(|share| share <= 1.0), "{what}");
    }
    // What is sent again, or to another, is in no such aggregate.
    let mut mixed = Vec::new();
    for n in 0..10_u8 {
        mixed.push((0, 0, data(ht_tap(None, None), 2, u16::from(n), 1_504)));
        mixed.push((0, 0, data(ht_tap(None, None), 1, 5, 1_504)));
    }
    assert_eq!(read(pcap(&mixed)).expect("a capture").transmissions.len(), 20);
}

#[test]
fn more_than_there_was_time_is_no_share() {
    // No clock at all: everything is at one time.
    let records: Vec<Record> =
        (0..50).map(|n| (0, 0, data(legacy_tap(None, OFDM), 1, 7 * n, 1_438))).collect();
    let summary = account(&read(pcap(&records)).expect("a capture").transmissions);
    assert!(summary.is_impossible() && summary.air.without_contention() > summary.span);
    assert_eq!(summary.share(&summary.stations[0].air()), None);
    assert!(summary.span < Duration::from_millis(1));
}
