//! What a client can take by pretending to play: a download beside invented sessions, against another
//! client's plain download on the same link.
//!
//! `cargo test -p airlane-origin stolen -- --nocapture` prints the shares that docs/guide/serve.md
//! gives.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_congestion::ControllerConfig;
use airlane_media::{Video, synthetic};
use airlane_net::Dumbbell;
use airlane_origin::Library;
use airlane_origin::cmcd::Cmcd;
use airlane_origin::sessions::WeightRule;
use airlane_origin::{Cohort, Origin, Policy, SessionPolicy, WeightPolicy};
use airlane_quic::{Body, Cipher, Endpoint, H3Client, QuicError, TransportConfig};
use airlane_runtime::virtual_time::World;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use http::Request;

/// A plain connection for every session that names itself, or as many as its id ends with.
#[derive(Debug)]
struct Plain;

impl WeightPolicy for Plain {
    fn terms(&self, _: &str, _: &str, _: &Cmcd) -> SessionPolicy {
        SessionPolicy { cohort: Cohort::Control, setting: None }
    }

    fn rule(&self, _: &str, _: Cohort, cmcd: &Cmcd) -> Option<WeightRule> {
        let (_, weight) = cmcd.session.as_deref()?.split_once('*').unwrap_or(("", "1"));
        Some(WeightRule::Fixed(weight.parse().unwrap()))
    }

    fn payload_bytes(&self) -> u64 {
        1350
    }

    fn suggestion_bps(&self, _: &str, _: f64) -> Option<u64> {
        None
    }
}

const LINK: Rate = Rate::from_bps(20_000_000);
/// Sessions that are invented.
const INVENTED: usize = 32;
/// Before anything is measured: by then pretence has shown.
const WARM_UP: Duration = Duration::from_secs(25);
const MEASURED: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Pretence {
    /// None: a download alone.
    Nothing,
    /// Ranges of a byte under many ids.
    OneByte,
    /// Chunks under many ids that are broken off when they begin to come.
    Aborted,
    /// The same chunk again and again, under many ids.
    SameChunk,
    /// Chunks under many ids that are asked for, and then not read beyond what a stream may hold.
    Unread,
    /// None, but many ids under which chunk after chunk is taken in time: they play, at the lowest rung.
    Play,
    /// None: two more downloads, each with an id.
    Downloads,
}

fn transport() -> TransportConfig {
    let mut config = TransportConfig::laboratory(Cipher::Null, ControllerConfig::cubic(1.0));
    config.flow.min_send_window_bytes = 128 << 10;
    config.flow.send_window_bytes = 16 << 20;
    config
}

/// A client with a connection of its own.
struct Client {
    host: RuntimeHandle,
    h3: Arc<H3Client>,
    _endpoint: Endpoint,
}

impl Client {
    async fn new(host: &RuntimeHandle, server: SocketAddr, stream_bytes: u32) -> Self {
        let any = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut config = transport();
        config.flow.stream_receive_window_bytes = stream_bytes;
        let endpoint = Endpoint::client(host, any, config).unwrap();
        let connection = endpoint.connect(server, "x").await.unwrap();
        let h3 = Arc::new(H3Client::connect(connection).await.unwrap());
        Self { host: host.clone(), h3, _endpoint: endpoint }
    }

    /// Downloads chunks without a break, and counts their bytes.
    fn download(&self, video: &Arc<Video>, id: Option<&str>) -> Arc<AtomicU64> {
        let (counted, h3, video) = (Arc::new(AtomicU64::new(0)), self.h3.clone(), video.clone());
        let (counts, id) = (counted.clone(), id.map(str::to_owned));
        self.host.spawn("download", async move {
            for n in 0.. {
                let (rung, chunk) = (video.rungs.len() - 1, n % video.chunks());
                let got = ask(&h3, &video, (rung, chunk), id.as_deref(), None).await;
                let Ok(mut body) = got else { return };
                while let Ok(Some(piece)) = body.data().await {
                    counts.fetch_add(piece.len() as u64, Ordering::Relaxed);
                }
            }
        });
        counted
    }

