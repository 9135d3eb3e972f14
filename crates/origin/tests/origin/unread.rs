//! Answers that a client does not take.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_congestion::ControllerConfig;
use airlane_net::Dumbbell;
use airlane_origin::store::{Object, Source, Store, StoreFuture, Target};
use airlane_origin::{Limits, Origin, Policy};
use airlane_quic::{Cipher, Endpoint, H3Client, TransportConfig};
use airlane_runtime::RuntimeExt;
use airlane_runtime::virtual_time::World;
use bytes::Bytes;
use http::Request;

const OBJECT_BYTES: u64 = 300_000;
/// Bytes of each answer that the client takes before it reads it.
const TAKES_BYTES: u32 = 3_000;
const ANSWERS: usize = 40;

/// One object at every path, of which it counts the bytes that were read and are still held.
#[derive(Clone, Debug, Default)]
struct CountingSource {
    held: Arc<AtomicUsize>,
    read: Arc<AtomicUsize>,
}

struct CountedBytes {
    bytes: Vec<u8>,
    of: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        self.of.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

fn byte_at(at: u64) -> u8 {
    (at % 251) as u8
}

impl Source for CountingSource {
    fn read(&self, range: Range<u64>) -> StoreFuture<'_, std::io::Result<Bytes>> {
        let bytes: Vec<u8> = range.map(byte_at).collect();
        self.held.fetch_add(bytes.len(), Ordering::Relaxed);
        self.read.fetch_add(bytes.len(), Ordering::Relaxed);
        let bytes = Bytes::from_owner(CountedBytes { bytes, of: self.held.clone() });
        Box::pin(async move { Ok(bytes) })
    }
}

impl Store for CountingSource {
    fn find<'a>(&'a self, _: Target<'a>) -> StoreFuture<'a, std::io::Result<Option<Object>>> {
        let object = Object {
            len: OBJECT_BYTES,
            media_type: "video/mp4",
            version: None,
            caching: None,
            fields: Vec::new(),
            part: None,
            source: Arc::new(self.clone()),
        };
        Box::pin(async move { Ok(Some(object)) })
    }
}

/// Bytes that an origin with this timeout holds while a client takes nothing of its answers; and
/// how many it has read in all when the client has taken every one.
fn held_and_read(reclaim_timeout: Option<Duration>) -> (usize, usize) {
    let rtt = Duration::from_millis(20);
    let built = Dumbbell::new(Rate::from_mbps(50.0), rtt, 1.5, 1).build(Seed(5));
    let ip = |host| built.network.addresses(host)[0];
    let (s, c) = (ip(built.servers[0]), ip(built.clients[0]));
    let mut world = World::new(Seed(5), built.network);
    let (server, client) = (world.host("server", s), world.host("client", c));
    world
        .run(async move {
            let transport =
                || TransportConfig::laboratory(Cipher::Null, ControllerConfig::cubic(1.0));
            let listen = SocketAddr::new(s, 443);
            let counted = CountingSource::default();
            let limits = Limits { reclaim_timeout, ..Limits::default() };
            let origin = Origin::new(Arc::new(counted.clone()), Policy::Plain, Arc::new(()));
            let endpoint = Arc::new(Endpoint::server(&server, listen, transport()).unwrap());
            server.spawn("origin", origin.with_limits(limits).serve(endpoint));
            let any = SocketAddr::from(([0, 0, 0, 0], 0));
            let mut takes = transport();
            takes.flow.stream_receive_window_bytes = TAKES_BYTES;
            let caller = Endpoint::client(&client, any, takes).unwrap();
            let h3 = H3Client::connect(caller.connect(listen, "x").await.unwrap()).await.unwrap();
            let mut answers = Vec::new();
            for _ in 0..ANSWERS {
                let request = Request::get("https://x/film").body(()).unwrap();
                answers.push(h3.send_request(request).await.unwrap().into_body());
            }
            client.sleep(Duration::from_secs(5)).await;
            let held = counted.held.load(Ordering::Relaxed);
            // One after the other: those behind wait on.
            for mut body in answers {
                let mut at = 0;
                while let Some(piece) = body.data().await.unwrap() {
                    assert!(piece.iter().zip(at..).all(|(byte, at)| *byte == byte_at(at)));
                    at += piece.len() as u64;
                }
                assert_eq!(at, OBJECT_BYTES);
            }
            (held, counted.read.load(Ordering::Relaxed))
        })
        .unwrap()
}

#[test]
fn nothing_is_kept_of_answers_that_a_client_does_not_take() {
    let whole = ANSWERS * OBJECT_BYTES as usize;
    let (held, read) = held_and_read(None);
    assert!(held >= ANSWERS * (65_536 - TAKES_BYTES as usize), "{held}");
    assert_eq!(read, whole);
    let (held, read) = held_and_read(Some(Duration::from_secs(1)));
    assert_eq!(held, 0);
    // The rest of a piece of each answer was read twice.
    assert!(read > whole && read <= whole + ANSWERS * 65_536, "{read}");
}
