//! One film, from the origin to the player, on both runtimes: the same roles, the same bytes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_abr::{AbrKind, PlayerConfig, TitleModel};
use airlane_apps::bulk;
use airlane_apps::cmcd::Cmcd;
use airlane_apps::content::Library;
use airlane_apps::vod::{
    ClientConnection, FetchPattern, Origin, OriginEvents, Player, Policy, Responded, Session,
};
use airlane_base::{Rate, Seed, Time};
use airlane_congestion::ControllerConfig;
use airlane_media::{Metric, Perceptual, Video, synthetic};
use airlane_net::{Dumbbell, Impairment};
use airlane_quality::QoeParams;
use airlane_quic::{Cipher, Endpoint, H3Client, TransportConfig};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::virtual_time::World;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use http::{Request, StatusCode};
use parking_lot::Mutex;

fn film(chunks: usize) -> Arc<Video> {
    synthetic::corpus(1, chunks, Seed(3)).remove(0)
}

fn transport(cipher: Cipher) -> TransportConfig {
    let controller = ControllerConfig::cubic(1.0);
    let mut config = TransportConfig::laboratory(cipher, controller);
    config.packets.empty_client_ids = true;
    config
}

/// Sizes of the manifest and of the header of a track.
const OPENING_BYTES: [u64; 2] = [2_090, 801];

#[derive(Default)]
struct Log(Mutex<Vec<(String, u16, u64)>>);

impl OriginEvents for Log {
    fn responded(&self, _: &ClientConnection, r: &Responded<'_>) {
        self.0.lock().push((r.path.to_owned(), r.status.as_u16(), r.bytes));
    }
}

/// Plays `video` from an origin on `server` to a player on `client`.
async fn play(
    (server, client): (RuntimeHandle, RuntimeHandle),
    listen: SocketAddr,
    cipher: Cipher,
    video: Arc<Video>,
    player: PlayerConfig,
) -> (Session, Arc<Log>) {
    let log = Arc::new(Log::default());
    let endpoint = Endpoint::server(&server, listen, transport(cipher.clone())).unwrap();
    let address = endpoint.local_addr();
    let library = Library::new([video.clone()]).with_opening(OPENING_BYTES.to_vec());
    let origin = Origin::new(Arc::new(library), Policy::Plain, log.clone());
    server.spawn("origin", origin.serve(endpoint));
    let view = Perceptual::new(video.clone(), Metric::Vmaf).unwrap();
    let setting = Arc::new(TitleModel::new(view, QoeParams::default(), player).unwrap());
    let player = Player {
        setting,
        abr: Arc::new(AbrKind::default()),
        abr_name: AbrKind::default().to_string(),
        metric_name: None,
        send_value: None,
        lie: None,
        session_id: "a".to_owned(),
        until: None,
    };
    let any = SocketAddr::from(([0, 0, 0, 0], 0));
    let caller = Endpoint::client(&client, any, transport(cipher)).unwrap();
    let connect = async {
        let mut fetch = FetchPattern::connect(&caller, address, "video.airlane", video).await?;
        fetch.open(OPENING_BYTES.len(), &Cmcd::default()).await?;
        Ok(fetch)
    };
    (player.watch(&client, connect, |_| {}).await, log)
}

fn check(session: &Session, log: &Log, video: &Video) {
    assert!(session.failure.is_none(), "{:?}", session.failure);
    let chunks = session.model.chunks();
    assert_eq!(chunks.len(), video.chunks());
    assert_eq!(chunks[0].rung, 0, "the first chunk comes at the lowest rung");
    let served = log.0.lock();
    let opening = OPENING_BYTES.iter().enumerate();
    let opening = opening.map(|(i, bytes)| (Library::opening_path(video, i), 200, *bytes));
    let chunks = chunks
        .iter()
        .map(|c| (Library::path(video, c.rung, c.chunk), 200, video.size_bytes(c.rung, c.chunk)));
    assert_eq!(*served, opening.chain(chunks).collect::<Vec<_>>());
}

