//! Connections for media of who is no participant: each ends by itself, and none takes another's place.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use airlane_base::Time;
use airlane_call_daemon::client::ClientOffer;
use airlane_call_daemon::{CallLimits, ConferenceHandle, MAX_FRAME_BYTES, Role, frame_header};
use airlane_runtime::{RuntimeExt, RuntimeHandle, virtual_time};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::carrier::connect;
use crate::world::silent_client;

const S: Duration = Duration::from_secs(1);
/// Connections of one address, and of all.
const MAX_PER_ADDRESS: usize = 128;
const MAX_TOTAL: usize = 1024;

/// A conference, and whoever connects to it.
#[derive(Clone)]
struct Server {
    runtime: RuntimeHandle,
    conference: ConferenceHandle,
    address: SocketAddr,
}

impl Server {
    fn start(runtime: RuntimeHandle) -> Self {
        let address = SocketAddr::from(([10, 0, 0, 1], 4460));
        let socket = runtime.bind_udp(address).unwrap();
        let limits = CallLimits::default();
        let conference = ConferenceHandle::start(&runtime, socket, vec![address], limits).unwrap();
        Self { runtime, conference, address }
    }

    /// A connection from this address.
    fn connect(&self, from: impl Into<IpAddr>, port: u16) -> DuplexStream {
        let from = SocketAddr::new(from.into(), port);
        connect(&self.runtime, &self.conference, from, self.address)
    }

    /// Time until a connection ends on which these bytes were sent; it must not answer.
    async fn end_after(&self, bytes: &[u8]) -> Duration {
        let mut stream = self.connect([192, 0, 2, 1], 1);
        let start = self.runtime.now();
        stream.write_all(bytes).await.unwrap();
        assert_eq!(stream.read(&mut [0; 64]).await.unwrap(), 0, "{bytes:?}");
        self.runtime.now().since(start)
    }
}

fn in_virtual_time<F>(test: impl FnOnce(Server) -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    virtual_time::run_alone(|runtime| async move { test(Server::start(runtime)).await });
}

pub fn frame(datagram: &[u8]) -> Vec<u8> {
    [&frame_header(datagram).unwrap()[..], datagram].concat()
}

/// Value of the first attribute of this name in a description of a session.
pub fn attribute<'a>(sdp: &'a str, name: &str) -> &'a str {
    let mut values = sdp.lines().filter_map(|line| line.strip_prefix("a=")?.split_once(':'));
    values.find(|(of, _)| *of == name).unwrap().1
}

/// A STUN request of this user name, `RECEIVER:SENDER`, with a password that is wrong.
pub fn request(name: &str) -> Vec<u8> {
    let attribute = |kind: u16, value: &[u8]| {
        let mut bytes = [kind.to_be_bytes(), (value.len() as u16).to_be_bytes()].concat();
        bytes.extend_from_slice(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    // User name, priority, and integrity.
    let attributes = [
        attribute(0x0006, name.as_bytes()),
        attribute(0x0024, &[0, 1, 2, 3]),
        attribute(0x0008, &[7; 20]),
    ]
    .concat();
    let mut bytes = vec![0, 1];
    bytes.extend((attributes.len() as u16).to_be_bytes());
    bytes.extend([0x21, 0x12, 0xa4, 0x42]);
    bytes.extend([9; 12]);
    bytes.extend(attributes);
    bytes
}

/// Number of connections that have ended.
async fn ended(streams: &mut [DuplexStream]) -> usize {
    let mut count = 0;
    for stream in streams {
        let mut byte = [0];
        let is_ended = tokio::select! {
            biased;
            read = stream.read(&mut byte) => read.unwrap() == 0,
            () = std::future::ready(()) => false,
        };
        count += usize::from(is_ended);
    }
    count
}

#[test]
fn a_connection_whose_first_frame_is_of_no_session_is_closed_at_once() {
    in_virtual_time(|server| async move {
        let offer = ClientOffer::new(silent_client(), server.runtime.now()).unwrap();
        let room = "room".parse().unwrap();
        let joined = server.conference.join(room, Role::Member, "p", offer.sdp()).await.unwrap();
        let (theirs, ours) =
            (attribute(&joined.sdp, "ice-ufrag"), attribute(offer.sdp(), "ice-ufrag"));
        for datagram in [
            &request(&format!("{theirs}:{ours}"))[..],
            &request(&format!("unknown:{ours}")),
            &[0],
            &[0; 20],
            // DTLS, RTP, and a text.
            &[0x16; 100],
            &[0x80; 1200],
            b"GET / HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(server.end_after(&frame(datagram)).await, Duration::ZERO);
        }
        let status = server.conference.status().await.unwrap();
        assert_eq!((status.tcp_connections, status.stray_datagrams_total), (0, 7));
    });
}

#[test]
fn a_connection_that_sends_a_frame_that_is_too_long_is_closed_at_once() {
    in_virtual_time(|server| async move {
        for length in [MAX_FRAME_BYTES as u16 + 1, u16::MAX] {
            assert_eq!(server.end_after(&length.to_be_bytes()).await, Duration::ZERO);
        }
    });
}

#[test]
fn a_connection_without_a_whole_frame_is_closed_in_time() {
    in_virtual_time(|server| async move {
        let whole = frame(&request("unknown:us"));
        let empty = frame(&[]).repeat(5);
        for bytes in [&[][..], &whole[..1], &whole[..whole.len() - 1], &empty] {
            assert_eq!(server.end_after(bytes).await, 10 * S);
        }
        // A byte a second does not make it last.
        let mut stream = server.connect([192, 0, 2, 1], 1);
        let start = server.runtime.now();
        for byte in whole {
            if stream.write_all(&[byte]).await.is_err() {
                break;
            }
            server.runtime.sleep(S).await;
        }
        assert_eq!(server.runtime.now().since(start), 11 * S);
    });
}

#[test]
fn connections_have_limits_and_the_oldest_of_nobody_goes() {
    in_virtual_time(|server| async move {
        let of = |last: u8, count: usize| {
            let server = server.clone();
            (0..count).map(move |port| server.connect([192, 0, 2, last], port as u16 + 1))
        };
        let mut one: Vec<_> = of(1, MAX_PER_ADDRESS + 10).collect();
        server.runtime.sleep(S).await;
        assert_eq!((ended(&mut one[..10]).await, ended(&mut one[10..]).await), (10, 0));
        let mut others: Vec<_> = (2..=9).flat_map(|last| of(last, MAX_PER_ADDRESS)).collect();
        server.runtime.sleep(S).await;
        let status = server.conference.status().await.unwrap();
        assert_eq!(status.tcp_connections, MAX_TOTAL);
        assert_eq!(ended(&mut one).await + ended(&mut others).await, 10 + MAX_PER_ADDRESS);
        server.runtime.sleep_until(Time::from_millis(13_000)).await;
        let status = server.conference.status().await.unwrap();
        assert_eq!((status.tcp_connections, ended(&mut others).await), (0, others.len()));
    });
}

#[test]
fn an_address_with_a_connection_takes_no_other() {
    in_virtual_time(|server| async move {
        let mut first = server.connect([192, 0, 2, 1], 1);
        server.runtime.sleep(S).await;
        let mut second = server.connect([192, 0, 2, 1], 1);
        server.runtime.sleep(S).await;
        assert_eq!(ended(std::slice::from_mut(&mut first)).await, 0);
        assert_eq!(second.read(&mut [0]).await.unwrap(), 0);
    });
}