    /// Pretends to play.
    fn pretend(&self, video: &Arc<Video>, pretence: Pretence) {
        if pretence == Pretence::Downloads {
            for id in ["one", "two"] {
                self.download(video, Some(id));
            }
            return;
        }
        for n in 0..INVENTED {
            let (host, h3, video) = (self.host.clone(), self.h3.clone(), video.clone());
            let id = format!("invented-{n}");
            self.host.spawn("pretence", async move {
                let mut unread = Vec::new();
                for n in 0.. {
                    let chunk =
                        if pretence == Pretence::SameChunk { 0 } else { n % video.chunks() };
                    let range = (pretence == Pretence::OneByte).then_some("bytes=0-0");
                    let Ok(mut body) = ask(&h3, &video, (0, chunk), Some(&id), range).await else {
                        return;
                    };
                    match pretence {
                        Pretence::Aborted => drop(body),
                        Pretence::Unread if unread.len() < 2 => unread.push(body),
                        Pretence::Unread => {}
                        _ => while matches!(body.data().await, Ok(Some(_))) {},
                    }
                    host.sleep(Duration::from_secs(4)).await;
                }
            });
        }
    }
}

async fn ask(
    h3: &H3Client,
    video: &Video,
    (rung, chunk): (usize, usize),
    id: Option<&str>,
    range: Option<&str>,
) -> Result<Body, QuicError> {
    let cmcd = Cmcd { session: id.map(str::to_owned), ..Cmcd::default() };
    let url = format!("https://x{}?{}", Library::path(video, rung, chunk), cmcd.to_query());
    let mut request = Request::get(url);
    if let Some(range) = range {
        request = request.header("range", range);
    }
    Ok(h3.send_request(request.body(()).unwrap()).await?.into_body())
}

/// The share of two downloads' bytes that comes to the one whose client pretends.
fn share(pretence: Pretence, seed: u64) -> f64 {
    let videos = synthetic::corpus(1, 100, Seed(3));
    let built = Dumbbell::new(LINK, Duration::from_millis(20), 1.0, 2).build(Seed(seed));
    let ip = |host| built.network.addresses(host)[0];
    // A server at either end of the link's pairs: one origin at two addresses.
    let servers = [0, 1].map(|n| ip(built.servers[n]));
    let clients = [0, 1].map(|n| ip(built.clients[n]));
    let mut world = World::new(Seed(seed), built.network);
    let servers =
        ["first", "second"].into_iter().zip(servers).map(|(n, ip)| (world.host(n, ip), ip));
    let servers: Vec<_> = servers.collect();
    let hosts = ["honest", "pretender"].into_iter().zip(clients).map(|(n, ip)| world.host(n, ip));
    let hosts: Vec<_> = hosts.collect();
    world
        .run(async move {
            let store = Arc::new(Library::new(videos.clone()));
            let origin = Origin::new(store, Policy::Minerva(Arc::new(Plain)), Arc::new(()));
            let mut clients = Vec::new();
            for ((server, ip), host) in servers.iter().zip(&hosts) {
                let listen = SocketAddr::new(*ip, 443);
                let endpoint = Endpoint::server(server, listen, transport()).unwrap();
                server.spawn("origin", origin.clone().serve(endpoint));
                // Less than a chunk, and more than a round trip takes.
                clients.push(Client::new(host, listen, 100_000).await);
            }
            let [honest, pretender] = [&clients[0], &clients[1]];
            let counted = [honest, pretender].map(|client| client.download(&videos[0], None));
            if pretence != Pretence::Nothing {
                pretender.pretend(&videos[0], pretence);
            }
            hosts[0].sleep(WARM_UP).await;
            let bytes = || counted.each_ref().map(|c| c.load(Ordering::Relaxed) as f64);
            let before = bytes();
            hosts[0].sleep(MEASURED).await;
            let after = bytes();
            let [honest, pretender] = [after[0] - before[0], after[1] - before[1]];
            pretender / (honest + pretender)
        })
        .unwrap()
}

