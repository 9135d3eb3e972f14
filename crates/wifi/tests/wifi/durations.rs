//! How long things take in the air.

use std::time::Duration;

use airlane_wifi::{
    Access, Band, Format, Guard, PlannedExchange, Response, Timing, Vector, Width, contention, mac,
};
use proptest::prelude::*;

const fn vector(format: Format, mhz: Width, mcs: u8, streams: u8, guard: Guard) -> Vector {
    Vector { format, mcs, streams, width: mhz, guard }
}

fn micros(vector: Vector, bytes: u32) -> f64 {
    vector.duration(bytes).as_nanos() as f64 / 1e3
}

#[test]
fn control_frames_take_what_everybody_knows() {
    for (place, ack, rts, block_ack) in
        [(0, 44.0, 52.0, 68.0), (2, 32.0, 36.0, 44.0), (4, 28.0, 28.0, 32.0)]
    {
        let vector = Vector::ofdm(place);
        assert_eq!(micros(vector, mac::ACK), ack);
        assert_eq!(micros(vector, mac::CTS), ack);
        assert_eq!(micros(vector, mac::RTS), rts);
        assert_eq!(micros(vector, mac::BLOCK_ACK_64), block_ack);
    }
    assert_eq!(micros(Vector::ofdm(4), mac::BLOCK_ACK_256), 40.0);
    assert_eq!(micros(Vector::dsss(0), mac::ACK), 304.0);
    assert_eq!(micros(Vector::dsss(1), mac::ACK), 248.0);
    assert_eq!(micros(Vector::dsss(2), mac::ACK), 213.0);
    assert_eq!(micros(Vector::dsss(3), 1_500), 1_283.0);
}

#[test]
fn data_takes_what_the_formulas_give() {
    use Format::{He, Ht, Vht};
    use Guard::{Ns400, Ns800, Ns1600, Ns3200};
    use Width::{Mhz20, Mhz40, Mhz80, Mhz160};
    // TXTIME of 802.11-2020, 17.4.3, 19.4.3, 21.4.3 and 802.11ax-2021, 27.4.3, by hand.
    for (vector, bytes, expected) in [
        // 12 022 bits in symbols of 216: 56. The second is of Gast's "802.11 Wireless Networks".
        (Vector::ofdm(7), 1_500, 20.0 + 56.0 * 4.0),
        (Vector::ofdm(7), 1_536, 248.0),
        // 12 022 / 260: 47.
        (vector(Ht, Mhz20, 7, 1, Ns800), 1_500, 36.0 + 47.0 * 4.0),
        // 524 302 / 1080: 486 short symbols, 1749.6 us, which end at 1752.
        (vector(Ht, Mhz40, 7, 2, Ns400), 65_535, 40.0 + 1_752.0),
        // Two encoders: 12 028 / 2160: 6. Four training fields.
        (vector(Ht, Mhz40, 7, 4, Ns800), 1_500, 48.0 + 6.0 * 4.0),
        // Three streams have four training fields, too: 12 022 / 780: 16.
        (vector(Ht, Mhz20, 7, 3, Ns800), 1_500, 48.0 + 16.0 * 4.0),
        // Two encoders: 12 028 / 3120: 4 short symbols, 14.4 us, which end at 16.
        (vector(Vht, Mhz80, 9, 2, Ns400), 1_500, 44.0 + 16.0),
        // Six encoders: 8 000 052 / 12 480: 642.
        (vector(Vht, Mhz160, 9, 4, Ns800), 1_000_000, 52.0 + 642.0 * 4.0),
        // 12 016 / 16 333: one symbol; two training fields of 7.2 us.
        (vector(He, Mhz80, 11, 2, Ns800), 1_500, 36.0 + 14.4 + 13.6),
        // 816 / 117: 7 symbols of 16 us; a training field of 16.
        (vector(He, Mhz20, 0, 1, Ns3200), 100, 36.0 + 16.0 + 7.0 * 16.0),
        // 12 016 / 4 680: 3 symbols of 14.4 us; four training fields of 8.
        (vector(He, Mhz40, 7, 3, Ns1600), 1_500, 36.0 + 32.0 + 2.0 * 14.4),
    ] {
        assert_eq!(micros(vector, bytes), expected, "{vector}, {bytes} bytes");
    }
}

