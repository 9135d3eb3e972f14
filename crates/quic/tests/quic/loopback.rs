//! The same code over real sockets.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use crate::common::*;
use airlane_base::Seed;
use airlane_congestion::Algorithm;
use airlane_congestion::ControllerConfig;
use airlane_quic::{
    Cipher, Endpoint, Identity, PinnedKeys, PublicKey, QuicError, Tls, TransportConfig, Trust,
};
use airlane_runtime::RuntimeExt;
use airlane_runtime::real_time::TokioRuntime;

#[tokio::test]
async fn a_bulk_transfer_over_loopback_with_either_cipher() {
    for config in [config(Algorithm::Cubic), deployed(Algorithm::Cubic)] {
        let runtime = TokioRuntime::new(Seed(1));
        let addr = ([127, 0, 0, 1], 0).into();
        let (_, stats) = transfer(runtime.clone(), runtime, addr, config, 20_000_000).await;
        assert!(stats.acked_bytes >= 20_000_000, "{stats:?}");
    }
}

#[tokio::test]
async fn a_client_refuses_a_server_that_it_does_not_trust() {
    let runtime = TokioRuntime::new(Seed(1));
    let with = |trust| {
        let identity = Identity::generate(&["localhost"]).unwrap();
        let tls = Tls { identity: Some(identity.shown().unwrap()), trust };
        TransportConfig::network(tls, ControllerConfig::new(Algorithm::Reno))
    };
    let loopback = ([127, 0, 0, 1], 0).into();
    let server = Endpoint::server(&runtime, loopback, with(Trust::Anyone)).unwrap();
    let other = Identity::generate(&["localhost"]).unwrap();
    for (trust, accepted) in [
        (Trust::Exactly(other.certificate().to_vec()), false),
        (Trust::Roots(vec![other.certificate().to_vec()]), false),
        (Trust::Anyone, true),
    ] {
        let client = Endpoint::client(&runtime, loopback, with(trust.clone())).unwrap();
        let result = client.connect(server.local_addr(), "localhost").await;
        match result {
            Ok(_) => assert!(accepted, "{trust:?}"),
            Err(QuicError::Transport(e)) => assert!(!accepted, "{trust:?}: {e}"),
            Err(e) => panic!("{trust:?}: {e}"),
        }
    }
}

/// A re-made certificate has the same key under other names and dates.
#[tokio::test]
async fn ends_that_know_each_other_do_so_by_their_keys_whatever_their_certificates() {
    let runtime = TokioRuntime::new(Seed(1));
    let identity = |secret, name| Identity::from_secret(&[secret; 32], &[name]).unwrap();
    let key = |secret| PublicKey::of_certificate(identity(secret, "x").certificate()).unwrap();
    let with = |secret, name, keys: &Arc<PinnedKeys>| {
        let identity = identity(secret, name).shown().unwrap();
        let tls = Tls { identity: Some(identity), trust: Trust::Mutual(keys.clone()) };
        TransportConfig::network(tls, ControllerConfig::new(Algorithm::Reno))
    };
    let loopback = ([127, 0, 0, 1], 0).into();
    let (of_server, of_clients) = (Arc::new(PinnedKeys::new([key(1)])), Arc::default());
    let server = Endpoint::server(&runtime, loopback, with(1, "renamed", &of_clients)).unwrap();
    let client = Endpoint::client(&runtime, loopback, with(2, "renamed", &of_server)).unwrap();
    let connect = async || {
        let connection = client.connect(server.local_addr(), "server").await.ok()?;
        // A server that refuses says so after the client's part of the handshake.
        let accepted = tokio::select! {
            accepted = server.accept() => accepted?,
            _ = connection.closed() => return None,
        };
        assert_eq!(connection.peer_public_key(), Some(key(1)));
        accepted.peer_public_key()
    };
    assert_eq!(connect().await, None, "no client is known");
    of_clients.replace([key(2), key(3)]);
    assert_eq!(connect().await, Some(key(2)));
    assert_eq!(key(2), PublicKey::ed25519(key(2).as_ed25519().unwrap()));
    of_clients.replace([key(3)]);
    assert_eq!(connect().await, None, "it is not known any more");
    of_clients.replace([key(2)]);
    of_server.replace([key(2)]);
    assert_eq!(connect().await, None, "another client is not the server");
}

