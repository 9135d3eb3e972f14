//! Clients that stop reading.

use std::time::Duration;

use airlane_congestion::ControllerConfig;
use airlane_http_client::Speak;
use airlane_origin_daemon::serve::{Server, ServerConfig};
use airlane_quic::{ALPN_H3, Endpoint, FlowControl, H3Client, Timers, Tls, TransportConfig, Trust};
use airlane_runtime::RuntimeExt;
use airlane_runtime::real_time::TokioRuntime;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http_body_util::Empty;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::common::*;
use crate::faults::ask::tls;
use crate::faults::impatient;

/// More than all buffers on the way can hold.
const FILE_BYTES: u64 = 128 << 20;
/// Bytes that may be handed over to a client that takes none: the server's own window of 16 MiB, and
/// what the client's transport or both kernels keep.
const MAX_AHEAD_BYTES: f64 = (48 << 20) as f64;

fn big_file(folder: &Scratch) {
    let file = std::fs::File::create(folder.0.join("big.bin")).unwrap();
    file.set_len(FILE_BYTES).unwrap();
}

/// A client over QUIC that stays in touch, whatever else it does.
pub fn pinging() -> Endpoint {
    taking(2 << 20)
}

/// The same, which takes so many bytes of each answer until it reads them.
pub fn taking(stream_receive_window_bytes: u32) -> Endpoint {
    let tls = Tls { identity: None, trust: Trust::Anyone };
    let controller = ControllerConfig::cubic(1.0);
    let config = TransportConfig {
        alpn: vec![ALPN_H3.to_vec()],
        timers: Timers { keep_alive: Some(Duration::from_millis(200)), ..Timers::default() },
        flow: FlowControl { stream_receive_window_bytes, ..FlowControl::default() },
        ..TransportConfig::network(tls, controller)
    };
    let runtime = TokioRuntime::new(airlane_base::Seed(4));
    Endpoint::client(&runtime, ([127, 0, 0, 1], 0).into(), config).unwrap()
}

#[test]
fn a_client_over_quic_that_takes_nothing_is_left() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 4, true);
        big_file(&folder);
        let server = Server::start(impatient(&folder.0)).await.unwrap();
        let endpoint = pinging();
        let address = server.ready().addresses[0];
        let connection = endpoint.connect(address, "localhost").await.unwrap();
        let h3 = H3Client::connect(connection.clone()).await.unwrap();
        let ask = || http::Request::get(format!("https://{address}/big.bin")).body(()).unwrap();
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(h3.send_request(ask()).await.unwrap());
        }
        let beside = play_one(players(&server, "film", Speak::Tcp)).await;
        assert_eq!(beside.failure, None);
        until(&server, "airlane_responses_cut_short_total", |n| n == 3.0).await;
        let handed = figure(&server, "airlane_bytes_total{carrier=\"h3\"}").await;
        assert!(handed < MAX_AHEAD_BYTES, "{handed} bytes for somebody who takes none");
        // It answers, and says that it is there: it is closed for asking nothing.
        let open = "airlane_connections_open{carrier=\"h3\"}";
        until(&server, open, |n| n == 0.0).await;
        let why = connection.closed().await.to_string();
        assert!(why.contains("nothing was asked for"), "{why}");
        drop(held);
        server.stop().await;
    });
}

#[test]
fn clients_over_tcp_that_take_nothing_are_left() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 4, true);
        big_file(&folder);
        let server = Server::start(impatient(&folder.0)).await.unwrap();
        let mut held = Vec::new();
        for speak in [Speak::Tcp, Speak::Http1] {
            let client = client(speak);
            let (answer, _) = client.get(&url(&server, "/big.bin"), None).await.unwrap();
            held.push((client, answer));
        }
        let beside = play_one(players(&server, "film", Speak::Http3)).await;
        assert_eq!(beside.failure, None);
        until(&server, "airlane_responses_cut_short_total", |n| n == 2.0).await;
        for carrier in ["h2", "http/1.1"] {
            let figure_of = |name: &str| format!("airlane_{name}{{carrier=\"{carrier}\"}}");
            let handed = figure(&server, &figure_of("bytes_total")).await;
            assert!(handed < MAX_AHEAD_BYTES, "{carrier}: {handed} bytes");
            until(&server, &figure_of("connections_open"), |n| n == 0.0).await;
        }
        drop(held);
        server.stop().await;
    });
}

