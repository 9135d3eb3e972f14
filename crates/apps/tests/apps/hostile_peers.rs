//! Peers of a trunk that do not keep to the protocol, and connections that end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use airlane_apps::content::Pattern;
use airlane_apps::multipath::trunk::{
    Acceptor, Body, Bounds, Channels, Preference, RadioTerms, Reason, Trunk, TrunkFrame,
    TrunkHello, accept_quic_lines, connect_quic, open_quic,
};
use airlane_apps::multipath::{
    MptcpOptions, MultipathError, MultipathStream, Protocol, SchedulerKind, Scheme, StreamConfig,
    Terms,
};
use airlane_base::Seed;
use airlane_fbdt::wire::{Ack, Frame, Segment};
use airlane_quic::{Connection, Endpoint, RecvStream, SendStream};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Bytes, BytesMut};
use tokio::sync::{mpsc, oneshot};

use crate::multipath::{Scene, mbps, scene, transport};
use crate::trunks::{accept, open};

const TERMS: Terms = Terms {
    protocol: Protocol::Fbdt,
    segment_bytes: 4096,
    window_bytes: 1 << 20,
    receive_memory: 6 << 20,
};

/// A client that may do what it likes, and the streams that its server accepts.
struct Client {
    runtime: RuntimeHandle,
    endpoint: Endpoint,
    scene: (Vec<std::net::IpAddr>, SocketAddr),
    accepted: mpsc::UnboundedReceiver<MultipathStream>,
}

/// A line whose client says what it likes.
struct RawLine {
    channels: Channels,
    bulk: Connection,
    came: BytesMut,
}

impl Client {
    async fn connect(&self) -> Connection {
        self.endpoint.connect(self.scene.1, "trunk.airlane").await.unwrap()
    }

    async fn first_stream(&self) -> (Connection, SendStream, RecvStream) {
        let connection = self.connect().await;
        let (to, from) = connection.open_bi().await.unwrap();
        (connection, to, from)
    }

    /// A line of a trunk, after its first messages.
    async fn line(&self) -> RawLine {
        let (express, bulk) = (self.connect().await, self.connect().await);
        let mut channels = open_quic([1; 16], express, bulk.clone()).await.unwrap();
        let hello = TrunkHello {
            trunk: [1; 16],
            radio: 0,
            preference: Preference::default(),
            max_bps: None,
            allowance: None,
        };
        channels.express.sender.write(vec![hello.encode()]).await.unwrap();
        let mut came = BytesMut::new();
        while came.len() < 13 {
            channels.express.receiver.read(&mut came).await.unwrap();
        }
        let came = came.split_off(13);
        RawLine { channels, bulk, came }
    }
}

impl RawLine {
    async fn say(&mut self, stream: u32, body: Body) {
        let frame = TrunkFrame { stream, body }.encode();
        self.channels.express.sender.write(vec![frame]).await.unwrap();
    }

    async fn open(&mut self, stream: u32, terms: Terms) {
        self.say(stream, Body::Open { terms, request: Bytes::new() }).await;
    }

    /// The next frame on the express channel; an error when the line has ended.
    async fn next(&mut self) -> Result<TrunkFrame, MultipathError> {
        loop {
            if let Some(frame) = TrunkFrame::decode(&mut self.came)? {
                return Ok(frame);
            }
            self.channels.express.receiver.read(&mut self.came).await?;
        }
    }

    /// Waits until the stream is given up by the server.
    async fn reset(&mut self, of: u32) -> Reason {
        loop {
            if let TrunkFrame { stream, body: Body::Reset(reason) } = self.next().await.unwrap()
                && stream == of
            {
                return reason;
            }
        }
    }
}

/// Runs `test` in virtual time with a client of a server that accepts trunks.
fn with<F: Future<Output = ()> + Send + 'static>(test: impl FnOnce(Client) -> F + Send + 'static) {
    let scene = scene(vec![mbps(50.0)], Duration::from_millis(10));
    let Scene { mut world, server, client, listen, radios } = scene;
    let ended = world.run(async move {
        let accepted = accept(&server, listen, StreamConfig::default());
        let from = SocketAddr::new(radios[0], 0);
        let endpoint = Endpoint::client(&client, from, transport()).unwrap();
        test(Client { runtime: client, endpoint, scene: (radios, listen), accepted }).await;
    });
    ended.unwrap();
}

