//! What one address that takes nothing of ten thousand answers costs others: the time that their
//! requests take, beside that of the same requests while it is away; and the server's memory.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use airlane_base::Seed;
use airlane_congestion::ControllerConfig;
use airlane_http_client::{Client, Speak};
use airlane_quic::{
    ALPN_H3, Body, Endpoint, FlowControl, H3Client, QuicError, Tls, TransportConfig, Trust,
};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use http::Request;

use crate::bar::{Figure, Problem, Rule, Setting};
use crate::clock::Watch;
use crate::metrics::Metrics;
use crate::process::{self, Scratch};

/// Addresses of the client that asks and takes nothing, and of the one that asks beside it.
const STALLING: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
const BESIDE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// Bytes that the first takes of each answer: its head and little more.
const TAKES_BYTES: u32 = 2_048;
/// Answers on each of its connections: all that there may be.
const STREAMS: usize = 100;
/// Bytes of what the other asks for: a chunk.
const CHUNK_BYTES: usize = 500_000;
/// Interval of its requests.
const EVERY: Duration = Duration::from_millis(20);

/// Maximum time in which the server forgets connections that were closed, and interval at which it
/// is asked.
const FORGETS: Duration = Duration::from_secs(10);
const ASKED_EVERY: Duration = Duration::from_millis(100);

/// Measurements of all rounds.
#[derive(Default)]
struct Measured {
    quiet: Vec<Duration>,
    with: Vec<Duration>,
    stalled: usize,
    /// Bytes more of the server's with the stalled answers than before any.
    memory: u64,
}

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    // A machine that others use takes a processor away for about 10 ms in about one request of a
    // hundred, which is where the 99th percentile is. So both are asked in turn, in several rounds.
    let (rounds, connections, requests) = if setting.quick { (1, 10, 100) } else { (6, 100, 500) };
    let folder = Scratch::new("stalled")?;
    let write = |name: &str, bytes: usize| {
        std::fs::write(folder.path(format!("www/{name}")), vec![0x5a; bytes])
            .map_err(|e| Problem::Broke(format!("{name}: {e}")))
    };
    write("chunk.m4s", CHUNK_BYTES)?;
    for stream in 0..STREAMS {
        write(&format!("{stream}.m4s"), CHUNK_BYTES)?;
    }
    let (server, address, admin) = process::serve(&folder)?;
    let at = address.strip_prefix("https://").and_then(|a| a.parse::<SocketAddr>().ok());
    let at = at.ok_or_else(|| Problem::Broke(format!("the server is at {address}")))?;
    let threads =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let threads = threads.map_err(|e| Problem::Broke(e.to_string()))?;
    let broke = |e: QuicError| Problem::Broke(e.to_string());
    threads.block_on(async {
        let runtime = TokioRuntime::new(Seed(1));
        let beside = endpoint(&runtime, BESIDE, 2 << 20).map_err(broke)?;
        let stalling = endpoint(&runtime, STALLING, TAKES_BYTES).map_err(broke)?;
        let h3 = connect(&beside, at).await.map_err(broke)?;
        let before = server.usage()?.resident_bytes;
        let operator = Client::new(runtime.clone(), Trust::Anyone, Speak::Http1);
        let operator = operator.map_err(|e| Problem::Broke(e.to_string()))?;
        let open = async || Metrics::read(&operator, &admin).await?.sum("airlane_connections_open");
        let mut measured = Measured::default();
        for round in 0..rounds {
            // What is called quiet has to be: the server has the one connection that asks.
            let watch = Watch::start();
            while open().await? > 1.0 {
                if watch.elapsed() > FORGETS {
                    return Err(Problem::Broke("the server kept connections that ended".into()));
                }
                runtime.sleep(ASKED_EVERY).await;
            }
            let quiet = latencies(&runtime, &h3, at, requests).await.map_err(broke)?;
            let mut held = Vec::new();
            for _ in 0..connections {
                held.push(stall(&stalling, at).await.map_err(broke)?);
            }
            let with = latencies(&runtime, &h3, at, requests).await.map_err(broke)?;
            let others = open().await? - 1.0;
            if others != connections as f64 {
                let why = format!("{others} of {connections} connections stayed to take nothing");
                return Err(Problem::Broke(why));
            }
            if round == 0 {
                measured.memory = server.usage()?.resident_bytes.saturating_sub(before);
                measured.stalled = held.iter().map(|(_, answers)| answers.len()).sum();
            }
            measured.quiet.extend(quiet);
            measured.with.extend(with);
        }
        Ok(figures(measured))
    })
}

