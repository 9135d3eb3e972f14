//! How the streams of one connection share it: by the weights of their groups, and within a group by
//! the client's priorities (RFC 9218).

use std::sync::Arc;
use std::time::Duration;

use airlane_base::Rate;
use airlane_congestion::Algorithm;
use airlane_quic::{
    Connection, Endpoint, H3Client, H3Server, QuicError, RecvStream, Responder, TransportConfig,
};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use http::{Request, Response};
use parking_lot::Mutex;

use crate::common::*;

const LINK: (Rate, Duration, u64) = (Rate::from_bps(10_000_000), Duration::from_millis(10), 40_000);

/// As servers have it: what waits follows the congestion window.
fn following() -> TransportConfig {
    let mut config = config(Algorithm::Cubic);
    config.flow.min_send_window_bytes = 128 << 10;
    config.flow.send_window_bytes = 16 << 20;
    config
}

/// Answers `/GROUP/BYTES` with so many bytes, in the group, and `/GROUP/BYTES/first` before others.
async fn respond(mut responder: Responder, path: String) -> Result<(), QuicError> {
    let mut parts = path.trim_start_matches('/').split('/');
    let mut number = || parts.next().unwrap().parse::<u64>().unwrap();
    let (group, mut left) = (number(), number());
    responder.join_group(group, parts.next() == Some("first"));
    responder.send_response(Response::new(())).await?;
    while left > 0 {
        let piece = left.min(65_536);
        responder.send_data(Bytes::from(vec![1; piece as usize])).await?;
        left -= piece;
    }
    responder.finish().await
}

/// Serves one connection, which is put into `seen`.
async fn serve(runtime: RuntimeHandle, endpoint: Endpoint, seen: Arc<Mutex<Option<Connection>>>) {
    let connection = endpoint.accept().await.unwrap();
    *seen.lock() = Some(connection.clone());
    let mut server = H3Server::new(connection).await.unwrap();
    while let Ok(Some((request, responder))) = server.accept().await {
        let path = request.uri().path().to_owned();
        runtime.spawn("respond", async move {
            let _ = respond(responder, path).await;
        });
    }
}

/// Both ends of a connection.
async fn ends(
    server: &RuntimeHandle,
    client: &RuntimeHandle,
) -> (Endpoint, Connection, Arc<Mutex<Option<Connection>>>) {
    let listening = Endpoint::server(server, SERVER_ADDR.into(), following()).unwrap();
    let seen = Arc::new(Mutex::new(None));
    server.spawn("serve", serve(server.clone(), listening, seen.clone()));
    let caller = Endpoint::client(client, ([0, 0, 0, 0], 0).into(), following()).unwrap();
    let connection = caller.connect(SERVER_ADDR.into(), "lab.airlane").await.unwrap();
    (caller, connection, seen)
}

fn get(path: &str) -> Request<()> {
    Request::get(format!("https://lab.airlane/{path}")).body(()).unwrap()
}

#[test]
fn groups_of_streams_share_a_connection_by_their_weights() {
    let mut net = net(1, Link::new(LINK.0, LINK.1, LINK.2));
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let (_caller, connection, server) = ends(&s, &c).await;
            let h3 = H3Client::connect(connection).await.unwrap();
            let got = [(); 3].map(|()| Arc::new(Mutex::new(0u64)));
            // Two streams of one session, one of another; as many bytes as nobody gets.
            for (n, path) in ["1/99000000", "2/99000000", "2/99000000"].into_iter().enumerate() {
                let (h3, got) = (h3.clone(), got[n].clone());
                c.spawn("reader", async move {
                    let mut body = h3.send_request(get(path)).await.unwrap().into_body();
                    while let Ok(Some(piece)) = body.data().await {
                        *got.lock() += piece.len() as u64;
                    }
                });
            }
            c.sleep(Duration::from_secs(1)).await;
            let server = server.lock().clone().unwrap();
            for (one, other) in [(2.8, 1.6), (0.5, 4.0), (1.0, 1.0)] {
                server.set_group_weight(1, one);
                server.set_group_weight(2, other);
                c.sleep(Duration::from_secs(1)).await;
                let before = got.each_ref().map(|g| *g.lock());
                c.sleep(Duration::from_secs(20)).await;
                let after = got.each_ref().map(|g| *g.lock());
                let [a, b1, b2] = [0, 1, 2].map(|n| (after[n] - before[n]) as f64);
                let ratio = a / (b1 + b2);
                assert!((ratio / (one / other) - 1.0).abs() < 0.1, "{ratio}, not {one}/{other}");
                assert!(a + b1 + b2 > 22e6, "{a} {b1} {b2}: the link is used");
                // What is short and waited for does not wait for them.
                let asked = c.now();
                let body = h3.send_request(get("2/20000/first")).await.unwrap().into_body();
                assert_eq!({ body }.collect(30_000).await.unwrap().len(), 20_000);
                let took = c.now() - asked;
                assert!(took < Duration::from_millis(250), "{took:?}");
            }
        })
        .unwrap();
}