fn frame(frame: &Frame) -> BytesMut {
    let mut out = BytesMut::new();
    frame.encode(&mut out);
    out
}

#[test]
fn who_says_no_hello_is_closed_and_others_go_on() {
    with(|mut client| async move {
        let (wrong, mut to, _from) = client.first_stream().await;
        let request = Bytes::from_static(b"GET / HTTP/1.1\r\nHost: airlane.example\r\n\r\n");
        to.write_all(request).await.unwrap();
        let before = client.runtime.now();
        wrong.closed().await;
        assert!(client.runtime.now() - before < Duration::from_secs(1));
        let (silent, _to, _from) = client.first_stream().await;
        let before = client.runtime.now();
        silent.closed().await;
        let waited = client.runtime.now() - before;
        assert!((4.9..6.0).contains(&waited.as_secs_f64()), "closed after {waited:?}");
        // Both connections of a line are there, and then nothing comes.
        let (express, bulk) = (client.connect().await, client.connect().await);
        let _line = open_quic([1; 16], express, bulk.clone()).await.unwrap();
        let before = client.runtime.now();
        bulk.closed().await;
        let waited = client.runtime.now() - before;
        assert!((4.9..6.0).contains(&waited.as_secs_f64()), "closed after {waited:?}");
        let (radios, server) = &client.scene;
        let (_trunk, stream) = open(&client.runtime, (radios, *server), StreamConfig::default());
        stream.write(Bytes::from_static(b"hello")).await.unwrap();
        stream.finish();
        let accepted = client.accepted.recv().await.unwrap();
        assert_eq!(accepted.read().await.unwrap(), [Bytes::from_static(b"hello")]);
        accepted.finish();
        stream.over().await.unwrap();
    });
}

#[test]
fn who_breaks_the_protocol_on_a_stream_loses_that_and_no_other() {
    let far = Segment { window: 5000, index: 0, count: 1, payload: Bytes::from_static(b"x") };
    let lies = Ack { complete: 1, ..Ack::default() };
    let cut = frame(&Frame::Segment(far.clone())).split_off(1);
    let bodies = [
        Body::Lane(frame(&Frame::Segment(far.clone()))),
        Body::Lane(frame(&Frame::End(3))),
        Body::Lane(BytesMut::from(&[99; 40][..])),
        Body::Lane(cut),
        Body::Control(frame(&Frame::Ack(lies))),
        Body::Control(frame(&Frame::Segment(far))),
        Body::Control(BytesMut::from(&[0; 40][..])),
    ];
    with(|mut client| async move {
        let mut line = client.line().await;
        line.open(0, TERMS).await;
        let good = client.accepted.recv().await.unwrap();
        for (number, bad) in (1..).zip(bodies) {
            line.open(number, TERMS).await;
            let stream = client.accepted.recv().await.unwrap();
            let shown = format!("{bad:?}");
            line.say(number, bad).await;
            let error = stream.read().await.unwrap_err();
            assert!(
                !matches!(error, MultipathError::Path(_) | MultipathError::Ended),
                "{shown}: {error}"
            );
            assert_eq!(line.reset(number).await, Reason::Protocol, "{shown}");
        }
        let segment = Segment { window: 0, index: 0, count: 1, payload: Bytes::from_static(b"x") };
        line.say(0, Body::Lane(frame(&Frame::Segment(segment)))).await;
        assert_eq!(good.read().await.unwrap(), [Bytes::from_static(b"x")]);
    });
}

#[test]
fn a_stream_on_terms_that_are_not_spoken_is_reset() {
    with(|mut client| async move {
        let mut line = client.line().await;
        line.open(0, Terms { protocol: Protocol::Mptcp, ..TERMS }).await;
        assert_eq!(line.reset(0).await, Reason::Protocol);
        assert!(client.accepted.try_recv().is_err());
        // Sizes are lowered to what the server gives.
        line.open(1, Terms { window_bytes: 64 << 20, receive_memory: 1 << 30, ..TERMS }).await;
        let Body::Accept(terms) = line.next().await.unwrap().body else { panic!("no accept") };
        assert!(terms.window_bytes <= 1 << 20 && terms.receive_memory <= 64 << 20, "{terms:?}");
    });
}

