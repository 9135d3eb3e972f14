//! The two connections of a session's subflow over QUIC, and those that never become one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_multipath::{Channels, accept_quic_subflows, open_quic};
use airlane_quic::{Connection, Endpoint};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;

use crate::world::{Scene, mbps, scene, transport};

/// Connects to an end that makes subflows of what comes.
struct Client {
    runtime: RuntimeHandle,
    endpoint: Endpoint,
    server: SocketAddr,
    subflows: mpsc::UnboundedReceiver<Channels>,
}

impl Client {
    async fn connect(&self) -> Connection {
        self.endpoint.connect(self.server, "session.airlane").await.unwrap()
    }

    /// Connects and says `first` on the first stream; how long until the other end closes that.
    async fn closed_after(&self, first: &'static [u8]) -> Duration {
        let connection = self.connect().await;
        let (mut to, _from) = connection.open_bi().await.unwrap();
        to.write_all(Bytes::from_static(first)).await.unwrap();
        let before = self.runtime.now();
        connection.closed().await;
        self.runtime.now() - before
    }
}

/// Runs `test` in virtual time.
fn with<F: Future<Output = ()> + Send + 'static>(test: impl FnOnce(Client) -> F + Send + 'static) {
    let scene = scene(vec![mbps(50.0)], Duration::from_millis(10));
    let Scene { mut world, server, client, listen, interfaces } = scene;
    let ended = world.run(async move {
        let endpoint = Arc::new(Endpoint::server(&server, listen, transport()).unwrap());
        let (opened, subflows) = mpsc::unbounded_channel();
        let opened = move |subflow| drop(opened.send(subflow));
        let timeout = Duration::from_secs(5);
        server.spawn("acceptor", accept_quic_subflows(endpoint, timeout, |_, _| {}, opened));
        let from = SocketAddr::new(interfaces[0], 0);
        let endpoint = Endpoint::client(&client, from, transport()).unwrap();
        test(Client { runtime: client, endpoint, server: listen, subflows }).await;
    });
    ended.unwrap();
}

#[test]
fn two_connections_are_a_line_whichever_comes_first_and_what_is_said_on_each_comes_on_its_own() {
    with(|mut client| async move {
        for round in 0..2 {
            let (low_latency, bulk) = (client.connect().await, client.connect().await);
            let mut subflow = open_quic([round; 16], low_latency, bulk).await.unwrap();
            subflow.bulk.sender.write(vec![Bytes::from_static(b"bulk")]).await.unwrap();
            subflow
                .low_latency
                .sender
                .write(vec![Bytes::from_static(b"low_latency")])
                .await
                .unwrap();
            let mut other = client.subflows.recv().await.unwrap();
            let (mut on_express, mut on_bulk) = (BytesMut::new(), BytesMut::new());
            other.low_latency.receiver.read(&mut on_express).await.unwrap();
            other.bulk.receiver.read(&mut on_bulk).await.unwrap();
            assert_eq!((&on_express[..], &on_bulk[..]), (&b"low_latency"[..], &b"bulk"[..]));
        }
    });
}

#[test]
fn a_connection_whose_other_one_does_not_come_is_closed() {
    with(|mut client| async move {
        let waited = client.closed_after(&[1; 17]).await;
        assert!((4.9..5.2).contains(&waited.as_secs_f64()), "closed after {waited:?}");
        // The same subflow may begin again after that.
        let subflow = open_quic([1; 16], client.connect().await, client.connect().await).await;
        assert!(client.subflows.recv().await.is_some());
        drop(subflow);
    });
}

#[test]
fn two_of_one_kind_are_no_line_and_a_third_kind_there_is_not() {
    with(|mut client| async move {
        let (one, other) =
            tokio::join!(client.closed_after(&[0; 17]), client.closed_after(&[0; 17]));
        let unknown = client.closed_after(&[2; 17]).await;
        for waited in [one, other, unknown] {
            assert!(waited < Duration::from_millis(100), "closed after {waited:?}");
        }
        assert!(client.subflows.try_recv().is_err());
    });
}
