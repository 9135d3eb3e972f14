//! Error rates beside others' curves.

use airlane_wifi::{Code, ErrorModel, Format, Guard, Vector, Width};
use proptest::prelude::*;

/// What `scripts/ns3/error-rates` wrote.
const NS3: &str = include_str!("ns3-error-rates.csv");

/// A row of it.
struct Row<'a> {
    model: &'a str,
    code: &'a str,
    mode: &'a str,
    bytes: u32,
    /// dB, where this share is lost.
    snr: Vec<(f64, f64)>,
}

fn ns3() -> Vec<Row<'static>> {
    let lines = NS3.lines().filter(|line| !line.starts_with('#') && !line.starts_with("model"));
    let rows = lines.map(|line| {
        let fields: Vec<_> = line.split(',').collect();
        let snr = [0.5, 0.1, 0.01].into_iter().zip(&fields[4..]);
        Row {
            model: fields[0],
            code: fields[1],
            mode: fields[2],
            bytes: fields[3].parse().expect("bytes"),
            snr: snr.filter_map(|(loss, db)| Some((loss, db.parse().ok()?))).collect(),
        }
    });
    rows.collect()
}

/// The SNR at which ns-3 loses one in ten.
fn ns3_at_a_tenth(model: &str, code: &str, mcs: u8, bytes: u32) -> Option<f64> {
    let mode = format!("he{mcs}");
    let row = ns3()
        .into_iter()
        .find(|row| (row.model, row.code, row.mode, row.bytes) == (model, code, &mode, bytes))?;
    row.snr.iter().find(|(loss, _)| *loss == 0.1).map(|(_, db)| *db)
}

fn he(mcs: u8) -> Vector {
    Vector { format: Format::He, mcs, streams: 1, width: Width::Mhz20, guard: Guard::Ns800 }
}

#[test]
fn curves_are_within_a_decibel_of_simulated_receivers() {
    let mut compared = 0;
    for row in ns3().iter().filter(|row| row.model == "table") {
        let mcs: u8 = row.mode.strip_prefix("he").expect("a mode").parse().expect("an MCS");
        // It has no table of the convolutional code at these, which nobody sends with it either.
        if row.code == "bcc" && mcs >= 10 {
            continue;
        }
        let code = if row.code == "bcc" { Code::Convolutional } else { Code::Ldpc };
        let model = ErrorModel::with_code(code);
        for &(loss, db) in &row.snr {
            // Where half of short frames are lost, bounds are loose; and it has no table of short frames
            // with LDPC, but one that says 1 where the errors of long ones were too many to count.
            let is_long = code == Code::Convolutional && row.bytes >= 1_000;
            let within = if is_long {
                0.25
            } else if loss < 0.5 {
                0.5
            } else {
                0.75
            };
            if code == Code::Ldpc && row.bytes == 32 && loss == 0.5 {
                continue;
            }
            let ours = model.snr_for(&he(mcs), row.bytes, loss);
            assert!(
                (ours - db).abs() <= within,
                "{} {} {} bytes, {loss} lost: {ours:.2} dB, there {db}",
                row.mode,
                row.code,
                row.bytes
            );
            compared += 1;
        }
    }
    assert_eq!(compared, (10 + 12) * 5 * 3 - 12);
}

#[test]
fn dsss_is_what_the_standards_formulas_give_elsewhere() {
    for row in ns3().iter().filter(|row| row.mode.starts_with("dsss")) {
        let place = row.mode["dsss".len()..].parse().expect("a place");
        for &(loss, db) in &row.snr {
            let ours = ErrorModel::new().snr_for(&Vector::dsss(place), row.bytes, loss);
            assert!((ours - db).abs() <= 0.2, "{} {}: {ours} {db}", row.mode, row.bytes);
        }
    }
}

/// The lowest power at which a receiver must lose no more than one in ten of 4096 bytes, dBm at 20 MHz, by
/// MCS (802.11-2020 tables 19-23 and 21-25, 802.11ax-2021 table 27-51).
const SENSITIVITY_DBM: [f64; 12] =
    [-82.0, -79.0, -77.0, -74.0, -70.0, -66.0, -65.0, -64.0, -59.0, -57.0, -54.0, -52.0];

/// The SNR that this leaves with the standard's assumptions: a noise figure of 10 dB and 5 dB for the
/// faults of an implementation, over thermal noise of -101 dBm.
fn standard_snr_db(mcs: u8) -> f64 {
    SENSITIVITY_DBM[usize::from(mcs)] + 101.0 - 15.0
}

#[test]
fn steps_from_mcs_to_mcs_are_the_standards() {
    let model = ErrorModel::with_code(Code::Convolutional);
    let margins: Vec<_> =
        (0..12).map(|mcs| standard_snr_db(mcs) - model.snr_for(&he(mcs), 4_096, 0.1)).collect();
    let mean = margins.iter().sum::<f64>() / 12.0;
    // A real receiver needs more than white noise asks for, by the same for all.
    assert!((1.5..4.0).contains(&mean), "{mean}");
    for (mcs, margin) in margins.iter().enumerate() {
        assert!((margin - mean).abs() < 1.0, "MCS {mcs}: {margin}, mean {mean}");
    }
}