fn figures(measured: Measured) -> Vec<Figure> {
    let Measured { mut quiet, mut with, stalled, memory } = measured;
    quiet.sort_unstable();
    with.sort_unstable();
    let ms =
        |all: &[Duration], q: f64| all[((all.len() - 1) as f64 * q) as usize].as_secs_f64() * 1e3;
    let mib = memory as f64 / f64::from(1 << 20);
    vec![
        Figure {
            bar: "stalled.p99".into(),
            ours: ms(&with, 0.99) / ms(&quiet, 0.99),
            peer: None,
            unit: "x quiet",
            rule: Rule::AtMost(2.0),
            note: format!(
                "{} requests for {} kB over HTTP/3, {} ms apart: 99 % within {:.2} ms, half within \
                 {:.2} ms, while another address has {stalled} answers that it does not take; as \
                 many in turn with them while it has none: 99 % within {:.2} ms, half within \
                 {:.2} ms",
                with.len(),
                CHUNK_BYTES / 1000,
                EVERY.as_millis(),
                ms(&with, 0.99),
                ms(&with, 0.5),
                ms(&quiet, 0.99),
                ms(&quiet, 0.5),
            ),
        },
        Figure {
            bar: "stalled.memory".into(),
            ours: mib * 1024.0 / stalled as f64,
            peer: None,
            unit: "KiB per answer",
            rule: Rule::Reported,
            note: format!("{mib:.0} MiB more of the server's, its connections included"),
        },
    ]
}

fn endpoint(runtime: &RuntimeHandle, at: Ipv4Addr, takes: u32) -> Result<Endpoint, QuicError> {
    let tls = Tls { identity: None, trust: Trust::Anyone };
    let config = TransportConfig {
        alpn: vec![ALPN_H3.to_vec()],
        flow: FlowControl { stream_receive_window_bytes: takes, ..FlowControl::default() },
        ..TransportConfig::network(tls, ControllerConfig::cubic(1.0))
    };
    Endpoint::client(runtime, (at, 0).into(), config)
}

async fn connect(endpoint: &Endpoint, server: SocketAddr) -> Result<H3Client, QuicError> {
    H3Client::connect(endpoint.connect(server, "localhost").await?).await
}

/// Asks for an object. The answer's body, to come.
async fn ask(h3: &H3Client, server: SocketAddr, name: &str) -> Result<Body, QuicError> {
    let request = Request::get(format!("https://{server}/{name}")).body(());
    let request = request.map_err(|e| QuicError::Http(e.to_string()))?;
    let answer = h3.send_request(request).await?;
    match answer.status().is_success() {
        true => Ok(answer.into_body()),
        false => Err(QuicError::Http(answer.status().to_string())),
    }
}

/// Asks for as much as there may be on a connection, and takes nothing of it.
async fn stall(
    endpoint: &Endpoint,
    server: SocketAddr,
) -> Result<(H3Client, Vec<Body>), QuicError> {
    let h3 = connect(endpoint, server).await?;
    let mut answers = Vec::new();
    for stream in 0..STREAMS {
        answers.push(ask(&h3, server, &format!("{stream}.m4s")).await?);
    }
    Ok((h3, answers))
}

/// Latencies of requests for a chunk.
async fn latencies(
    runtime: &RuntimeHandle,
    h3: &H3Client,
    server: SocketAddr,
    requests: u32,
) -> Result<Vec<Duration>, QuicError> {
    let mut took = Vec::new();
    for _ in 0..requests {
        runtime.sleep(EVERY).await;
        let watch = Watch::start();
        let mut body = ask(h3, server, "chunk.m4s").await?;
        while body.data().await?.is_some() {}
        took.push(watch.elapsed());
    }
    Ok(took)
}
