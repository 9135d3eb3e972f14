//! The driver at its limits: sockets that are full, connections that end in every order.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::common::*;
use airlane_base::{Rate, Seed, Time};
use airlane_congestion::Algorithm;
use airlane_quic::{Endpoint, QuicError};
use airlane_runtime::{Datagram, Received, Runtime, RuntimeExt, RuntimeHandle, Timer, UdpSocket};
use parking_lot::Mutex;

fn link() -> (Link, Arc<Mutex<Seen>>) {
    Link::new(Rate::from_mbps(10.0), Duration::from_millis(10), 40_000)
}

/// A host whose sockets take a few datagrams per millisecond only, as a full kernel buffer would,
/// and fail some day.
#[derive(Debug)]
struct Narrow {
    host: RuntimeHandle,
    per_ms: u32,
    fails_at: Time,
}

impl Runtime for Narrow {
    fn now(&self) -> Time {
        self.host.now()
    }
    fn timer(&self, at: Time) -> Box<dyn Timer> {
        self.host.timer(at)
    }
    fn spawn_boxed(&self, name: &'static str, task: airlane_runtime::BoxFuture<()>) {
        self.host.spawn_boxed(name, task);
    }
    fn bind_udp(&self, local: SocketAddr) -> io::Result<Box<dyn UdpSocket>> {
        let socket = self.host.bind_udp(local)?;
        let room = Mutex::new((Time::ZERO, 0, self.host.timer(Time::ZERO)));
        let Self { host, per_ms, fails_at } = self;
        let (host, per_ms, fails_at) = (host.clone(), *per_ms, *fails_at);
        Ok(Box::new(NarrowSocket { socket, host, per_ms, fails_at, room }))
    }
    fn seed(&self) -> Seed {
        self.host.seed()
    }
}

#[derive(Debug)]
struct NarrowSocket {
    socket: Box<dyn UdpSocket>,
    host: RuntimeHandle,
    per_ms: u32,
    fails_at: Time,
    /// The millisecond, the datagrams sent in it, and what wakes at its end.
    room: Mutex<(Time, u32, Box<dyn Timer>)>,
}

impl UdpSocket for NarrowSocket {
    fn poll_send(&self, cx: &mut Context<'_>, datagram: &Datagram<'_>) -> Poll<io::Result<()>> {
        let now = self.host.now();
        let ms = Time::from_millis(now.as_nanos() / 1_000_000);
        let (at, sent, timer) = &mut *self.room.lock();
        if *at != ms {
            (*at, *sent) = (ms, 0);
        }
        if *sent == self.per_ms {
            timer.reset(ms + Duration::from_millis(1));
            assert!(timer.poll(cx).is_pending());
            return Poll::Pending;
        }
        *sent += 1;
        self.socket.poll_send(cx, datagram)
    }
    fn try_send(&self, datagram: &Datagram<'_>) -> io::Result<()> {
        self.socket.try_send(datagram)
    }
    fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<io::Result<Received>> {
        if self.host.now() >= self.fails_at {
            return Poll::Ready(Err(io::Error::other("the interface is gone")));
        }
        self.socket.poll_recv(cx)
    }
    fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }
}

