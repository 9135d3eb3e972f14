//! Peers of a stream over several paths that do not keep to the protocol, and paths that end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use airlane_apps::content::Pattern;
use airlane_apps::multipath::{
    self, Dial, Hello, MptcpOptions, MultipathError, MultipathStream, Protocol, SchedulerKind,
    Scheme, Settings, Terms, path_transport,
};
use airlane_base::{Rate, Seed};
use airlane_congestion::ControllerConfig;
use airlane_fbdt::wire::{Ack, Frame, Segment};
use airlane_net::Dumbbell;
use airlane_quic::{Cipher, Connection, Endpoint, RecvStream, SendStream, TransportConfig};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::virtual_time::World;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Bytes, BytesMut};
use tokio::sync::{mpsc, oneshot};

const ID: [u8; 16] = [9; 16];

fn transport() -> TransportConfig {
    path_transport(TransportConfig::laboratory(Cipher::Null, ControllerConfig::cubic(1.0)))
}

fn dial(client: &RuntimeHandle, server: SocketAddr, from: [u8; 4]) -> Dial {
    let endpoint = Endpoint::client(client, SocketAddr::from((from, 0)), transport()).unwrap();
    Dial { endpoint: Arc::new(endpoint), server, name: "multipath.airlane".to_owned() }
}

/// Runs `peer` in virtual time with a connection to an acceptor, whose streams it gets.
fn against<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    peer: impl FnOnce(RuntimeHandle, SocketAddr, mpsc::UnboundedReceiver<MultipathStream>) -> F
    + Send
    + 'static,
) -> T {
    let built =
        Dumbbell::new(Rate::from_mbps(50.0), Duration::from_millis(10), 2.0, 1).build(Seed(4));
    let address = |host| built.network.addresses(host)[0];
    let (server, client) = (address(built.servers[0]), address(built.clients[0]));
    let listen = SocketAddr::new(server, 443);
    let mut world = World::new(Seed(4), built.network);
    let (server, client) = (world.host("server", server), world.host("client", client));
    let result = world.run(async move {
        let endpoint = Endpoint::server(&server, listen, transport()).unwrap();
        let (begun, streams) = mpsc::unbounded_channel();
        let begun = move |stream| drop(begun.send(stream));
        server.spawn("acceptor", multipath::serve(endpoint, Settings::default(), |_, _| {}, begun));
        peer(client, listen, streams).await
    });
    result.unwrap()
}

async fn connect(
    client: &RuntimeHandle,
    server: SocketAddr,
) -> (Connection, SendStream, RecvStream) {
    let endpoint = Endpoint::client(client, SocketAddr::from(([0; 4], 0)), transport()).unwrap();
    let connection = endpoint.connect(server, "multipath.airlane").await.unwrap();
    // It lives as long as the world does.
    std::mem::forget(endpoint);
    let (to, from) = connection.open_bi().await.unwrap();
    (connection, to, from)
}

/// Runs `task` in the background; what comes of it.
fn spawned<T: Send + 'static>(
    runtime: &RuntimeHandle,
    task: impl Future<Output = T> + Send + 'static,
) -> oneshot::Receiver<T> {
    let (done, result) = oneshot::channel();
    runtime.spawn("part of a test", async move { drop(done.send(task.await)) });
    result
}

fn hello() -> Hello {
    Hello { stream: ID, path: 0, terms: Terms::of(&Settings::default()) }
}

fn frame(frame: &Frame) -> Bytes {
    let mut out = BytesMut::new();
    frame.encode(&mut out);
    out.freeze()
}

