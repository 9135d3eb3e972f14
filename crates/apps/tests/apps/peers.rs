//! Peers that are told apart: none joins another's trunk, or ends it.

use std::sync::Arc;
use std::time::Duration;

use airlane_apps::multipath::trunk::{
    Acceptor, Bounds, Channel, ChannelFuture, ChannelReceiver, ChannelSender, Channels, Connect,
    Half, LineFuture, Opened, Pairs, PeerId, RadioTerms, Role, Trunk,
};
use airlane_apps::multipath::{MultipathError, MultipathStream};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;

use crate::multipath::{Scene, mbps, scene};
use crate::trunks::echo;

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
fn radio(of: &Arc<Acceptor>, runtime: &RuntimeHandle, peer: PeerId) -> (Connect, RadioTerms) {
    let (acceptor, runtime) = (of.clone(), runtime.clone());
    let connect = move || {
        let ([near, far], [near_bulk, far_bulk]) = (channel(), channel());
        let line = move |express, bulk| Channels { peer, express, bulk, guard: Box::new(()) };
        let (serves, acceptor) = (line(far, far_bulk), acceptor.clone());
        runtime.spawn("line", async move { drop(acceptor.serve(serves).await) });
        Box::pin(async move { Ok(line(near, near_bulk)) }) as LineFuture
    };
    (Box::new(connect), RadioTerms::default())
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
        let begun = move |Opened { stream, .. }: Opened| on.spawn("echo", echo(stream));
        let acceptor = Acceptor::new(server.clone(), Bounds::default(), begun);
        let trunk = |peer, name| {
            let radios = vec![radio(&acceptor, &server, peer)];
            Trunk::new(&client, [name; 16], radios, Bounds::default())
        };
        let victim = trunk(PEERS[0], 5);
        let stream = victim.open(Bytes::new()).unwrap();
        answers(&stream).await.unwrap();
        // The same trunk, radio and stream, as if it were the other peer's.
        let thief = trunk(PEERS[1], 5);
        let stolen = thief.open(Bytes::new()).unwrap();
        answers(&stolen).await.unwrap();
        let peers: Vec<_> = acceptor.trunks().iter().map(|t| (t.peer, t.streams)).collect();
        assert_eq!(peers, PEERS.map(|peer| (peer, 1)));
        thief.close().await;
        answers(&stream).await.unwrap();
        // A peer that is ended is so with all that it has, and the other goes on.
        let thief = trunk(PEERS[1], 6);
        let stolen = thief.open(Bytes::new()).unwrap();
        answers(&stolen).await.unwrap();
        acceptor.end_peer(PEERS[1]);
        assert!(acceptor.trunks().iter().all(|t| t.peer == PEERS[0]));
        client.sleep(Duration::from_millis(100)).await;
        answers(&stream).await.unwrap();
    });
    ended.unwrap();
}

#[test]
fn connections_of_two_peers_are_no_line() {
    let Scene { mut world, server, .. } = scene(vec![mbps(50.0)], Duration::from_millis(10));
    let ended = world.run(async move {
        let pairs = Pairs::new(server);
        let half = |peer, role| {
            let [channel, _] = channel();
            Half { peer, nonce: [7; 16], role, channel, guard: Box::new(()) }
        };
        assert!(pairs.join(half(PEERS[0], Role::Express)).is_none());
        assert!(pairs.join(half(PEERS[1], Role::Bulk)).is_none());
        let line = pairs.join(half(PEERS[0], Role::Bulk)).unwrap();
        assert_eq!(line.peer, PEERS[0]);
    });
    ended.unwrap();
}
