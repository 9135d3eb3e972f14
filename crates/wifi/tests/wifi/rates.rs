//! Rates beside the standard's tables.

use airlane_wifi::{Format, Guard, Vector, Width};

fn vector(format: Format, width: Width, mcs: u8, streams: u8, guard: Guard) -> Vector {
    Vector { format, mcs, streams, width, guard }
}

/// One stream, Mbit/s as printed, by MCS: 802.11-2020 tables 19-27 ff. and 21-30 ff., 802.11ax-2021
/// tables 27-111 ff.
const TABLES: &[(Format, Width, Guard, &str)] = &[
    (Format::Ht, Width::Mhz20, Guard::Ns800, "6.5 13 19.5 26 39 52 58.5 65"),
    (Format::Ht, Width::Mhz20, Guard::Ns400, "7.2 14.4 21.7 28.9 43.3 57.8 65 72.2"),
    (Format::Ht, Width::Mhz40, Guard::Ns800, "13.5 27 40.5 54 81 108 121.5 135"),
    (Format::Ht, Width::Mhz40, Guard::Ns400, "15 30 45 60 90 120 135 150"),
    (Format::Vht, Width::Mhz20, Guard::Ns800, "6.5 13 19.5 26 39 52 58.5 65 78 -"),
    (Format::Vht, Width::Mhz20, Guard::Ns400, "7.2 14.4 21.7 28.9 43.3 57.8 65 72.2 86.7 -"),
    (Format::Vht, Width::Mhz40, Guard::Ns800, "13.5 27 40.5 54 81 108 121.5 135 162 180"),
    (Format::Vht, Width::Mhz40, Guard::Ns400, "15 30 45 60 90 120 135 150 180 200"),
    (Format::Vht, Width::Mhz80, Guard::Ns800, "29.3 58.5 87.8 117 175.5 234 263.3 292.5 351 390"),
    (Format::Vht, Width::Mhz80, Guard::Ns400, "32.5 65 97.5 130 195 260 292.5 325 390 433.3"),
    (Format::Vht, Width::Mhz160, Guard::Ns800, "58.5 117 175.5 234 351 468 526.5 585 702 780"),
    (Format::Vht, Width::Mhz160, Guard::Ns400, "65 130 195 260 390 520 585 650 780 866.7"),
    (
        Format::He,
        Width::Mhz20,
        Guard::Ns800,
        "8.6 17.2 25.8 34.4 51.6 68.8 77.4 86.0 103.2 114.7 129.0 143.4",
    ),
    (
        Format::He,
        Width::Mhz20,
        Guard::Ns1600,
        "8.1 16.3 24.4 32.5 48.8 65.0 73.1 81.3 97.5 108.3 121.9 135.4",
    ),
    (
        Format::He,
        Width::Mhz20,
        Guard::Ns3200,
        "7.3 14.6 21.9 29.3 43.9 58.5 65.8 73.1 87.8 97.5 109.7 121.9",
    ),
    (
        Format::He,
        Width::Mhz40,
        Guard::Ns800,
        "17.2 34.4 51.6 68.8 103.2 137.6 154.9 172.1 206.5 229.4 258.1 286.8",
    ),
    (
        Format::He,
        Width::Mhz40,
        Guard::Ns1600,
        "16.3 32.5 48.8 65.0 97.5 130.0 146.3 162.5 195.0 216.7 243.8 270.8",
    ),
    (
        Format::He,
        Width::Mhz40,
        Guard::Ns3200,
        "14.6 29.3 43.9 58.5 87.8 117.0 131.6 146.3 175.5 195.0 219.4 243.8",
    ),
    (
        Format::He,
        Width::Mhz80,
        Guard::Ns800,
        "36.0 72.1 108.1 144.1 216.2 288.2 324.3 360.3 432.4 480.4 540.4 600.5",
    ),
    (
        Format::He,
        Width::Mhz80,
        Guard::Ns1600,
        "34.0 68.1 102.1 136.1 204.2 272.2 306.3 340.3 408.3 453.7 510.4 567.1",
    ),
    (
        Format::He,
        Width::Mhz80,
        Guard::Ns3200,
        "30.6 61.3 91.9 122.5 183.8 245.0 275.6 306.3 367.5 408.3 459.4 510.4",
    ),
    (
        Format::He,
        Width::Mhz160,
        Guard::Ns800,
        "72.1 144.1 216.2 288.2 432.4 576.5 648.5 720.6 864.7 960.8 1080.9 1201.0",
    ),
    (
        Format::He,
        Width::Mhz160,
        Guard::Ns1600,
        "68.1 136.1 204.2 272.2 408.3 544.4 612.5 680.6 816.7 907.4 1020.8 1134.3",
    ),
    (
        Format::He,
        Width::Mhz160,
        Guard::Ns3200,
        "61.3 122.5 183.8 245.0 367.5 490.0 551.3 612.5 735.0 816.7 918.8 1020.8",
    ),
];

