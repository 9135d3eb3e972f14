//! Loss, an outage, and a client that moves.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Seed;
use airlane_http_client::{Client, Speak, Url};
use airlane_link::{Link, LinkConfig, LinkSpec, Mode, UdpSpec};
use airlane_media::Video;
use airlane_origin_daemon::play::{PlayRequest, PlayResult};
use airlane_origin_daemon::serve::Server;
use tokio::net::UdpSocket;
use tokio::sync::watch;

use crate::common::*;

/// A link between clients and the server.
fn link(server: &Server, up: &[&str], down: &[&str]) -> Link {
    let udp = UdpSpec::new([([127, 0, 0, 1], 0).into()], server.ready().addresses[0]);
    let link = LinkSpec::from_settings(up, down, Seed(3)).unwrap();
    Link::start(&LinkConfig { link, mode: Mode::Udp(udp), realtime: None }).unwrap()
}

fn through(address: SocketAddr, path: &str) -> Url {
    Url::parse(&format!("https://{address}{path}")).unwrap()
}

/// A player that downloads as fast as it can.
fn player(server: &Server, at: SocketAddr) -> PlayRequest {
    let urls = vec![through(at, "/film/manifest.mpd").to_string()];
    let buffer = Duration::from_secs(600);
    PlayRequest { urls, buffer, ..players(server, "film", Speak::Http3) }
}

/// Everything came, each chunk in its length, on the first connection.
fn assert_whole(result: &PlayResult, video: &Video) {
    assert_eq!((result.failure.as_deref(), result.chunks), (None, video.chunks()));
    assert_eq!(result.retries, 0, "{}", result.line());
    for c in &result.timeline {
        assert_eq!(c.bytes, video.size_bytes(c.rung, c.chunk), "chunk {}", c.chunk);
    }
}

#[test]
fn a_twentieth_of_all_packets_lost_costs_time_and_nothing_else() {
    run(async {
        let folder = Scratch::new();
        let video = write_title(&folder.0, "film", 4, true);
        let server = Server::start(request(&folder.0)).await.unwrap();
        let way = ["rate_bps=40e6", "rtt_s=0.01", "loss.p=0.05"];
        let mut link = link(&server, &way, &way);
        let at = link.address().unwrap();
        let beside = players(&server, "film", Speak::Http3);
        let (lossy, beside) = tokio::join!(play_one(player(&server, at)), play_one(beside));
        assert_whole(&lossy, &video);
        assert_whole(&beside, &video);
        let client = client(Speak::Http3);
        let (got, _) =
            client.get_all(&through(at, "/film/v2/3.m4s"), None, MAX_ANSWER_BYTES).await.unwrap();
        assert!(got == bytes_of(2, 3, video.size_bytes(2, 3)), "{} bytes", got.len());
        let totals = link.totals().unwrap();
        let lost = |way: &airlane_link::WayTotals| way.dropped.total().0;
        assert!(lost(&totals.up) > 5 && lost(&totals.down) > 20, "{totals:?}");
        server.stop().await;
    });
}

#[test]
fn an_outage_is_waited_for() {
    run(async {
        let folder = Scratch::new();
        let video = write_title(&folder.0, "film", 8, true);
        let server = Server::start(request(&folder.0)).await.unwrap();
        // Nothing passes for 0.3 s of every second, for as long as the test may take.
        let outages = (1..600).map(|at| format!("[{at}, 1], [{at}.3, 20e6]"));
        let steps = format!("steps=[[0, 20e6], {}]", outages.collect::<Vec<_>>().join(", "));
        let way = [&steps[..], "rtt_s=0.02"];
        let link = link(&server, &way, &way);
        let clock = link.clock();
        let at = link.address().unwrap();
        // One after the other until a chunk was under way when nothing passed. `run` has an end for who
        // waits in vain.
        let struck = async {
            loop {
                let began = clock.now().as_secs_f64();
                let result = play_one(player(&server, at)).await;
                assert_whole(&result, &video);
                let meets = |c: &airlane_origin_daemon::play::PlayedView| {
                    // Times of the session begin after the manifest: a little after `began`.
                    let requested_s = began + c.requested_s;
                    let outage_s = requested_s.ceil();
                    requested_s < outage_s && began + c.arrived_s >= outage_s + 0.3
                };
                if result.timeline.iter().any(meets) {
                    return;
                }
            }
        };
        let beside = players(&server, "film", Speak::Http3);
        let ((), beside) = tokio::join!(struck, play_one(beside));
        assert_whole(&beside, &video);
        server.stop().await;
    });
}

