//! A live source over loopback: raw video in, pictures out.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_base::Seed;
use airlane_congestion::{Algorithm, ControllerConfig};
use airlane_link::{Link, LinkConfig, LinkSpec, Mode, UdpSpec};
use airlane_live::LayerMarks;
use airlane_live_daemon::{
    ReceiverConfig, Report, Second, Sender, SenderConfig, SentVideo, VideoInput, VpxEncoders,
    WriteTo, recv,
};
use airlane_quic::{Connection, Endpoint, Timers, Tls, TransportConfig, Trust};
use airlane_runtime::real_time::TokioRuntime;
use airlane_vpx::{Decoder, Library};
use tempfile::TempDir;

use crate::common::{LIMIT, run};

/// The system's libvpx.
pub fn libvpx() -> Option<Arc<Library>> {
    let found = Library::open(None);
    if let Err(e) = &found {
        let strict = std::env::var("AIRLANE_STRICT").is_ok_and(|v| v == "1");
        assert!(!strict, "{e}");
        eprintln!("left out: {e}");
    }
    found.ok().map(Arc::new)
}

/// Raw video of patches that move, as ffmpeg would write it.
pub struct Moving {
    size: (usize, usize),
    /// A picture twice as wide and high; each frame is cut out of it at another place.
    patches: Vec<u8>,
    frames: std::ops::Range<u64>,
    rest: io::Cursor<Vec<u8>>,
}

impl Moving {
    pub fn new(size: (usize, usize), fps: u32, frames: u64) -> Self {
        let (width, height) = size;
        let header = format!("YUV4MPEG2 W{width} H{height} F{fps}:1 Ip A1:1 C420jpeg\n");
        let patches = (0..4 * width * height).map(|at| {
            let (x, y) = (at % (2 * width), at / (2 * width));
            ((x / 8 * 7_919 + y / 8 * 104_729) % 149 + (x * 31 + y * 17) % 13) as u8
        });
        let patches = patches.collect();
        Self { size, patches, frames: 0..frames, rest: io::Cursor::new(header.into_bytes()) }
    }

    fn frame(&self, n: u64) -> Vec<u8> {
        let ((width, height), n) = (self.size, n as usize);
        let mut frame = b"FRAME\n".to_vec();
        let rows = self.patches.chunks_exact(2 * width).skip(n % height).take(height);
        rows.for_each(|row| frame.extend(&row[3 * n % width..][..width]));
        frame.resize(frame.len() + width * height / 2, 128);
        frame
    }
}

impl Read for Moving {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(to)?;
        if read > 0 {
            return Ok(read);
        }
        let Some(n) = self.frames.next() else { return Ok(0) };
        self.rest = io::Cursor::new(self.frame(n));
        self.rest.read(to)
    }
}

const SMALL: (usize, usize) = (320, 180);

/// A sender of raw video, and where it keeps its certificate.
async fn sender(
    library: &Arc<Library>,
    from: impl Read + Send + 'static,
    is_recorded: bool,
    viewers: usize,
) -> (Sender, TempDir) {
    let data = tempfile::tempdir().unwrap();
    let input = VideoInput::of("a test", from, is_recorded).await.unwrap();
    let encoders = Arc::new(VpxEncoders::new(library.clone()));
    let request = SenderConfig {
        listen: ([127, 0, 0, 1], 0).into(),
        video: SentVideo::Live { input, encoders },
        marks: LayerMarks::PAPER,
        identity: None,
        data_folder: Some(data.path().to_owned()),
        viewers,
    };
    (Sender::start(request).unwrap(), data)
}

fn viewer(at: SocketAddr, write: Option<PathBuf>) -> ReceiverConfig {
    ReceiverConfig {
        server: at.to_string(),
        insecure: true,
        duration: None,
        write: write.map(WriteTo::File),
        times: None,
    }
}

/// Watches to the end.
async fn watch(at: SocketAddr, write: Option<&Path>) -> Report {
    let request = viewer(at, write.map(Path::to_owned));
    recv(&request, std::future::pending(), |_| {}).await.unwrap()
}

/// Decodes a file; the numbers of its frames.
pub fn decoded(library: &Arc<Library>, file: &Path, size: (usize, usize)) -> Vec<u64> {
    let bytes = std::fs::read(file).unwrap();
    let mut rest = bytes.strip_prefix(b"DKIF").map(|rest| &rest[28..]).expect("an IVF");
    let mut decoder = Decoder::new(library).unwrap();
    let mut numbers = Vec::new();
    while let Some((head, after)) = rest.split_first_chunk::<12>() {
        let [l0, l1, l2, l3, number @ ..] = *head;
        let (frame, after) = after.split_at(u32::from_le_bytes([l0, l1, l2, l3]) as usize);
        let luma = decoder.decode(frame).unwrap().expect("a frame shows a picture");
        assert_eq!((luma.width, luma.height), size);
        numbers.push(u64::from_le_bytes(number));
        rest = after;
    }
    numbers
}

/// A link in front of a sender.
fn link(to: SocketAddr, down: &[&str]) -> Link {
    let udp = UdpSpec::new([([127, 0, 0, 1], 0).into()], to);
    let link = LinkSpec::from_settings(&["rtt_s=0.01", "rate_bps=1e9"], down, Seed(3)).unwrap();
    Link::start(&LinkConfig { link, mode: Mode::Udp(udp), realtime: None }).unwrap()
}

