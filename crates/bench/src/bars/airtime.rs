//! A large capture of 802.11 read by `airlane airtime`: bytes per second, and the most memory.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use airlane_base::Time;
use airlane_capture::Writer;
use airlane_wifi::{
    Address, BlockAck, Format, Frame, FrameKind, Guard, Heard, Vector, What, Width, mac,
};

use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::clock::Watch;
use crate::process::{Running, Scratch, Usage, airlane};

/// Bytes of the capture.
const BYTES: u64 = 1_000_000_000;
const STATIONS: u16 = 50;
/// Frames of an aggregate.
const FRAMES: u16 = 16;
const SIFS: Duration = Duration::from_micros(16);
/// Idle time before an attempt.
const PAUSE: Duration = Duration::from_micros(110);

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let scratch = Scratch::new("airtime")?;
    let file = scratch.path("large.pcap");
    let least = if setting.quick { BYTES / 32 } else { BYTES };
    let packets = write(&file, least)?;
    let bytes = file.metadata().map_err(|e| Problem::Broke(e.to_string()))?.len();
    let (mut seconds, mut walls, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..setting.rounds(3) {
        let (wall, used) = read(&file)?;
        seconds.push(used.cpu.as_secs_f64());
        walls.push(wall);
        peaks.push(used.peak_bytes as f64 / 1e6);
    }
    let (took, wall) = (median(seconds), median(walls));
    let note = format!(
        "airlane airtime on {:.0} MB of pcap, {packets} packets of {STATIONS} stations, each cut behind \
         its MAC header, in {took:.2} s of processor time ({wall:.2} s of wall time); medians",
        bytes as f64 / 1e6
    );
    Ok(vec![
        Figure {
            bar: "airtime.speed".into(),
            ours: bytes as f64 / took / 1e6,
            peer: None,
            unit: "MB/s",
            rule: Rule::AtLeast(200.0),
            note,
        },
        Figure {
            bar: "airtime.memory".into(),
            ours: median(peaks),
            peer: None,
            unit: "MB",
            rule: Rule::AtMost(100.0),
            note: "the most that the same command has resident".into(),
        },
    ])
}

/// Reads the capture; seconds of wall time, and what the command used.
#[expect(clippy::disallowed_methods, reason = "it looks now and then at another process")]
fn read(file: &Path) -> Result<(f64, Usage), Problem> {
    let mut command = Command::new(airlane()?);
    command.arg("airtime").arg(file).arg("--quiet");
    let watch = Watch::start();
    let mut reading = Running::start("airlane airtime", &mut command)?;
    let mut used = reading.usage()?;
    loop {
        match reading.ended()? {
            Some(true) => return Ok((watch.elapsed().as_secs_f64(), used)),
            Some(false) => return Err(Problem::Broke("airlane airtime failed".into())),
            None => {}
        }
        // Of one that is just ending there is nothing to be read.
        used = reading.usage().unwrap_or(used);
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Writes a capture of at least so many bytes, as other programs write them; how many packets it has.
fn write(file: &Path, least: u64) -> Result<u64, Problem> {
    let broke = |e: &dyn std::fmt::Display| Problem::Broke(format!("{}: {e}", file.display()));
    let out = File::create(file).map_err(|e| broke(&e))?;
    let mut writer =
        Writer::plain(BufWriter::with_capacity(1 << 20, out)).map_err(|e| broke(&e))?;
    let mut air = Air { now: Time::from_millis(1), packets: 0 };
    let mut attempt = 0_u16;
    loop {
        for heard in air.attempt(1 + attempt % STATIONS, attempt) {
            writer.write(&heard).map_err(|e| broke(&e))?;
        }
        attempt = attempt.wrapping_add(1);
        if attempt.is_multiple_of(4_096) && file.metadata().map_err(|e| broke(&e))?.len() >= least {
            break;
        }
    }
    writer.finish().map_err(|e| broke(&e))?;
    Ok(air.packets)
}

/// Makes what is heard of attempts, one after another.
struct Air {
    now: Time,
    packets: u64,
}

impl Air {
    /// An aggregate to a station and its block acknowledgement.
    fn attempt(&mut self, station: u16, number: u16) -> [Heard; 2] {
        let [high, low] = station.to_be_bytes();
        let (to, from) = (Address([2, 0, 0, 0, high, low]), Address([2, 0, 0, 0, 0, 0]));
        let vector = Vector {
            format: Format::Vht,
            mcs: 7,
            streams: 2,
            width: Width::Mhz80,
            guard: Guard::Ns400,
        };
        let bytes = mac::mpdu(1_500, true);
        let start = number.wrapping_mul(FRAMES) & 0x0fff;
        let frame = |n: u16| Frame {
            kind: FrameKind::QosData,
            receiver: to,
            transmitter: Some(from),
            bssid: Some(from),
            is_down: true,
            bytes,
            is_retry: n == 3,
            sequence: (start + n) & 0x0fff,
            remaining: Duration::from_micros(48),
            tid: 0,
            block_ack: None,
        };
        let frames = (0..FRAMES).map(frame).collect();
        let data = What::Frames { vector, is_aggregate: true, frames };
        let first = self.heard(vector, u32::from(FRAMES) * mac::in_aggregate(bytes), data);
        self.now += SIFS;
        let control = vector.response();
        let block_ack = Frame {
            kind: FrameKind::BlockAck,
            receiver: from,
            transmitter: Some(to),
            bssid: None,
            is_down: false,
            bytes: mac::BLOCK_ACK_64,
            is_retry: false,
            sequence: 0,
            remaining: Duration::ZERO,
            block_ack: Some(BlockAck { start, came: [0xffff, 0, 0, 0] }),
            ..frame(0)
        };
        let answer = What::Frames { vector: control, is_aggregate: false, frames: vec![block_ack] };
        let second = self.heard(control, mac::BLOCK_ACK_64, answer);
        self.now += PAUSE;
        self.packets += u64::from(FRAMES) + 1;
        [first, second]
    }

    fn heard(&mut self, vector: Vector, bytes: u32, what: What) -> Heard {
        let duration = vector.duration(bytes);
        let heard = Heard { at: self.now, duration, what };
        self.now += duration;
        heard
    }
}
