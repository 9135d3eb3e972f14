//! Raw video encoded in real time for two viewers, one of them behind a narrow link: the share of pictures
//! that each is shown. Tests of it have a clock of their own; whether a machine keeps up is measured here.

mod counted;

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

use self::counted::{CountedEncoders, Encoded};
use crate::bar::{Figure, Problem, Rule, Setting};
use crate::process::Usage;

const SIZE: (usize, usize) = (640, 360);
const FPS: u64 = 30;
/// Share of the pictures that each viewer must be shown.
const SHOWN: f64 = 0.98;

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let library = Library::open(None).map_err(|e| Problem::Skipped(e.to_string()))?;
    let seconds = if setting.quick { 5 } else { 20 };
    let threads = tokio::runtime::Runtime::new().map_err(|e| Problem::Broke(e.to_string()))?;
    let before = Usage::own()?.cpu;
    let all = threads.block_on(watched(Arc::new(library), seconds))?;
    let cpu_ms = (Usage::own()?.cpu - before).as_secs_f64() * 1e3;
    let pictures: usize = all.iter().map(|(_, encoded)| encoded.took.len()).sum();
    let figure = |name: &str, (report, encoded): &(Report, Encoded), behind: &str| Figure {
        bar: format!("encode.{name}"),
        ours: report.shown as f64 / (seconds * FPS) as f64,
        peer: None,
        unit: "of all pictures",
        rule: Rule::AtLeast(SHOWN),
        note: format!(
            "{} shown of {seconds} s of 640x360 at 30 frames/s, encoded for two viewers at once; {behind}: \
             {:.2} Mbit/s, {:.0} ms (median) and {:.0} ms (99 %) behind the fastest; {} were encoded, the \
             others came while the encoder was busy, or before the viewer: in {} each; with all that is \
             beside the encoders {:.1} ms of processor time per picture of either",
            report.shown,
            report.bps / 1e6,
            report.latency_p50_ms,
            report.latency_p99_ms,
            encoded.took.len(),
            took(encoded),
            cpu_ms / pictures as f64,
        ),
    };
    let [narrow, wide] = &all;
    Ok(vec![
        figure("narrow", narrow, "behind 1 Mbit/s with Octopus's queue"),
        figure("wide", wide, "over loopback"),
    ])
}

/// Encoding times of pictures.
fn took(encoded: &Encoded) -> String {
    let mut took = encoded.took.clone();
    took.sort_unstable();
    let at = |share: f64| {
        let picture = took.get((took.len().saturating_sub(1) as f64 * share) as usize);
        picture.map_or(f64::NAN, |took| took.as_secs_f64() * 1e3)
    };
    format!("{:.1} ms (median), {:.1} ms (99 %) and at most {:.1} ms", at(0.5), at(0.99), at(1.0))
}

/// Two viewers of a source of so many seconds, from its beginning to its end.
async fn watched(library: Arc<Library>, seconds: u64) -> Result<[(Report, Encoded); 2], Problem> {
    let broke = |e: DaemonError| Problem::Broke(e.to_string());
    let input = VideoInput::of("the bench", Patches::new(seconds * FPS), true).await;
    let input = input.map_err(|e| broke(e.into()))?;
    let encoders = Arc::new(CountedEncoders::new(VpxEncoders::new(library)));
    let request = SenderConfig {
        listen: ([127, 0, 0, 1], 0).into(),
        video: SentVideo::Live { input, encoders: encoders.clone() },
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
    let mut encoded = encoders.all();
    // The narrow link carries less.
    encoded.sort_by_key(|encoded| encoded.bytes);
    let [of_narrow, of_wide] = <[Encoded; 2]>::try_from(encoded)
        .map_err(|all| Problem::Broke(format!("{} encoders for two viewers", all.len())))?;
    Ok([(narrow.map_err(broke)?, of_narrow), (wide.map_err(broke)?, of_wide)])
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
