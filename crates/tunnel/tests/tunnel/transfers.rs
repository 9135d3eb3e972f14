//! Bodies of many megabytes, half-closed connections, and interfaces that come and go.

use std::net::SocketAddr;

use airlane_base::Pattern;
use airlane_tunnel::{Key, SubflowTransport};
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::air::{Air, Interface};
use super::ends::{ANY, Tunnel, client, echo, faults, interfaces, listen, server, server_at};
use crate::run;

const BODY: u64 = 64 << 20;

fn pieces(bytes: u64) -> impl Iterator<Item = Bytes> {
    Pattern::new("tunnel", bytes).pieces(0..bytes, 64 << 10)
}

pub async fn send(mut to: impl AsyncWrite + Unpin, bytes: u64) {
    for piece in pieces(bytes) {
        to.write_all(&piece).await.unwrap();
    }
    to.shutdown().await.unwrap();
}

/// Reads to the end, checks every byte, and tells how far it is.
pub async fn receive(mut from: impl AsyncRead + Unpin, bytes: u64, mut at: impl AsyncFnMut(u64)) {
    let body = Pattern::new("tunnel", bytes);
    let (mut got, mut buffer) = (0, vec![0; 64 << 10]);
    loop {
        let read = from.read(&mut buffer).await.unwrap();
        if read == 0 {
            assert_eq!(got, bytes);
            return;
        }
        assert!(body.matches(got, &buffer[..read]), "wrong bytes after {got}");
        got += read as u64;
        at(got).await;
    }
}

/// A target that sends a body and checks the one that it gets.
pub async fn exchange(body: u64) -> SocketAddr {
    listen(move |mut connection| async move {
        let (from, to) = connection.split();
        tokio::join!(send(to, body), receive(from, body, async |_| {}));
    })
    .await
}

/// Interfaces come and go while a body passes in each direction: nothing is lost, doubled or out of
/// order.
fn passes_whole(over: SubflowTransport, how: Interface, body: u64) {
    run(async move {
        let tunnel = Tunnel::over(over, exchange(body).await).await;
        tunnel.subflows(2).await;
        let mut connection = tunnel.connect().await;
        let (from, to) = connection.split();
        let (mut step, [one, other]) = (0, interfaces());
        let act = async |got: u64| {
            if got < (step + 1) * (body / 6) {
                return;
            }
            match step {
                0 => tunnel.air.set(one, how),
                1 => tunnel.air.set(one, Interface::Up),
                2 => {
                    // It is used again, with a connection of its own.
                    tunnel.subflows(2).await;
                    tunnel.air.set(other, how);
                }
                3 => tunnel.air.set(other, Interface::Up),
                _ => {}
            }
            step += 1;
        };
        tokio::join!(send(to, body), receive(from, body, act));
        tunnel.until(|| tunnel.client.streams() == 0 && tunnel.server.streams() == 0).await;
    });
}

#[test]
fn radios_that_are_unplugged_cost_no_byte() {
    passes_whole(SubflowTransport::Tcp, Interface::Down, BODY);
}

#[test]
fn radios_that_fall_dark_cost_no_byte() {
    passes_whole(SubflowTransport::Tcp, Interface::Dark, BODY);
}

#[test]
fn radios_that_fall_dark_cost_no_byte_over_quic_either() {
    passes_whole(SubflowTransport::Quic, Interface::Dark, BODY / 4);
}

#[test]
fn a_connection_outlives_all_radios_for_a_while() {
    run(async {
        let tunnel = Tunnel::to(echo().await).await;
        tunnel.subflows(2).await;
        let mut connection = tunnel.connect().await;
        connection.write_all(b"before").await.unwrap();
        let mut got = [0; 6];
        connection.read_exact(&mut got).await.unwrap();
        for interface in interfaces() {
            tunnel.air.set(interface, Interface::Down);
        }
        tunnel.subflows(0).await;
        connection.write_all(b"behind").await.unwrap();
        for interface in interfaces() {
            tunnel.air.set(interface, Interface::Up);
        }
        connection.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"behind");
    });
}

#[test]
fn either_side_may_end_its_half_first() {
    run(async {
        // The target ends its own half at once, and counts what comes.
        let counts = listen(|mut connection| async move {
            let (mut from, mut to) = connection.split();
            to.write_all(b"done").await.unwrap();
            to.shutdown().await.unwrap();
            let mut all = Vec::new();
            from.read_to_end(&mut all).await.unwrap();
            assert_eq!(all, b"late");
        })
        .await;
        let tunnel = Tunnel::to(counts).await;
        let mut connection = tunnel.connect().await;
        let mut all = Vec::new();
        connection.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, b"done");
        connection.write_all(b"late").await.unwrap();
        connection.shutdown().await.unwrap();
        tunnel.until(|| tunnel.client.streams() == 0 && tunnel.server.streams() == 0).await;

        // The other way round: the answer comes after the question has ended.
        let tunnel = Tunnel::to(echo().await).await;
        let mut connection = tunnel.connect().await;
        connection.write_all(b"question").await.unwrap();
        connection.shutdown().await.unwrap();
        let mut all = Vec::new();
        connection.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, b"question");
    });
}

