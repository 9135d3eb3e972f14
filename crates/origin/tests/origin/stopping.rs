//! An origin that stops while requests are on their way to it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_congestion::ControllerConfig;
use airlane_media::synthetic;
use airlane_net::Dumbbell;
use airlane_origin::Library;
use airlane_origin::{Origin, Policy};
use airlane_quic::{Cipher, Endpoint, H3Client, TransportConfig};
use airlane_runtime::RuntimeExt;
use airlane_runtime::virtual_time::World;
use http::Request;

/// Who asks before it hears of the stop is answered; who asks after that knows that nobody has
/// looked at it.
#[test]
fn requests_that_cross_the_goodbye_are_answered() {
    let videos = synthetic::corpus(1, 5, Seed(3));
    let rtt = Duration::from_millis(100);
    let built = Dumbbell::new(Rate::from_mbps(50.0), rtt, 1.5, 1).build(Seed(5));
    let ip = |host| built.network.addresses(host)[0];
    let (s, c) = (ip(built.servers[0]), ip(built.clients[0]));
    let mut world = World::new(Seed(5), built.network);
    let (server, client) = (world.host("server", s), world.host("client", c));
    world
        .run(async move {
            let transport =
                || TransportConfig::laboratory(Cipher::Null, ControllerConfig::cubic(2.0));
            let listen = SocketAddr::new(s, 443);
            let library = Arc::new(Library::new(videos.clone()));
            let origin = Origin::new(library, Policy::Plain, Arc::new(()));
            let endpoint = Arc::new(Endpoint::server(&server, listen, transport()).unwrap());
            server.spawn("origin", origin.clone().serve(endpoint.clone()));
            let any = SocketAddr::from(([0, 0, 0, 0], 0));
            let caller = Endpoint::client(&client, any, transport()).unwrap();
            let connection = caller.connect(listen, "x").await.unwrap();
            let h3 = H3Client::connect(connection).await.unwrap();
            let ask = || {
                let h3 = h3.clone();
                async move {
                    let request = Request::get("https://x/nothing").body(()).unwrap();
                    h3.send_request(request).await.map(|answer| answer.status().as_u16())
                }
            };
            assert_eq!(ask().await, Ok(404));
            // Ten are on their way when the origin stops.
            let mut asked = Vec::new();
            for _ in 0..10 {
                let (done, answered) = tokio::sync::oneshot::channel();
                let asking = ask();
                client.spawn("client", async move { drop(done.send(asking.await)) });
                asked.push(answered);
            }
            client.sleep(rtt / 4).await;
            origin.go_away().await;
            for answered in asked {
                assert_eq!(answered.await.unwrap(), Ok(404));
            }
            let refusal = ask().await.unwrap_err().to_string();
            assert!(refusal.contains("closing"), "{refusal}");
            origin.drained().await;
            endpoint.flushed().await;
            let late = caller.connect(listen, "x").await.unwrap();
            assert!(late.closed().await.to_string().contains("the server stops"));
        })
        .unwrap();
}