#[test]
fn a_line_whose_bulk_connection_is_misused_ends_and_leaves_no_path_behind() {
    with(|mut client| async move {
        let mut line = client.line().await;
        line.open(0, TERMS).await;
        let stream = client.accepted.recv().await.unwrap();
        let mut nameless = line.bulk.open_uni().await.unwrap();
        nameless.write_all(Bytes::from_static(b"short")).await.unwrap();
        nameless.finish().unwrap();
        line.bulk.closed().await;
        assert!(stream.counts().paths.iter().all(|path| !path.is_open));
    });
}

#[test]
fn a_stream_without_a_path_fails_in_time() {
    with(|mut client| async move {
        let mut line = client.line().await;
        line.open(0, TERMS).await;
        let stream = client.accepted.recv().await.unwrap();
        drop(line);
        let before = client.runtime.now();
        let error = stream.read().await.unwrap_err();
        assert!(matches!(error, MultipathError::NoPath(30)), "{error}");
        let waited = client.runtime.now() - before;
        assert!((30.0..31.0).contains(&waited.as_secs_f64()), "after {waited:?}");
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn over_real_sockets_connections_that_end_cost_no_byte() {
    unplugged(StreamConfig::default().scheme).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn over_real_sockets_they_cost_none_under_mptcp_either() {
    unplugged(Scheme::Mptcp(MptcpOptions::of(SchedulerKind::Blest))).await;
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

/// Sends 60 MB each way at once over loopback, while both radios are unplugged three times.
async fn unplugged(scheme: Scheme) {
    const BYTES: u64 = 60_000_000;
    let bounds =
        Bounds { stream: StreamConfig { scheme, ..StreamConfig::default() }, ..Bounds::default() };
    let runtime = TokioRuntime::new(Seed(1));
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let endpoint = Arc::new(Endpoint::server(&runtime, local, transport()).unwrap());
    let server = endpoint.local_addr();
    let (begun, mut streams) = mpsc::unbounded_channel();
    let acceptor =
        Acceptor::new(runtime.clone(), bounds, move |opened| drop(begun.send(opened.stream)));
    let connections = Arc::new(AtomicUsize::new(0));
    let (seen, clock) = (connections.clone(), runtime.clone());
    // Each of the first six connections ends after a while: both radios are unplugged three times.
    let connected = move |connection: &Connection, _| {
        let number = seen.fetch_add(1, Ordering::Relaxed);
        if number < 6 {
            let (connection, clock_) = (connection.clone(), clock.clone());
            clock.spawn("unplug", async move {
                clock_.sleep(Duration::from_millis(20 + 15 * number as u64)).await;
                connection.close(0, "unplugged");
            });
        }
    };
    let on = runtime.clone();
    let opened = move |channels| {
        let acceptor = acceptor.clone();
        on.spawn("line", async move { drop(acceptor.serve(channels).await) });
    };
    let accepting = accept_quic_lines(endpoint, Duration::from_secs(5), connected, opened);
    runtime.spawn("acceptor", accepting);
    let (up, down) = (Pattern::new("up", BYTES), Pattern::new("down", BYTES));
    let radios = [[127, 0, 0, 1], [127, 0, 0, 2]].into_iter().zip(0..).map(|(from, number)| {
        let endpoint = Endpoint::client(&runtime, SocketAddr::from((from, 0)), transport());
        let connect =
            connect_quic(Arc::new(endpoint.unwrap()), server, "trunk.airlane", Seed(number));
        (connect, RadioTerms::default())
    });
    let trunk = Trunk::new(&runtime, [9; 16], radios.collect(), bounds);
    let stream = Arc::new(trunk.open(Bytes::new()).unwrap());
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
    assert!(connections.load(Ordering::Relaxed) > 4, "no line came back");
}
