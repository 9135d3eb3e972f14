//! Live video over ways that go and return. A clip is sent, which costs no encoder.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_base::{Packet, Seed, Time};
use airlane_link::{Link, LinkConfig, LinkSpec, Mode, UdpSpec};
use airlane_live::{LayerMarks, Source, Video};
use airlane_live_daemon::{ReceiverConfig, Report, Sender, SenderConfig, SentVideo, recv, recv_on};
use airlane_media::layers::LayerContent;
use airlane_runtime::RuntimeExt;
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::virtual_time::{Fabric, World};

use crate::common::run;

fn request(listen: SocketAddr) -> SenderConfig {
    let clips = LayerContent::embedded().unwrap();
    let clip = clips.videos[clips.find("plaza").unwrap()].clone();
    SenderConfig {
        listen,
        video: SentVideo::Clip { clip, source: Source::Pattern, video: Video::Quality },
        marks: LayerMarks::PAPER,
        identity: None,
        data_folder: None,
        viewers: 4,
    }
}

fn watching(server: impl ToString, duration: Option<Duration>) -> ReceiverConfig {
    let server = server.to_string();
    ReceiverConfig { server, insecure: true, duration, write: None, times: None }
}

const SENDER: [u8; 4] = [10, 0, 0, 1];
const OTHER_SENDER: [u8; 4] = [10, 0, 0, 2];
const VIEWER: [u8; 4] = [10, 0, 0, 9];
const PORT: u16 = 4435;

/// What there is at a time: which machine answers at [`SENDER`], and from where the viewer's packets
/// come, by its own port.
#[derive(Clone, Copy)]
struct Ends {
    sender: Option<[u8; 4]>,
    viewer: SocketAddr,
}

/// What there is at each time.
type EndsAt = fn(Time, SocketAddr) -> Ends;

/// A way of 15 ms on which the ends change.
struct Way {
    ends: EndsAt,
    /// Who has been seen at which address.
    viewers: BTreeMap<SocketAddr, SocketAddr>,
    under_way: BTreeMap<(Time, u64), Box<Packet>>,
    next: u64,
}

impl Fabric for Way {
    fn send(&mut self, now: Time, mut packet: Box<Packet>) {
        if packet.src.ip() == IpAddr::from(VIEWER) {
            let Ends { sender, viewer } = (self.ends)(now, packet.src);
            let Some(sender) = sender else { return };
            self.viewers.insert(viewer, packet.src);
            packet.src = viewer;
            packet.dst = (sender, PORT).into();
        } else {
            let Some(viewer) = self.viewers.get(&packet.dst).copied() else { return };
            let ends = (self.ends)(now, viewer);
            if ends.sender.map(IpAddr::from) != Some(packet.src.ip()) || ends.viewer != packet.dst {
                return;
            }
            packet.src = (SENDER, PORT).into();
            packet.dst = viewer;
        }
        self.next += 1;
        self.under_way.insert((now + Duration::from_millis(15), self.next), packet);
    }

    fn next_event(&self) -> Option<Time> {
        self.under_way.keys().next().map(|(at, _)| *at)
    }

    fn poll(&mut self, now: Time) -> Option<Box<Packet>> {
        let first = self.under_way.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }
}

fn at(s: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(s)
}

/// What a viewer reports who watches for so long over a way, the frames of each second, and when it ended.
fn watched(ends: EndsAt, duration: Option<f64>) -> (Report, Vec<u64>, Time) {
    let way = Way { ends, viewers: BTreeMap::new(), under_way: BTreeMap::new(), next: 0 };
    let mut world = World::new(Seed(3), way);
    world.end_at(at(120.0));
    let senders = [("sender", SENDER), ("other sender", OTHER_SENDER)];
    let senders = senders.map(|(name, ip)| (world.host(name, ip.into()), ip));
    let viewer = world.host("viewer", VIEWER.into());
    let ended = world.run(async move {
        let senders =
            senders.map(|(host, ip)| Sender::start_on(&host, request((ip, PORT).into())).unwrap());
        let server = SocketAddr::from((SENDER, PORT));
        let request = watching(server, duration.map(Duration::from_secs_f64));
        let mut seconds = Vec::new();
        let stop = std::future::pending();
        let report = recv_on(&viewer, &request, stop, |second| seconds.push(second.frames)).await;
        drop(senders);
        (report.unwrap(), seconds, viewer.now())
    });
    ended.unwrap()
}

#[test]
fn pictures_go_on_when_the_viewer_has_another_port_or_address() {
    let port = |now, viewer: SocketAddr| {
        let moved = SocketAddr::new(viewer.ip(), viewer.port() ^ 1);
        Ends { sender: Some(SENDER), viewer: if now < at(4.5) { viewer } else { moved } }
    };
    let address = |now, viewer: SocketAddr| {
        let moved = SocketAddr::new([10, 0, 0, 77].into(), viewer.port());
        Ends { sender: Some(SENDER), viewer: if now < at(4.5) { viewer } else { moved } }
    };
    for ends in [port as EndsAt, address] {
        let (report, seconds, _) = watched(ends, Some(20.0));
        assert!(report.lost.is_none() && report.shown >= 580, "{report:?}");
        // The gap is shorter than a second.
        assert!(seconds.iter().all(|frames| *frames >= 8), "{seconds:?}");
    }
}

