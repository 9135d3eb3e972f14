//! A live source in virtual time: what viewers see does not depend on how busy the machine is.

use std::io::{BufReader, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_live::{LayerMarks, Order, Source, Video};
use airlane_live_daemon::{
    EncoderFactory, EncoderPermit, LayerEncoder, ReceiverConfig, Report, SendStatus, Sender,
    SenderConfig, SentVideo, VideoInput, VpxEncoder, WriteTo, recv_on,
};
use airlane_media::layers::LayerContent;
use airlane_media::y4m::{Header, Reader};
use airlane_net::queue::{Limit, OctopusConfig, QueueSpec};
use airlane_net::{Access, LinkAccess, SendJitter, Topology, Way};
use airlane_runtime::virtual_time::World;
use airlane_runtime::{BoxFuture, RuntimeExt, RuntimeHandle};
use airlane_vpx::{Library, VpxError};
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::live::{Moving, decoded, libvpx};

const SMALL: (usize, usize) = (320, 180);
const RTT: Duration = Duration::from_millis(20);
/// When a scene has gone on for too long.
const END: Time = Time::from_millis(60_000);
/// Mbit/s towards a viewer, and the queue in front of them.
type Path = (f64, QueueSpec);

const NARROW: Path = (1.0, QueueSpec::Octopus(Limit::Packets(250), OCTOPUS));
const OCTOPUS: OctopusConfig = OctopusConfig {
    slack: false,
    headless: false,
    per_packet: false,
    pdu_set_id: None,
    pdu_set_slack: Duration::ZERO,
};
const WIDE: Path = (100.0, QueueSpec::DropTail(Limit::Bytes(1_000_000)));

/// libvpx that takes `cost` of virtual time for each picture.
#[derive(Debug)]
struct TimedEncoders {
    runtime: RuntimeHandle,
    library: Arc<Library>,
    cost: Duration,
}

struct TimedEncoder {
    runtime: RuntimeHandle,
    encoder: VpxEncoder,
    cost: Duration,
    _permit: EncoderPermit,
}

impl EncoderFactory for TimedEncoders {
    fn check(&self, _: &Header) -> Result<(), VpxError> {
        Ok(())
    }

    fn encoder(
        &self,
        header: Header,
        permit: EncoderPermit,
    ) -> Result<Box<dyn LayerEncoder>, VpxError> {
        let encoder = VpxEncoder::new(self.library.clone(), header);
        let (runtime, cost) = (self.runtime.clone(), self.cost);
        Ok(Box::new(TimedEncoder { runtime, encoder, cost, _permit: permit }))
    }
}

impl LayerEncoder for TimedEncoder {
    fn encode(
        &mut self,
        picture: Arc<Vec<u8>>,
        order: Order,
    ) -> BoxFuture<Result<Vec<Bytes>, String>> {
        let (made, taken) = (self.encoder.encode(&picture, &order), self.runtime.sleep(self.cost));
        Box::pin(async move {
            taken.await;
            made
        })
    }
}

/// What is sent.
enum Sent {
    /// Raw video, encoded.
    Raw {
        source: Box<dyn Read + Send>,
        library: Arc<Library>,
        /// What an encoder takes for a picture.
        cost: Duration,
    },
    /// An embedded clip, without end.
    Clip(&'static str),
}

impl Sent {
    /// For a sender on `runtime`; also for how long it is watched, if it has no end.
    fn video(self, runtime: &RuntimeHandle) -> (SentVideo, Option<Duration>) {
        match self {
            Self::Raw { source, library, cost } => {
                let encoders = TimedEncoders { runtime: runtime.clone(), library, cost };
                let (input, encoders) = (queued(runtime, source), Arc::new(encoders));
                (SentVideo::Live { input, encoders }, None)
            }
            Self::Clip(name) => {
                let clips = LayerContent::embedded().unwrap();
                let clip = Arc::clone(&clips.videos[clips.find(name).unwrap()]);
                let (source, video) = (Source::Pattern, Video::Quality);
                (SentVideo::Clip { clip, source, video }, Some(Duration::from_secs(10)))
            }
        }
    }
}

/// What is sent, and the paths of those who watch it.
struct Scene {
    sent: Sent,
    /// Each viewer's.
    paths: Vec<Path>,
    /// Where the first viewer writes what it could show.
    write: Option<PathBuf>,
}

/// What became of a scene.
struct Seen {
    reports: Vec<Report>,
    status: SendStatus,
    /// What the sender said of its source's end.
    ended: Result<(), String>,
}

impl Scene {
    fn run(self) -> Seen {
        let mut topology = Topology::new(SendJitter::Services(1.0), Seed(3));
        let server = topology.add_server();
        let mut viewers = Vec::new();
        for (i, (mbps, queue)) in self.paths.iter().enumerate() {
            let up = Way::new(Rate::from_mbps(100.0), QueueSpec::DropTail(Limit::Bytes(1_000_000)));
            let link = LinkAccess { down: Way::new(Rate::from_mbps(*mbps), queue.clone()), up };
            let name = format!("viewer{i}");
            let access = Access::Link(link);
            let at = topology.add_access(&name, &access, None, Seed(3).split(&name));
            let client = topology.add_client(&[at]);
            topology.connect(server, &client, RTT);
            viewers.push((name, client.addresses[0].1));
        }
        let network = topology.finish();
        let listen = SocketAddr::new(network.addresses(server)[0], 4433);
        let mut world = World::new(Seed(3), network);
        world.end_at(END);
        let sender = world.host("sender", listen.ip());
        let viewers = viewers.iter().map(|(name, ip)| world.host(name, *ip)).collect::<Vec<_>>();
        let ended = world.run(async move {
            let (video, duration) = self.sent.video(&sender);
            let request = SenderConfig {
                listen,
                video,
                marks: LayerMarks::PAPER,
                identity: None,
                data_folder: None,
                viewers: viewers.len(),
            };
            let serving = Sender::start_on(&sender, request).unwrap();
            let mut write = self.write.map(WriteTo::File);
            let watch = |viewer| watched(viewer, listen, duration, write.take());
            let reports: Vec<_> = viewers.iter().map(watch).collect();
            let ended = match duration {
                None => serving.ended().await.map_err(|e| e.to_string()),
                Some(_) => Ok(()),
            };
            let reports = futures_util::future::join_all(reports).await;
            Seen { reports, status: serving.status(), ended }
        });
        ended.unwrap()
    }
}

/// Watches to the end, or for so long, beside others.
fn watched(
    viewer: &RuntimeHandle,
    at: SocketAddr,
    duration: Option<Duration>,
    write: Option<WriteTo>,
) -> impl Future<Output = Report> + use<> {
    let server = at.to_string();
    let request = ReceiverConfig { server, insecure: true, duration, write, times: None };
    let (done, report) = tokio::sync::oneshot::channel();
    let runtime = viewer.clone();
    viewer.spawn("viewer", async move {
        let watched = recv_on(&runtime, &request, std::future::pending(), |_| {}).await;
        drop(done.send(watched.unwrap()));
    });
    async { report.await.unwrap() }
}

/// A recorded source whose pictures are read by a task of `runtime`'s.
fn queued(runtime: &RuntimeHandle, source: impl Read + Send + 'static) -> VideoInput {
    let mut reader = Reader::new(BufReader::new(source)).unwrap();
    let header = *reader.header();
    let (to, pictures) = mpsc::channel(1);
    runtime.spawn("source", async move {
        loop {
            let mut picture = Vec::new();
            let next = match reader.read(&mut picture) {
                Ok(true) => Ok(picture),
                Ok(false) => return,
                Err(e) => Err(e),
            };
            let is_last = next.is_err();
            if to.send(next).await.is_err() || is_last {
                return;
            }
        }
    });
    VideoInput::queued("a test", header, true, pictures)
}

/// Raw video whose encoders take `cost_ms` for a picture.
fn raw(
    library: &Arc<Library>,
    source: impl Read + Send + 'static,
    cost_ms: u64,
    paths: &[Path],
) -> Scene {
    let (source, cost) = (Box::new(source), Duration::from_millis(cost_ms));
    let sent = Sent::Raw { source, library: library.clone(), cost };
    Scene { sent, paths: paths.to_vec(), write: None }
}

#[test]
fn a_recording_is_watched_written_and_decoded_to_its_end() {
    let Some(library) = libvpx() else { return };
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("seen.ivf");
    let recording = raw(&library, Moving::new(SMALL, 30, 90), 5, &[WIDE]);
    let seen = Scene { write: Some(file.clone()), ..recording }.run();
    assert_eq!(seen.ended, Ok(()));
    let [report] = &seen.reports[..] else { panic!("{:?}", seen.reports) };
    assert_eq!((report.sent, report.shown), (90, 90), "{report:?}");
    // At its own pace.
    assert!((2.9..3.2).contains(&report.seconds), "{report:?}");
    assert!(decoded(&library, &file, SMALL).into_iter().eq(0..90));
    assert_eq!(seen.status, SendStatus { frames: 90, ..SendStatus::default() });
}

#[test]
fn the_rate_follows_the_path() {
    let Some(library) = libvpx() else { return };
    let seen = raw(&library, Moving::new((640, 360), 30, 300), 5, &[NARROW, WIDE]).run();
    // One behind a narrow link, one beside it: each has the rate of its own path.
    let [narrow, wide] = &seen.reports[..] else { panic!("{:?}", seen.reports) };
    assert!((600e3..1e6).contains(&narrow.bps), "{narrow:?}");
    assert!(wide.bps > 4.0 * narrow.bps, "{wide:?} {narrow:?}");
    // It is within what the path carries: most have their highest layer.
    assert!(narrow.by_layer[2] > 150 && wide.by_layer[2] >= 295, "{narrow:?} {wide:?}");
    // No picture is lost, and late by what the narrow link's queue is long.
    assert!(narrow.shown >= 295 && wide.shown >= 295, "{narrow:?} {wide:?}");
    assert!(narrow.latency_p99_ms < 250.0 && wide.latency_p99_ms < 50.0, "{narrow:?} {wide:?}");
}

#[test]
fn a_slow_encoder_skips_pictures_and_keeps_time() {
    let Some(library) = libvpx() else { return };
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("seen.ivf");
    // Time for 50 pictures of the 240 in a second.
    let recording = raw(&library, Moving::new(SMALL, 240, 480), 20, &[WIDE]);
    let seen = Scene { write: Some(file.clone()), ..recording }.run();
    let status = seen.status;
    assert!((95..=102).contains(&status.frames), "{status:?}");
    assert_eq!(status.frames + status.skipped, 480, "{status:?}");
    let numbers = decoded(&library, &file, SMALL);
    assert_eq!(numbers.len() as u64, status.frames);
    assert_eq!(seen.reports[0].shown, status.frames, "{:?}", seen.reports);
    // Frames are numbered by the time of their pictures, not one after the other: all that are missing
    // are at the end of their GoP of ten.
    let gops = numbers.chunk_by(|a, b| a / 10 == b / 10);
    assert!(gops.clone().all(|gop| gop.iter().copied().eq(gop[0]..gop[0] + gop.len() as u64)));
    assert!(gops.clone().all(|gop| gop[0] % 10 == 0) && gops.count() == 48, "{numbers:?}");
}

#[test]
fn what_came_before_a_source_broke_is_shown() {
    let Some(library) = libvpx() else { return };
    let broken = Moving::new(SMALL, 30, 20).chain(&b"FRAME\nand no more"[..]);
    let seen = raw(&library, broken, 5, &[WIDE]).run();
    let said = seen.ended.unwrap_err();
    assert!(said.contains("frame 20: it ends after 11 of 86400 bytes"), "{said}");
    assert_eq!(seen.reports[0].shown, 20, "{:?}", seen.reports);
}

#[test]
fn of_a_clip_a_viewer_sees_what_its_path_carries() {
    let seen = Scene { sent: Sent::Clip("plaza"), paths: vec![NARROW, WIDE], write: None }.run();
    let [narrow, wide] = &seen.reports[..] else { panic!("{:?}", seen.reports) };
    assert!(narrow.shown >= 295 && (600e3..1e6).contains(&narrow.bps), "{narrow:?}");
    assert!(wide.by_layer[2] >= 295 && wide.bps > 4.0 * narrow.bps, "{wide:?}");
}