#[tokio::test]
async fn settings_that_quic_does_not_allow_are_named() {
    let runtime = TokioRuntime::new(Seed(1));
    let mut small = config(Algorithm::Reno);
    small.packets.payload_bytes = 1000;
    let e = Endpoint::client(&runtime, ([127, 0, 0, 1], 0).into(), small).unwrap_err();
    assert_eq!(e.to_string(), "a payload of 1000 bytes is not in 1200..65527");
    let no_key = Tls { identity: None, trust: Trust::Anyone };
    let server = TransportConfig::network(no_key, ControllerConfig::new(Algorithm::Reno));
    let e = Endpoint::server(&runtime, ([127, 0, 0, 1], 0).into(), server).unwrap_err();
    assert_eq!(e.to_string(), "TLS: a server needs a certificate");
}

/// The stateless reset token that the endpoint at `server` answers a packet of an unknown
/// connection with: the last 16 bytes of the answer (RFC 9000, section 10.3).
async fn reset_token(server: SocketAddr) -> [u8; 16] {
    let asked = tokio::task::spawn_blocking(move || {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        // A short header, the same connection id each time, and some bytes.
        let mut packet = vec![0x40, 1, 2, 3, 4, 5, 6, 7, 8];
        packet.resize(200, 0xaa);
        let mut answer = [0; 2_000];
        // An endpoint does not answer everything: it says so many resets per time.
        let ask = |_| {
            socket.send_to(&packet, server).unwrap();
            socket.recv(&mut answer).ok()
        };
        let n = (0..200).find_map(ask).expect("an answer");
        answer[n - 16..n].try_into().unwrap()
    });
    asked.await.unwrap()
}

#[tokio::test]
async fn endpoints_that_share_a_secret_do_not_tell_each_others_reset_tokens() {
    let runtime = TokioRuntime::new(Seed(1));
    let server = |at: SocketAddr| {
        let reset_secret = Some([7; 32]);
        let mut config = deployed(Algorithm::Reno);
        config.accept.reset_secret = reset_secret;
        Endpoint::server(&runtime, at, config).unwrap()
    };
    let any = ([127, 0, 0, 1], 0).into();
    let (one, other) = (server(any), server(any));
    let token = reset_token(one.local_addr()).await;
    assert_ne!(token, reset_token(other.local_addr()).await);
    assert_eq!(token, reset_token(one.local_addr()).await, "an endpoint always says the same");
}

#[cfg(unix)]
#[tokio::test]
async fn a_key_log_is_for_its_owner_alone_be_it_new_or_there_already() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (new, old) = (folder.path().join("new.log"), folder.path().join("old.log"));
    std::fs::write(&old, "CLIENT_RANDOM 00 00\n").unwrap();
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o664)).unwrap();
    let runtime = TokioRuntime::new(Seed(1));
    for keylog in [&new, &old] {
        let mut config = sealed(Cipher::lab_tls().unwrap(), Algorithm::Reno);
        config.debug_files.keylog = Some(keylog.clone());
        let _server = Endpoint::server(&runtime, ([127, 0, 0, 1], 0).into(), config).unwrap();
        let mode = std::fs::metadata(keylog).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", keylog.display());
    }
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "CLIENT_RANDOM 00 00\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn weights_set_from_another_thread_lose_no_acknowledgement() {
    let runtime = TokioRuntime::new(Seed(1));
    let config = config(Algorithm::Cubic);
    let addr = ([127, 0, 0, 1], 0).into();
    let (server, client, to_server, to_client) =
        pair(&runtime, &runtime, addr, config).await.unwrap();
    let control = to_client.control().clone();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let other = std::thread::spawn(move || {
        let mut set = 0_u64;
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            control.set_weight(if set.is_multiple_of(2) { 4.0 } else { 2.0 });
            set += 1;
            std::thread::yield_now();
        }
        set
    });
    // About a million packets.
    let bytes = 1_350_000_000;
    let sender = to_client.clone();
    runtime.spawn("send", async move { send_bulk(sender, bytes).await.unwrap() });
    assert_eq!(recv_bulk(&to_server).await.unwrap(), bytes);
    drop(stop);
    let set = other.join().unwrap();
    // The last acknowledgements are on their way.
    let settled = async {
        while to_client.control().stats().in_flight > 0 {
            runtime.sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), settled).await.expect("nothing stays in flight");
    let stats = to_client.control().stats();
    assert!(set > 100, "weights were set {set} times");
    assert!(stats.sent_packets > bytes / 1_400, "{stats:?}");
    assert_eq!(stats.acked_packets + stats.lost_packets, stats.sent_packets, "{stats:?}");
    to_server.close(0, "done");
    client.wait_idle().await;
    drop(server);
}
