//! Raw video encoded in real time for two viewers, one of them behind a narrow link: the share of pictures
//! that each is shown. Tests of it have a clock of their own; whether a machine keeps up is measured here.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::Arc;

use airlane_base::Seed;
use airlane_link::{Link, LinkConfig, LinkSpec, Mode, UdpSpec};
use airlane_live::LayerMarks;
use airlane_live_daemon::DaemonError;
use airlane_live_daemon::{
    ReceiverConfig, Report, Sender, SenderConfig, SentVideo, VideoInput, VpxEncoders, recv,
};
use airlane_vpx::Library;

use crate::bar::{Figure, Problem, Rule, Setting};

const SIZE: (usize, usize) = (640, 360);
const FPS: u64 = 30;
/// Share of the pictures that each viewer must be shown.
const SHOWN: f64 = 0.98;

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let library = Library::open(None).map_err(|e| Problem::Skipped(e.to_string()))?;
    let seconds = if setting.quick { 5 } else { 20 };
    let threads = tokio::runtime::Runtime::new().map_err(|e| Problem::Broke(e.to_string()))?;
    let [narrow, wide] = threads.block_on(watched(Arc::new(library), seconds))?;
    let figure = |name: &str, of: &Report, behind: &str| Figure {
        bar: format!("encode.{name}"),
        ours: of.shown as f64 / (seconds * FPS) as f64,
        peer: None,
        unit: "of all pictures",
        rule: Rule::AtLeast(SHOWN),
        note: format!(
            "shown of {seconds} s of 640x360 at 30 frames/s, encoded for two viewers at once; {behind}: {:.2} \
             Mbit/s, {:.0} ms (median) and {:.0} ms (99 %) behind the fastest",
            of.bps / 1e6,
            of.latency_p50_ms,
            of.latency_p99_ms,
        ),
    };
    Ok(vec![
        figure("narrow", &narrow, "behind 1 Mbit/s with Octopus's queue"),
        figure("wide", &wide, "over loopback"),
    ])
}

/// Two viewers of a source of so many seconds, from its beginning to its end.
async fn watched(library: Arc<Library>, seconds: u64) -> Result<[Report; 2], Problem> {
    let broke = |e: DaemonError| Problem::Broke(e.to_string());
    let input = VideoInput::of("the bench", Patches::new(seconds * FPS), true).await;
    let input = input.map_err(|e| broke(e.into()))?;
    let request = SenderConfig {
        listen: ([127, 0, 0, 1], 0).into(),
        video: SentVideo::Live { input, encoders: Arc::new(VpxEncoders::new(library)) },
        marks: LayerMarks::PAPER,
        identity: None,
        data_folder: None,
        viewers: 2,
    };
    let sender = Sender::start(request).map_err(broke)?;
    let link = narrow(sender.address())?;
    let at = link.address().ok_or_else(|| Problem::Broke("the link has no address".to_owned()))?;
    let (narrow, wide) = tokio::join!(watch(at), watch(sender.address()));
    sender.stop().await;
    drop(link);
    Ok([narrow.map_err(broke)?, wide.map_err(broke)?])
}

/// A link of 1 Mbit/s towards the viewer.
fn narrow(to: SocketAddr) -> Result<Link, Problem> {
    let down = ["rate_bps=1e6", "rtt_s=0.02", "queue.kind=octopus", "queue.limit_packets=250"];
    let link = LinkSpec::from_settings(&["rtt_s=0.01", "rate_bps=1e9"], &down, Seed(3))
        .map_err(|e| Problem::Broke(e.to_string()))?;
    let mode = Mode::Udp(UdpSpec::new([([127, 0, 0, 1], 0).into()], to));
    Ok(Link::start(&LinkConfig { link, mode, realtime: None })?)
}

async fn watch(at: SocketAddr) -> Result<Report, DaemonError> {
    let server = at.to_string();
    let request =
        ReceiverConfig { server, insecure: true, duration: None, write: None, times: None };
    recv(&request, std::future::pending(), |_| {}).await
}

/// YUV4MPEG2 of patches that move.
struct Patches {
    /// A picture twice as wide and high; each frame is cut out of it at another place.
    patches: Vec<u8>,
    frames: std::ops::Range<u64>,
    rest: io::Cursor<Vec<u8>>,
}

impl Patches {
    fn new(frames: u64) -> Self {
        let (width, height) = SIZE;
        let header = format!("YUV4MPEG2 W{width} H{height} F{FPS}:1 Ip A1:1 C420jpeg\n");
        let patches = (0..4 * width * height).map(|at| {
            let (x, y) = (at % (2 * width), at / (2 * width));
            ((x / 8 * 7_919 + y / 8 * 104_729) % 149 + (x * 31 + y * 17) % 13) as u8
        });
        let rest = io::Cursor::new(header.into_bytes());
        Self { patches: patches.collect(), frames: 0..frames, rest }
    }
}

impl Read for Patches {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(to)?;
        if read > 0 {
            return Ok(read);
        }
        let Some(n) = self.frames.next() else { return Ok(0) };
        let ((width, height), n) = (SIZE, n as usize);
        let mut frame = b"FRAME\n".to_vec();
        let rows = self.patches.chunks_exact(2 * width).skip(n % height).take(height);
        rows.for_each(|row| frame.extend(&row[3 * n % width..][..width]));
        frame.resize(frame.len() + width * height / 2, 128);
        self.rest = io::Cursor::new(frame);
        self.rest.read(to)
    }
}
