//! Peers of a session that do not keep to the protocol, and connections that end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use airlane_base::Seed;
use airlane_fbdt::wire::{Ack, Frame, Segment};
use airlane_mptcp::{MptcpEngines, Options, SchedulerKind};
use airlane_multipath::{
    Body as FrameBody, Channels, InterfaceConfig, Preference, Reason, Session, SessionHello,
    SessionLimits, SessionServer, SubflowFrame, accept_quic_subflows, connect_quic, open_quic,
};
use airlane_multipath::{MultipathError, MultipathStream, Protocol, Scheme, StreamConfig, Terms};
use airlane_quic::{Connection, Endpoint, RecvStream, SendStream};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Bytes, BytesMut};
use tokio::sync::{mpsc, oneshot};

use crate::world::{Scene, TestBody, accept, mbps, open, scene, transport};

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

/// A subflow whose client says what it likes.
struct RawSubflow {
    channels: Channels,
    bulk: Connection,
    came: BytesMut,
}

impl Client {
    async fn connect(&self) -> Connection {
        self.endpoint.connect(self.scene.1, "session.airlane").await.unwrap()
    }

    async fn first_stream(&self) -> (Connection, SendStream, RecvStream) {
        let connection = self.connect().await;
        let (to, from) = connection.open_bi().await.unwrap();
        (connection, to, from)
    }

    /// A subflow of a session, after its first messages.
    async fn subflow(&self) -> RawSubflow {
        let (low_latency, bulk) = (self.connect().await, self.connect().await);
        let mut channels = open_quic([1; 16], low_latency, bulk.clone()).await.unwrap();
        let hello = SessionHello {
            session: [1; 16],
            interface: 0,
            preference: Preference::default(),
            max_bps: None,
            credit: None,
        };
        channels.low_latency.sender.write(vec![hello.encode()]).await.unwrap();
        let mut came = BytesMut::new();
        while came.len() < 13 {
            channels.low_latency.receiver.read(&mut came).await.unwrap();
        }
        let came = came.split_off(13);
        RawSubflow { channels, bulk, came }
    }
}

impl RawSubflow {
    async fn say(&mut self, stream: u32, body: FrameBody) {
        let frame = SubflowFrame { stream, body }.encode();
        self.channels.low_latency.sender.write(vec![frame]).await.unwrap();
    }

    async fn open(&mut self, stream: u32, terms: Terms) {
        self.say(stream, FrameBody::Open { terms, request: Bytes::new() }).await;
    }

    /// The next frame on the low-latency channel; an error when the subflow has ended.
    async fn next(&mut self) -> Result<SubflowFrame, MultipathError> {
        loop {
            if let Some(frame) = SubflowFrame::decode(&mut self.came)? {
                return Ok(frame);
            }
            self.channels.low_latency.receiver.read(&mut self.came).await?;
        }
    }

    /// Waits until the stream is given up by the server.
    async fn reset(&mut self, of: u32) -> Reason {
        loop {
            if let SubflowFrame { stream, body: FrameBody::Reset(reason) } =
                self.next().await.unwrap()
                && stream == of
            {
                return reason;
            }
        }
    }
}

