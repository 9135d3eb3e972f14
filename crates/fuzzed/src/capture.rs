//! Captures of 802.11: pcap and pcapng (`docs/guide/airtime.md`).

use airlane_capture::{Account, CaptureError, Decoder, FileCounts, Options, Radiotap, Records};

/// Headers of files, little-endian: pcap in microseconds, of radiotap (link type 127).
const PCAP: &[u8] =
    &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 127, 0, 0, 0];
/// pcapng: a section, and an interface of radiotap.
const PCAPNG: &[u8] = &[
    0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 28, 0, 0, 0, 1, 0, 0, 0, 20, 0, 0, 0, 127, 0, 0, 0, 0, 0, 0, 0,
    20, 0, 0, 0,
];

/// Any bytes as a capture: it is read to its end and accounted for, and nobody uses more air than there
/// is.
///
/// The input's first byte chooses the beginning of the file, so that more inputs are one.
pub fn capture(data: &[u8]) {
    let Some((choice, rest)) = data.split_first() else { return };
    let bytes = file(*choice, rest);
    let Ok(mut records) = Records::new(&bytes[..]) else { return };
    let (mut decoder, mut account) = (Decoder::default(), Account::new(Options::default()));
    while let Ok(Some(record)) = records.read() {
        let _ = decoder.push(&record);
        while let Some(transmission) = decoder.pop() {
            account.add(&transmission);
        }
    }
    decoder.finish();
    while let Some(transmission) = decoder.pop() {
        account.add(&transmission);
    }
    let summary = account.finish();
    assert!((0.0..=1.0).contains(&summary.utilisation));
    assert!(summary.over_time.with_contention.values().len() <= 1_024);
}

fn file(choice: u8, rest: &[u8]) -> Vec<u8> {
    match choice & 3 {
        0 => rest.to_vec(),
        1 => [PCAP, rest].concat(),
        2 => [PCAPNG, rest].concat(),
        // Of 802.11 without radiotap (link type 105).
        _ => [&PCAP[..20], &[105, 0, 0, 0], rest].concat(),
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let written = crate::frames::captures().map(|file| [&[0], &file[..]].concat());
    // The same records behind the other headers.
    let (mut tapped, mut blocks, mut bare) = (vec![1], vec![2], vec![3]);
    for (n, record) in (1..).zip(crate::frames::records()) {
        tapped.extend(pcap_record(1_000 * n, &record));
        blocks.extend(packet_block(1_000 * n, &record));
        let tap = Radiotap::parse(&record).expect("our own");
        bare.extend(pcap_record(1_000 * n, &record[tap.len..]));
    }
    let seeds = [&written[..], &[tapped, blocks, bare]].concat();
    for seed in &seeds {
        let counts = counts(&file(seed[0], &seed[1..])).expect("it is a capture");
        assert!(counts.records > 10 && counts.malformed == 0 && !counts.is_cut, "{counts:?}");
    }
    seeds
}

fn counts(file: &[u8]) -> Result<FileCounts, CaptureError> {
    let mut records = Records::new(file)?;
    while records.read()?.is_some() {}
    Ok(records.counts())
}

/// A record of pcap.
fn pcap_record(micros: u32, bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u32;
    let head = [0, micros, length, length].map(u32::to_le_bytes);
    [head.as_flattened(), bytes].concat()
}

/// An enhanced packet block of pcapng.
fn packet_block(micros: u32, bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u32;
    let padded = length.next_multiple_of(4);
    let all = 32 + padded;
    let head = [6, all, 0, 0, micros, length, length].map(u32::to_le_bytes);
    let padding = [0; 3];
    let padding = &padding[..(padded - length) as usize];
    [head.as_flattened(), bytes, padding, &all.to_le_bytes()].concat()
}
