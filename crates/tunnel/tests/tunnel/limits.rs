//! What a client with the key may take of the serving end's machine.

use std::net::SocketAddr;
use std::time::Duration;

use airlane_tunnel::{
    AdmissionConfig, ClientKey, Key, SessionLimits, SubflowTransport, TunnelClient,
    TunnelClientConfig, add_client, clients_file,
};
use futures_util::future::join_all;
use socket2::{Domain, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::ends::{ANY, Tunnel, echo, listen, request, server_with};
use crate::run;

/// A target that lets nobody in: its queue is full, and it answers no further.
struct Full {
    at: SocketAddr,
    _held: Vec<Socket>,
}

impl Full {
    fn new() -> Self {
        let socket = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let listener = socket();
        listener.bind(&ANY.into()).unwrap();
        listener.listen(0).unwrap();
        let at = listener.local_addr().unwrap();
        let mut held = vec![listener];
        for _ in 0..8 {
            let waits = socket();
            waits.set_nonblocking(true).unwrap();
            // It is there at once, or waits for ever.
            drop(waits.connect(&at));
            held.push(waits);
        }
        Self { at: at.as_socket().unwrap(), _held: held }
    }
}

/// A client with a key of its own that forwards to a target.
async fn client(key: ClientKey, server: SocketAddr, target: SocketAddr) -> TunnelClient {
    let request = request(SubflowTransport::Tcp, &Key::generate().unwrap(), server, &[target]);
    TunnelClient::start(TunnelClientConfig { key, ..request }).await.unwrap()
}

#[test]
fn a_target_that_does_not_answer_costs_its_client_alone_and_no_longer_than_its_stream() {
    run(async {
        let (full, echo) = (Full::new(), echo().await);
        let (folder, key) = (tempfile::tempdir().unwrap(), Key::generate().unwrap());
        let file = folder.path().join("server.key");
        key.write(&file).unwrap();
        let [greedy, other] = ["greedy", "other"].map(|name| {
            let client = folder.path().join(name);
            add_client(name, &file, &client).unwrap();
            ClientKey::read(&client).unwrap()
        });
        let admission = AdmissionConfig { clients: Some(clients_file(&file)), state: None };
        // Longer than the test takes: no target is given up before its stream.
        let reach_timeout = Duration::from_secs(3600);
        let bounds =
            SessionLimits { max_descriptors: Some(512), reach_timeout, ..SessionLimits::default() };
        let server = server_with(&key, admission, &["127.0.0.0/8"], (ANY, bounds)).await;
        let at = server.addresses()[0];
        let greedy = client(greedy, at, full.at).await;
        greedy.up().await;
        let opened = join_all((0..400).map(|_| TcpStream::connect(greedy.forwards()[0]))).await;
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        while server.streams() < 400 {
            ticks.tick().await;
        }
        // Of 224 sockets to targets it leaves others as many as it has itself.
        while server.status().target_sockets < 112 {
            ticks.tick().await;
        }
        assert_eq!(server.status().target_sockets, 112);
        // Another one is served at once.
        let other = client(other, at, echo).await;
        let mut connection = TcpStream::connect(other.forwards()[0]).await.unwrap();
        connection.write_all(b"x").await.unwrap();
        connection.read_exact(&mut [0]).await.unwrap();
        assert!(server.status().target_sockets <= 113);
        // An attempt ends with its stream: none is refused for being late.
        for connection in opened {
            socket2::SockRef::from(&connection.unwrap()).set_linger(Some(Duration::ZERO)).unwrap();
        }
        while server.status().target_sockets > 1 {
            ticks.tick().await;
        }
        assert_eq!(server.status().refused_total, 0);
    });
}

#[test]
fn a_connection_that_takes_nothing_ends_with_its_stream() {
    run(async {
        // Until the test is over it holds its connections and reads nothing.
        let deaf = listen(|connection| async move {
            std::future::pending::<()>().await;
            drop(connection);
        })
        .await;
        let tunnel = Tunnel::to(deaf).await;
        let mut connection = tunnel.connect().await;
        // More than the system holds for the target.
        let piece = vec![7; 64 << 10];
        let told = tokio::time::timeout(Duration::from_secs(2), async {
            loop {
                connection.write_all(&piece).await.unwrap();
            }
        });
        assert!(told.await.is_err());
        assert_eq!(tunnel.server.status().target_sockets, 1);
        socket2::SockRef::from(&connection).set_linger(Some(Duration::ZERO)).unwrap();
        drop(connection);
        tunnel.until(|| tunnel.server.status().target_sockets == 0).await;
        tunnel.until(|| tunnel.server.streams() == 0).await;
    });
}
