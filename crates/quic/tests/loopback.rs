//! The same code over real sockets.

mod common;

use airlane_base::Seed;
use airlane_congestion::Algorithm;
use airlane_quic::{Cipher, Endpoint, Entropy, Identity, QuicError, Tls, TransportConfig, Trust};
use airlane_runtime::real_time::TokioRuntime;
use common::*;

#[tokio::test]
async fn a_bulk_transfer_over_loopback_with_either_cipher() {
    for cipher in [Cipher::Null, Cipher::lab_tls().unwrap()] {
        let runtime = TokioRuntime::new(Seed(1));
        let config =
            TransportConfig { cipher, entropy: Entropy::System, ..config(Algorithm::Cubic) };
        let addr = ([127, 0, 0, 1], 0).into();
        let (_, stats) = transfer(runtime.clone(), runtime, addr, config, 20_000_000).await;
        assert!(stats.control.acked_bytes >= 20_000_000, "{stats:?}");
    }
}

#[tokio::test]
async fn a_client_refuses_a_server_that_it_does_not_trust() {
    let runtime = TokioRuntime::new(Seed(1));
    let tls = |trust| {
        let identity = Identity::generate(&["localhost"]).unwrap();
        let identity = Some(identity.shown().unwrap());
        Cipher::Tls(std::sync::Arc::new(Tls { identity, trust }))
    };
    let with = |trust| TransportConfig { cipher: tls(trust), ..config(Algorithm::Reno) };
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

#[tokio::test]
async fn settings_that_quic_does_not_allow_are_named() {
    let runtime = TokioRuntime::new(Seed(1));
    let small = TransportConfig { payload_bytes: 1000, ..config(Algorithm::Reno) };
    let e = Endpoint::client(&runtime, ([127, 0, 0, 1], 0).into(), small).unwrap_err();
    assert_eq!(e.to_string(), "a payload of 1000 bytes is not in 1200..65527");
    let no_key = Cipher::Tls(std::sync::Arc::new(Tls { identity: None, trust: Trust::Anyone }));
    let server = TransportConfig { cipher: no_key, ..config(Algorithm::Reno) };
    let e = Endpoint::server(&runtime, ([127, 0, 0, 1], 0).into(), server).unwrap_err();
    assert_eq!(e.to_string(), "TLS: a server needs a certificate");
}
