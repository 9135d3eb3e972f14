//! Who has no key gets nothing.

use std::net::SocketAddr;
use std::time::Duration;

use airlane_tunnel::{Key, PathSpec, SessionLimits, SubflowTransport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, UdpSocket};

use super::ends::{ANY, client, client_over, faults, interfaces, server, server_within};
use crate::run;

/// Everything that the server answers until it hangs up.
async fn answers(server: SocketAddr, said: &[u8]) -> Vec<u8> {
    let mut connection = TcpStream::connect(server).await.unwrap();
    // It may have hung up already.
    drop(connection.write_all(said).await);
    let mut answers = Vec::new();
    drop(connection.read_to_end(&mut answers).await);
    answers
}

#[test]
fn a_stranger_gets_not_a_byte() {
    run(async {
        let key = Key::generate().unwrap();
        let server = server(&key, &[]).await;
        let at = server.addresses()[0];
        let hello = b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03".repeat(20);
        let auth_token = [7; 57];
        let (silent, http, tls, forged) = tokio::join!(
            answers(at, b""),
            answers(at, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
            answers(at, &hello),
            answers(at, &auth_token),
        );
        for answer in [silent, http, tls, forged] {
            assert!(answer.is_empty(), "{answer:?}");
        }
    });
}

#[test]
fn who_opens_many_connections_and_says_nothing_makes_room() {
    run(async {
        let key = Key::generate().unwrap();
        // An eighth of the descriptors is for them, half of that for one address.
        let bounds = SessionLimits { max_descriptors: Some(256), ..SessionLimits::default() };
        let server = server_within(&key, &[], (ANY, bounds)).await;
        let at = server.addresses()[0];
        let mut unauthenticated = Vec::new();
        // From the address of one of the client's interfaces.
        for _ in 0..40 {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind(SocketAddr::new(interfaces()[0], 0)).unwrap();
            unauthenticated.push(socket.connect(at).await.unwrap());
        }
        // The oldest are hung up on.
        for gone in &mut unauthenticated[..24] {
            drop(gone.read_to_end(&mut Vec::new()).await);
        }
        let client = client(&key, at, &[]).await;
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        while !client.interfaces().iter().all(|(_, of)| of.is_up) {
            ticks.tick().await;
        }
        assert_eq!(faults(&client), [""; 0]);
        let silent = server.status().warnings.iter().find(|(kind, _)| *kind == "silent").copied();
        assert!(silent.is_some_and(|(_, times)| times >= 24), "{silent:?}");
    });
}

/// Whether the server says a word over UDP to what an unauthenticated sends it: asked again with `known`,
/// which it does answer, so that no answer is no matter of time.
#[test]
fn a_stranger_gets_not_a_datagram() {
    run(async {
        let (key, other) = (Key::generate().unwrap(), Key::generate().unwrap());
        let server = server(&key, &[]).await;
        let at = server.addresses()[0];
        let unauthenticated = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        unauthenticated.connect(at).await.unwrap();
        // An unknown version, a short header with an unknown connection id, an Initial packet
        // without and with a token that is none: each long enough to be answered.
        let long = |version: u32, token: &[u8]| {
            let ids = [&[8][..], &[1; 8], &[0]].concat();
            let token = [&[token.len() as u8][..], token].concat();
            let start = [&[0xc0][..], &version.to_be_bytes(), &ids, &token, &[0x44, 0x96]].concat();
            [&start[..], &vec![0; 1200 - start.len()]].concat()
        };
        let short = [&[0x40][..], &[7; 1199]].concat();
        for datagram in [long(0xfa_ce_b0_0c, b""), short, long(1, b""), long(1, &[7; 57])] {
            unauthenticated.send(&datagram).await.unwrap();
        }
        // Who has another key is an unauthenticated too; who has the key is let in all the same.
        let knocks_wrong = client_over(SubflowTransport::Quic, &other, at, &[]).await;
        let knows = client_over(SubflowTransport::Quic, &key, at, &[]).await;
        knows.up().await;
        assert!(knocks_wrong.interfaces().iter().all(|(_, of)| !of.is_up));
        let answer = unauthenticated.try_recv(&mut [0; 2048]);
        assert_eq!(answer.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    });
}

#[test]
fn a_recorded_first_packet_is_not_answered_again() {
    run(async {
        let key = Key::generate().unwrap();
        let server = server(&key, &[]).await;
        // What a client sends first, as somebody on the way records it.
        let recorder = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let _client =
            client_over(SubflowTransport::Quic, &key, recorder.local_addr().unwrap(), &[]).await;
        let mut first = vec![0; 2048];
        let length = recorder.recv(&mut first).await.unwrap();
        let twice = [UdpSocket::bind("127.0.0.1:0").await, UdpSocket::bind("127.0.0.1:0").await];
        let [one, other] = twice.map(Result::unwrap);
        one.send_to(&first[..length], server.addresses()[0]).await.unwrap();
        assert!(one.recv(&mut [0; 2048]).await.unwrap() > 0, "the first is answered");
        other.send_to(&first[..length], server.addresses()[0]).await.unwrap();
        // Another client is answered behind it: what was to come has come.
        client_over(SubflowTransport::Quic, &key, server.addresses()[0], &[]).await.up().await;
        let answer = other.try_recv(&mut [0; 2048]);
        assert_eq!(answer.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    });
}

#[test]
fn another_key_opens_no_line_and_the_client_says_why() {
    run(async {
        let server = server(&Key::generate().unwrap(), &[]).await;
        let client = client(&Key::generate().unwrap(), server.addresses()[0], &[]).await;
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(5));
        let problems = loop {
            let interfaces = client.interfaces();
            if interfaces.iter().all(|(_, of)| !of.problem.is_empty()) {
                break interfaces;
            }
            ticks.tick().await;
        };
        for (interface, of) in problems {
            assert!(matches!(interface.path, PathSpec::Address(_)));
            assert!(!of.is_up && of.problem.contains("its key is another"), "{}", of.problem);
        }
    });
}