#[test]
fn pictures_are_back_within_a_second_of_the_ways_return() {
    fn outage(now: Time, from: f64, to: f64) -> Option<[u8; 4]> {
        (now < at(from) || now >= at(to)).then_some(SENDER)
    }
    // Shorter and longer than connections may be silent.
    let ways: [(f64, EndsAt); 3] = [
        (3.0, |now, viewer| Ends { sender: outage(now, 4.0, 7.0), viewer }),
        (9.0, |now, viewer| Ends { sender: outage(now, 4.0, 13.0), viewer }),
        (25.0, |now, viewer| Ends { sender: outage(now, 4.0, 29.0), viewer }),
    ];
    for (lasts, ends) in ways {
        let (report, seconds, _) = watched(ends, Some(40.0));
        assert!(report.lost.is_none(), "{report:?}");
        // The second after the one in which it returned is whole.
        let back = 4 + lasts as usize + 1;
        let least = seconds[back..].iter().min();
        assert!(least.is_some_and(|frames| *frames >= 20), "{lasts} s: {seconds:?}");
        // What was captured meanwhile was not shown.
        assert!((1_150..=1_230).contains(&report.sent), "{lasts} s: {report:?}");
        let missed = (report.sent - report.shown) as f64 / 30.0;
        assert!((lasts - 0.5..lasts + 1.5).contains(&missed), "{lasts} s: {report:?}");
    }
}

#[test]
fn a_sender_that_was_restarted_is_found() {
    // It knows nothing of the viewer's connection, and answers it nothing that the viewer could believe.
    let (report, seconds, _) = watched(
        |now, viewer| {
            let sender = match now {
                now if now < at(4.0) => Some(SENDER),
                now if now < at(6.0) => None,
                _ => Some(OTHER_SENDER),
            };
            Ends { sender, viewer }
        },
        Some(20.0),
    );
    assert!(report.lost.is_none(), "{report:?}");
    assert!(seconds[8..].iter().all(|frames| *frames >= 25), "{seconds:?}");
    // How many are missing the senders' clocks say, which are the machine's: they begin one after the
    // other.
    assert!(report.sent >= 580 && report.shown < 560, "{report:?}");
}

#[test]
fn a_sender_that_is_lost_is_said() {
    let ends: EndsAt = |now, viewer| {
        let sender = (now < at(4.0)).then_some(SENDER);
        Ends { sender, viewer }
    };
    let (report, _, ended) = watched(ends, None);
    let lost = report.lost.as_ref().expect("it is lost");
    assert!(lost.contains("nothing has come from 10.0.0.1:4435 for 30 s"), "{lost}");
    assert!((at(33.0)..at(36.0)).contains(&ended), "{ended:?}");
    // As the time is over it is enough that it is silent. What it would have sent was not shown.
    let (report, _, _) = watched(ends, Some(10.0));
    assert!(report.lost.is_some_and(|lost| lost.contains("for 6 s")));
    assert!((110..=125).contains(&report.shown), "{}", report.shown);
    assert!((285..=310).contains(&report.sent), "{}", report.sent);
}

const ANY: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

/// A link at an address (port 0: any) in front of a sender.
fn link(listen: SocketAddr, to: SocketAddr) -> Link {
    let udp = UdpSpec::new([listen], to);
    let way = ["rtt_s=0.02", "rate_bps=20e6"];
    let link = LinkSpec::from_settings(&way, &way, Seed(3)).unwrap();
    Link::start(&LinkConfig { link, mode: Mode::Udp(udp), realtime: None }).unwrap()
}

/// Watches until `enough` has ended, which is given the number of frames so far.
async fn until<T>(
    server: impl ToString,
    enough: impl AsyncFnOnce(Arc<AtomicU64>) -> T,
) -> (Report, T) {
    let frames = Arc::new(AtomicU64::new(0));
    let (leave, left) = tokio::sync::oneshot::channel::<()>();
    let request = watching(server, None);
    let count = |second: &airlane_live_daemon::Second| {
        frames.fetch_add(second.frames, Ordering::Relaxed);
    };
    let watched = recv(&request, async { drop(left.await) }, count);
    let changes = async {
        let came = enough(frames.clone()).await;
        leave.send(()).unwrap();
        came
    };
    let (report, came) = tokio::join!(watched, changes);
    (report.unwrap(), came)
}

/// Waits for so many more frames, however long that takes on a busy machine.
async fn more(frames: &AtomicU64, count: u64) {
    let runtime = TokioRuntime::new(Seed(1));
    let enough = frames.load(Ordering::Relaxed) + count;
    for _ in 0..6_000 {
        if frames.load(Ordering::Relaxed) >= enough {
            return;
        }
        runtime.sleep(Duration::from_millis(10)).await;
    }
    panic!("not {count} frames within 60 s");
}

#[test]
fn a_relay_that_is_restarted_ends_nothing() {
    run(async {
        let sender = Sender::start(request(ANY.into())).unwrap();
        let first = link(ANY.into(), sender.address());
        let relay = first.address().unwrap();
        let (report, second) = until(relay, async |frames| {
            more(&frames, 10).await;
            first.stop().unwrap();
            let second = link(relay, sender.address());
            more(&frames, 90).await;
            second
        })
        .await;
        assert!(report.shown >= 100 && report.lost.is_none(), "{report:?}");
        second.stop().unwrap();
        sender.stop().await;
    });
}

#[test]
fn a_name_with_addresses_of_both_families_is_watched_at_the_one_that_answers() {
    run(async {
        let sender = Sender::start(request(ANY.into())).unwrap();
        // On most machines ::1 too, which comes first.
        let name = format!("localhost:{}", sender.address().port());
        let (report, ()) = until(name, async |frames| more(&frames, 1).await).await;
        assert!(report.shown > 0 && report.lost.is_none(), "{report:?}");
        sender.stop().await;
    });
}