#[test]
fn who_says_no_hello_is_closed_and_others_go_on() {
    against(|client, server, mut streams| async move {
        let (wrong, mut to, _from) = connect(&client, server).await;
        to.write_all(Bytes::from_static(b"GET / HTTP/1.1\r\nHost: airlane.example\r\n\r\n"))
            .await
            .unwrap();
        let before = client.now();
        wrong.closed().await;
        assert!(client.now() - before < Duration::from_secs(1));
        let (silent, _to, _from) = connect(&client, server).await;
        let before = client.now();
        silent.closed().await;
        let waited = client.now() - before;
        assert!((4.9..6.0).contains(&waited.as_secs_f64()), "closed after {waited:?}");
        let dial = dial(&client, server, [0; 4]);
        let stream = multipath::open(&client, ID, vec![dial], Settings::default());
        stream.write(Bytes::from_static(b"hello")).await.unwrap();
        stream.finish();
        let accepted = streams.recv().await.unwrap();
        assert_eq!(accepted.read().await.unwrap(), [Bytes::from_static(b"hello")]);
        accepted.finish();
        stream.over().await.unwrap();
    });
}

#[test]
fn who_breaks_the_protocol_loses_the_whole_stream() {
    let far = Segment { window: 5000, index: 0, count: 1, payload: Bytes::from_static(b"x") };
    let lies = Ack { complete: 1, ..Ack::default() };
    for (on_lane, bad) in [
        (true, frame(&Frame::Segment(far.clone()))),
        (true, frame(&Frame::End(3))),
        (true, Bytes::from_static(&[99; 40])),
        (false, frame(&Frame::Ack(lies))),
        (false, frame(&Frame::Segment(far))),
        (false, Bytes::from_static(&[0; 40])),
    ] {
        let shown = format!("{bad:?}");
        let error = against(move |client, server, mut streams| async move {
            let (connection, mut to, _from) = connect(&client, server).await;
            to.write_all(hello().encode()).await.unwrap();
            let stream = streams.recv().await.unwrap();
            if on_lane {
                let mut lane = connection.open_uni().await.unwrap();
                lane.write_all(Bytes::copy_from_slice(&ID)).await.unwrap();
                lane.write_all(bad).await.unwrap();
                let error = stream.read().await.unwrap_err();
                connection.closed().await;
                error
            } else {
                to.write_all(bad).await.unwrap();
                let error = stream.read().await.unwrap_err();
                connection.closed().await;
                error
            }
        });
        assert!(
            !matches!(error, MultipathError::Path(_) | MultipathError::Ended),
            "{shown}: {error}"
        );
    }
}

#[test]
fn a_connection_that_misuses_its_streams_leaves_no_path_behind() {
    let error = against(|client, server, mut streams| async move {
        let (connection, mut to, _from) = connect(&client, server).await;
        to.write_all(hello().encode()).await.unwrap();
        let stream = streams.recv().await.unwrap();
        let mut nameless = connection.open_uni().await.unwrap();
        nameless.write_all(Bytes::from_static(b"short")).await.unwrap();
        nameless.finish().unwrap();
        let error = stream.read().await.unwrap_err();
        assert!(stream.counts().paths.iter().all(|path| !path.is_open));
        error
    });
    assert!(!matches!(error, MultipathError::NoPath(_)), "{error}");
}

#[test]
fn a_stream_is_not_taken_for_another_that_came_after_it() {
    against(|client, server, mut streams| async move {
        let dials = vec![dial(&client, server, [0; 4])];
        let stream = multipath::open(&client, ID, dials, Settings::default());
        let first = streams.recv().await.unwrap();
        first.write(Bytes::from_static(b"of the first")).await.unwrap();
        assert_eq!(stream.read().await.unwrap(), [Bytes::from_static(b"of the first")]);
        // The other end gives it up, as one does that was started again: it knows the id no more.
        drop(first);
        let error = stream.read().await.unwrap_err();
        assert!(error.to_string().contains("another stream"), "{error}");
    });
}

#[test]
fn a_path_that_asks_for_other_sizes_does_not_join() {
    against(|client, server, mut streams| async move {
        let (_first, mut to, _from) = connect(&client, server).await;
        to.write_all(hello().encode()).await.unwrap();
        let stream = streams.recv().await.unwrap();
        let (second, mut to, _from) = connect(&client, server).await;
        let terms = Terms { segment_bytes: 512, ..hello().terms };
        to.write_all(Hello { path: 1, terms, ..hello() }.encode()).await.unwrap();
        second.closed().await;
        assert_eq!(stream.counts().paths.len(), 1);
    });
}

