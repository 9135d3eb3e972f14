//! The formats of files.

use std::io::Write;

use airlane_capture::{CaptureError, Records, Writer};

use crate::common::{Air, Whole, account, read};

/// A capture in Airlane's own hand: nanoseconds, little end first.
fn sample() -> (Air, Vec<u8>) {
    let mut air = Air::new();
    for station in 1..=3 {
        air.pause(std::time::Duration::from_micros(100));
        air.attempt(0, station, 8, true);
    }
    let mut writer = Writer::new(Vec::new()).expect("memory takes it");
    air.heard.iter().for_each(|heard| writer.write(heard).expect("a sound record"));
    (air, writer.finish().expect("memory takes it"))
}

fn heard(whole: &Whole) -> Vec<airlane_wifi::Heard> {
    whole.transmissions.iter().map(|t| t.heard.clone()).collect()
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The records of [`sample`]: seconds, nanoseconds, captured and original lengths, and the bytes.
fn split(pcap: &[u8]) -> Vec<([u32; 4], &[u8])> {
    let mut at = 24;
    let mut records = Vec::new();
    while at < pcap.len() {
        let header = [0, 4, 8, 12].map(|offset| le32(pcap, at + offset));
        let end = at + 16 + header[2] as usize;
        records.push((header, &pcap[at + 16..end]));
        at = end;
    }
    records
}

/// The same capture in another order of bytes and unit.
fn pcap(of: &[u8], is_big: bool, is_nano: bool) -> Vec<u8> {
    let number = |n: u32| if is_big { n.to_be_bytes() } else { n.to_le_bytes() };
    let half = |n: u16| if is_big { n.to_be_bytes() } else { n.to_le_bytes() };
    let mut out = Vec::new();
    out.extend(number(if is_nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }));
    out.extend(half(2));
    out.extend(half(4));
    out.extend([0; 8]);
    out.extend(number(65_535));
    out.extend(number(127));
    for ([s, ns, len, original], bytes) in split(of) {
        for n in [s, if is_nano { ns } else { ns / 1_000 }, len, original] {
            out.extend(number(n));
        }
        out.extend(bytes);
    }
    out
}

/// The same capture in the format of Kuznetzov's patches: eight bytes more in front of each packet.
fn modified(of: &[u8], is_big: bool) -> Vec<u8> {
    let plain = pcap(of, is_big, false);
    let magic = 0xa1b2_cd34_u32;
    let mut out = if is_big { magic.to_be_bytes() } else { magic.to_le_bytes() }.to_vec();
    out.extend(&plain[4..24]);
    let mut at = 24;
    for (header, _) in split(of) {
        let end = at + 16 + header[2] as usize;
        out.extend(&plain[at..at + 16]);
        out.extend([0, 0, 0, 3, 0, 0, 0, 0]);
        out.extend(&plain[at + 16..end]);
        at = end;
    }
    out
}

/// The same capture as pcapng, with a block in it that nobody knows.
fn pcapng(of: &[u8], is_big: bool, link: u16) -> Vec<u8> {
    let number = |n: u32| if is_big { n.to_be_bytes() } else { n.to_le_bytes() };
    let half = |n: u16| if is_big { n.to_be_bytes() } else { n.to_le_bytes() };
    let block = |kind: u32, body: &[u8]| {
        let mut out = Vec::new();
        let len = 12 + body.len().next_multiple_of(4);
        out.extend(number(kind));
        out.extend(number(len as u32));
        out.extend(body);
        out.resize(8 + body.len().next_multiple_of(4), 0);
        out.extend(number(len as u32));
        out
    };
    let mut section = Vec::new();
    section.extend(number(0x1a2b_3c4d));
    section.extend(half(1));
    section.extend(half(0));
    section.extend([0xff; 8]);
    let mut interface = Vec::new();
    interface.extend(half(link));
    interface.extend(half(0));
    interface.extend(number(0));
    // The unit of time: nanoseconds.
    interface.extend(half(9));
    interface.extend(half(1));
    interface.extend([9, 0, 0, 0]);
    interface.extend(half(0));
    interface.extend(half(0));
    let mut out = block(0x0a0d_0d0a, &section);
    out.extend(block(1, &interface));
    out.extend(block(0x0bad, b"something"));
    for ([s, ns, len, original], bytes) in split(of) {
        let nanos = u64::from(s) * 1_000_000_000 + u64::from(ns);
        let mut body = Vec::new();
        for n in [0, (nanos >> 32) as u32, nanos as u32, len, original] {
            body.extend(number(n));
        }
        body.extend(bytes);
        out.extend(block(6, &body));
    }
    out
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(bytes).expect("memory takes it");
    gz.finish().expect("memory takes it")
}

