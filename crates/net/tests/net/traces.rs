//! Trace readers: every message for bad input, and the real files against their README.

use std::io::Write;
use std::time::Duration;

use crate::common::shared_data;
use airlane_net::{Supply, Trace, TraceOptions};

fn error(bytes: &[u8]) -> String {
    Trace::parse(bytes, "t").unwrap_err().to_string()
}

#[test]
fn bad_input_is_named_by_file_line_and_key() {
    for (input, message) in [
        ("", "t: no line of data"),
        ("# only a comment\n\n", "t: no line of data"),
        ("0\n0\n", "t:2: the last opportunity is at 0 ms"),
        ("5\n\n7\n6\n", "t:4: 6 ms after 7 ms"),
        ("1\n-2\n", "t:2: `-2` is no delivery opportunity"),
        ("1\n2.5\n", "t:2: `2.5` is no delivery opportunity"),
        ("1\nNaN\n", "t:2: `NaN` is no delivery opportunity"),
        ("1\n99999999999\n", "t:2: `99999999999` is no delivery opportunity"),
        ("0 1\n1 NaN\n", "t:2: NaN is out of range"),
        ("0 1\n1 -3\n", "t:2: -3 is out of range"),
        ("0 1\n1 1e9\n", "t:2: 1e9 is out of range"),
        ("0 1\n1 inf\n", "t:2: inf is out of range"),
        ("0 1\n1\n", "t:2: `1` has no column 2"),
        ("0 1\n1 fast\n", "t:2: `fast` is no number"),
        // As recordings of cloud gaming are: time, bandwidth, round trip, loss.
        ("0.000 20.59 14.0ms 0.00\n0.015\n", "t:2: `0.015` has no column 2"),
        ("0.000 20.59 14.0ms 0.00\n0.015 14.0ms 20.59 0.00\n", "t:2: `14.0ms` is no number"),
        ("1 1\n0.5 1\n", "t:2: time 0.5 s after 1 s"),
        ("0 1\n1e9 1\n", "t:2: 1000000000 s of trace"),
        ("0 1\n", "t: one row only"),
        ("0 0\n1 0\n", "t: a capacity of zero for ever"),
        ("a,b\n1,2\n", "t:1: no column whose name ends in _bps, _kbps or _mbps"),
        ("time_s,x_kbps\n0,1\n1,-\n", "t:3: x_kbps: `-` is no number"),
        ("time_s,x_kbps\n0,1\n1\n", "t:3: 1 fields; expected 2, as in the header"),
        ("time_s,x_kbps\n0,1\n-1,5\n", "t:3: time_s: -1 is out of range"),
    ] {
        let got = error(input.as_bytes());
        assert!(got.starts_with(message), "{input:?}: {got}");
        assert!(got.contains("; "), "{got} says what was expected");
    }
    assert!(error(b"1\n2\n\xff\n").starts_with("t:3: bytes that are no text"));
    assert!(error(b"\x1f\x8bno gzip").starts_with("t: gzip that cannot be unpacked"));
    let missing = Trace::load("no/such/file").unwrap_err().to_string();
    assert!(missing.starts_with("no/such/file: cannot read the trace: "), "{missing}");
}

#[test]
fn columns_are_chosen_by_name_or_number() {
    let text = b"10 8 16\n12 4 24\n";
    let with = |bytes: &[u8], column: &str| {
        let options = TraceOptions { column: Some(column.into()), ..TraceOptions::default() };
        Trace::parse_with(bytes, "t", &options)
    };
    // Two steps of 2 s: the axis starts at the first row, the last holds for the median step.
    let stats = Trace::parse(text, "t").unwrap().stats();
    assert_eq!((stats.length, stats.mean.mbps()), (Duration::from_secs(4), 6.0));
    assert_eq!((stats.second_min.mbps(), stats.second_max.mbps()), (4.0, 8.0));
    assert_eq!(with(text, "3").unwrap().stats().mean.mbps(), 20.0);
    assert!(with(text, "1").unwrap_err().to_string().contains("column 1 is the time"));
    assert!(with(text, "4").unwrap_err().to_string().contains("t:1: `10 8 16` has no column 4"));
    assert!(with(b"1\n2\n", "2").unwrap_err().to_string().contains("one column"));
    let csv =
        b"Timestamp,\"DL_bitrate\",UL_bitrate,State,note\na,2000,1,D,x\nb,9,1,I,x\nc,1000,3,D,x\n";
    assert_eq!(Trace::parse(csv, "t").unwrap().stats().mean.mbps(), 1.5);
    assert_eq!(with(csv, "UL_bitrate").unwrap().stats().mean.mbps(), 0.002);
    let e = with(csv, "bitrate").unwrap_err().to_string();
    assert!(e.starts_with("t:1: no column `bitrate`; the columns are: Timestamp, DL_b"), "{e}");
    let e = with(csv, "note").unwrap_err().to_string();
    assert!(e.starts_with("t:1: note: a column of unknown unit"), "{e}");
    let all = TraceOptions { keep_idle: true, ..TraceOptions::default() };
    let all = Trace::parse_with(csv, "t", &all).unwrap();
    assert_eq!(all.length(), Duration::from_secs(3));
}