#[test]
fn a_full_socket_slows_connections_down_and_loses_nothing() {
    // One datagram per millisecond is 10.8 Mbit/s of payload, on a link of 1 Gbit/s; seven make a
    // batch stop in its middle.
    for (per_ms, mbps) in [(1, 10.0), (7, 70.0)] {
        let fast = Link::new(Rate::from_mbps(1_000.0), Duration::from_millis(5), 1 << 22);
        let mut net = net(1, fast);
        let server: RuntimeHandle =
            Arc::new(Narrow { host: net.server.clone(), per_ms, fails_at: Time::FAR_FUTURE });
        let client = net.client.clone();
        let (took, lost) = net
            .world
            .run(async move {
                let (s, c, one, to_one) =
                    pair(&server, &client, SERVER_ADDR.into(), config(Algorithm::Cubic))
                        .await
                        .unwrap();
                // A second connection on the same socket has its turn too.
                let two = c.connect(SERVER_ADDR.into(), "lab.airlane").await.unwrap();
                let to_two = s.accept().await.unwrap();
                let start = client.now();
                for to in [&to_one, &to_two] {
                    let to = to.clone();
                    server.spawn("send", async move { send_bulk(to, 2_000_000).await.unwrap() });
                }
                let (a, b) = tokio::join!(recv_bulk(&one), recv_bulk(&two));
                assert_eq!((a.unwrap(), b.unwrap()), (2_000_000, 2_000_000));
                let lost = |c: &airlane_quic::Connection| c.control().stats().lost_packets;
                (client.now() - start, lost(&to_one) + lost(&to_two))
            })
            .unwrap();
        let rate = Rate::of(4_000_000, took).mbps();
        assert!((0.9..1.1).contains(&(rate / mbps)), "{per_ms} per ms: {rate} Mbit/s");
        assert_eq!(lost, 0);
    }
}

#[test]
fn who_uses_a_socket_that_fails_hears_why() {
    let mut net = net(1, link());
    let fails_at = Time::from_millis(500);
    let client: RuntimeHandle =
        Arc::new(Narrow { host: net.client.clone(), per_ms: u32::MAX, fails_at });
    let server = net.server.clone();
    net.world
        .run(async move {
            let (_server, c, one, to_one) =
                pair(&server, &client, SERVER_ADDR.into(), config(Algorithm::Reno)).await.unwrap();
            server.spawn("send", async move { drop(send_bulk(to_one, 1 << 30).await) });
            let failed = |e: &QuicError| {
                matches!(e, QuicError::Io { message, .. } if message == "the interface is gone")
            };
            let read = recv_bulk(&one).await.unwrap_err();
            assert!(failed(&read), "{read}");
            assert!(failed(&one.closed().await));
            assert!(client.now() < fails_at + Duration::from_millis(10));
            let again = c.connect(SERVER_ADDR.into(), "lab.airlane").await.unwrap_err();
            assert!(failed(&again), "{again}");
        })
        .unwrap();
}

#[test]
fn closing_an_endpoint_ends_its_connections_and_refuses_others() {
    let mut net = net(1, link());
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let (server, client, to_server, to_client) =
                pair(&s, &c, SERVER_ADDR.into(), config(Algorithm::Reno)).await.unwrap();
            let reader = to_server.clone();
            c.spawn("reader", async move {
                assert!(matches!(
                    recv_bulk(&reader).await,
                    Err(QuicError::ClosedByPeer { code: 3, .. })
                ));
            });
            assert!(client.accept().await.is_none(), "a client accepts none");
            server.close(3, "maintenance");
            assert!(server.accept().await.is_none(), "none will come");
            assert_eq!(to_client.closed().await, QuicError::ClosedHere);
            assert!(matches!(to_server.closed().await, QuicError::ClosedByPeer { code: 3, .. }));
            assert!(to_client.open_uni().await.is_err());
            server.wait_idle().await;
            // The driver has ended: nobody answers any more, and nobody waits for ever.
            let late = client.connect(SERVER_ADDR.into(), "lab.airlane");
            assert!(late.await.is_err());
            assert_eq!(
                server.connect(([10, 0, 0, 2], 9).into(), "x").await.unwrap_err(),
                QuicError::ClosedHere
            );
        })
        .unwrap();
}

#[test]
fn connections_live_on_without_their_endpoint_and_end_with_their_last_handle() {
    let mut net = net(1, link());
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let (server, client, to_server, to_client) =
                pair(&s, &c, SERVER_ADDR.into(), config(Algorithm::Reno)).await.unwrap();
            drop(client);
            let sender = to_client.clone();
            s.spawn("send", async move { send_bulk(sender, 100_000).await.unwrap() });
            assert_eq!(recv_bulk(&to_server).await.unwrap(), 100_000);
            // A stream is a handle too.
            let stream = to_server.open_uni().await.unwrap();
            drop(to_server);
            let start = c.now();
            let sleep = s.sleep(Duration::from_secs(1));
            tokio::select! {
                biased;
                e = to_client.closed() => panic!("ended with a stream open: {e}"),
                () = sleep => {}
            }
            drop(stream);
            assert!(matches!(to_client.closed().await, QuicError::ClosedByPeer { code: 0, .. }));
            assert!(c.now() - start < Duration::from_millis(1_100));
            server.wait_idle().await;
        })
        .unwrap();
}