#[test]
fn a_film_plays_over_real_loopback_sockets() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let video = film(5);
    let handle = runtime.block_on(async { TokioRuntime::new(Seed(1)) });
    let player = PlayerConfig { chunk_overhead: Duration::ZERO, ..PlayerConfig::default() };
    for cipher in [Cipher::Null, Cipher::lab_tls().unwrap()] {
        let hosts = (handle.clone(), handle.clone());
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let played = async {
            let (session, log) = play(hosts, listen, cipher, video.clone(), player).await;
            // The origin may tell of its last answer a moment after the player has it.
            let answers = OPENING_BYTES.len() + session.model.chunks().len();
            while log.0.lock().len() < answers {
                tokio::task::yield_now().await;
            }
            (session, log)
        };
        let (session, log) = runtime
            .block_on(async { tokio::time::timeout(Duration::from_secs(60), played).await })
            .expect("a film of five chunks loads within a minute");
        check(&session, &log, &video);
    }
}

/// A world with one pair of hosts on a link of `mbps`.
fn world(mbps: f64) -> (World, RuntimeHandle, RuntimeHandle, SocketAddr) {
    world_of(&Dumbbell::new(Rate::from_mbps(mbps), Duration::from_millis(20), 1.5, 1))
}

fn world_of(dumbbell: &Dumbbell) -> (World, RuntimeHandle, RuntimeHandle, SocketAddr) {
    let built = dumbbell.build(Seed(5));
    let ip = |host| built.network.addresses(host)[0];
    let (s, c) = (ip(built.servers[0]), ip(built.clients[0]));
    let mut world = World::new(Seed(5), built.network);
    let (server, client) = (world.host("server", s), world.host("client", c));
    (world, server, client, SocketAddr::new(s, 443))
}

#[test]
fn a_film_plays_in_virtual_time_and_no_byte_goes_astray() {
    let video = film(30);
    let (mut world, server, client, listen) = world(5.0);
    let played =
        play((server, client), listen, Cipher::Null, video.clone(), PlayerConfig::default());
    let (session, log) = world.run(played).unwrap();
    check(&session, &log, &video);
    let chunks = session.model.chunks();
    let network = world.network();
    network.check_conservation().unwrap();
    // Bytes at the bottleneck are bodies plus headers, lost packets once more.
    let bodies: u64 = chunks.iter().map(|c| video.size_bytes(c.rung, c.chunk)).sum();
    let link = network.find("link.down").unwrap();
    let carried = network.node_counters(link, airlane_net::Port::ONLY).polled.1;
    let full = 1350.0 + 28.0;
    let least = bodies as f64 * full / (1350.0 - 27.0);
    let ratio = carried as f64 / least;
    assert!((0.98..1.04).contains(&ratio), "{carried} bytes carried, {least} expected");
    // A player idles 0.6 s between a response and the next request.
    for pair in chunks.windows(2) {
        let gap = pair[1].requested - pair[0].arrived;
        assert!(gap >= Duration::from_millis(600), "{gap:?}");
    }
}

#[test]
fn the_origin_answers_parts_heads_and_nonsense() {
    let video = film(3);
    let path = Library::path(&video, 1, 2);
    let size = video.size_bytes(1, 2);
    let (mut world, server, client, listen) = world(50.0);
    let origin = Origin::new(Arc::new(Library::new([video])), Policy::Plain, Arc::new(()));
    let asked = path.clone();
    let answers = world
        .run(async move {
            let endpoint = Endpoint::server(&server, listen, transport(Cipher::Null)).unwrap();
            server.spawn("origin", origin.serve(endpoint));
            let any = SocketAddr::from(([0, 0, 0, 0], 0));
            let caller = Endpoint::client(&client, any, transport(Cipher::Null)).unwrap();
            let connection = caller.connect(listen, "video.airlane").await.unwrap();
            let client = H3Client::connect(connection).await.unwrap();
            let mut answers = Vec::new();
            for (method, path, range) in [
                ("GET", asked.as_str(), Some("bytes=10-19")),
                ("HEAD", &asked, None),
                ("GET", &asked, Some("bytes=999999999-")),
                ("GET", "/no/such/thing.m4s", None),
                ("GET", "/../../etc/passwd", None),
                ("POST", &asked, None),
            ] {
                let mut request =
                    Request::builder().method(method).uri(format!("https://video.airlane{path}"));
                if let Some(range) = range {
                    request = request.header("range", range);
                }
                let response = client.send_request(request.body(()).unwrap()).await.unwrap();
                let (head, mut body) = response.into_parts();
                let bytes = body.collect(1 << 20).await.unwrap();
                answers.push((head.status, head.headers, bytes.len()));
            }
            answers
        })
        .unwrap();
    let statuses: Vec<_> = answers.iter().map(|a| a.0).collect();
    assert_eq!(
        statuses,
        [
            StatusCode::PARTIAL_CONTENT,
            StatusCode::OK,
            StatusCode::RANGE_NOT_SATISFIABLE,
            StatusCode::NOT_FOUND,
            StatusCode::NOT_FOUND,
            StatusCode::METHOD_NOT_ALLOWED
        ]
    );
    assert_eq!(answers[0].1["content-range"], format!("bytes 10-19/{size}"));
    assert_eq!(answers[0].2, 10);
    assert_eq!(answers[1].1["content-length"], size.to_string());
    assert_eq!(answers[1].2, 0, "a HEAD has no body");
    assert_eq!(answers[2].1["content-range"], format!("bytes */{size}"));
}

