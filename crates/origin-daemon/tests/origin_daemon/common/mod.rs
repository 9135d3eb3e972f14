//! A folder with a title, a server on it, and clients.

pub mod log;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use airlane_abr::AbrKind;
use airlane_base::Seed;
use airlane_http_client::{Client, FetchError, Speak, Url};
use airlane_media::dash::{self, Chunk, Kind, Object, Presentation, Representation};
use airlane_media::{Video, synthetic, table};
use airlane_origin_daemon::play::{PlayRequest, PlayResult, play};
use airlane_origin_daemon::serve::{Server, ServerConfig};
use airlane_quic::Trust;
use airlane_runtime::real_time::TokioRuntime;
use serde_json::Value;
use tempfile::TempDir;

/// All that clients can speak.
pub const VERSIONS: [Speak; 3] = [Speak::Http3, Speak::Tcp, Speak::Http1];
/// Longest answer that is taken, in bytes.
pub const MAX_ANSWER_BYTES: usize = 64 << 20;
/// After how long what is waited for is taken not to come. Nothing that is right depends on it: a busy
/// machine may take many times as long as an idle one.
pub const LIMIT: Duration = Duration::from_secs(120);

/// The status that the server answered.
pub fn status(e: FetchError) -> u16 {
    match e {
        FetchError::Status { status, .. } => status.as_u16(),
        other => panic!("{other}"),
    }
}

/// A player of a title at the server.
pub fn players(server: &Server, title: &str, speak: Speak) -> PlayRequest {
    PlayRequest {
        urls: vec![url(server, &format!("/{title}/manifest.mpd")).to_string()],
        speak,
        ..any_players()
    }
}

/// One player of nothing yet.
pub fn any_players() -> PlayRequest {
    PlayRequest {
        urls: Vec::new(),
        sessions: 1,
        stagger: Duration::ZERO,
        abr: AbrKind::default(),
        buffer: Duration::from_secs(30),
        pause: Duration::ZERO,
        duration: None,
        speak: Speak::Best,
        insecure: true,
        metric: None,
        silent: false,
        air: None,
    }
}

/// Plays, and tells how it went.
pub async fn play_one(request: PlayRequest) -> PlayResult {
    let mut results = Vec::new();
    play(request, std::future::pending(), |r| results.push(r)).await.unwrap();
    results.remove(0)
}