#[test]
fn reports_of_iperf_are_read_interval_by_interval() {
    let row = |interval: &str, bps: u64| {
        format!("20260101120000,10.0.0.1,4000,10.0.0.2,5001,1,{interval},{},{bps}\n", bps / 8)
    };
    let rows = [row("0.0-1.0", 1_448_000), row("1.0-2.0", 2_896_000)].concat();
    // The whole run's row comes last, and a header may come first.
    let report = format!("Time, IP, port, IP, port, num, rand, bytes, rate\n{rows}");
    for text in [&rows, &report, &format!("{report}{}", row("0.0-2.0", 2_172_000))] {
        let stats = Trace::parse(text.as_bytes(), "t").unwrap().stats();
        assert_eq!((stats.length, stats.mean.mbps()), (Duration::from_secs(2), 2.25), "{text}");
        assert_eq!((stats.second_min.mbps(), stats.second_max.mbps()), (1.5, 3.0));
    }
    let bad = format!("{rows}1,2,3\n");
    assert!(error(bad.as_bytes()).starts_with("t:3: a row `1,2,3`"), "{}", error(bad.as_bytes()));
    let bad = rows.replace("2896000", "fast");
    assert!(error(bad.as_bytes()).starts_with("t:2: `fast` is no number"));
    let column = TraceOptions { column: Some("rate".into()), ..TraceOptions::default() };
    let e = Trace::parse_with(rows.as_bytes(), "t", &column).unwrap_err().to_string();
    assert!(e.contains("leave the column out"), "{e}");
}

#[test]
fn gzip_and_plain_are_the_same() {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(b"0\n3\n3\n10\n").unwrap();
    let packed = Trace::parse(&gz.finish().unwrap(), "t").unwrap();
    assert_eq!(packed, Trace::parse(b"0\r\n3\r\n3\r\n10", "t").unwrap());
    assert_eq!(packed.stats().mean.bps(), 4 * 1_500 * 8 * 100);
}

/// As the README prints: rounded to as many digits.
#[track_caller]
fn close(what: &str, got: f64, want: f64, digits: i32) {
    let tolerance = 0.5001 * 10_f64.powi(-digits);
    assert!((got - want).abs() <= tolerance, "{what}: {got}, README {want}");
}

#[test]
fn mahimahi_files_have_the_figures_of_their_readme() {
    let Some(root) = shared_data() else { return };
    for (file, length, mean, count, least, most) in [
        ("ATT-LTE-driving.down.gz", 786.1, 5.17, 338_895, 0.0, 15.5),
        ("ATT-LTE-driving.up.gz", 1_012.5, 0.83, 70_336, 0.0, 1.3),
        ("TMobile-UMTS-driving.down.gz", 928.4, 2.02, 156_262, 0.0, 7.1),
        ("TMobile-UMTS-driving.up.gz", 931.2, 0.94, 73_197, 0.0, 1.5),
        ("Verizon-EVDO-driving.down.gz", 1_062.0, 0.52, 46_065, 0.0, 3.0),
        ("Verizon-EVDO-driving.up.gz", 1_064.7, 0.84, 74_768, 0.0, 1.8),
        ("Verizon-LTE-driving.down.gz", 1_363.0, 9.72, 1_103_688, 0.0, 47.3),
        ("Verizon-LTE-driving.up.gz", 1_365.4, 6.23, 708_561, 0.0, 18.5),
        ("Verizon-LTE-short.down.gz", 140.0, 5.03, 58_655, 0.3, 16.8),
        ("Verizon-LTE-short.up.gz", 140.0, 5.95, 69_367, 0.0, 12.9),
    ] {
        let trace = Trace::load(root.join("cellular").join(file)).unwrap();
        let Supply::Opportunities(o) = trace.supply() else { panic!("{file} is no Mahimahi") };
        assert_eq!(o.count(), count, "{file}");
        let stats = trace.stats();
        close(file, stats.length.as_secs_f64(), length, 1);
        close(file, stats.mean.mbps(), mean, 2);
        close(file, stats.second_min.mbps(), least, 1);
        close(file, stats.second_max.mbps(), most, 1);
    }
}