#[test]
fn a_dropped_server_endpoint_refuses_and_a_dropped_attempt_leaves_nothing() {
    let mut net = net(1, link());
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let (server, client, to_server, to_client) =
                pair(&s, &c, SERVER_ADDR.into(), config(Algorithm::Reno)).await.unwrap();
            // Nobody waits for this handshake: it is given up at both ends.
            let attempt = client.connect(SERVER_ADDR.into(), "lab.airlane");
            let soon = c.sleep(Duration::from_millis(5));
            tokio::select! {
                biased;
                _ = attempt => panic!("within a quarter of a round trip"),
                () = soon => {}
            }
            drop(server);
            let late: Result<_, QuicError> =
                client.connect(SERVER_ADDR.into(), "lab.airlane").await;
            assert!(matches!(late, Err(QuicError::Transport(_))), "{late:?}");
            // The connection that was there works as before.
            s.spawn("send", async move { send_bulk(to_client, 50_000).await.unwrap() });
            assert_eq!(recv_bulk(&to_server).await.unwrap(), 50_000);
            drop(to_server);
            client.wait_idle().await;
        })
        .unwrap();
}

#[test]
fn many_connections_share_a_socket() {
    const N: usize = 40;
    let mut net = net(1, Link::new(Rate::from_mbps(100.0), Duration::from_millis(10), 400_000));
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let server =
                Endpoint::server(&s, SERVER_ADDR.into(), config(Algorithm::Cubic)).unwrap();
            let mut transport = config(Algorithm::Cubic);
            transport.packets.empty_client_ids = false;
            let client = Endpoint::client(&c, ([0, 0, 0, 0], 0).into(), transport).unwrap();
            let mut ends = Vec::new();
            for _ in 0..N {
                let to_server = client.connect(SERVER_ADDR.into(), "lab.airlane").await.unwrap();
                ends.push((to_server, server.accept().await.unwrap()));
            }
            for (i, (_, to_client)) in ends.iter().enumerate() {
                let (to, bytes) = (to_client.clone(), 20_000 * (i as u64 + 1));
                s.spawn("send", async move { send_bulk(to, bytes).await.unwrap() });
            }
            for (i, (to_server, _)) in ends.iter().enumerate() {
                assert_eq!(recv_bulk(to_server).await.unwrap(), 20_000 * (i as u64 + 1));
            }
            drop(ends);
            client.wait_idle().await;
            server.wait_idle().await;
        })
        .unwrap();
}

#[test]
fn without_ids_an_endpoint_has_one_connection_to_each_server() {
    let mut net = net(1, Link::new(Rate::from_mbps(100.0), Duration::from_millis(10), 400_000));
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let server =
                Endpoint::server(&s, SERVER_ADDR.into(), config(Algorithm::Cubic)).unwrap();
            let mut transport = config(Algorithm::Cubic);
            transport.packets.empty_client_ids = true;
            let client = Endpoint::client(&c, ([0, 0, 0, 0], 0).into(), transport).unwrap();
            let first = client.connect(SERVER_ADDR.into(), "lab.airlane").await.unwrap();
            let e = client.connect(SERVER_ADDR.into(), "lab.airlane").await.unwrap_err();
            assert!(e.to_string().contains("a second connection to"), "{e}");
            drop(first);
            client.wait_idle().await;
            client.connect(SERVER_ADDR.into(), "lab.airlane").await.unwrap();
            drop(server);
        })
        .unwrap();
}
