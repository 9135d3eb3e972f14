//! A panic in what belongs to one connection ends that connection, and no other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::common::*;
use airlane_base::{Rate, Seed, Time};
use airlane_congestion::{Ack, Algorithm, Controller, Loss, Marked, Reno, Sent, Signal};
use airlane_quic::{
    Cipher, Connection, ControllerFactory, Endpoint, FirstPacketAuthorization, H3Client, H3Server,
    QuicError, TransportConfig,
};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::virtual_time::WorldError;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use http::{Request, Response};

const LOOPBACK: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

/// Where a controller panics.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Nowhere,
    Making,
    Sending,
    Acknowledged,
    Window,
}

/// NewReno that panics after a while.
#[derive(Clone, Debug)]
struct Faulty {
    reno: Reno,
    place: Place,
    packets: u32,
}

impl Faulty {
    fn panic_at(&self, place: Place) {
        assert!(self.place != place || self.packets < 100, "a fault of the test's at {place:?}");
    }
}

impl Controller for Faulty {
    fn on_sent(&mut self, sent: &Sent) {
        self.packets += 1;
        self.panic_at(Place::Sending);
        self.reno.on_sent(sent);
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.panic_at(Place::Acknowledged);
        self.reno.on_ack(ack);
    }
    fn on_loss(&mut self, loss: &Loss) {
        self.reno.on_loss(loss);
    }
    fn on_marked(&mut self, marked: &Marked) {
        self.reno.on_marked(marked);
    }
    fn on_signal(&mut self, _now: Time, _signal: Signal) -> bool {
        panic!("no such weight");
    }
    fn window(&self) -> u64 {
        self.panic_at(Place::Window);
        self.reno.window()
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.reno.pacing_rate()
    }
    fn name(&self) -> &'static str {
        "faulty"
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

/// A server whose second connection has a controller that panics at `place`.
fn faulty(place: Place) -> TransportConfig {
    let made = AtomicU32::new(0);
    let factory = ControllerFactory::new(move |new| {
        let second = made.fetch_add(1, Ordering::Relaxed) == 1;
        let place = if second { place } else { Place::Nowhere };
        assert!(place != Place::Making, "a fault of the test's at {place:?}");
        Box::new(Faulty { reno: Reno::new(new.payload_bytes), place, packets: 0 })
    });
    TransportConfig::laboratory(Cipher::Null, factory)
}

/// A transfer to the client on a connection of its own: the server's end, and what came.
async fn receive(
    runtime: &RuntimeHandle,
    server: &Endpoint,
    client: &Endpoint,
    bytes: u64,
) -> (Connection, Result<u64, QuicError>) {
    let to_server = client.connect(server.local_addr(), "lab.airlane").await.unwrap();
    let to_client = server.accept().await.unwrap();
    let sender = to_client.clone();
    runtime.spawn("send", async move { drop(send_bulk(sender, bytes).await) });
    let came = recv_bulk(&to_server).await;
    (to_client, came)
}

#[tokio::test]
async fn a_controller_that_panics_ends_its_connection_and_no_other() {
    for place in [Place::Sending, Place::Acknowledged, Place::Window] {
        let runtime = TokioRuntime::new(Seed(1));
        let server = Endpoint::server(&runtime, LOOPBACK.into(), faulty(place)).unwrap();
        let client = Endpoint::client(&runtime, LOOPBACK.into(), config(Algorithm::Reno)).unwrap();
        let first = client.connect(server.local_addr(), "lab.airlane").await.unwrap();
        let to_first = server.accept().await.unwrap();

        let (failed, came) = receive(&runtime, &server, &client, 10_000_000).await;
        // Its own side hears what it was, and its peer that it is over.
        let QuicError::Fault(what) = failed.closed().await else { panic!("{place:?}") };
        assert_eq!(what, format!("a fault of the test's at {place:?}"));
        assert!(matches!(came, Err(QuicError::ClosedByPeer { code: 1, .. })), "{came:?}");
        // What was counted stays, and nobody is asked any more.
        assert!(failed.control().stats().sent_packets >= 99);

        // The one that was open before, and one that comes after.
        runtime.spawn("send", async move { send_bulk(to_first, 1_000_000).await.unwrap() });
        assert_eq!(recv_bulk(&first).await, Ok(1_000_000));
        assert_eq!(receive(&runtime, &server, &client, 1_000_000).await.1, Ok(1_000_000));
    }
}

#[tokio::test]
async fn a_client_whose_controller_cannot_be_made_is_refused_and_others_are_not() {
    let runtime = TokioRuntime::new(Seed(1));
    let server = Endpoint::server(&runtime, LOOPBACK.into(), faulty(Place::Making)).unwrap();
    let client = Endpoint::client(&runtime, LOOPBACK.into(), config(Algorithm::Reno)).unwrap();
    assert_eq!(receive(&runtime, &server, &client, 100_000).await.1, Ok(100_000));
    let refused = client.connect(server.local_addr(), "lab.airlane").await.map(drop);
    assert!(matches!(refused, Err(QuicError::Transport(_))), "{refused:?}");
    assert_eq!(receive(&runtime, &server, &client, 100_000).await.1, Ok(100_000));
}

/// A door that breaks when the second one knocks.
struct Broken(AtomicU32);

impl FirstPacketAuthorization for Broken {
    fn token(&self) -> Bytes {
        Bytes::from_static(b"a token of more than sixteen bytes")
    }