/// Waits for something to become true.
async fn until(what: &str, is: impl Fn() -> bool) {
    let becomes = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        while !is() {
            ticks.tick().await;
        }
    };
    let waited = tokio::time::timeout(LIMIT, becomes).await;
    waited.unwrap_or_else(|_| panic!("not within {LIMIT:?}: {what}"));
}

/// What becomes of each picture is for `live_scenes`: here it depends on what else the machine does.
#[test]
fn a_recording_is_watched_and_written_over_sockets() {
    let Some(library) = libvpx() else { return };
    run(async {
        let (sender, _data) = sender(&library, Moving::new(SMALL, 30, 90), true, 4).await;
        let out = tempfile::tempdir().unwrap();
        let file = out.path().join("seen.ivf");
        let (_, ended) = tokio::join!(watch(sender.address(), Some(&file)), sender.ended());
        ended.unwrap();
        let numbers = decoded(&library, &file, SMALL);
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        assert!(numbers.last().is_some_and(|last| *last < 90), "{numbers:?}");
        until("the encoder is gone", || sender.status().encoders == 0).await;
        let status = sender.status();
        assert!(status.frames + status.skipped <= 90 && status.viewers == 0, "{status:?}");
        sender.stop().await;
    });
}

#[test]
fn what_is_broken_in_the_middle_ends_it_and_names_the_frame() {
    let Some(library) = libvpx() else { return };
    run(async {
        let whole = Moving::new(SMALL, 30, 20).chain(&b"FRAME\nand no more"[..]);
        let (sender, _data) = sender(&library, whole, true, 4).await;
        let (_, ended) = tokio::join!(watch(sender.address(), None), sender.ended());
        let said = ended.unwrap_err().to_string();
        assert!(said.contains("a test: frame 20: it ends after 11 of 86400 bytes"), "{said}");
        sender.stop().await;
        let refused = VideoInput::of("a test", &b"YUV4MPEG2 W64 H64 F25:1 C444\n"[..], true).await;
        let said = refused.unwrap_err().to_string();
        assert!(said.contains("a test: ") && said.contains("-pix_fmt yuv420p"), "{said}");
    });
}

/// Somebody who opens connections to a sender.
fn stranger() -> Endpoint {
    let tls = Tls { identity: None, trust: Trust::Anyone };
    let config = TransportConfig {
        alpn: vec![b"airlane-live".to_vec()],
        timers: Timers { keep_alive: Some(Duration::from_secs(1)), ..Timers::default() },
        ..TransportConfig::network(tls, ControllerConfig::new(Algorithm::Reno))
    };
    let runtime = TokioRuntime::new(Seed(5));
    Endpoint::client(&runtime, ([127, 0, 0, 1], 0).into(), config).unwrap()
}

/// Asks for the video and does not listen to what comes.
async fn ask(endpoint: &Endpoint, at: SocketAddr) -> Connection {
    let connection = endpoint.connect(at, "127.0.0.1").await.unwrap();
    let (mut to, mut from) = connection.open_bi().await.unwrap();
    to.write_all(bytes::Bytes::from_static(b"ALMS\x01\x00\x00\x00\x07")).await.unwrap();
    to.finish().unwrap();
    from.read_to_end(100).await.unwrap();
    connection
}

#[test]
fn encoders_are_as_many_as_viewers_may_be_and_end_with_them() {
    let Some(library) = libvpx() else { return };
    run(async {
        // Without an end, as a camera.
        let (sender, _data) = sender(&library, Moving::new(SMALL, 30, u64::MAX), false, 1).await;
        let at = sender.address();
        let (leave, left) = tokio::sync::oneshot::channel::<()>();
        let stay = async { drop(left.await) };
        let request = viewer(at, None);
        let shown = AtomicU64::new(0);
        let count = |second: &Second| {
            shown.fetch_add(second.frames, Ordering::Relaxed);
        };
        let first = async { recv(&request, stay, count).await.unwrap() };
        let others = async {
            until("somebody watches", || sender.status().encoders == 1).await;
            let second = recv(&viewer(at, None), std::future::pending(), |_| {}).await;
            let said = second.unwrap_err().to_string();
            assert!(said.contains("no room for another viewer"), "{said}");
            assert_eq!(sender.status().encoders, 1);
            let shown = || shown.load(Ordering::Relaxed);
            let before = shown();
            until("the first goes on", || shown() > before).await;
            leave.send(()).unwrap();
        };
        let (report, ()) = tokio::join!(first, others);
        assert!(report.shown > 0, "{report:?}");
        until("its encoder is gone", || sender.status().encoders == 0).await;
        // One that vanishes without a word: the link between is cut.
        let cable = link(at, &["rtt_s=0.01", "rate_bps=1e9"]);
        let endpoint = stranger();
        let connection = ask(&endpoint, cable.address().unwrap()).await;
        until("it has an encoder", || sender.status().encoders == 1).await;
        cable.stop().unwrap();
        until("its encoder is gone", || sender.status().encoders == 0).await;
        drop((connection, endpoint));
        // One that keeps its connection and takes nothing.
        let endpoint = stranger();
        let connection = ask(&endpoint, at).await;
        until("it has an encoder too", || sender.status().encoders == 1).await;
        let ended = connection.closed().await;
        assert!(format!("{ended}").contains("acknowledged"), "{ended}");
        until("its encoder is gone too", || sender.status().encoders == 0).await;
        assert_eq!(sender.status().viewers, 0);
        sender.stop().await;
    });
}