/// Mean, least and greatest over samples, which is what the README gives for text.
fn samples(trace: &Trace) -> (usize, f64, f64, f64) {
    let Supply::Profile(p) = trace.supply() else { panic!("{} is no profile", trace.name()) };
    let v: Vec<f64> = p.steps().map(|(_, r)| r.mbps()).collect();
    let mean = v.iter().sum::<f64>() / v.len() as f64;
    let least = v.iter().copied().fold(f64::INFINITY, f64::min);
    (v.len(), mean, least, v.iter().copied().fold(0.0, f64::max))
}

#[test]
fn text_files_have_the_figures_of_their_readme() {
    let Some(root) = shared_data() else { return };
    for (file, length, count, mean, least, most) in [
        ("cellular5g/lumos5g/5g_trace_4_walking.txt", 773.0, 773, 587.99, 0.0, 1_810.0),
        ("cellular5g/lumos5g/5g_trace_68_driving.txt", 250.0, 250, 397.26, 2.0, 1_430.0),
        ("cellular5g/zhuge/xu5g_0.txt", 299.9, 1_297, 378.21, 0.0, 904.13),
        ("cellular5g/zhuge/xu5g_4.txt", 72.9, 336, 3.47, 0.01, 23.56),
        ("wifi/zhuge/rest-wifi_15.txt", 134.8, 482, 2.49, 0.0, 25.07),
        ("wifi/zhuge/office-wifi_10.txt", 300.1, 1_474, 29.29, 4.38, 43.58),
        ("wifi/cloud-gaming/wifi_trace13.log.gz", 27.1, 1_806, 3.21, 2.5, 28.08),
        ("wifi/cloud-gaming/cell_trace1.log.gz", 1_354.1, 90_276, 2.65, 2.5, 39.13),
    ] {
        let trace = Trace::load(root.join(file)).unwrap();
        close(file, trace.length().as_secs_f64(), length, 1);
        let (n, m, l, g) = samples(&trace);
        assert_eq!(n, count, "{file}");
        close(file, m, mean, 2);
        close(file, l, least, 2);
        close(file, g, most, 2);
    }
    let file = root.join("cellular5g/paired-5g-4g/5g_trace_94_driving.txt");
    let second = TraceOptions { column: Some("3".into()), ..TraceOptions::default() };
    for (options, mean, least, most) in
        [(TraceOptions::default(), 192.1, 0.0, 854.0), (second, 53.5, 14.0, 206.0)]
    {
        let (n, m, l, g) = samples(&Trace::load_with(&file, &options).unwrap());
        assert_eq!(n, 250);
        close("paired", m, mean, 1);
        close("paired", l, least, 0);
        close("paired", g, most, 0);
    }
}

#[test]
fn csv_files_have_the_figures_of_their_readme() {
    let Some(root) = shared_data() else { return };
    let all = TraceOptions { keep_idle: true, ..TraceOptions::default() };
    for (file, rows, mean, most) in [
        ("driving_B_2019.12.16_12.27.05.csv.gz", 1_338, 24.5, 353.0),
        ("static_B_2020.01.16_10.43.34.csv.gz", 3_322, 68.4, 333.0),
    ] {
        let file = root.join("cellular5g/irish-ucc").join(file);
        let trace = Trace::load_with(&file, &all).unwrap();
        let (n, m, _, g) = samples(&trace);
        assert_eq!((n, trace.length()), (rows, Duration::from_secs(rows as u64)));
        close("irish", m, mean, 1);
        close("irish", g, most, 0);
        let busy = Trace::load(&file).unwrap();
        assert!(busy.length() < trace.length(), "idle seconds are cut");
    }
}