/// What waits for clients of an address over TCP has a bound. Who is beyond it waits until others have
/// been taken, or given up.
#[test]
fn what_an_address_does_not_take_over_tcp_is_bounded() {
    run(async {
        let folder = Scratch::new();
        big_file(&folder);
        std::fs::write(folder.0.join("small.bin"), [7; 100]).unwrap();
        let asked = ServerConfig { connections_per_address: 1, ..impatient(&folder.0) };
        let server = Server::start(asked).await.unwrap();
        let runtime = TokioRuntime::new(airlane_base::Seed(4));
        let mut http = http2::Builder::new(TokioExecutor::new());
        http.initial_stream_window_size(1024);
        let stream = TokioIo::new(tls(&server, b"h2").await);
        let (mut sender, connection) = http.handshake(stream).await.unwrap();
        runtime.spawn("client", async move { drop(connection.await) });
        let mut ask = |name: &str| {
            let request = http::Request::get(url(&server, name).to_string());
            sender.send_request(request.body(Empty::<Bytes>::new()).unwrap())
        };
        let big: FuturesUnordered<_> = (0..20).map(|_| ask("/big.bin")).collect();
        // As many pieces as may wait.
        let held: Vec<_> = big.take(4).collect().await;
        // Their heads may be here before their first pieces wait: until then there is room.
        let mut is_refused = false;
        for _ in 0..20 {
            is_refused |= ask("/small.bin").await.is_err();
        }
        assert!(is_refused, "there is room beside those that are not taken");
        // They were broken off, and with them goes what waited.
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        let client = client(Speak::Tcp);
        while client.get_all(&url(&server, "/small.bin"), None, MAX_ANSWER_BYTES).await.is_err() {
            ticks.tick().await;
        }
        drop(held);
        server.stop().await;
    });
}

/// Files below the folder that this process has open, servers and clients in it together.
#[cfg(target_os = "linux")]
fn open_below(folder: &Scratch) -> usize {
    let all = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let names = all.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    names.filter(|name| name.starts_with(&folder.0) && *name != folder.0).count()
}

#[cfg(target_os = "linux")]
#[test]
fn answers_that_nobody_takes_hold_few_files_open() {
    /// More than the server reads at once.
    const SMALL_BYTES: u64 = 1 << 20;

    run(async {
        let folder = Scratch::new();
        for n in 0..400 {
            let file = std::fs::File::create(folder.0.join(format!("{n}.bin"))).unwrap();
            file.set_len(SMALL_BYTES).unwrap();
        }
        let server = Server::start(request(&folder.0)).await.unwrap();
        let address = server.ready().addresses[0];
        let endpoint = taking(4096);
        let mut held = Vec::new();
        for n in 0..400 {
            if n % 100 == 0 {
                let connection = endpoint.connect(address, "localhost").await.unwrap();
                held.push((H3Client::connect(connection).await.unwrap(), Vec::new()));
            }
            let (h3, answers) = held.last_mut().unwrap();
            let ask = http::Request::get(format!("https://{address}/{n}.bin")).body(()).unwrap();
            answers.push(h3.send_request(ask).await.unwrap());
        }
        let open = open_below(&folder);
        assert!(open <= 128, "{open} files are open");
        // Who takes the rest of an answer gets it, whether or not its file was closed meanwhile.
        let first = client(Speak::Tcp);
        let (got, _) =
            first.get_all(&url(&server, "/0.bin"), Some((0, 9)), MAX_ANSWER_BYTES).await.unwrap();
        assert_eq!(got, [0; 10]);
        let mut body = held[0].1.remove(0).into_body();
        let mut bytes = 0;
        while let Some(piece) = body.data().await.unwrap() {
            bytes += piece.len() as u64;
        }
        assert_eq!(bytes, SMALL_BYTES);
        drop(held);
        server.stop().await;
    });
}
