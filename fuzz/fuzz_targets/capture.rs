//! Any bytes as a capture, the first byte choosing its beginning so that more of them are one: it is read
//! to its end and accounted for, never a panic; nobody uses more air than there is.
#![no_main]

use airlane_capture::{Account, Decoder, Options, Records};

const PCAP: &[u8] = &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 127, 0, 0, 0];
const PCAPNG: &[u8] = &[
    0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 28, 0, 0, 0, 1, 0, 0, 0, 20, 0, 0, 0, 127, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0,
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let bytes = match choice & 3 {
        0 => rest.to_vec(),
        1 => [PCAP, rest].concat(),
        2 => [PCAPNG, rest].concat(),
        _ => [&PCAP[..20], &[105, 0, 0, 0], rest].concat(),
    };
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
    assert!(summary.charged.values().len() <= 1_024);
});