#[test]
fn one_stream_has_the_rates_of_the_tables() {
    for &(format, width, guard, row) in TABLES {
        let row: Vec<_> = row.split(' ').collect();
        assert_eq!(row.len(), usize::from(format.max_mcs()) + 1);
        for (mcs, printed) in (0..).zip(row) {
            let vector = vector(format, width, mcs, 1, guard);
            let Ok(mbps) = printed.parse::<f64>() else {
                assert!(!vector.is_valid(), "{vector}");
                continue;
            };
            assert!(vector.is_valid(), "{vector}");
            assert!((vector.rate().mbps() - mbps).abs() < 0.051, "{vector}: {}", vector.rate());
        }
    }
}

#[test]
fn several_streams_have_the_rates_of_the_tables() {
    use Format::{He, Ht, Vht};
    use Guard::{Ns400, Ns800, Ns3200};
    use Width::{Mhz20, Mhz40, Mhz80, Mhz160};
    for (format, width, mcs, streams, guard, mbps) in [
        (Ht, Mhz20, 7, 2, Ns400, 144.4),
        (Ht, Mhz20, 7, 4, Ns400, 288.9),
        (Ht, Mhz40, 7, 2, Ns800, 270.0),
        (Ht, Mhz40, 7, 3, Ns400, 450.0),
        (Ht, Mhz40, 7, 4, Ns400, 600.0),
        (Vht, Mhz20, 9, 3, Ns400, 288.9),
        (Vht, Mhz80, 9, 2, Ns400, 866.7),
        (Vht, Mhz80, 9, 3, Ns400, 1_300.0),
        (Vht, Mhz80, 9, 4, Ns800, 1_560.0),
        (Vht, Mhz160, 8, 3, Ns800, 2_106.0),
        (Vht, Mhz160, 9, 4, Ns400, 3_466.7),
        (He, Mhz20, 11, 4, Ns800, 573.5),
        (He, Mhz80, 11, 2, Ns800, 1_201.0),
        (He, Mhz160, 11, 2, Ns800, 2_402.0),
        (He, Mhz160, 11, 4, Ns800, 4_803.9),
        (He, Mhz160, 0, 3, Ns3200, 183.8),
    ] {
        let vector = vector(format, width, mcs, streams, guard);
        assert!(vector.is_valid(), "{vector}");
        assert!((vector.rate().mbps() - mbps).abs() < 0.11, "{vector}: {}", vector.rate());
    }
}

#[test]
fn the_tables_of_vht_leave_out_five() {
    let mut left_out = Vec::new();
    for width in Width::ALL {
        for streams in 1..=4 {
            for mcs in 0..=9 {
                if !vector(Format::Vht, width, mcs, streams, Guard::Ns400).is_valid() {
                    left_out.push((width.mhz(), streams, mcs));
                }
            }
        }
    }
    assert_eq!(left_out, [(20, 1, 9), (20, 2, 9), (20, 4, 9), (80, 3, 6), (160, 3, 9)]);
}

#[test]
fn what_the_standard_does_not_have_is_not_valid() {
    let he = vector(Format::He, Width::Mhz80, 11, 2, Guard::Ns800);
    assert!(he.is_valid());
    for wrong in [
        Vector { mcs: 12, ..he },
        Vector { streams: 0, ..he },
        Vector { streams: 5, ..he },
        Vector { guard: Guard::Ns400, ..he },
        Vector { format: Format::Vht, ..he },
        vector(Format::Vht, Width::Mhz80, 9, 2, Guard::Ns1600),
        vector(Format::Ht, Width::Mhz80, 7, 1, Guard::Ns800),
        vector(Format::Ht, Width::Mhz20, 8, 1, Guard::Ns800),
        Vector { width: Width::Mhz40, ..Vector::ofdm(0) },
        Vector { streams: 2, ..Vector::ofdm(0) },
        Vector::ofdm(8),
        Vector::dsss(4),
    ] {
        assert!(!wrong.is_valid(), "{wrong:?}");
        // Whatever a capture says, nothing fails on it.
        let _ = (wrong.rate(), wrong.duration(1_500), wrong.max_bytes(wrong.duration(9)));
    }
    let ofdm: Vec<_> = (0..8).map(|place| Vector::ofdm(place).rate().mbps()).collect();
    assert_eq!(ofdm, [6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0]);
    let dsss: Vec<_> = (0..4).map(|place| Vector::dsss(place).rate().mbps()).collect();
    assert_eq!(dsss, [1.0, 2.0, 5.5, 11.0]);
}

#[test]
fn frames_are_answered_at_a_mandatory_rate_not_above_their_own() {
    let mbps = |vector: Vector| vector.response().rate().mbps();
    let ofdm: Vec<_> = (0..8).map(|place| mbps(Vector::ofdm(place))).collect();
    assert_eq!(ofdm, [6.0, 6.0, 12.0, 12.0, 24.0, 24.0, 24.0, 24.0]);
    for format in [Format::Ht, Format::Vht, Format::He] {
        let of = |mcs| mbps(vector(format, Width::Mhz40, mcs, 2, Guard::Ns800));
        let answers: Vec<_> = (0..=format.max_mcs()).map(of).collect();
        assert_eq!(answers[..4], [6.0, 12.0, 12.0, 24.0]);
        assert!(answers[3..].iter().all(|&mbps| mbps == 24.0));
    }
    let dsss: Vec<_> = (0..4).map(|place| mbps(Vector::dsss(place))).collect();
    assert_eq!(dsss, [1.0, 2.0, 2.0, 2.0]);
}