/// Runs `test` in virtual time with a client of a server that accepts sessions.
fn with<F: Future<Output = ()> + Send + 'static>(test: impl FnOnce(Client) -> F + Send + 'static) {
    let scene = scene(vec![mbps(50.0)], Duration::from_millis(10));
    let Scene { mut world, server, client, listen, interfaces } = scene;
    let ended = world.run(async move {
        let accepted = accept(&server, listen, StreamConfig::default());
        let from = SocketAddr::new(interfaces[0], 0);
        let endpoint = Endpoint::client(&client, from, transport()).unwrap();
        test(Client { runtime: client, endpoint, scene: (interfaces, listen), accepted }).await;
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
        // Both connections of a subflow are there, and then nothing comes.
        let (low_latency, bulk) = (client.connect().await, client.connect().await);
        let _line = open_quic([1; 16], low_latency, bulk.clone()).await.unwrap();
        let before = client.runtime.now();
        bulk.closed().await;
        let waited = client.runtime.now() - before;
        assert!((4.9..6.0).contains(&waited.as_secs_f64()), "closed after {waited:?}");
        let (interfaces, server) = &client.scene;
        let (_trunk, stream) =
            open(&client.runtime, (interfaces, *server), StreamConfig::default());
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
        FrameBody::Data(frame(&Frame::Segment(far.clone()))),
        FrameBody::Data(frame(&Frame::End(3))),
        FrameBody::Data(BytesMut::from(&[99; 40][..])),
        FrameBody::Data(cut),
        FrameBody::Control(frame(&Frame::Ack(lies))),
        FrameBody::Control(frame(&Frame::Segment(far))),
        FrameBody::Control(BytesMut::from(&[0; 40][..])),
    ];
    with(|mut client| async move {
        let mut subflow = client.subflow().await;
        subflow.open(0, TERMS).await;
        let good = client.accepted.recv().await.unwrap();
        for (number, bad) in (1..).zip(bodies) {
            subflow.open(number, TERMS).await;
            let stream = client.accepted.recv().await.unwrap();
            let shown = format!("{bad:?}");
            subflow.say(number, bad).await;
            let error = stream.read().await.unwrap_err();
            assert!(
                !matches!(error, MultipathError::Path(_) | MultipathError::Ended),
                "{shown}: {error}"
            );
            assert_eq!(subflow.reset(number).await, Reason::Protocol, "{shown}");
        }
        let segment = Segment { window: 0, index: 0, count: 1, payload: Bytes::from_static(b"x") };
        subflow.say(0, FrameBody::Data(frame(&Frame::Segment(segment)))).await;
        assert_eq!(good.read().await.unwrap(), [Bytes::from_static(b"x")]);
    });
}

#[test]
fn a_stream_on_terms_that_are_not_spoken_is_reset() {
    with(|mut client| async move {
        let mut subflow = client.subflow().await;
        subflow.open(0, Terms { protocol: Protocol::Mptcp, ..TERMS }).await;
        assert_eq!(subflow.reset(0).await, Reason::Protocol);
        assert!(client.accepted.try_recv().is_err());
        // Sizes are lowered to what the server gives.
        subflow.open(1, Terms { window_bytes: 64 << 20, receive_memory: 1 << 30, ..TERMS }).await;
        let FrameBody::Accept(terms) = subflow.next().await.unwrap().body else {
            panic!("no accept")
        };
        assert!(terms.window_bytes <= 1 << 20 && terms.receive_memory <= 64 << 20, "{terms:?}");
    });
}

#[test]
fn a_line_whose_bulk_connection_is_misused_ends_and_leaves_no_path_behind() {
    with(|mut client| async move {
        let mut subflow = client.subflow().await;
        subflow.open(0, TERMS).await;
        let stream = client.accepted.recv().await.unwrap();
        let mut nameless = subflow.bulk.open_uni().await.unwrap();
        nameless.write_all(Bytes::from_static(b"short")).await.unwrap();
        nameless.finish().unwrap();
        subflow.bulk.closed().await;
        assert!(stream.counts().paths.iter().all(|path| !path.is_open));
    });
}

#[test]
fn a_stream_without_a_path_fails_in_time() {
    with(|mut client| async move {
        let mut subflow = client.subflow().await;
        subflow.open(0, TERMS).await;
        let stream = client.accepted.recv().await.unwrap();
        drop(subflow);
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
    unplugged(Scheme::Other(Arc::new(MptcpEngines(Options::of(SchedulerKind::Blest))))).await;
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

/// Sends 60 MB each way at once over loopback, while both interfaces are unplugged three times.
async fn unplugged(scheme: Scheme) {
    const BYTES: u64 = 60_000_000;
    let bounds = SessionLimits {
        stream: StreamConfig { scheme, ..StreamConfig::default() },
        ..SessionLimits::default()
    };
    let runtime = TokioRuntime::new(Seed(1));
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let endpoint = Arc::new(Endpoint::server(&runtime, local, transport()).unwrap());
    let server = endpoint.local_addr();
    let (on_stream, mut streams) = mpsc::unbounded_channel();
    let acceptor = SessionServer::new(runtime.clone(), bounds.clone(), move |opened| {
        drop(on_stream.send(opened.stream))
    });
    let connections = Arc::new(AtomicUsize::new(0));
    let (seen, clock) = (connections.clone(), runtime.clone());
    // Each of the first six connections ends after a while: both interfaces are unplugged three times.
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
        on.spawn("subflow", async move { drop(acceptor.serve(channels).await) });
    };
    let accepting = accept_quic_subflows(endpoint, Duration::from_secs(5), connected, opened);
    runtime.spawn("acceptor", accepting);
    let (up, down) = (TestBody(1), TestBody(2));
    let interfaces = [[127, 0, 0, 1], [127, 0, 0, 2]].into_iter().zip(0..).map(|(from, number)| {
        let endpoint = Endpoint::client(&runtime, SocketAddr::from((from, 0)), transport());
        let connect =
            connect_quic(Arc::new(endpoint.unwrap()), server, "session.airlane", Seed(number));
        (connect, InterfaceConfig::default())
    });
    let session = Session::new(&runtime, [9; 16], interfaces.collect(), bounds);
    let stream = Arc::new(session.open(Bytes::new()).unwrap());
    let accepted = Arc::new(streams.recv().await.unwrap());
    let write = |stream: Arc<MultipathStream>, body: TestBody| async move {
        for piece in body.pieces(0..BYTES, 50_000) {
            stream.write(piece).await.unwrap();
        }
        stream.finish();
    };
    let read = |stream: Arc<MultipathStream>, body: TestBody| async move {
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
    assert!(connections.load(Ordering::Relaxed) > 4, "no subflow came back");
}
