//! HTTP/3 in virtual time.

use std::time::Duration;

use crate::common::*;
use airlane_base::{Rate, Time};
use airlane_congestion::Algorithm;
use airlane_quic::{Endpoint, H3Client, H3Server, QuicError, RequestBounds};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use http::{Request, Response, StatusCode};

const LINK: (Rate, Duration, u64) = (Rate::from_bps(10_000_000), Duration::from_millis(10), 40_000);

/// Answers `/N` with N bytes, `/echo` with the request's body, `/broken` with half a body.
async fn serve(runtime: RuntimeHandle, endpoint: Endpoint) {
    while let Some(connection) = endpoint.accept().await {
        let rt = runtime.clone();
        runtime.spawn("connection", async move {
            let mut server = H3Server::new(connection).await.unwrap();
            while let Ok(Some((request, mut responder))) = server.accept().await {
                rt.spawn("respond", async move {
                    let path = request.uri().path().trim_start_matches('/').to_owned();
                    let head = |status| Response::builder().status(status).body(()).unwrap();
                    if path == "echo" {
                        responder.send_response(head(StatusCode::OK)).await.unwrap();
                        while let Some(piece) = responder.recv_data().await.unwrap() {
                            responder.send_data(piece).await.unwrap();
                        }
                    } else if path == "broken" {
                        responder.send_response(head(StatusCode::OK)).await.unwrap();
                        responder.send_data(Bytes::from_static(b"half")).await.unwrap();
                        return;
                    } else if let Ok(n) = path.parse::<usize>() {
                        responder.send_response(head(StatusCode::OK)).await.unwrap();
                        let body = Bytes::from(vec![0xab; n]);
                        for piece in body.chunks(100_000) {
                            responder.send_data(body.slice_ref(piece)).await.unwrap();
                        }
                    } else {
                        responder.send_response(head(StatusCode::NOT_FOUND)).await.unwrap();
                    }
                    responder.finish().await.unwrap();
                });
            }
        });
    }
}

fn get(path: &str) -> Request<()> {
    Request::get(format!("https://lab.airlane/{path}")).body(()).unwrap()
}

async fn client(server: &RuntimeHandle, client: &RuntimeHandle) -> (Endpoint, H3Client) {
    let config = config(Algorithm::Cubic);
    let s = Endpoint::server(server, SERVER_ADDR.into(), config.clone()).unwrap();
    let addr = s.local_addr();
    server.spawn("serve", serve(server.clone(), s));
    let c = Endpoint::client(client, ([0, 0, 0, 0], 0).into(), config).unwrap();
    let connection = c.connect(addr, "lab.airlane").await.unwrap();
    let h3 = H3Client::connect(connection).await.unwrap();
    (c, h3)
}

#[test]
fn many_requests_in_turn_share_one_connection() {
    let mut net = net(1, Link::new(LINK.0, LINK.1, LINK.2));
    let (s, c) = (net.server.clone(), net.client.clone());
    let end = net
        .world
        .run(async move {
            let (_endpoint, h3) = client(&s, &c).await;
            // More than the streams that may be open at once.
            for i in 0..600_usize {
                let response = h3.send_request(get(&format!("{}", i * 7))).await.unwrap();
                assert_eq!(response.status(), StatusCode::OK);
                let body = response.into_body().collect(1 << 20).await.unwrap();
                assert!(body.len() == i * 7 && body.iter().all(|b| *b == 0xab));
            }
            let response = h3.send_request(get("nothing")).await.unwrap();
            assert_eq!(response.status(), StatusCode::NOT_FOUND);
            c.now()
        })
        .unwrap();
    // One round trip each, and no more than the link's time for what was sent.
    assert!(end < Time::from_millis(600 * 25 + 1500), "{end}");
}

#[test]
fn a_body_flows_at_the_rate_of_the_link_and_waits_for_its_reader() {
    let mut net = net(1, Link::new(LINK.0, LINK.1, LINK.2));
    let (s, c) = (net.server.clone(), net.client.clone());
    let seen = net.seen.clone();
    net.world
        .run(async move {
            let (_endpoint, h3) = client(&s, &c).await;
            let start = c.now();
            let mut body = h3.send_request(get("6000000")).await.unwrap().into_body();
            let mut n = 0;
            while let Some(piece) = body.data().await.unwrap() {
                n += piece.len();
            }
            assert_eq!(n, 6_000_000);
            let mbps = Rate::of(n as u64, c.now() - start).mbps();
            assert!((9.0..9.75).contains(&mbps), "{mbps} Mbit/s");
            // Nobody reads: what arrives is bounded by the receive window.
            let idle = h3.send_request(get("40000000")).await.unwrap().into_body();
            c.sleep(Duration::from_secs(30)).await;
            let received = seen.lock().down_bytes;
            assert!(received < 6_500_000 + (2 << 20), "{received}");
            assert!(h3.send_request(get("5")).await.unwrap().status().is_success());
            drop(idle);
        })
        .unwrap();
}

#[test]
fn requests_at_once_do_not_wait_for_each_other() {
    let mut net = net(1, Link::new(LINK.0, LINK.1, LINK.2));
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let (_endpoint, h3) = client(&s, &c).await;
            let big = h3.clone();
            let large = async move {
                let mut body = big.send_request(get("5000000")).await.unwrap().into_body();
                body.collect(6_000_000).await.unwrap().len()
            };
            let runtime = c.clone();
            let small = async move {
                let start = runtime.now();
                let mut body = h3.send_request(get("1000")).await.unwrap().into_body();
                assert_eq!(body.collect(2000).await.unwrap().len(), 1000);
                runtime.now() - start
            };
            let (large, small) = futures_util::future::join(large, small).await;
            assert_eq!(large, 5_000_000);
            assert!(small < Duration::from_millis(500), "{small:?}");
        })
        .unwrap();
}

