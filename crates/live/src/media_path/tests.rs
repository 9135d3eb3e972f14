//! What of a path only this side of it can bring about.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use airlane_base::{Packet, Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig};
use airlane_messages::{Event, ReceiveLimits, SendOptions};
use airlane_octopus::Marking;
use airlane_quic::{Cipher, Endpoint, TransportConfig};
use airlane_runtime::RuntimeExt;
use airlane_runtime::virtual_time::{Fabric, World};
use bytes::Bytes;

use super::{MediaPath, MediaPaths, PathConfig, PathFault};

/// A way of 10 ms.
#[derive(Default)]
struct Way(BTreeMap<(Time, u64), Box<Packet>>, u64);

impl Fabric for Way {
    fn send(&mut self, now: Time, packet: Box<Packet>) {
        self.1 += 1;
        self.0.insert((now + Duration::from_millis(10), self.1), packet);
    }

    fn next_event(&self) -> Option<Time> {
        self.0.keys().next().map(|(at, _)| *at)
    }

    fn poll(&mut self, now: Time) -> Option<Box<Packet>> {
        let first = self.0.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }
}

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

async fn next_message(path: &MediaPath) -> Option<Bytes> {
    loop {
        if let Event::Message(message) = path.next_event().await? {
            return Some(message.data);
        }
    }
}

#[test]
fn a_panic_ends_the_path_that_it_belongs_to_and_no_other() {
    let mut world = World::new(Seed(1), Way::default());
    world.end_at(Time::from_millis(20_000));
    let (server, client) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let listen = SocketAddr::from((server, 443));
    let (server, client_host) =
        (world.host("server", server.into()), world.host("client", client.into()));
    let ended = world.run(async move {
        let transport = || {
            let setup = ControllerConfig::new(Algorithm::Reno);
            TransportConfig::laboratory(Cipher::Null, setup)
        };
        let listening = Endpoint::server(&server, listen, transport()).unwrap();
        let serving = MediaPaths::new(&listening, 10).unwrap();
        server.spawn("server", async move {
            let connection = listening.accept().await.unwrap();
            let mut open = Vec::new();
            while let Ok(asked) = serving.accept(&connection).await {
                open.push(asked.open(&config(), Bytes::new()).await.unwrap());
            }
        });
        let from = SocketAddr::from((client, 0));
        let endpoint = Endpoint::client(&client_host, from, transport()).unwrap();
        let paths = MediaPaths::new(&endpoint, 2).unwrap();
        let connection = endpoint.connect(listen, "lab.airlane").await.unwrap();
        let (broken, _) = paths.connect(&connection, &config(), Bytes::new()).await.unwrap();
        let (whole, _) = paths.connect(&connection, &config(), Bytes::new()).await.unwrap();
        let fails = AssertUnwindSafe(|| broken.place.change(|_, _| panic!("on purpose")));
        assert!(std::panic::catch_unwind(fails).is_err());
        assert_eq!(broken.fault(), Some(PathFault::Inside));
        assert_eq!(next_message(&broken).await, None);
        // The other one goes on, over the same socket and by the same driver.
        let before = whole.counts();
        let message = Bytes::from_static(b"a message");
        whole.send(1, Marking::default(), message).unwrap();
        client_host.sleep(Duration::from_millis(200)).await;
        assert_eq!(whole.counts().acked_packets, before.acked_packets + 1);
        assert_eq!(whole.fault(), None);
        // Its place is free for another.
        drop(broken);
        let again = paths.connect(&connection, &config(), Bytes::new()).await;
        assert!(again.is_ok());
    });
    ended.unwrap();
}
