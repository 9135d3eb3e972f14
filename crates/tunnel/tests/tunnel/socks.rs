//! SOCKS5 through a tunnel.

use std::net::SocketAddr;

use airlane_tunnel::{Key, SubflowTransport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use super::ends::{Tunnel, client, echo, server};
use crate::run;

/// Asks for a connection to `target`, an address and a port as SOCKS5 has them; the connection and
/// the reply.
async fn ask(socks: SocketAddr, target: &[u8]) -> (TcpStream, u8) {
    let mut connection = TcpStream::connect(socks).await.unwrap();
    connection.write_all(b"\x05\x01\x00").await.unwrap();
    let mut greeted = [0; 2];
    connection.read_exact(&mut greeted).await.unwrap();
    assert_eq!(greeted, [5, 0]);
    connection.write_all(&[b"\x05\x01\x00", target].concat()).await.unwrap();
    let mut reply = [0; 10];
    connection.read_exact(&mut reply).await.unwrap();
    (connection, reply[1])
}

fn v4(target: SocketAddr) -> Vec<u8> {
    let SocketAddr::V4(v4) = target else { panic!("{target}") };
    [&[1][..], &v4.ip().octets(), &v4.port().to_be_bytes()].concat()
}

#[test]
fn a_client_reaches_its_target_by_address_and_by_name() {
    run(async {
        let target = echo().await;
        let tunnel = Tunnel::to(target).await;
        let socks = tunnel.client.socks().unwrap();
        let name = [b"\x03\x09localhost", &target.port().to_be_bytes()[..]].concat();
        for wanted in [v4(target), name] {
            let (mut connection, reply) = ask(socks, &wanted).await;
            assert_eq!(reply, 0);
            connection.write_all(b"hello").await.unwrap();
            connection.shutdown().await.unwrap();
            let mut all = Vec::new();
            connection.read_to_end(&mut all).await.unwrap();
            assert_eq!(all, b"hello");
        }
    });
}

#[test]
fn what_cannot_be_reached_is_said_in_socks_own_words() {
    run(async {
        let closed = {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            listener.local_addr().unwrap()
        };
        let tunnel = Tunnel::to(closed).await;
        let socks = tunnel.client.socks().unwrap();
        assert_eq!(ask(socks, &v4(closed)).await.1, 5, "refused");
        assert_eq!(ask(socks, b"\x03\x0cname.invalid\x00\x50").await.1, 4, "no such host");

        // The server's own services are out of reach unless they are allowed.
        let key = Key::generate().unwrap();
        let server = server(&key, &[]).await;
        let client = client(&key, server.addresses()[0], &[]).await;
        let target = echo().await;
        let socks = client.socks().unwrap();
        assert_eq!(ask(socks, &v4(target)).await.1, 2, "not allowed");
        let name = [b"\x03\x09localhost", &target.port().to_be_bytes()[..]].concat();
        assert_eq!(ask(socks, &name).await.1, 2, "not allowed by name either");
    });
}

#[test]
fn a_rule_for_everything_opens_nothing_that_is_the_servers_own() {
    run(async {
        let target = echo().await;
        let key = Key::generate().unwrap();
        for allow in ["*", "0.0.0.0/0", "localhost", "128.0.0.0/1"] {
            let server = server(&key, &[allow]).await;
            let client = client(&key, server.addresses()[0], &[]).await;
            let socks = client.socks().unwrap();
            let port = target.port().to_be_bytes();
            let mapped = [&b"\x04"[..], &[0; 10], &[0xff, 0xff, 127, 0, 0, 1], &port].concat();
            let name = [b"\x03\x09localhost", &port[..]].concat();
            for wanted in [v4(target), name, mapped] {
                assert_eq!(ask(socks, &wanted).await.1, 2, "{allow}: {wanted:?}");
            }
            // Nor do datagrams get there.
            let (control, at) = associate(socks).await;
            let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let application = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let datagram = [&[0, 0, 0][..], &v4(silent.local_addr().unwrap()), b"x"].concat();
            application.send_to(&datagram, at).await.unwrap();
            let mut ticks = tokio::time::interval(std::time::Duration::from_millis(5));
            while server.status().datagrams_refused == 0 {
                ticks.tick().await;
            }
            let answer = silent.try_recv(&mut [0; 16]);
            assert_eq!(answer.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
            drop(control);
        }
    });
}

/// Asks to send datagrams; the connection that keeps this up, and where to send them.
async fn associate(socks: SocketAddr) -> (TcpStream, SocketAddr) {
    let mut control = TcpStream::connect(socks).await.unwrap();
    control.write_all(b"\x05\x01\x00\x05\x03\x00\x01\0\0\0\0\0\0").await.unwrap();
    let mut reply = [0; 12];
    control.read_exact(&mut reply).await.unwrap();
    assert_eq!(reply[..6], [5, 0, 5, 0, 0, 1]);
    let port = u16::from_be_bytes([reply[10], reply[11]]);
    (control, SocketAddr::from(([reply[6], reply[7], reply[8], reply[9]], port)))
}

#[test]
fn a_client_is_answered_in_its_own_family() {
    run(async {
        let target = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let at = target.local_addr().unwrap();
        // Listens for both families: a client over IPv4 looks like one of IPv6 there.
        let any = SocketAddr::from((std::net::Ipv6Addr::UNSPECIFIED, 0));
        let tunnel =
            Tunnel::with(SubflowTransport::Tcp, at, |request| request.socks = Some(any)).await;
        let port = tunnel.client.socks().unwrap().port();
        let (control, relay) = associate(SocketAddr::from(([127, 0, 0, 1], port))).await;
        assert_eq!(relay.ip(), std::net::IpAddr::from([127, 0, 0, 1]));
        let application = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mut buffer = [0; 64];
        // By address, and by the same address as IPv6 has it.
        let mapped =
            [&b"\x04"[..], &[0; 10], &[0xff, 0xff, 127, 0, 0, 1], &at.port().to_be_bytes()];
        for wanted in [v4(at), mapped.concat()] {
            let datagram = [&[0, 0, 0][..], &wanted, b"ask"].concat();
            application.send_to(&datagram, relay).await.unwrap();
            let (length, from) = target.recv_from(&mut buffer).await.unwrap();
            assert_eq!(&buffer[..length], b"ask");
            target.send_to(b"answer", from).await.unwrap();
            let (length, from) = application.recv_from(&mut buffer).await.unwrap();
            assert_eq!(from, relay);
            assert_eq!(buffer[..length], [&[0, 0, 0][..], &v4(at), b"answer"].concat());
        }
        drop(control);
    });
}

#[test]
fn who_does_not_speak_socks5_is_hung_up_on() {
    run(async {
        let tunnel = Tunnel::to(echo().await).await;
        let socks = tunnel.client.socks().unwrap();
        let long = [&b"\x05\x01\x00\x05\x01\x00\x03\xff"[..], &[b'a'; 100]].concat();
        for (said, answer) in [
            (&b"GET / HTTP/1.1\r\n\r\n"[..], &b""[..]),
            (b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00", b""),
            (b"\x05\x01\x02", b"\x05\xff"),
            (
                b"\x05\x01\x00\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50",
                b"\x05\x00\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00",
            ),
            (b"\x05\x01\x00\x05\x01\x00\x09", b"\x05\x00\x05\x08\x00\x01\x00\x00\x00\x00\x00\x00"),
            (&long, b"\x05\x00"),
        ] {
            let mut connection = TcpStream::connect(socks).await.unwrap();
            connection.write_all(said).await.unwrap();
            connection.shutdown().await.unwrap();
            let mut all = Vec::new();
            drop(connection.read_to_end(&mut all).await);
            assert_eq!(all, answer, "{said:?}");
        }
        // Others are served all the while.
        let mut connection = tunnel.connect().await;
        connection.write_all(b"x").await.unwrap();
        connection.read_exact(&mut [0]).await.unwrap();
    });
}

#[test]
fn datagrams_go_to_many_targets_and_come_back_from_those_alone() {
    run(async {
        let tunnel = Tunnel::to(echo().await).await;
        let socks = tunnel.client.socks().unwrap();
        let (control, at) = associate(socks).await;
        let bind = async || UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (application, one, other) = (bind().await, bind().await, bind().await);
        // An unauthenticated at the application's own machine, a datagram that is none, and a fragment pass
        // nothing on.
        let wrap = |target: &UdpSocket, payload: &[u8]| {
            [&[0, 0, 0][..], &v4(target.local_addr().unwrap()), payload].concat()
        };
        let mut buffer = [0; 2048];
        for target in [&one, &other] {
            for bad in [&b""[..], b"\0\0", b"\0\0\x01\x01\x7f\0\0\x01\0\x50x"] {
                application.send_to(bad, at).await.unwrap();
            }
            application.send_to(&wrap(target, b"question"), at).await.unwrap();
            bind().await.send_to(&wrap(target, b"stranger"), at).await.unwrap();
            let (length, from) = target.recv_from(&mut buffer).await.unwrap();
            assert_eq!(&buffer[..length], b"question");
            target.send_to(b"answer", from).await.unwrap();
            let length = application.recv(&mut buffer).await.unwrap();
            assert_eq!(&buffer[..length], wrap(target, b"answer"));
        }
        assert_eq!(one.try_recv(&mut buffer).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        // The association ends with the connection that asked for it.
        drop(control);
        tunnel.until(|| tunnel.client.streams() == 0 && tunnel.server.streams() == 0).await;
    });
}