    fn admits(&self, _: &[u8], _: SocketAddr) -> bool {
        assert!(self.0.fetch_add(1, Ordering::Relaxed) != 1, "a fault of the test's at the door");
        true
    }
}

#[tokio::test]
async fn a_datagram_that_makes_the_endpoint_panic_is_lost_and_others_are_taken() {
    let runtime = TokioRuntime::new(Seed(1));
    let first_packet_authorization: Option<Arc<dyn FirstPacketAuthorization>> =
        Some(Arc::new(Broken(AtomicU32::new(0))));
    let config = TransportConfig { first_packet_authorization, ..config(Algorithm::Reno) };
    let server = Endpoint::server(&runtime, LOOPBACK.into(), config.clone()).unwrap();
    let client = Endpoint::client(&runtime, LOOPBACK.into(), config).unwrap();
    // The second one's first packet is lost, and it sends another.
    for _ in 0..3 {
        assert_eq!(receive(&runtime, &server, &client, 10_000).await.1, Ok(10_000));
    }
}

#[tokio::test]
async fn who_panics_while_it_sets_a_weight_ends_the_connection_too() {
    let runtime = TokioRuntime::new(Seed(1));
    let config = faulty(Place::Nowhere);
    let (_s, _c, to_server, to_client) =
        pair(&runtime, &runtime, LOOPBACK.into(), config).await.unwrap();
    let control = to_client.control().clone();
    let setter = tokio::task::spawn_blocking(move || {
        control.set_weight(2.0);
    });
    assert!(setter.await.unwrap_err().is_panic());
    let ended = to_client.closed().await;
    assert_eq!(ended, QuicError::Fault("no such weight".to_owned()));
    assert!(matches!(to_server.closed().await, QuicError::ClosedByPeer { code: 1, .. }));
}

#[tokio::test]
async fn a_request_whose_handler_panics_is_reset_and_others_are_answered() {
    let runtime = TokioRuntime::new(Seed(1));
    let server =
        Arc::new(Endpoint::server(&runtime, LOOPBACK.into(), config(Algorithm::Reno)).unwrap());
    let address = server.local_addr();
    let rt = runtime.clone();
    runtime.spawn("server", async move {
        while let Some(connection) = server.accept().await {
            let own = rt.clone();
            rt.spawn("connection", async move {
                let mut h3 = H3Server::new(connection).await.unwrap();
                while let Ok(Some((request, mut responder))) = h3.accept().await {
                    assert!(request.uri().path() != "/connection", "a connection's handler");
                    own.spawn("request", async move {
                        assert!(request.uri().path() != "/request", "a request's handler");
                        responder.send_response(Response::new(())).await.unwrap();
                        responder.finish().await.unwrap();
                    });
                }
            });
        }
    });
    let client = Endpoint::client(&runtime, LOOPBACK.into(), config(Algorithm::Reno)).unwrap();
    let ask = async |h3: &H3Client, path: &str| {
        let request = Request::get(format!("https://lab.airlane/{path}")).body(()).unwrap();
        h3.send_request(request).await.map(drop)
    };
    let connect = || async { client.connect(address, "lab.airlane").await.unwrap() };
    let one = H3Client::connect(connect().await).await.unwrap();
    assert!(ask(&one, "request").await.is_err());
    assert_eq!(ask(&one, "").await, Ok(()));
    assert!(ask(&one, "connection").await.is_err());
    assert!(matches!(one.connection().closed().await, QuicError::ClosedByPeer { .. }));
    let two = H3Client::connect(connect().await).await.unwrap();
    assert_eq!(ask(&two, "").await, Ok(()));
}

#[test]
fn in_the_laboratory_a_panic_ends_the_run() {
    let mut net = net(1, Link::new(Rate::from_mbps(10.0), Duration::from_millis(10), 40_000));
    let (s, c) = (net.server.clone(), net.client.clone());
    let run = net.world.run(async move {
        let server = Endpoint::server(&s, SERVER_ADDR.into(), faulty(Place::Acknowledged)).unwrap();
        let any = ([0, 0, 0, 0], 0).into();
        let client = Endpoint::client(&c, any, config(Algorithm::Reno)).unwrap();
        receive(&s, &server, &client, 1_000).await.1.unwrap();
        receive(&s, &server, &client, 1_000_000).await.1
    });
    let Err(WorldError::Panicked { message, at, .. }) = run else { panic!("{run:?}") };
    assert_eq!(message, "a fault of the test's at Acknowledged");
    assert!(at < Time::from_millis(1_000), "{at}");
}
