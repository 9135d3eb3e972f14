//! Clients with keys of their own, and first packets that were recorded.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use airlane_quic::Trust;
use airlane_tunnel::{
    AdmissionConfig, ClientKey, ClientStatus, Key, SubflowTransport, TunnelClient, TunnelServer,
    add_client, clients_file, revoke_client,
};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio_rustls::TlsConnector;

use super::ends::{ANY, echo, request, server_for};
use crate::run;

/// A serving end's key in a file.
struct Keys {
    folder: TempDir,
    file: PathBuf,
    key: Key,
}

impl Keys {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("server.key");
        let key = Key::generate().unwrap();
        key.write(&file).unwrap();
        Self { folder, file, key }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn client(&self, name: &str) -> ClientKey {
        let file = self.path(&format!("{name}.key"));
        add_client(name, &self.file, &file).unwrap();
        ClientKey::read(&file).unwrap()
    }

    async fn serve(&self, state: Option<&Path>) -> TunnelServer {
        let clients = Some(clients_file(&self.file));
        let admission = AdmissionConfig { clients, state: state.map(Path::to_owned) };
        server_for(&self.key, admission, &["127.0.0.0/8"], ANY).await
    }
}

async fn connect(
    over: SubflowTransport,
    key: &ClientKey,
    server: SocketAddr,
    targets: &[SocketAddr],
) -> TunnelClient {
    let request = request(over, &Key::generate().unwrap(), server, targets);
    let request = airlane_tunnel::TunnelClientConfig { key: key.clone(), ..request };
    TunnelClient::start(request).await.unwrap()
}

async fn until(is_so: impl Fn() -> bool) {
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    while !is_so() {
        ticks.tick().await;
    }
}

fn of(server: &TunnelServer, name: &str) -> Option<ClientStatus> {
    server.status().clients.into_iter().find(|client| client.name == name)
}

async fn echoes(connection: &mut TcpStream) -> std::io::Result<()> {
    connection.write_all(b"x").await?;
    connection.read_exact(&mut [0]).await.map(drop)
}

#[test]
fn a_client_whose_key_is_revoked_is_out_and_the_others_go_on() {
    for over in [SubflowTransport::Tcp, SubflowTransport::Quic] {
        run(async move {
            let keys = Keys::new();
            let server = keys.serve(Some(&keys.path("state"))).await;
            let at = server.addresses()[0];
            let target = echo().await;
            // Clients that are made while it runs.
            let (laptop, phone) = (keys.client("laptop"), keys.client("phone"));
            let laptop_end = connect(over, &laptop, at, &[target]).await;
            let phone_end = connect(over, &phone, at, &[target]).await;
            laptop_end.up().await;
            phone_end.up().await;
            let mut of_laptop = TcpStream::connect(laptop_end.forwards()[0]).await.unwrap();
            let mut of_phone = TcpStream::connect(phone_end.forwards()[0]).await.unwrap();
            echoes(&mut of_laptop).await.unwrap();
            echoes(&mut of_phone).await.unwrap();
            for name in ["laptop", "phone"] {
                let client = of(&server, name).unwrap();
                assert!(client.subflows > 0 && client.sent_bytes > 0, "{client:?}");
                assert_eq!((client.streams, client.connections_total), (1, 1), "{client:?}");
            }
            revoke_client("laptop", &keys.file).unwrap();
            until(|| of(&server, "laptop").is_none() && server.streams() == 1).await;
            assert!(
                server.status().subflows.iter().all(|subflow| subflow.name.starts_with("phone "))
            );
            until(|| laptop_end.interfaces().iter().all(|(_, of)| !of.is_up)).await;
            echoes(&mut of_phone).await.unwrap();
            // It hears nothing more; one that comes after it is let in.
            let tablet = connect(over, &keys.client("tablet"), at, &[]).await;
            tablet.up().await;
            let late = connect(over, &laptop, at, &[]).await;
            tablet.stop().await;
            let again = ClientKey::read(&keys.path("tablet.key")).unwrap();
            connect(over, &again, at, &[]).await.up().await;
            assert!(late.interfaces().iter().all(|(_, of)| of.subflows == 0));
        });
    }
}

#[test]
fn the_serving_ends_own_key_works_beside_those_of_clients() {
    run(async {
        let keys = Keys::new();
        let server = keys.serve(None).await;
        let at = server.addresses()[0];
        let shared = ClientKey::shared(&keys.key).unwrap();
        let (one, other) = (
            connect(SubflowTransport::Tcp, &shared, at, &[]).await,
            connect(SubflowTransport::Quic, &keys.client("laptop"), at, &[]).await,
        );
        one.up().await;
        other.up().await;
        until(|| of(&server, "(shared key)").is_some_and(|of| of.subflows > 0)).await;
        assert!(of(&server, "laptop").is_some_and(|of| of.subflows > 0));
        let warned = server.status().warnings.into_iter().find(|(kind, _)| *kind == "shared key");
        assert!(warned.is_some());
    });
}

/// Whether the server shakes hands with somebody who has no key, behind this first packet.
async fn answers(server: SocketAddr, auth_token: &[u8]) -> bool {
    let mut connection = TcpStream::connect(server).await.unwrap();
    connection.write_all(auth_token).await.unwrap();
    let unauthenticated = Arc::new(Trust::Anyone.client_config(&[]).unwrap());
    let name = "tunnel.airlane".try_into().unwrap();
    TlsConnector::from(unauthenticated).connect(name, connection).await.is_ok()
}

#[test]
fn a_recorded_first_packet_gets_silence_from_a_server_that_was_started_again() {
    run(async {
        let keys = Keys::new();
        let state = keys.path("state");
        for key in [ClientKey::shared(&keys.key).unwrap(), keys.client("laptop")] {
            for state in [Some(&*state), None] {
                // What a client sends first, as somebody on the way records it.
                let recorder = TcpListener::bind(ANY).await.unwrap();
                let at = recorder.local_addr().unwrap();
                let _client = connect(SubflowTransport::Tcp, &key, at, &[]).await;
                let mut auth_token = [0; 57];
                recorder.accept().await.unwrap().0.read_exact(&mut auth_token).await.unwrap();
                let udp = UdpSocket::bind(ANY).await.unwrap();
                let _client =
                    connect(SubflowTransport::Quic, &key, udp.local_addr().unwrap(), &[]).await;
                let mut initial = vec![0; 2048];
                let length = udp.recv(&mut initial).await.unwrap();
                let initial = &initial[..length];

                let unauthenticated = || async { UdpSocket::bind(ANY).await.unwrap() };
                if state.is_some() {
                    let server = keys.serve(state).await;
                    let at = server.addresses()[0];
                    assert!(answers(at, &auth_token).await, "the first is answered");
                    assert!(!answers(at, &auth_token).await, "a second is not");
                    let unauthenticated = unauthenticated().await;
                    unauthenticated.send_to(initial, at).await.unwrap();
                    assert!(unauthenticated.recv(&mut [0; 2048]).await.unwrap() > 0);
                    server.stop().await;
                }
                let server = keys.serve(state).await;
                let at = server.addresses()[0];
                assert!(!answers(at, &auth_token).await);
                let unauthenticated = unauthenticated().await;
                unauthenticated.send_to(initial, at).await.unwrap();
                // Another is answered behind it: what was to come has come.
                connect(SubflowTransport::Quic, &key, at, &[]).await.up().await;
                let answer = unauthenticated.try_recv(&mut [0; 2048]);
                assert_eq!(answer.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
                server.stop().await;
            }
        }
    });
}