/// The mean over some seeds.
fn mean_share(pretence: Pretence) -> f64 {
    let shares: Vec<f64> = (1..=4).map(|seed| share(pretence, seed)).collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    println!("{pretence:?}: {mean:.2} {shares:.2?}");
    mean
}

/// What a download takes whose client pretends nothing.
fn plain_share() -> f64 {
    static PLAIN: LazyLock<f64> = LazyLock::new(|| mean_share(Pretence::Nothing));
    *PLAIN
}

fn assert_steals_nothing(pretence: Pretence) {
    let (share, plain) = (mean_share(pretence), plain_share());
    assert!(share < plain + 0.1, "{pretence:?}: {share}, and {plain} without");
}

#[test]
fn two_downloads_share_the_link() {
    let plain = plain_share();
    assert!((0.4..0.6).contains(&plain), "{plain}");
}

#[test]
fn ranges_of_a_byte_steal_no_weight() {
    assert_steals_nothing(Pretence::OneByte);
}

#[test]
fn chunks_that_are_broken_off_steal_no_weight() {
    assert_steals_nothing(Pretence::Aborted);
}

#[test]
fn the_same_chunk_again_steals_no_weight() {
    assert_steals_nothing(Pretence::SameChunk);
}

#[test]
fn chunks_that_are_not_read_steal_no_weight() {
    assert_steals_nothing(Pretence::Unread);
}

/// What plays has its weight, and what it leaves is no download's beside it.
#[test]
fn sessions_that_play_count_for_what_they_take() {
    let share = mean_share(Pretence::Play);
    assert!((0.35..0.6).contains(&share), "{share}: a download beside them is one");
    // Two sessions make the connection twice as heavy as the other, and the download beside them has a
    // third of that: 2/9 of the link, where the other client's has 3/9.
    let share = mean_share(Pretence::Downloads);
    assert!((0.35..0.45).contains(&share), "{share}");
}

/// Two tabs of a browser, on one connection.
#[test]
fn two_tabs_on_one_connection_have_bytes_in_proportion_to_their_weights() {
    let videos = synthetic::corpus(1, 100, Seed(3));
    let built = Dumbbell::new(LINK, Duration::from_millis(20), 1.0, 1).build(Seed(4));
    let ip = |host| built.network.addresses(host)[0];
    let (s, c) = (ip(built.servers[0]), ip(built.clients[0]));
    let mut world = World::new(Seed(4), built.network);
    let (server, host) = (world.host("server", s), world.host("client", c));
    let [one, two] = world
        .run(async move {
            let listen = SocketAddr::new(s, 443);
            let store = Arc::new(Library::new(videos.clone()));
            let origin = Origin::new(store, Policy::Minerva(Arc::new(Plain)), Arc::new(()));
            let endpoint = Endpoint::server(&server, listen, transport()).unwrap();
            server.spawn("origin", origin.serve(endpoint));
            let client = Client::new(&host, listen, 1 << 20).await;
            let tabs = ["one*2.8", "two*1.6"].map(|id| client.download(&videos[0], Some(id)));
            host.sleep(Duration::from_secs(5)).await;
            let bytes = || tabs.each_ref().map(|c| c.load(Ordering::Relaxed) as f64);
            let before = bytes();
            host.sleep(Duration::from_secs(20)).await;
            let after = bytes();
            [after[0] - before[0], after[1] - before[1]]
        })
        .unwrap();
    let ratio = one / two;
    println!("two tabs: {ratio:.3}, of weights {:.3}", 2.8 / 1.6);
    assert!((ratio / (2.8 / 1.6) - 1.0).abs() < 0.1, "{ratio}");
}