#[test]
fn every_shared_trace_can_be_read() {
    let Some(root) = shared_data() else { return };
    let mut read = 0;
    for folder in [
        "cellular",
        "cellular/zhuge-4g",
        "cellular5g/lumos5g",
        "cellular5g/paired-5g-4g",
        "cellular5g/irish-ucc",
        "cellular5g/zhuge",
        "wifi/zhuge",
        "wifi/cloud-gaming",
    ] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap().map(|e| e.unwrap().path());
        for file in entries.filter(|path| path.is_file()) {
            let stats = Trace::load(file).unwrap().stats();
            assert!(stats.length.as_secs() > 20 && stats.mean.bps() > 100_000, "{stats:?}");
            assert!(stats.second_min <= stats.mean && stats.mean <= stats.second_max);
            read += 1;
        }
    }
    assert!(read >= 100, "{read} files");
}

proptest::proptest! {
    /// Whatever the bytes, an answer; and what is read can be served.
    #[test]
    fn no_input_breaks_the_reader(
        text in "([0-9.,eE+# \n-]|time_s|x_bps|nan|inf){0,60}",
        bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..40),
    ) {
        for input in [text.as_bytes(), &bytes] {
            match Trace::parse(input, "t") {
                Ok(trace) => {
                    let s = trace.stats();
                    proptest::prop_assert!(s.length > Duration::ZERO);
                    proptest::prop_assert!(s.second_min <= s.second_max);
                }
                Err(e) => proptest::prop_assert!(e.to_string().starts_with("t:")),
            }
        }
    }
}

#[test]
fn times_are_read_in_the_unit_that_their_column_names() {
    let rates = |text: &str| {
        let trace = Trace::parse(text.as_bytes(), "t").unwrap();
        (trace.length().as_secs_f64(), trace.stats().mean.mbps())
    };
    let seconds = rates("time_s,rate_kbps\n0,4000\n0.5,2000\n1,4000\n1.5,2000\n");
    assert_eq!(seconds, (2.0, 3.0));
    for (column, unit) in [
        ("timestamp_ms", 1_000),
        ("time_ms", 1_000),
        ("Time (ms)", 1_000),
        ("\"t_us\"", 1_000_000),
        ("epoch_ns", 1_000_000_000),
    ] {
        // From some time of the year 2020 on.
        let at = |half: u64| 1_600_000_000 * unit + half * unit / 2;
        let text = format!(
            "\u{feff}{column},rate_kbps\r\n{},4000\r\n{},2000\r\n{},4000\r\n{},2000\r\n",
            at(0),
            at(1),
            at(2),
            at(3)
        );
        let (length, mean) = rates(&text);
        assert!(
            (length - 2.0).abs() < 1e-5 && (mean - 3.0).abs() < 1e-4,
            "{column}: {length} {mean}"
        );
    }
    // Dates say nothing; rows are a second each.
    assert_eq!(rates("Timestamp,DL_bitrate\n2020.01.01_10,4000\n2020.01.01_11,2000\n").0, 2.0);
}

#[test]
fn columns_that_look_like_something_else_are_refused() {
    for (text, words) in [
        ("timestamp,rate_mbps\n0,1\n500,2\n", "t:1: `timestamp` looks like a time in nobody knows"),
        ("epoch,rate_mbps\n1600000000,1\n1600000001,2\n", "expected a name that says it: time_s"),
        (
            "time_s,rate_mbps\n0,1,234\n1,1,100\n",
            "t:2: 3 fields; expected 2, as in the header, and numbers",
        ),
        ("time_s,rate_mbps\n0,\"1,234\"\n1,2\n", "t:2: rate_mbps: `1,234` is no number"),
        ("time_s,rate_mbps,rate_mbps\n0,1,2\n1,2,3\n", "t:1: two columns are called `rate_mbps`"),
        ("100 549 59.8\n101 1577 59.8\n102 2584 59.8\n", "it looks like a time in ms"),
        ("\u{feff}0 0\n0.1 100000\n0.2 200000\n", "it looks like a time in us"),
        (
            "time_s,rate_mbps\n1600000000000,1\n1600000001000,2\n",
            "time_s: 1600000000000 is out of range",
        ),
    ] {
        let said = error(text.as_bytes());
        assert!(said.contains(words), "{text}: {said}");
    }
    // A capacity that grows is one.
    assert!(Trace::parse(b"0 1\n1 2\n2 3\n", "t").is_ok());
    assert!(Trace::parse("\u{feff}1\n2\n3\n".as_bytes(), "t").is_ok());
}