#[test]
fn an_exchange_is_the_sum_of_its_parts() {
    let timing = Timing::of(Band::Ghz5);
    let vector = vector(Format::Vht, Width::Mhz80, 9, 2, Guard::Ns400);
    let exchange = PlannedExchange {
        vector,
        bytes: 1_500,
        is_protected: true,
        response: Response::BlockAck64,
    };
    let us = |us| Duration::from_nanos((us * 1e3) as u64);
    // RTS 28, CTS 28, data 60, block acknowledgement 32, and three SIFS.
    assert_eq!(exchange.without_contention(&timing), us(28.0 + 28.0 + 60.0 + 32.0 + 3.0 * 16.0));
    assert_eq!(contention(&timing, &Access::BEST_EFFORT), us(110.5));
    assert_eq!(exchange.with_contention(&timing, &Access::BEST_EFFORT), us(196.0 + 110.5));
    let broadcast = PlannedExchange { is_protected: false, response: Response::None, ..exchange };
    assert_eq!(broadcast.without_contention(&timing), us(60.0));
    // A full aggregate of 64 packets of 1500 bytes, as CCMP seals them.
    let mpdu = mac::mpdu(1_500, true);
    assert_eq!((mpdu, mac::in_aggregate(mpdu)), (1_554, 1_560));
}

fn vectors() -> impl Strategy<Value = Vector> {
    let formats =
        prop::sample::select(vec![Format::Dsss, Format::Ofdm, Format::Ht, Format::Vht, Format::He]);
    let guards =
        prop::sample::select(vec![Guard::Ns400, Guard::Ns800, Guard::Ns1600, Guard::Ns3200]);
    let all = (formats, 0_u8..12, 1_u8..5, prop::sample::select(Width::ALL.to_vec()), guards);
    let all = all.prop_map(|(format, mcs, streams, width, guard)| match format {
        Format::Dsss => Vector::dsss(mcs % 4),
        Format::Ofdm => Vector::ofdm(mcs % 8),
        _ => Vector { format, mcs: mcs % (format.max_mcs() + 1), streams, width, guard },
    });
    all.prop_filter("the standard has it", Vector::is_valid)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn max_bytes_is_the_inverse_of_duration(vector in vectors(), share in 0.0_f64..=1.0) {
        let most = vector.format.max_bytes();
        let bytes = (f64::from(most) * share * share * share) as u32;
        let took = vector.duration(bytes);
        let fits = vector.max_bytes(took);
        prop_assert!(fits >= bytes);
        prop_assert!(vector.duration(fits) <= took);
        prop_assert!(fits == most || vector.duration(fits + 1) > took);
        // A nanosecond less is too short for what fills it.
        let less = vector.max_bytes(took - Duration::from_nanos(1));
        prop_assert!(less == 0 || less < bytes);
    }

    #[test]
    fn any_duration_has_a_size(vector in vectors(), nanos in any::<u64>()) {
        let duration = Duration::from_nanos(nanos);
        let bytes = vector.max_bytes(duration);
        prop_assert!(bytes <= vector.format.max_bytes());
        prop_assert!(bytes == 0 || vector.duration(bytes) <= duration);
        prop_assert_eq!(vector.max_bytes(Duration::MAX), vector.format.max_bytes());
    }

    #[test]
    fn longer_frames_take_longer(vector in vectors(), bytes in 0_u32..65_000, more in 1_u32..500) {
        prop_assert!(vector.duration(bytes + more) >= vector.duration(bytes));
    }
}