#[test]
fn one_end_that_stops_tells_the_other() {
    run(async {
        let Tunnel { server, client, air: _air } = Tunnel::to(echo().await).await;
        let mut connection = TcpStream::connect(client.forwards()[0]).await.unwrap();
        connection.write_all(b"x").await.unwrap();
        connection.read_exact(&mut [0]).await.unwrap();
        server.stop().await;
        let end = connection.read(&mut [0]).await.unwrap_err();
        assert_eq!(end.kind(), std::io::ErrorKind::ConnectionReset);

        let tunnel = Tunnel::to(echo().await).await;
        let mut connection = tunnel.connect().await;
        connection.write_all(b"x").await.unwrap();
        connection.read_exact(&mut [0]).await.unwrap();
        assert_eq!(tunnel.server.streams(), 1);
        let Tunnel { server, client, air: _air } = tunnel;
        client.stop().await;
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(5));
        while server.streams() > 0 {
            ticks.tick().await;
        }
    });
}

#[test]
fn a_serving_end_that_is_started_again_is_found_by_itself() {
    run(async {
        let key = Key::generate().unwrap();
        let target = echo().await;
        let first = server_at(&key, &["127.0.0.0/8"], ANY).await;
        let at = first.addresses()[0];
        let client = client(&key, at, &[target]).await;
        let mut lost = TcpStream::connect(client.forwards()[0]).await.unwrap();
        lost.write_all(b"x").await.unwrap();
        lost.read_exact(&mut [0]).await.unwrap();
        first.stop().await;
        assert!(lost.read(&mut [0]).await.is_err());
        let _second = server_at(&key, &["127.0.0.0/8"], at).await;
        let mut found = TcpStream::connect(client.forwards()[0]).await.unwrap();
        found.write_all(b"y").await.unwrap();
        let mut got = [0];
        found.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"y");
    });
}

#[test]
fn a_radio_that_accepts_and_never_delivers_holds_nothing_up() {
    run(async {
        let key = Key::generate().unwrap();
        let server = server(&key, &["127.0.0.0/8"]).await;
        let air = Air::before(server.addresses()[0]).await;
        air.set(interfaces()[0], Interface::Dark);
        let client = client(&key, air.address, &[echo().await]).await;
        let connection = TcpStream::connect(client.forwards()[0]).await.unwrap();
        let (from, to) = connection.into_split();
        tokio::join!(send(to, BODY / 8), receive(from, BODY / 8, async |_| {}));
        let interfaces = client.interfaces();
        assert!(!interfaces[0].1.is_up && interfaces[1].1.is_up, "{interfaces:?}");
    });
}

#[test]
fn a_connection_that_is_reset_is_reset_at_the_other_end() {
    run(async {
        let reset = listen(|mut connection| async move {
            let mut first = [0];
            connection.read_exact(&mut first).await.unwrap();
            socket2::SockRef::from(&connection)
                .set_linger(Some(std::time::Duration::ZERO))
                .unwrap();
        })
        .await;
        let tunnel = Tunnel::to(reset).await;
        let mut connection = tunnel.connect().await;
        connection.write_all(b"x").await.unwrap();
        let end = connection.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(end.kind(), std::io::ErrorKind::ConnectionReset);
    });
}

/// What the serving end says at once must not overtake the news that it takes the stream: nobody
/// sends it again while there is no other interface.
#[test]
fn first_bytes_come_over_a_single_radio() {
    run(async {
        // The target speaks first, so all that it says is there when the stream begins.
        let greets = listen(|mut connection| async move {
            let (mut from, mut to) = connection.split();
            to.write_all(b"hello").await.unwrap();
            drop(tokio::io::copy(&mut from, &mut to).await);
        })
        .await;
        let tunnel = Tunnel::to(greets).await;
        tunnel.air.set(interfaces()[1], Interface::Down);
        tunnel.subflows(1).await;
        for _ in 0..8 {
            let mut connections = Vec::new();
            for _ in 0..32 {
                let mut connection = tunnel.connect().await;
                connection.write_all(b"you").await.unwrap();
                connections.push(connection);
            }
            for mut connection in connections {
                let mut got = [0; 8];
                connection.read_exact(&mut got).await.unwrap();
                assert_eq!(&got, b"helloyou");
            }
        }
    });
}

/// A bulk transfer that an application gives up in the middle takes no interface's connection with it.
#[test]
fn a_transfer_that_is_given_up_leaves_the_radios_to_the_others() {
    run(async {
        // It speaks and listens for as long as anybody is there.
        let busy = listen(|mut connection| async move {
            let (mut from, mut to) = connection.split();
            let speak = async {
                let block = vec![7; 64 << 10];
                while to.write_all(&block).await.is_ok() {}
            };
            let mut nowhere = tokio::io::sink();
            drop(tokio::join!(tokio::io::copy(&mut from, &mut nowhere), speak));
        })
        .await;
        let tunnel = Tunnel::to(busy).await;
        tunnel.subflows(2).await;
        for _ in 0..8 {
            let connection = tunnel.connect().await;
            let (mut from, mut to) = tokio::io::split(connection);
            // Both directions are at work.
            let mut buffer = vec![0; 1 << 20];
            for piece in pieces(4 << 20) {
                to.write_all(&piece).await.unwrap();
            }
            from.read_exact(&mut buffer).await.unwrap();
            let connection = from.unsplit(to);
            socket2::SockRef::from(&connection)
                .set_linger(Some(std::time::Duration::ZERO))
                .unwrap();
            drop(connection);
            tunnel.until(|| tunnel.client.streams() == 0 && tunnel.server.streams() == 0).await;
        }
        assert_eq!(faults(&tunnel.client), [""; 0]);
    });
}