#[test]
fn bodies_go_up_and_half_responses_are_noticed() {
    let mut net = net(1, Link::new(LINK.0, LINK.1, LINK.2));
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let (_endpoint, h3) = client(&s, &c).await;
            let body = Bytes::from(vec![7; 50_000]);
            let request = Request::post("https://lab.airlane/echo").body(()).unwrap();
            let response = h3.send_with_body(request, body.clone()).await.unwrap();
            assert_eq!(response.into_body().collect(1 << 20).await.unwrap(), body);
            let end = match h3.send_request(get("broken")).await {
                Ok(response) => response.into_body().collect(1000).await.map(|_| ()),
                Err(e) => Err(e),
            };
            assert!(matches!(end, Err(QuicError::Http(_))), "{end:?}");
            // The connection lives on.
            assert_eq!(h3.send_request(get("5")).await.unwrap().status(), StatusCode::OK);
        })
        .unwrap();
}

/// A request that never ends keeps neither memory nor others.
#[test]
fn a_request_of_too_many_bytes_is_stopped() {
    let (mut net, config) = (net(1, Link::new(LINK.0, LINK.1, LINK.2)), config(Algorithm::Cubic));
    let (server, client) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let listening = Endpoint::server(&server, SERVER_ADDR.into(), config.clone()).unwrap();
            let spawner = server.clone();
            server.spawn("serve", async move {
                let connection = listening.accept().await.unwrap();
                let bounds = RequestBounds { bytes: 50_000, ..RequestBounds::NONE };
                let mut h3 = H3Server::bounded(connection, bounds).await.unwrap();
                while let Ok(Some((_, mut responder))) = h3.accept().await {
                    spawner.spawn("respond", async move {
                        let mut got = 0;
                        loop {
                            match responder.recv_data().await {
                                Ok(Some(piece)) => got += piece.len(),
                                Ok(None) => break,
                                Err(_) => return,
                            }
                            assert!(got <= 50_000, "{got}");
                        }
                        responder.send_response(Response::new(())).await.unwrap();
                        responder.finish().await.unwrap();
                    });
                }
            });
            let caller = Endpoint::client(&client, ([0, 0, 0, 0], 0).into(), config).unwrap();
            let connection = caller.connect(SERVER_ADDR.into(), "lab.airlane").await.unwrap();
            let h3 = H3Client::connect(connection).await.unwrap();
            let post = |bytes| {
                let request = Request::post("https://lab.airlane/").body(()).unwrap();
                h3.send_with_body(request, Bytes::from(vec![1; bytes]))
            };
            assert!(post(40_000).await.is_ok());
            assert!(post(2_000_000).await.is_err());
            assert!(post(40_000).await.is_ok(), "the connection goes on");
        })
        .unwrap();
}

/// A piece that lies with the connection, for want of room, goes on its way when there is room, and
/// its writer hears when there never will be.
#[test]
fn who_waits_for_room_hears_that_a_client_wants_no_more() {
    let (mut net, config) = (net(1, Link::new(LINK.0, LINK.1, LINK.2)), config(Algorithm::Cubic));
    let (server, client) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let listening = Endpoint::server(&server, SERVER_ADDR.into(), config.clone()).unwrap();
            let (told, mut ends) = tokio::sync::mpsc::unbounded_channel();
            let spawner = server.clone();
            server.spawn("serve", async move {
                let mut h3 = H3Server::new(listening.accept().await.unwrap()).await.unwrap();
                while let Ok(Some((_, mut responder))) = h3.accept().await {
                    let told = told.clone();
                    spawner.spawn("respond", async move {
                        responder.send_response(Response::new(())).await.unwrap();
                        // More than the client lets come: it waits in the midst of the piece.
                        let sent = responder.send_data(Bytes::from(vec![1; 6 << 20])).await;
                        let whole = sent.is_ok();
                        drop(told.send(sent));
                        if whole {
                            responder.finish().await.unwrap();
                        }
                    });
                }
            });
            let caller = Endpoint::client(&client, ([0, 0, 0, 0], 0).into(), config).unwrap();
            let connection = caller.connect(SERVER_ADDR.into(), "lab.airlane").await.unwrap();
            let h3 = H3Client::connect(connection.clone()).await.unwrap();

            let mut body = h3.send_request(get("")).await.unwrap().into_body();
            client.sleep(Duration::from_secs(5)).await;
            assert!(ends.try_recv().is_err(), "it waits");
            let mut got = 0;
            while got < 6 << 20 {
                got += body.data().await.unwrap().unwrap().len();
            }
            assert!(ends.recv().await.unwrap().is_ok());

            let given_up = h3.send_request(get("")).await.unwrap().into_body();
            client.sleep(Duration::from_secs(5)).await;
            drop(given_up);
            let end = ends.recv().await.unwrap();
            assert!(matches!(end, Err(QuicError::StreamEnded { .. })), "{end:?}");

            let _body = h3.send_request(get("")).await.unwrap().into_body();
            client.sleep(Duration::from_secs(5)).await;
            connection.close(0, "enough");
            let end = ends.recv().await.unwrap();
            assert!(matches!(end, Err(QuicError::ClosedByPeer { .. })), "{end:?}");
        })
        .unwrap();
}
