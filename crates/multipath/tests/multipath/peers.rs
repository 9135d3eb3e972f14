//! Peers that are told apart: none joins another's session, or ends it.

use std::sync::Arc;
use std::time::Duration;

use airlane_multipath::{
    AcceptedStream, Channel, ChannelFuture, ChannelKind, ChannelReceiver, ChannelSender, Channels,
    Connect, InterfaceConfig, PeerId, PendingConnections, Session, SessionLimits, SessionServer,
    SubflowConnection, SubflowFuture,
};
use airlane_multipath::{MultipathError, MultipathStream};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;

use crate::world::echo;
use crate::world::{Scene, mbps, scene};

const PEERS: [PeerId; 2] = [[1; 32], [2; 32]];

struct Sends(mpsc::UnboundedSender<Bytes>);

impl ChannelSender for Sends {
    fn write(&mut self, pieces: Vec<Bytes>) -> ChannelFuture<'_, ()> {
        Box::pin(async move {
            pieces.into_iter().try_for_each(|p| self.0.send(p)).map_err(|_| MultipathError::Ended)
        })
    }
}

struct Receives(mpsc::UnboundedReceiver<Bytes>);

impl ChannelReceiver for Receives {
    fn read<'a>(&'a mut self, into: &'a mut BytesMut) -> ChannelFuture<'a, ()> {
        Box::pin(async move {
            into.extend_from_slice(&self.0.recv().await.ok_or(MultipathError::Ended)?);
            Ok(())
        })
    }
}

/// Both ends of a channel.
fn channel() -> [Channel; 2] {
    let ((to, at), (back, here)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
    [(to, here), (back, at)].map(|(to, from)| Channel {
        sender: Box::new(Sends(to)),
        receiver: Box::new(Receives(from)),
        control: None,
    })
}

/// What connects to the acceptor as this peer.
fn interface(
    of: &Arc<SessionServer>,
    runtime: &RuntimeHandle,
    peer: PeerId,
) -> (Connect, InterfaceConfig) {
    let (acceptor, runtime) = (of.clone(), runtime.clone());
    let connect = move || {
        let ([near, far], [near_bulk, far_bulk]) = (channel(), channel());
        let subflow =
            move |low_latency, bulk| Channels { peer, low_latency, bulk, guard: Box::new(()) };
        let (serves, acceptor) = (subflow(far, far_bulk), acceptor.clone());
        runtime.spawn("subflow", async move { drop(acceptor.serve(serves).await) });
        Box::pin(async move { Ok(subflow(near, near_bulk)) }) as SubflowFuture
    };
    (Box::new(connect), InterfaceConfig::default())
}

async fn answers(stream: &MultipathStream) -> Result<(), MultipathError> {
    stream.write(Bytes::from_static(b"question")).await?;
    assert_eq!(stream.read().await?.concat(), b"question");
    Ok(())
}

#[test]
fn a_peer_that_names_anothers_trunk_has_one_of_its_own() {
    let Scene { mut world, server, client, .. } =
        scene(vec![mbps(50.0)], Duration::from_millis(10));
    let ended = world.run(async move {
        let on = server.clone();
        let on_stream =
            move |AcceptedStream { stream, .. }: AcceptedStream| on.spawn("echo", echo(stream));
        let acceptor = SessionServer::new(server.clone(), SessionLimits::default(), on_stream);
        let session = |peer, name| {
            let interfaces = vec![interface(&acceptor, &server, peer)];
            Session::new(&client, [name; 16], interfaces, SessionLimits::default())
        };
        let victim = session(PEERS[0], 5);
        let stream = victim.open(Bytes::new()).unwrap();
        answers(&stream).await.unwrap();
        // The same session, interface and stream, as if it were the other peer's.
        let thief = session(PEERS[1], 5);
        let stolen = thief.open(Bytes::new()).unwrap();
        answers(&stolen).await.unwrap();
        let peers: Vec<_> = acceptor.sessions().iter().map(|t| (t.peer, t.streams)).collect();
        assert_eq!(peers, PEERS.map(|peer| (peer, 1)));
        thief.close().await;
        answers(&stream).await.unwrap();
        // A peer that is ended is so with all that it has, and the other goes on.
        let thief = session(PEERS[1], 6);
        let stolen = thief.open(Bytes::new()).unwrap();
        answers(&stolen).await.unwrap();
        acceptor.end_peer(PEERS[1]);
        assert!(acceptor.sessions().iter().all(|t| t.peer == PEERS[0]));
        client.sleep(Duration::from_millis(100)).await;
        answers(&stream).await.unwrap();
    });
    ended.unwrap();
}

#[test]
fn connections_of_two_peers_are_no_line() {
    let Scene { mut world, server, .. } = scene(vec![mbps(50.0)], Duration::from_millis(10));
    let ended = world.run(async move {
        let pending = PendingConnections::new(server);
        let connection = |peer, kind| {
            let [channel, _] = channel();
            SubflowConnection { peer, nonce: [7; 16], kind, channel, guard: Box::new(()) }
        };
        assert!(pending.join(connection(PEERS[0], ChannelKind::LowLatency)).is_none());
        assert!(pending.join(connection(PEERS[1], ChannelKind::Bulk)).is_none());
        let subflow = pending.join(connection(PEERS[0], ChannelKind::Bulk)).unwrap();
        assert_eq!(subflow.peer, PEERS[0]);
    });
    ended.unwrap();
}
