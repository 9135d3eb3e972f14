//! What the tests share.

use std::path::PathBuf;
use std::time::Duration;

use airlane_base::Time;
use airlane_capture::{
    Account, AirSummary, CaptureError, Counts, Decoder, Options, Records, Transmission,
};
use airlane_wifi::{
    Address, BlockAck, Format, Frame, FrameKind, Guard, Heard, Vector, What, Width, mac,
};

/// The recorded captures; empty if the shared data is not there.
pub fn recorded() -> Vec<PathBuf> {
    let root = std::env::var_os("AIRLANE_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
        PathBuf::from,
    );
    let mut files = Vec::new();
    for folder in std::fs::read_dir(root.join("wifi-pcap")).into_iter().flatten().flatten() {
        for file in std::fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            if file.path().extension().is_some_and(|e| e == "gz") {
                files.push(file.path());
            }
        }
    }
    files.sort();
    if files.is_empty() {
        let strict = std::env::var("AIRLANE_STRICT").as_deref() == Ok("1");
        assert!(!strict, "the shared data is missing and AIRLANE_STRICT=1 allows no skip");
        println!("left out: the recorded captures (set AIRLANE_DATA)");
    }
    files
}

/// Everything of a capture.
pub struct Whole {
    pub transmissions: Vec<Transmission>,
    pub counts: Counts,
    pub records: u64,
    pub is_cut: bool,
}

/// Reads a capture that is in memory.
pub fn read(bytes: Vec<u8>) -> Result<Whole, CaptureError> {
    read_all(Records::unzipped(std::io::Cursor::new(bytes))?)
}

pub fn read_all<R: std::io::Read>(mut records: Records<R>) -> Result<Whole, CaptureError> {
    let mut decoder = Decoder::default();
    let mut transmissions = Vec::new();
    while let Some(record) = records.read()? {
        // Malformed ones are counted.
        let _ = decoder.push(&record);
        transmissions.extend(std::iter::from_fn(|| decoder.pop()));
    }
    decoder.finish();
    transmissions.extend(std::iter::from_fn(|| decoder.pop()));
    let file = records.counts();
    let counts = decoder.counts().clone();
    Ok(Whole { transmissions, counts, records: file.records, is_cut: file.is_cut })
}

/// The account of these.
pub fn account(transmissions: &[Transmission]) -> AirSummary {
    let mut account = Account::new(Options::default());
    for transmission in transmissions {
        account.add(transmission);
    }
    account.finish()
}

/// Station number `n`; 0 is the access point.
pub fn station(n: u16) -> Address {
    let [high, low] = n.to_be_bytes();
    Address([0x02, 0, 0, 0, high, low])
}

pub fn he80() -> Vector {
    Vector { format: Format::He, mcs: 9, streams: 2, width: Width::Mhz80, guard: Guard::Ns800 }
}

/// Makes what a perfect receiver hears of attempts, one after another.
pub struct Air {
    pub now: Time,
    pub heard: Vec<Heard>,
    sequence: u16,
}

/// SIFS.
pub const SIFS: Duration = Duration::from_micros(16);
/// AIFS and half of the first window, of best effort.
pub const CONTENTION: Duration = Duration::from_nanos(110_500);

impl Air {
    pub fn new() -> Self {
        Self { now: Time::ZERO, heard: Vec::new(), sequence: 0 }
    }

    pub fn pause(&mut self, by: Duration) {
        self.now += by;
    }

    fn say(&mut self, vector: Vector, is_aggregate: bool, bytes: u32, frames: Vec<Frame>) {
        let duration = vector.duration(bytes);
        let what = What::Frames { vector, is_aggregate, frames };
        self.heard.push(Heard { at: self.now, duration, what });
        self.now += duration;
    }

    /// An attempt: data of so many MPDUs from `from` to `to`, of which one is the access point (0).
    pub fn attempt(&mut self, from: u16, to: u16, mpdus: u16, is_protected: bool) {
        let is_down = from == 0;
        let (from, to) = (station(from), station(to));
        let (vector, bytes) = (he80(), mac::mpdu(1_500, true));
        let control = vector.response();
        let is_aggregate = mpdus > 1;
        let psdu = if is_aggregate { u32::from(mpdus) * mac::in_aggregate(bytes) } else { bytes };
        let answer_bytes = match mpdus {
            1 => mac::ACK,
            2..=64 => mac::BLOCK_ACK_64,
            _ => mac::BLOCK_ACK_256,
        };
        let answer = control.duration(answer_bytes);
        let ppdu = vector.duration(psdu);
        if is_protected {
            let cts = control.duration(mac::CTS);
            let mut first = Frame::new(FrameKind::Rts, to, Some(from), mac::RTS);
            first.remaining = 3 * SIFS + cts + ppdu + answer;
            first.is_down = is_down;
            self.say(control, false, mac::RTS, vec![first]);
            self.pause(SIFS);
            let mut second = Frame::new(FrameKind::Cts, from, None, mac::CTS);
            second.remaining = first.remaining - SIFS - cts;
            second.is_down = !is_down;
            self.say(control, false, mac::CTS, vec![second]);
            self.pause(SIFS);
        }
        let start = self.sequence;
        let frames = (0..mpdus).map(|n| Frame {
            bssid: Some(station(0)),
            is_down,
            sequence: (start + n) & 0x0fff,
            remaining: SIFS + answer,
            ..Frame::new(FrameKind::QosData, to, Some(from), bytes)
        });
        self.say(vector, is_aggregate, psdu, frames.collect());
        self.sequence = (start + mpdus) & 0x0fff;
        self.pause(SIFS);
        let mut last = Frame::new(FrameKind::Ack, from, None, answer_bytes);
        if is_aggregate {
            last.kind = FrameKind::BlockAck;
            last.transmitter = Some(to);
            let mut came = [0; 4];
            for n in 0..usize::from(mpdus) {
                came[n / 64] |= 1 << (n % 64);
            }
            last.block_ack = Some(BlockAck { start, came });
        }
        last.is_down = !is_down;
        self.say(control, false, answer_bytes, vec![last]);
    }

    pub fn transmissions(&self) -> Vec<Transmission> {
        self.heard.iter().cloned().map(Transmission::exact).collect()
    }
}
