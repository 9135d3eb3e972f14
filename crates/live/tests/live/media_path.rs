//! The media path beside QUIC on one socket, in virtual time and over loopback.

use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig};
use airlane_live::media_path::{MediaPath, MediaPaths, OpenError, PathConfig};
use airlane_messages::{Delivered, Event, ReceiveLimits, SendOptions};
use airlane_octopus::Marking;
use airlane_quic::{Cipher, Connection, Endpoint, TransportConfig};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;

use crate::world::{Scene, mbps, scene};

/// After how long what is waited for in real time is taken not to come.
const LIMIT: Duration = Duration::from_secs(120);

fn config() -> PathConfig {
    PathConfig {
        payload_bytes: 1200,
        max_payload_bytes: None,
        keep_alive_interval: None,
        controller: ControllerConfig::new(Algorithm::Bbr),
        send: SendOptions::default(),
        receive: ReceiveLimits::default(),
    }
}

fn transport(cipher: Cipher) -> TransportConfig {
    TransportConfig::laboratory(cipher, ControllerConfig::new(Algorithm::Reno))
}

fn body(n: u32) -> Bytes {
    (0..3_000 + n % 5_000).map(|i| (i * 7 + n) as u8).collect()
}

/// Answers every path over every connection with messages numbered from 0: 100 a second.
async fn serve(endpoint: Endpoint, messages: u32) {
    let paths = MediaPaths::new(&endpoint, 10).expect("the socket is free");
    assert!(MediaPaths::new(&endpoint, 10).is_none());
    while let Some(connection) = endpoint.accept().await {
        let (paths, clock) = (paths.clone(), endpoint.runtime().clone());
        endpoint.runtime().spawn("sender", async move {
            while let Ok(asked) = paths.accept(&connection).await {
                assert_eq!(&asked.request()[..], b"please");
                let answer = Bytes::from_static(b"here");
                let Ok(path) = asked.open(&config(), answer).await else { return };
                let clock_ = clock.clone();
                clock.spawn("stream", async move {
                    for n in 0..messages {
                        path.send(1, Marking::default(), body(n)).unwrap();
                        clock_.sleep(Duration::from_millis(10)).await;
                    }
                    // It stays until the last has had the time to arrive.
                    clock_.sleep(Duration::from_secs(1)).await;
                });
            }
        });
    }
}

async fn open(endpoint: &Endpoint, server: SocketAddr) -> (Connection, MediaPaths, MediaPath) {
    let paths = MediaPaths::new(endpoint, 2).expect("the socket is free");
    let connection = endpoint.connect(server, "lab.airlane").await.unwrap();
    let please = Bytes::from_static(b"please");
    let (path, answer) = paths.connect(&connection, &config(), please).await.unwrap();
    assert_eq!(&answer[..], b"here");
    (connection, paths, path)
}

/// The next `count` messages, or as many as come within a second of each other.
async fn receive(runtime: &RuntimeHandle, path: &MediaPath, count: usize) -> Vec<Delivered> {
    let mut messages = Vec::new();
    while messages.len() < count {
        let event = tokio::select! {
            event = path.next_event() => event,
            () = runtime.sleep(Duration::from_secs(1)) => return messages,
        };
        match event {
            Some(Event::Message(message)) => messages.push(message),
            Some(Event::Dropped { .. }) => {}
            None => return messages,
        }
    }
    messages
}