/// Where the client seems to be.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// How often it has moved.
    moves: u32,
    address: SocketAddr,
    /// Datagrams that the server sent there.
    down: u64,
}

/// Forwards between one client and a server, from a new address of its own whenever it is told.
struct Moving {
    front: SocketAddr,
    moves: watch::Sender<u32>,
    place: watch::Receiver<Place>,
}

impl Moving {
    async fn new(server: SocketAddr) -> Self {
        let any: SocketAddr = ([127, 0, 0, 1], 0).into();
        let front_socket = UdpSocket::bind(any).await.unwrap();
        let front = front_socket.local_addr().unwrap();
        let (moves, mut moved) = watch::channel(0);
        let (here, place) = watch::channel(Place { moves: 0, address: any, down: 0 });
        let relay = async move {
            let mut back = UdpSocket::bind(any).await.unwrap();
            let mut client = any;
            let (mut a, mut b) = (vec![0; 65_536], vec![0; 65_536]);
            loop {
                tokio::select! {
                    told = moved.changed() => {
                        if told.is_err() { return }
                        back = UdpSocket::bind(any).await.unwrap();
                        let moves = *moved.borrow_and_update();
                        let address = back.local_addr().unwrap();
                        here.send_replace(Place { moves, address, down: 0 });
                    }
                    got = front_socket.recv_from(&mut a) => {
                        let (n, from) = got.unwrap();
                        client = from;
                        back.send_to(&a[..n], server).await.unwrap();
                    }
                    got = back.recv_from(&mut b) => {
                        let (n, _) = got.unwrap();
                        front_socket.send_to(&b[..n], client).await.unwrap();
                        here.send_modify(|place| place.down += 1);
                    }
                }
            }
        };
        airlane_runtime::RuntimeExt::spawn(
            &airlane_runtime::real_time::TokioRuntime::new(Seed(2)),
            "relay",
            relay,
        );
        Self { front, moves, place }
    }

    /// Moves, and waits until the relay has.
    async fn again(&mut self) {
        let n = self.place.borrow().moves + 1;
        self.moves.send_replace(n);
        self.place.wait_for(|place| place.moves == n).await.unwrap();
    }
}

#[test]
fn a_client_that_moves_keeps_its_connection_and_its_session() {
    run(async {
        let folder = Scratch::new();
        let video = write_title(&folder.0, "film", 6, true);
        let server = Server::start(request(&folder.0)).await.unwrap();
        let mut path = Moving::new(server.ready().addresses[0]).await;
        let client: Arc<Client> = Arc::new(client(Speak::Http3));
        // The last again, from where it has moved: all of it may have come before.
        for (turn, chunk) in [0, 1, 2, 3, 4, 5, 5].into_iter().enumerate() {
            let at = through(path.front, &format!("/film/v5/{chunk}.m4s"));
            let at = at.with_argument("CMCD=sid%3D%22mover%22%2Cbl%3D4000");
            let (mut answer, at) = client.get(&at, None).await.unwrap();
            let mut got = Vec::new();
            while let Some(piece) = client.next(&mut answer, &at).await.unwrap() {
                if got.is_empty() && turn % 2 == 1 {
                    path.again().await;
                }
                got.extend_from_slice(&piece);
            }
            assert!(got == bytes_of(5, chunk, video.size_bytes(5, chunk)), "chunk {chunk}");
        }
        let place = *path.place.borrow();
        assert!(place.moves == 3 && place.down > 0, "{place:?}");
        assert_eq!(figure(&server, "airlane_sessions_total").await, 1.0);
        let connections = "airlane_connections_total{carrier=\"h3\"}";
        assert_eq!(figure(&server, connections).await, 1.0);
        let sessions = json(&server, "/airlane/sessions").await;
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "{sessions}");
        assert_eq!(sessions["sessions"][0]["chunk"], 5);
        assert_eq!(sessions["sessions"][0]["peer"], place.address.to_string());
        server.stop().await;
    });
}