#[test]
fn all_formats_give_the_same() {
    let (air, own) = sample();
    for bytes in [
        own.clone(),
        gzip(&own),
        pcap(&own, false, true),
        pcap(&own, true, true),
        pcap(&own, false, false),
        pcap(&own, true, false),
        pcapng(&own, false, 127),
        gzip(&pcapng(&own, true, 127)),
        [pcapng(&own, true, 127), pcapng(&own, false, 127)].concat()[..].to_vec(),
        modified(&own, false),
        gzip(&modified(&own, true)),
    ] {
        let whole = read(bytes).expect("a capture");
        assert_eq!(heard(&whole)[..air.heard.len()], air.heard);
        assert!(!whole.is_cut);
    }
}

#[test]
fn a_file_that_was_cut_gives_what_is_whole() {
    let (air, own) = sample();
    for bytes in [own.clone(), pcapng(&own, false, 127)] {
        for len in 24..bytes.len() {
            let Ok(whole) = read(bytes[..len].to_vec()) else { continue };
            let heard = heard(&whole);
            assert!(heard.len() <= air.heard.len());
            // The last aggregate may have lost frames.
            let sound = heard.len().saturating_sub(1);
            assert_eq!(heard[..sound], air.heard[..sound]);
        }
        let zipped = gzip(&bytes);
        let whole = read(zipped[..zipped.len() - 40].to_vec()).expect("a capture");
        assert!(whole.is_cut || whole.records < split(&own).len() as u64);
    }
    let whole = read(own[..own.len() - 1].to_vec()).expect("a capture");
    assert!(whole.is_cut);
    assert_eq!(whole.records, split(&own).len() as u64 - 1);
}

#[test]
fn an_empty_capture_is_one() {
    let header = &sample().1[..24];
    for bytes in [Vec::new(), header.to_vec(), gzip(header), gzip(&[])] {
        let whole = read(bytes).expect("an empty capture");
        assert!(whole.transmissions.is_empty() && !whole.is_cut);
        let summary = account(&whole.transmissions);
        assert_eq!((summary.utilisation, summary.stations.len()), (0.0, 0));
        assert_eq!(summary.span, std::time::Duration::ZERO);
    }
}

fn words(error: Result<Whole, CaptureError>) -> String {
    match error {
        Err(error) => error.to_string(),
        Ok(_) => String::new(),
    }
}

#[test]
fn what_is_no_capture_is_refused_in_clear_words() {
    let (_, own) = sample();
    let linked = |link: u32| {
        let mut bytes = own.clone();
        bytes[20..24].copy_from_slice(&link.to_le_bytes());
        words(read(bytes))
    };
    assert_eq!(
        linked(1),
        "link type 1: Ethernet packets; a capture in monitor mode has 802.11 frames; expected link \
         type 127 (802.11 with radiotap) or 105 (802.11 without)"
    );
    assert!(linked(119).contains("Prism headers"), "{}", linked(119));
    assert!(linked(4_711).contains("link type 4711"));
    assert!(words(read(pcapng(&own, true, 1))).contains("Ethernet"));
    assert!(words(read(b"hello, world".to_vec())).contains("it begins with 68 65 6c 6c"));
    assert!(words(read(b"a".to_vec())).contains("1 bytes"));
    assert!(words(read(own[..10].to_vec())).contains("cut short"));
    let missing = Records::open(std::path::Path::new("/nowhere")).map(drop);
    assert!(missing.is_err_and(|e| e.to_string().starts_with("cannot open the file")));
}