#[test]
fn messages_arrive_under_both_ciphers_at_the_same_times() {
    let run = |cipher: Cipher| {
        let scene = scene(vec![mbps(8.0)], Duration::from_millis(20));
        let Scene { mut world, server, client, listen, interfaces } = scene;
        let ended = world.run(async move {
            let listening = Endpoint::server(&server, listen, transport(cipher.clone())).unwrap();
            server.spawn("server", serve(listening, 300));
            let from = SocketAddr::new(interfaces[0], 0);
            let endpoint = Endpoint::client(&client, from, transport(cipher)).unwrap();
            let (_connection, paths, path) = open(&endpoint, listen).await;
            let messages = receive(&client, &path, 300).await;
            assert_eq!(paths.len(), 1);
            drop(path);
            assert!(paths.is_empty());
            messages
        });
        ended.unwrap()
    };
    let (null, tls) = (run(Cipher::Null), run(Cipher::lab_tls().unwrap()));
    assert_eq!(null.len(), 300);
    for (n, message) in null.iter().enumerate() {
        assert_eq!(message.data, body(n as u32));
        assert_eq!((message.stream, message.message), (1, n as u32));
    }
    assert_eq!(null, tls);
    // 4.4 Mbit/s in 8: nothing waits for long.
    let slow = null.windows(2).filter(|w| w[1].at - w[0].at > Duration::from_millis(40)).count();
    assert!(slow < 10, "{slow}");
}

#[test]
fn a_path_ends_with_its_endpoint_and_there_are_only_so_many() {
    let scene = scene(vec![mbps(8.0)], Duration::from_millis(20));
    let Scene { mut world, server, client, listen, interfaces } = scene;
    let ended = world.run(async move {
        let listening = Endpoint::server(&server, listen, transport(Cipher::Null)).unwrap();
        server.spawn("server", serve(listening, 10_000));
        let from = SocketAddr::new(interfaces[0], 0);
        let endpoint = Endpoint::client(&client, from, transport(Cipher::Null)).unwrap();
        let (connection, paths, first) = open(&endpoint, listen).await;
        let please = || Bytes::from_static(b"please");
        let (second, _) = paths.connect(&connection, &config(), please()).await.unwrap();
        let third = paths.connect(&connection, &config(), please()).await;
        assert!(matches!(third, Err(OpenError::Full)));
        // Both run side by side over one socket; a place is free again when its path is closed.
        assert_eq!(receive(&client, &second, 50).await.len(), 50);
        drop(second);
        let (third, _) = paths.connect(&connection, &config(), please()).await.unwrap();
        assert_eq!(receive(&client, &third, 50).await.len(), 50);
        endpoint.close(0, "done");
        drop((connection, third, endpoint));
        // What had come is still there; then it ends.
        let rest = receive(&client, &first, usize::MAX).await;
        let ended_at = client.now();
        assert!(!rest.is_empty());
        ended_at
    });
    assert!(ended.unwrap() < Time::from_millis(10_000));
}

/// Several threads, real sockets and TLS.
#[test]
fn messages_arrive_over_loopback() {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    threads.worker_threads(4).enable_all().build().unwrap().block_on(async {
        let runtime = TokioRuntime::new(Seed(1));
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let cipher = Cipher::lab_tls().unwrap();
        let listening = Endpoint::server(&runtime, local, transport(cipher.clone())).unwrap();
        let server = listening.local_addr();
        // More than anybody waits for: on a busy machine some are lost.
        runtime.spawn("server", serve(listening, u32::MAX));
        let mut clients = Vec::new();
        for _ in 0..4 {
            let (runtime, cipher) = (runtime.clone(), cipher.clone());
            let (done, got) = tokio::sync::oneshot::channel();
            clients.push(got);
            runtime.clone().spawn("client", async move {
                let endpoint = Endpoint::client(&runtime, local, transport(cipher)).unwrap();
                let (_connection, _, path) = open(&endpoint, server).await;
                let mut messages = Vec::new();
                while messages.len() < 200 {
                    match path.next_event().await {
                        Some(Event::Message(message)) => messages.push(message),
                        Some(Event::Dropped { .. }) => {}
                        None => break,
                    }
                }
                drop(done.send(messages));
            });
        }
        for client in clients {
            let messages = tokio::time::timeout(LIMIT, client).await.expect("messages come");
            let messages = messages.unwrap();
            assert_eq!(messages.len(), 200);
            for message in &messages {
                assert_eq!(message.data, body(message.message));
            }
        }
    });
}