/// A client that writes HTTP/3 by hand.
struct ByHand {
    connection: Connection,
    control: airlane_quic::SendStream,
}

impl ByHand {
    async fn new(connection: Connection) -> Self {
        let mut control = connection.open_uni().await.unwrap();
        // A control stream with empty settings.
        control.write_all(Bytes::from_static(&[0, 4, 0])).await.unwrap();
        Self { connection, control }
    }

    /// Tells a priority of the request with this number.
    async fn prioritise(&mut self, request: u32, text: &str) {
        let mut frame = vec![0x80, 0x0f, 0x07, 0x00, 4 + text.len() as u8];
        frame.extend_from_slice(&(0x8000_0000 | request).to_be_bytes());
        frame.extend_from_slice(text.as_bytes());
        self.control.write_all(frame.into()).await.unwrap();
    }

    /// Asks for a path, in a field section of names from QPACK's static table (RFC 9204, appendix A).
    async fn get(&self, path: &str) -> RecvStream {
        let (mut send, recv) = self.connection.open_bi().await.unwrap();
        let mut fields = vec![0, 0, 0xd1, 0xd7, 0x50, 1, b'a', 0x51, path.len() as u8];
        fields.extend_from_slice(path.as_bytes());
        let frame = [&[1, fields.len() as u8][..], &fields].concat();
        send.write_all(frame.into()).await.unwrap();
        send.finish().unwrap();
        recv
    }
}

/// Reads to the end. When that was.
fn read(runtime: &RuntimeHandle, mut stream: RecvStream, ended: Arc<Mutex<Vec<u32>>>, n: u32) {
    runtime.spawn("reader", async move {
        while let Ok(Some(_)) = stream.read_chunk(usize::MAX).await {}
        ended.lock().push(n);
    });
}

#[test]
fn requests_of_a_group_are_answered_in_the_order_of_their_priorities() {
    let mut net = net(1, Link::new(LINK.0, LINK.1, LINK.2));
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let (_caller, connection, _) = ends(&s, &c).await;
            let mut client = ByHand::new(connection).await;
            let ended = Arc::new(Mutex::new(Vec::new()));
            // Told before the request comes: the last of these is the most urgent.
            client.prioritise(8, "u=1").await;
            for n in 0..4 {
                let stream = client.get("/1/3000000").await;
                read(&c, stream, ended.clone(), n);
            }
            // And while it is answered.
            c.sleep(Duration::from_secs(1)).await;
            client.prioritise(12, "u=0").await;
            c.sleep(Duration::from_secs(12)).await;
            assert_eq!(*ended.lock(), [3, 2, 0, 1]);
        })
        .unwrap();
}

#[test]
fn a_control_stream_has_no_end() {
    let mut net = net(1, Link::new(Rate::from_bps(100_000_000), LINK.1, 400_000));
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let (_caller, connection, _) = ends(&s, &c).await;
            let mut client = ByHand::new(connection.clone()).await;
            // 2.5 MB of them.
            for n in 0..200_000 {
                client.prioritise(4 * n, "u=5").await;
                if n % 1000 == 0 {
                    let mut stream = client.get("/1/10").await;
                    assert!(!stream.read_to_end(1000).await.unwrap().is_empty());
                }
            }
            let mut stream = client.get("/1/10").await;
            assert!(!stream.read_to_end(1000).await.unwrap().is_empty());
            // A frame that nobody needs to be so long is another matter.
            client.control.write_all(Bytes::from_static(&[0x21, 0x80, 1, 0, 0])).await.unwrap();
            let end = connection.closed().await;
            assert!(matches!(end, QuicError::ClosedByPeer { code: 0x107, .. }), "{end:?}");
        })
        .unwrap();
}
