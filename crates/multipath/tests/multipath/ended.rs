//! A stream that ends while the last acknowledgement is under way on a subflow that does not bring it.

use std::sync::Arc;
use std::time::Duration;

use airlane_multipath::{
    AcceptedStream, Channel, ChannelFuture, ChannelReceiver, ChannelSender, Channels,
    InterfaceConfig, Session, SessionLimits, SessionServer,
};
use airlane_multipath::{MultipathError, MultipathStream};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};

use crate::world::{Scene, mbps, scene};

/// What happens to what is sent in one direction of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Carries,
    Holds,
    IsCut,
}

struct Sends(mpsc::UnboundedSender<Bytes>);

impl ChannelSender for Sends {
    fn write(&mut self, pieces: Vec<Bytes>) -> ChannelFuture<'_, ()> {
        Box::pin(async move {
            for piece in pieces {
                self.0.send(piece).map_err(|_| MultipathError::Ended)?;
            }
            Ok(())
        })
    }
}

struct Receives(mpsc::UnboundedReceiver<Bytes>, watch::Receiver<Way>);

impl ChannelReceiver for Receives {
    fn read<'a>(&'a mut self, into: &'a mut BytesMut) -> ChannelFuture<'a, ()> {
        Box::pin(async move {
            let Self(from, way) = self;
            let mut of = way.clone();
            let piece = tokio::select! {
                biased;
                _ = of.wait_for(|way| *way == Way::IsCut) => None,
                piece = from.recv() => piece,
            };
            let piece = piece.ok_or(MultipathError::Ended)?;
            let now = way.wait_for(|way| *way != Way::Holds).await;
            if !now.is_ok_and(|way| *way == Way::Carries) {
                return Err(MultipathError::Ended);
            }
            into.extend_from_slice(&piece);
            Ok(())
        })
    }
}

/// Both ends of a channel whose directions do what they are told.
fn channel(up: &watch::Sender<Way>, down: &watch::Sender<Way>) -> (Channel, Channel) {
    let (to_server, at_server) = mpsc::unbounded_channel();
    let (to_client, at_client) = mpsc::unbounded_channel();
    let end = |to, from, way: &watch::Sender<Way>| Channel {
        sender: Box::new(Sends(to)),
        receiver: Box::new(Receives(from, way.subscribe())),
        control: None,
    };
    (end(to_server, at_client, down), end(to_client, at_server, up))
}

/// A session with two interfaces, of which the second connects when it is told to.
struct Ends {
    clock: RuntimeHandle,
    /// The directions of the first interface's subflows, to the serving end and from it.
    up: watch::Sender<Way>,
    down: watch::Sender<Way>,
    second: watch::Sender<bool>,
    session: Session,
    acceptor: Arc<SessionServer>,
    /// The stream at either end.
    near: MultipathStream,
    far: MultipathStream,
}

impl Ends {
    /// Time for all that is under way.
    async fn settle(&self) {
        self.clock.sleep(Duration::from_millis(100)).await;
    }

    /// What has come at one of the ends.
    async fn comes(stream: &MultipathStream, expected: &[u8]) {
        assert_eq!(stream.read().await.unwrap().concat(), expected);
    }

    /// Which ends hold the stream to be open, the connecting one and the serving one.
    fn open(&self) -> (bool, bool) {
        let serving: usize = self.acceptor.sessions().iter().map(|session| session.streams).sum();
        (self.session.streams() > 0, serving > 0)
    }

    /// The second interface connects. If `way` is that the first is cut, what it held is lost.
    async fn change(&self, way: Way) {
        if way == Way::IsCut {
            self.up.send_replace(way);
            self.down.send_replace(way);
        }
        self.second.send_replace(true);
        // Questions go out all 250 ms; a stream without subflows is given up after 30 s.
        self.clock.sleep(Duration::from_secs(2)).await;
    }
}