/// What operators read at a path of the server, in JSON.
pub async fn json(server: &Server, path: &str) -> Value {
    let at = admin(server, path);
    let (bytes, _) = client(Speak::Http1).get_all(&at, None, MAX_ANSWER_BYTES).await.unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// A folder that is removed when the test is over, with what servers keep beside it.
pub struct Scratch(pub PathBuf, #[allow(dead_code, reason = "removed when it is dropped")] TempDir);

impl Scratch {
    pub fn new() -> Self {
        let around = tempfile::tempdir().unwrap();
        let dir = around.path().join("titles");
        std::fs::create_dir(&dir).unwrap();
        Self(dir, around)
    }
}

/// The bytes of a chunk: different for each.
pub fn bytes_of(rung: usize, chunk: usize, len: u64) -> Vec<u8> {
    let mut x = (rung as u64) << 32 | chunk as u64 | 1 << 63;
    let next = |x: &mut u64| {
        *x ^= *x << 13;
        *x ^= *x >> 7;
        *x ^= *x << 17;
        *x as u8
    };
    (0..len).map(|_| next(&mut x)).collect()
}

/// Writes a title of `chunks` chunks called `name` into `folder`, with its quality table if `table`.
pub fn write_title(folder: &Path, name: &str, chunks: usize, table: bool) -> Arc<Video> {
    let video = synthetic::corpus(1, chunks, Seed(7)).remove(0);
    let dir = folder.join(name);
    let millis = video.chunk.as_millis() as u64;
    let mut presentation = Presentation::default();
    for (rung, of) in video.rungs.iter().enumerate() {
        std::fs::create_dir_all(dir.join(format!("v{rung}"))).unwrap();
        std::fs::write(dir.join(format!("v{rung}/init.mp4")), b"header").unwrap();
        let chunk = |chunk: usize| {
            let url = format!("v{rung}/{chunk}.m4s");
            let bytes = bytes_of(rung, chunk, video.size_bytes(rung, chunk));
            std::fs::write(dir.join(&url), bytes).unwrap();
            let object = Object { url, range: None };
            Chunk { object, time: chunk as u64 * millis, duration: millis }
        };
        presentation.video.push(Representation {
            bandwidth: of.nominal,
            width: Some(of.width),
            height: Some(of.height),
            init: Some(Object { url: format!("v{rung}/init.mp4"), range: None }),
            chunks: (0..video.chunks()).map(chunk).collect(),
            ..Representation::new(of.name.clone(), Kind::Video, "avc1.64001f", 1000)
        });
    }
    std::fs::write(dir.join("manifest.mpd"), dash::write(&presentation)).unwrap();
    if table {
        std::fs::write(dir.join("quality.json"), table::to_json(&video)).unwrap();
    }
    video
}

/// What a server on `folder` is told, at any free port.
pub fn request(folder: &Path) -> ServerConfig {
    let listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    ServerConfig {
        data_folder: Some(folder.with_extension("data")),
        drain: Duration::from_secs(2),
        ..ServerConfig::new(folder, listen)
    }
}

/// A client that trusts anybody.
pub fn client(speak: Speak) -> Client {
    Client::new(TokioRuntime::new(Seed(1)), Trust::Anyone, speak).unwrap()
}

/// The address of a path at the server.
pub fn url(server: &Server, path: &str) -> Url {
    Url::parse(&format!("https://{}{path}", server.ready().addresses[0])).unwrap()
}

/// The address of a path where operators look.
pub fn admin(server: &Server, path: &str) -> Url {
    Url::parse(&format!("http://{}{path}", server.ready().admin[0])).unwrap()
}

/// A figure of the server's, by its name with labels.
pub async fn figure(server: &Server, name: &str) -> f64 {
    figure_by(&client(Speak::Http1), server, name).await
}

async fn figure_by(client: &Client, server: &Server, name: &str) -> f64 {
    let (page, _) =
        client.get_all(&admin(server, "/metrics"), None, MAX_ANSWER_BYTES).await.unwrap();
    let page = String::from_utf8(page).unwrap();
    let line = page.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().unwrap())
}

/// Waits until a figure of the server's is as `wanted`, for [`LIMIT`] at most.
pub async fn until(server: &Server, name: &str, wanted: impl Fn(f64) -> bool) {
    let client = client(Speak::Http1);
    let mut last = f64::NAN;
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    let found = async {
        while !wanted(last) {
            ticks.tick().await;
            last = figure_by(&client, server, name).await;
        }
    };
    let found = tokio::time::timeout(LIMIT, found).await;
    found.unwrap_or_else(|_| panic!("{name} stays at {last}"));
}

/// An address whose port and the one after are free. They are below those that the system gives to who
/// asks for any, so that no other test has them while this one lets go of them.
pub fn kept_address() -> SocketAddr {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + u16::try_from(std::process::id() % 5_000).unwrap();
    loop {
        let port = first + TAKEN.fetch_add(2, Ordering::Relaxed);
        let is_free = |port| {
            let at = SocketAddr::from(([127, 0, 0, 1], port));
            std::net::UdpSocket::bind(at).is_ok() && std::net::TcpListener::bind(at).is_ok()
        };
        if is_free(port) && is_free(port + 1) {
            return SocketAddr::from(([127, 0, 0, 1], port));
        }
    }
}

/// Runs a test on threads of its own, for five minutes at most.
pub fn run(test: impl Future<Output = ()>) {
    log::listen();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(300), test).await })
        .expect("it comes to an end");
}