#[test]
fn frames_of_another_kind_are_not_taken_for_those_that_are_spoken() {
    against(|client, server, mut streams| async move {
        let (other, mut to, _from) = connect(&client, server).await;
        let terms = Terms { protocol: Protocol::Mptcp, ..hello().terms };
        to.write_all(Hello { terms, ..hello() }.encode()).await.unwrap();
        other.closed().await;
        assert!(streams.try_recv().is_err());
    });
}

#[test]
fn a_stream_without_a_path_fails_in_time() {
    against(|client, server, mut streams| async move {
        let (connection, mut to, _from) = connect(&client, server).await;
        to.write_all(hello().encode()).await.unwrap();
        let stream = streams.recv().await.unwrap();
        connection.close(0, "gone");
        let before = client.now();
        let error = stream.read().await.unwrap_err();
        assert!(matches!(error, MultipathError::NoPath(30)), "{error}");
        let waited = client.now() - before;
        assert!((30.0..31.0).contains(&waited.as_secs_f64()), "after {waited:?}");
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn over_real_sockets_paths_that_end_cost_no_byte() {
    unplugged(Settings::default().scheme).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn over_real_sockets_they_cost_none_under_mptcp_either() {
    unplugged(Scheme::Mptcp(MptcpOptions::of(SchedulerKind::Blest))).await;
}

/// Sends 60 MB each way at once over loopback, while both radios are unplugged three times.
async fn unplugged(scheme: Scheme) {
    const BYTES: u64 = 60_000_000;
    let settings = Settings { scheme, ..Settings::default() };
    let runtime = TokioRuntime::new(Seed(1));
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let endpoint = Endpoint::server(&runtime, local, transport()).unwrap();
    let server = endpoint.local_addr();
    let (begun, mut streams) = mpsc::unbounded_channel();
    let connections = Arc::new(AtomicUsize::new(0));
    let (seen, clock) = (connections.clone(), runtime.clone());
    // Each of the first six connections ends after a while: both radios are unplugged three times.
    let connected = move |connection: &Connection, _: &airlane_quic::ControlHandle| {
        let number = seen.fetch_add(1, Ordering::Relaxed);
        if number < 6 {
            let (connection, clock_) = (connection.clone(), clock.clone());
            clock.spawn("unplug", async move {
                clock_.sleep(Duration::from_millis(20 + 15 * number as u64)).await;
                connection.close(0, "unplugged");
            });
        }
    };
    let begun = move |stream| drop(begun.send(stream));
    runtime.spawn("acceptor", multipath::serve(endpoint, settings, connected, begun));
    let (up, down) = (Pattern::new("up", BYTES), Pattern::new("down", BYTES));
    let dials =
        vec![dial(&runtime, server, [127, 0, 0, 1]), dial(&runtime, server, [127, 0, 0, 2])];
    let stream = Arc::new(multipath::open(&runtime, ID, dials, settings));
    let accepted = Arc::new(streams.recv().await.unwrap());
    let write = |stream: Arc<MultipathStream>, body: Pattern| async move {
        for piece in body.pieces(0..BYTES, 50_000) {
            stream.write(piece).await.unwrap();
        }
        stream.finish();
    };
    let read = |stream: Arc<MultipathStream>, body: Pattern| async move {
        let mut got = 0;
        loop {
            let pieces = stream.read().await.unwrap();
            if pieces.is_empty() {
                break got;
            }
            for piece in pieces {
                assert!(body.matches(got, &piece), "wrong bytes after {got}");
                got += piece.len() as u64;
            }
        }
    };
    // Each is a task of its own, so that several threads are in the stream at once.
    let written = [
        spawned(&runtime, write(stream.clone(), up)),
        spawned(&runtime, write(accepted.clone(), down)),
    ];
    let read = [
        spawned(&runtime, read(accepted.clone(), up)),
        spawned(&runtime, read(stream.clone(), down)),
    ];
    for task in written {
        task.await.unwrap();
    }
    for task in read {
        assert_eq!(task.await.unwrap(), BYTES);
    }
    stream.over().await.unwrap();
    accepted.over().await.unwrap();
    assert!(connections.load(Ordering::Relaxed) > 2, "no path came back");
}
