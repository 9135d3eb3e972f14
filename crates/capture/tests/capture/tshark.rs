//! Frame counts by type and station are those of tshark.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use airlane_capture::{Packet, Records, Writer};
use airlane_wifi::Address;

use crate::common::{Air, account, read_all, recorded};

/// Frames by type and subtype, transmitter, receiver and whether they came damaged.
type Table = BTreeMap<(u8, Option<Address>, Address, bool), u64>;

fn address(text: &str) -> Option<Address> {
    let bytes: Vec<u8> =
        text.split(':').map(|b| u8::from_str_radix(b, 16).ok()).collect::<Option<_>>()?;
    Some(Address(bytes.try_into().ok()?))
}

fn has_tshark() -> bool {
    let found = Command::new("tshark").arg("--version").output().is_ok();
    if !found {
        let strict = std::env::var("AIRLANE_STRICT").as_deref() == Ok("1");
        assert!(!strict, "tshark is missing and AIRLANE_STRICT=1 allows no skip");
        println!("left out: the comparison with tshark (apt-get install tshark)");
    }
    found
}

fn tshark(file: &Path, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-T", "fields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// Their table, and how many packets they make no frame of.
fn theirs(file: &Path) -> (Table, u64) {
    let fields = ["wlan.fc.type_subtype", "wlan.ta", "wlan.ra", "radiotap.flags.badfcs"];
    let mut table = Table::new();
    let mut malformed = 0;
    for row in tshark(file, &fields) {
        if row[0].is_empty() {
            malformed += 1;
            continue;
        }
        let code = u8::from_str_radix(row[0].trim_start_matches("0x"), 16).expect("a number");
        let key = (code, address(&row[1]), address(&row[2]).expect("a receiver"), row[3] == "1");
        *table.entry(key).or_default() += 1;
    }
    (table, malformed)
}

fn ours(file: &Path) -> Table {
    let mut records = Records::open(file).expect("a capture");
    let mut table = Table::new();
    while let Some(record) = records.read().expect("a sound file") {
        let Ok(packet) = Packet::parse(&record) else { continue };
        let header = packet.header.expect("a frame");
        let frame = header.frame;
        let key = (header.code, frame.transmitter, frame.receiver, packet.tap.is_damaged);
        *table.entry(key).or_default() += 1;
    }
    table
}

#[test]
fn frames_by_type_and_station_are_as_many_as_tsharks() {
    let files = recorded();
    if files.is_empty() || !has_tshark() {
        return;
    }
    for file in files {
        let (ours, (theirs, malformed)) = (ours(&file), theirs(&file));
        let mut differ = Vec::new();
        for key in ours.keys().chain(theirs.keys()) {
            if ours.get(key) != theirs.get(key) {
                differ.push(format!("{key:?}: {:?} {:?}", ours.get(key), theirs.get(key)));
            }
        }
        assert!(differ.is_empty(), "{}: {:#?}", file.display(), &differ[..differ.len().min(10)]);
        // The same through the decoder and the account.
        let whole = read_all(Records::open(&file).expect("a capture")).expect("a sound file");
        assert_eq!(
            (whole.counts.bad_header, whole.counts.bad_radiotap),
            (malformed, 0),
            "{file:?}"
        );
        for code in 0..64 {
            let of_type = |k: &&(u8, Option<Address>, Address, bool)| k.0 == code && !k.3;
            let count: u64 = theirs.keys().filter(of_type).map(|k| theirs[k]).sum();
            assert_eq!(whole.counts.frames[usize::from(code)], count, "{file:?} {code:#x}");
        }
        let summary = account(&whole.transmissions);
        let mut senders: BTreeMap<Address, u64> = BTreeMap::new();
        for ((code, transmitter, _, is_damaged), count) in &theirs {
            if let (Some(mut from), false) = (*transmitter, *is_damaged) {
                // The group bit of a control frame's transmitter names a bandwidth.
                if code >> 4 == 1 {
                    from.0[0] &= !1;
                }
                *senders.entry(from).or_default() += count;
            }
        }
        let told: BTreeMap<Address, u64> = summary
            .stations
            .iter()
            .filter(|s| s.frames_sent > 0)
            .map(|s| (s.address, s.frames_sent))
            .collect();
        assert_eq!(told, senders, "{}", file.display());
    }
}

#[test]
fn tshark_reads_what_is_written() {
    if !has_tshark() {
        return;
    }
    let mut air = Air::new();
    air.attempt(0, 1, 3, true);
    air.attempt(2, 0, 1, false);
    let mut writer = Writer::new(Vec::new()).expect("memory takes it");
    air.heard.iter().for_each(|heard| writer.write(heard).expect("a sound record"));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("own.pcap");
    std::fs::write(&file, writer.finish().expect("memory takes it")).expect("it is written");
    let fields = [
        "wlan.fc.type_subtype",
        "wlan.ta",
        "radiotap.he.data_3.data_mcs",
        "radiotap.timestamp.ts",
        "wlan.fixed.ssc.sequence",
        "_ws.malformed",
    ];
    let rows = tshark(&file, &fields);
    let codes: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(
        codes,
        ["0x001b", "0x001c", "0x0028", "0x0028", "0x0028", "0x0019", "0x0028", "0x001d"]
    );
    assert_eq!((rows[2][1].as_str(), rows[2][2].as_str()), ("02:00:00:00:00:00", "0x0009"));
    assert!(rows.iter().all(|row| row[5].is_empty()), "{rows:?}");
    assert_eq!(rows[1][3], air.heard[1].at.as_nanos().to_string());
}