#[test]
fn a_transfer_arrives_whole_and_fills_the_link() {
    let (mut world, server, client, listen) = world(20.0);
    let clock = client.clone();
    let (bytes, at) = world
        .run(async move {
            let endpoint = Endpoint::server(&server, listen, transport(Cipher::Null)).unwrap();
            server.spawn("bulk server", bulk::serve(endpoint, bulk::Supply::default(), |_, _| {}));
            let any = SocketAddr::from(([0, 0, 0, 0], 0));
            let caller = Endpoint::client(&client, any, transport(Cipher::Null)).unwrap();
            let bytes = bulk::fetch(&caller, listen, 10_000_000, None, Arc::default()).await;
            (bytes.unwrap(), clock.now())
        })
        .unwrap();
    assert_eq!(bytes, 10_000_000);
    let rate = Rate::of(bytes, at.since_start()).mbps();
    assert!((17.5..19.6).contains(&rate), "{rate} Mbit/s of goodput on 20");
}

#[test]
fn thousands_of_lossy_packets_in_flight_are_bounded_by_no_stream() {
    // 480 Mbit/s over 120 ms: 5300 packets in flight, one in a thousand lost.
    let rtt = Duration::from_millis(120);
    let mut dumbbell = Dumbbell::new(Rate::from_mbps(1_000.0), rtt, 1.0, 1);
    dumbbell.uplink.supply = Rate::from_mbps(100.0).into();
    dumbbell.downlink.impairments = vec![Impairment::Bernoulli(0.001)];
    let (mut world, server, client, listen) = world_of(&dumbbell);
    let explicit = ControllerConfig::Explicit { rate: Rate::from_bps(480_000_000) };
    let mut sender = TransportConfig::laboratory(Cipher::Null, explicit);
    sender.flow.send_window_bytes = bulk::SEND_WINDOW_BYTES;
    sender.flow.min_send_window_bytes = bulk::SEND_WINDOW_BYTES;
    let mut receiver = transport(Cipher::Null);
    receiver.flow.receive_window_bytes = bulk::RECEIVE_WINDOW_BYTES;
    let bytes = world
        .run(async move {
            let endpoint = Endpoint::server(&server, listen, sender).unwrap();
            server.spawn("bulk server", bulk::serve(endpoint, bulk::Supply::default(), |_, _| {}));
            let any = SocketAddr::from(([0, 0, 0, 0], 0));
            let caller = Endpoint::client(&client, any, receiver).unwrap();
            let until = Some(Time::from_millis(1_500));
            bulk::fetch(&caller, listen, 0, until, Arc::default()).await
        })
        .unwrap()
        .unwrap();
    // The handshake and the first flight take 180 ms; what is behind the last hole is not counted.
    let rate = Rate::of(bytes, Duration::from_millis(1_320)).mbps();
    assert!((400.0..480.0).contains(&rate), "{rate} Mbit/s of goodput");
}
