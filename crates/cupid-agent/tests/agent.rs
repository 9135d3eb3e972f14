//! Reports of an agent on real sockets, with many threads: each connection's, and their shares.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig};
use airlane_cupid::{AgentOptions, EstimatorOptions};
use airlane_cupid_agent::{AirAgent, report_sink};
use airlane_quic::{Cipher, Connection, Endpoint, Reports, TransportConfig};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use airlane_wifi::{
    Address, BlockAck, Format, Frame, FrameKind, Guard, Heard, Vector, What, Width,
};
use tokio::sync::oneshot;

const OWN: Address = Address([2, 0, 0, 0, 0, 1]);
const AP: Address = Address([2, 0, 0, 0, 0, 0xfe]);
/// An aggregate goes to the station so often: half of the air is in use.
const EVERY: Duration = Duration::from_millis(2);
const MPDUS: u16 = 64;

/// What a radio hears until now since it was asked last: aggregates at a steady rate, each answered.
fn hear(runtime: RuntimeHandle) -> impl FnMut() -> Option<Vec<Heard>> {
    let (mut next, mut sequence) = (runtime.now(), 0_u16);
    let vector =
        Vector { format: Format::He, mcs: 9, streams: 2, width: Width::Mhz80, guard: Guard::Ns800 };
    let control = vector.response();
    move || {
        let mut heard = Vec::new();
        while next + EVERY < runtime.now() {
            let blank = Frame {
                kind: FrameKind::QosData,
                receiver: OWN,
                transmitter: Some(AP),
                bssid: Some(AP),
                is_down: true,
                bytes: 1_538,
                is_retry: false,
                sequence: 0,
                remaining: Duration::ZERO,
                tid: 0,
                block_ack: None,
            };
            let frames =
                (0..MPDUS).map(|n| Frame { sequence: (sequence + n) & 0xfff, ..blank }).collect();
            let duration = vector.duration(u32::from(MPDUS) * 1_544);
            let what = What::Frames { vector, is_aggregate: true, frames };
            heard.push(Heard { at: next, duration, what });
            let block_ack = Some(BlockAck { start: sequence, came: [u64::MAX, 0, 0, 0] });
            let answer = Frame {
                kind: FrameKind::BlockAck,
                receiver: AP,
                transmitter: Some(OWN),
                bssid: None,
                is_down: false,
                bytes: 32,
                block_ack,
                ..blank
            };
            let what = What::Frames { vector: control, is_aggregate: false, frames: vec![answer] };
            let at = next + duration + Duration::from_micros(16);
            heard.push(Heard { at, duration: control.duration(32), what });
            sequence = (sequence + MPDUS) & 0xfff;
            next += EVERY;
        }
        Some(heard)
    }
}

/// Waits until all these senders are paced by what was reported last; that rate.
async fn obeyed(senders: &[Connection], reported: &AtomicU64) -> u64 {
    loop {
        let rate = reported.load(Ordering::Relaxed);
        let paced = |sender: &Connection| sender.control().stats().pacing_rate.map(|r| r.bps());
        if rate > 0 && senders.iter().all(|sender| paced(sender) == Some(rate)) {
            return rate;
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn connections_share_what_their_station_is_granted_whatever_thread_they_are_on() {
    let tokio =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let runtime = tokio.block_on(async { TokioRuntime::new(Seed(1)) });
    let config = |algorithm| {
        TransportConfig::laboratory(Cipher::lab_tls().unwrap(), ControllerConfig::new(algorithm))
    };
    let agent = AirAgent::new(
        AgentOptions::new(EstimatorOptions::new(OWN)),
        Time::ZERO,
        hear(runtime.clone()),
    );
    let reported = Arc::new(AtomicU64::new(0));
    let told = reported.clone();
    agent.tell(move |_, report| told.store(report.rate.bps(), Ordering::Relaxed));
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let test = async {
        let from_clients = Reports { source: None, sink: Some(report_sink()) };
        let listens = TransportConfig { reports: from_clients, ..config(Algorithm::Cupid) };
        let server = Endpoint::server(&runtime, local, listens).unwrap();
        let to = server.local_addr();
        let mut clients = Vec::new();
        for _ in 0..4 {
            let reports = Reports { source: Some(agent.report_source()), sink: None };
            let config = TransportConfig { reports, ..config(Algorithm::Reno) };
            let client = Endpoint::client(&runtime, local, config).unwrap();
            let (connected, client_of) = oneshot::channel();
            runtime.spawn("client", async move {
                let connection = client.connect(to, "lab").await.unwrap();
                // Whoever waits for it has given up.
                let _ = connected.send((client, connection));
            });
            clients.push(client_of);
        }
        let mut senders = Vec::new();
        for _ in 0..4 {
            senders.push(server.accept().await.unwrap());
        }
        let mut open = Vec::new();
        for client in clients {
            open.push(client.await.unwrap());
        }
        let shared = obeyed(&senders, &reported).await;
        // Three leave: the fourth has what the station is granted.
        let (client, _connection) = open.remove(0);
        let mine = Some(client.local_addr());
        drop(open);
        senders.retain(|sender| sender.remote_addr() == mine);
        assert_eq!(senders.len(), 1);
        let mut alone = shared;
        while alone < 2 * shared {
            alone = obeyed(&senders, &reported).await;
            tokio::task::yield_now().await;
        }
        assert!(alone < 6 * shared, "{alone} after {shared}");
    };
    tokio
        .block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await })
        .expect("reports come and are obeyed within a minute");
}