#[test]
fn ldpc_gains_what_is_known() {
    // Up to 2.5 dB over the convolutional code (11-04/0071 and others have 1.5 to 3 at these lengths).
    let (old, new) =
        (ErrorModel::with_code(Code::Convolutional), ErrorModel::with_code(Code::Ldpc));
    for mcs in 0..12 {
        let gain = old.snr_for(&he(mcs), 1_500, 0.1) - new.snr_for(&he(mcs), 1_500, 0.1);
        assert!((1.0..3.0).contains(&gain), "MCS {mcs}: {gain}");
    }
}

/// The table of docs/design/wifi.md. To print it: `cargo test -p airlane-wifi table_of_the_page --
/// --nocapture`.
#[test]
fn the_table_of_the_page_is_true() {
    let (old, new) =
        (ErrorModel::with_code(Code::Convolutional), ErrorModel::with_code(Code::Ldpc));
    let page = include_str!("../../../../docs/design/wifi.md");
    let mut missing = Vec::new();
    for mcs in 0..12 {
        let there = |model, code| match ns3_at_a_tenth(model, code, mcs, 1_458) {
            Some(db) if model != "table" || code != "bcc" || mcs < 10 => format!("{db:.1}"),
            _ => "-".to_owned(),
        };
        let line = format!(
            "| {mcs} | {:.1} | {} | {:.1} | {} | {} | {} | {:.1} | {:.0} |",
            old.snr_for(&he(mcs), 1_458, 0.1),
            there("table", "bcc"),
            new.snr_for(&he(mcs), 1_458, 0.1),
            there("table", "ldpc"),
            there("yans", "bcc"),
            there("nist", "bcc"),
            old.snr_for(&he(mcs), 4_096, 0.1),
            standard_snr_db(mcs),
        );
        println!("{line}");
        if !page.contains(&line) {
            missing.push(line);
        }
    }
    assert!(missing.is_empty(), "docs/design/wifi.md lacks\n{}", missing.join("\n"));
}

#[test]
fn streams_share_the_power() {
    let model = ErrorModel::new();
    let two = Vector { streams: 2, ..he(5) };
    let apart = model.snr_for(&two, 1_500, 0.1) - model.snr_for(&he(5), 1_500, 0.1);
    assert!((apart - 3.01).abs() < 0.01, "{apart}");
}

#[test]
fn headers_are_heard_before_data() {
    let model = ErrorModel::new();
    for vector in [Vector::ofdm(0), he(0), Vector { format: Format::Ht, ..he(0) }] {
        for db in [-2.0, 0.0, 2.0, 4.0] {
            assert!(model.header(&vector, db) > model.success(&Vector::ofdm(0), db, 100));
        }
        assert!(model.header(&vector, 4.0) > 0.999);
    }
    assert!(model.header(&Vector::dsss(3), 0.0) > model.success(&Vector::dsss(3), 0.0, 14));
    assert!(model.detects(4.0) && !model.detects(3.9) && !model.detects(f64::NAN));
}

#[test]
fn the_ideal_rate_climbs_with_the_snr() {
    let model = ErrorModel::new();
    for format in [Format::Ofdm, Format::Ht, Format::Vht, Format::He] {
        let width = if format == Format::Ofdm { Width::Mhz20 } else { Width::Mhz40 };
        let streams = if format == Format::Ofdm { 1 } else { 2 };
        let mcs = format.max_mcs();
        let most = Vector { format, mcs, streams, width, guard: Guard::Ns800 };
        let mut before = 0.0;
        for quarter in -80..240 {
            let db = f64::from(quarter) / 4.0;
            let best = model.best(&most, db, 1_500);
            assert!(best.is_valid() && best.mcs <= mcs && best.streams <= streams);
            assert!(best.rate().mbps() >= before, "{best} at {db} dB");
            before = best.rate().mbps();
            let safe = model.fastest(&most, db, 1_500, 1e-3);
            assert!(safe.rate() <= best.rate());
        }
        assert_eq!(model.best(&most, -50.0, 1_500), Vector { mcs: 0, streams: 1, ..most });
        assert_eq!(model.best(&most, f64::NAN, 1_500), Vector { mcs: 0, streams: 1, ..most });
        assert_eq!(model.best(&most, 60.0, 1_500), most);
    }
    // What the standard leaves out is passed over.
    let most = Vector { format: Format::Vht, mcs: 9, streams: 1, width: Width::Mhz20, ..he(0) };
    assert_eq!(model.best(&most, 60.0, 1_500).mcs, 8);
}

proptest! {
    #[test]
    fn success_is_a_probability_that_orders(
        mcs in 0_u8..12, streams in 1_u8..5, db in -40.0_f64..70.0, more in 0.0_f64..3.0,
        bytes in 0_u32..70_000, longer in 0_u32..70_000, code in any::<bool>(),
    ) {
        let code = if code { Code::Ldpc } else { Code::Convolutional };
        let model = ErrorModel::with_code(code);
        let vector = Vector { streams, ..he(mcs) };
        let success = model.success(&vector, db, bytes);
        prop_assert!((0.0..=1.0).contains(&success));
        prop_assert!(model.success(&vector, db + more, bytes) >= success);
        let both = model.success(&vector, db, bytes + longer);
        prop_assert!(both <= success);
        prop_assert!((both - success * model.success(&vector, db, longer)).abs() < 1e-9);
        prop_assert_eq!(model.success(&vector, f64::NAN, 1), 0.0);
    }
}