fn with<F: Future<Output = ()> + Send + 'static>(test: impl FnOnce(Ends) -> F + Send + 'static) {
    let Scene { mut world, server, client, .. } =
        scene(vec![mbps(50.0)], Duration::from_millis(10));
    let ended = world.run(async move {
        let (opened, on_stream) = oneshot::channel();
        let opened = Mutex::new(Some(opened));
        let acceptor = SessionServer::new(
            server.clone(),
            SessionLimits::default(),
            move |stream: AcceptedStream| {
                let opened = opened.lock().take();
                opened.expect("the stream begins once").send(stream.stream).unwrap();
            },
        );
        let (up, down) = (watch::Sender::new(Way::Carries), watch::Sender::new(Way::Carries));
        let second = watch::Sender::new(false);
        let interface = |ways: [watch::Sender<Way>; 2], may: watch::Receiver<bool>| {
            let (acceptor, server) = (acceptor.clone(), server.clone());
            let connect = move || {
                let (ways, mut may) = (ways.clone(), may.clone());
                let (acceptor, server) = (acceptor.clone(), server.clone());
                Box::pin(async move {
                    may.wait_for(|may| *may).await.map_err(|_| MultipathError::Ended)?;
                    let [up, down] = ways;
                    let (near, far) = (channel(&up, &down), channel(&up, &down));
                    // The directions last as long as the subflow.
                    let guard = || Box::new((up.clone(), down.clone()));
                    let serves = Channels {
                        peer: [0; 32],
                        low_latency: near.1,
                        bulk: far.1,
                        guard: guard(),
                    };
                    server.spawn("subflow", async move { drop(acceptor.serve(serves).await) });
                    Ok(Channels { peer: [0; 32], low_latency: near.0, bulk: far.0, guard: guard() })
                }) as airlane_multipath::SubflowFuture
            };
            (Box::new(connect) as airlane_multipath::Connect, InterfaceConfig::default())
        };
        let always = || watch::Sender::new(Way::Carries);
        let first = watch::Sender::new(true);
        let interfaces = vec![
            interface([up.clone(), down.clone()], first.subscribe()),
            interface([always(), always()], second.subscribe()),
        ];
        let session = Session::new(&client, [5; 16], interfaces, SessionLimits::default());
        let near = session.open(Bytes::from_static(b"a stream")).unwrap();
        let far = on_stream.await.unwrap();
        test(Ends { clock: client, up, down, second, session, acceptor, near, far }).await;
    });
    ended.unwrap();
}

/// The serving end is the first for which the stream is over.
fn serving_end_first(way: Way) {
    with(move |ends| async move {
        ends.near.write(Bytes::from_static(b"question")).await.unwrap();
        Ends::comes(&ends.far, b"question").await;
        ends.far.write(Bytes::from_static(b"answer")).await.unwrap();
        ends.far.finish();
        Ends::comes(&ends.near, b"answer").await;
        Ends::comes(&ends.near, b"").await;
        ends.settle().await;
        ends.down.send_replace(Way::Holds);
        ends.near.write(Bytes::from_static(b"thanks")).await.unwrap();
        ends.near.finish();
        Ends::comes(&ends.far, b"thanks").await;
        Ends::comes(&ends.far, b"").await;
        ends.far.over().await.unwrap();
        ends.settle().await;
        assert_eq!(ends.open(), (true, false));
        ends.change(way).await;
        assert_eq!(ends.open(), (false, false));
        ends.near.over().await.unwrap();
    });
}

/// The connecting end is.
fn connecting_end_first(way: Way) {
    with(move |ends| async move {
        ends.near.write(Bytes::from_static(b"question")).await.unwrap();
        ends.near.finish();
        Ends::comes(&ends.far, b"question").await;
        Ends::comes(&ends.far, b"").await;
        ends.settle().await;
        ends.up.send_replace(Way::Holds);
        ends.far.write(Bytes::from_static(b"answer")).await.unwrap();
        ends.far.finish();
        Ends::comes(&ends.near, b"answer").await;
        Ends::comes(&ends.near, b"").await;
        ends.near.over().await.unwrap();
        ends.settle().await;
        assert_eq!(ends.open(), (false, true));
        ends.change(way).await;
        assert_eq!(ends.open(), (false, false));
        ends.far.over().await.unwrap();
    });
}

#[test]
fn an_end_that_the_last_acknowledgement_has_not_reached_hears_it_on_a_new_line() {
    serving_end_first(Way::Holds);
    connecting_end_first(Way::Holds);
}

#[test]
fn an_end_whose_line_is_cut_before_the_last_acknowledgement_hears_it_on_the_next() {
    serving_end_first(Way::IsCut);
    connecting_end_first(Way::IsCut);
}
