//! Which certificates a server shows, to whom, and when others.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::common::*;
use airlane_base::Seed;
use airlane_certificate::development;
use airlane_congestion::ControllerConfig;
use airlane_http_client::{Client, Speak};
use airlane_origin_daemon::serve::{CertificateFiles, Server, ServerConfig};
use airlane_quic::{ALPN_H3, Endpoint, Tls, TransportConfig, Trust};
use airlane_runtime::real_time::TokioRuntime;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A certificate for `name` with its key in one file below `folder`; also the certificate.
fn pair(folder: &Path, name: &str) -> (CertificateFiles, Vec<u8>) {
    let folder = folder.join(name);
    let (identity, made) = development(Some(&folder), &[name.to_owned()], 0).unwrap();
    let file = made.file.unwrap();
    (CertificateFiles { chain: file.clone(), key: file }, identity.certificate().to_vec())
}

/// Whether a client of `speak` that trusts this certificate alone is answered.
async fn is_shown(server: &Server, certificate: &[u8], speak: Speak) -> bool {
    let trust = Trust::Exactly(certificate.to_vec());
    let client = Client::new(TokioRuntime::new(Seed(1)), trust, speak).unwrap();
    client.get(&url(server, "/airlane/player"), None).await.is_ok()
}

/// Waits until a certificate is shown.
async fn until_shown(server: &Server, certificate: &[u8]) {
    for speak in [Speak::Http1, Speak::Http3] {
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        let shown = async {
            while !is_shown(server, certificate, speak).await {
                ticks.tick().await;
            }
        };
        let shown = tokio::time::timeout(LIMIT, shown).await;
        shown.unwrap_or_else(|_| panic!("another certificate is shown over {speak:?}"));
    }
}

#[test]
fn each_name_has_its_certificate_over_quic_and_tcp() {
    run(async {
        let folder = Scratch::new();
        let beside = folder.0.with_extension("keys");
        let (certificates, shown): (Vec<_>, Vec<_>) = ["one.test", "two.test", "*.three.test"]
            .map(|name| pair(&beside, name))
            .into_iter()
            .unzip();
        let server =
            Server::start(ServerConfig { certificates, ..request(&folder.0) }).await.unwrap();
        let at = server.ready().addresses[0];
        let runtime = TokioRuntime::new(Seed(1));
        for (name, which) in [
            ("one.test", 0),
            ("two.test", 1),
            ("a.three.test", 2),
            ("else.test", 0),
            ("127.0.0.1", 0),
        ] {
            let mut config = Trust::Anyone.client_config(&[b"h2".to_vec()]).unwrap();
            config.alpn_protocols.clear();
            let server_name = ServerName::try_from(name).unwrap();
            let connector = TlsConnector::from(Arc::new(config));
            let stream = TcpStream::connect(at).await.unwrap();
            let stream = connector.connect(server_name, stream).await.unwrap();
            let got = stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
            assert!(got == shown[which], "{name} over TCP");
            for (n, certificate) in shown.iter().enumerate() {
                let tls = Tls { identity: None, trust: Trust::Exactly(certificate.clone()) };
                let config = TransportConfig {
                    alpn: vec![ALPN_H3.to_vec()],
                    ..TransportConfig::network(tls, ControllerConfig::cubic(1.0))
                };
                let local = "127.0.0.1:0".parse().unwrap();
                let endpoint = Endpoint::client(&runtime, local, config).unwrap();
                let connected = endpoint.connect(at, name).await;
                assert_eq!(connected.is_ok(), n == which, "{name} over QUIC: {connected:?}");
            }
        }
        server.stop().await;
    });
}

#[test]
fn certificates_that_change_on_disk_are_shown_without_a_signal() {
    run(async {
        let folder = Scratch::new();
        let beside = folder.0.with_extension("keys");
        let (files, first) = pair(&beside, "localhost");
        let (other, second) = pair(&beside, "other");
        let asked = ServerConfig {
            certificates: vec![files.clone()],
            certificate_look: Duration::from_millis(20),
            ..request(&folder.0)
        };
        let server = Server::start(asked).await.unwrap();
        until_shown(&server, &first).await;
        fs::rename(&other.chain, &files.chain).unwrap();
        until_shown(&server, &second).await;
        server.stop().await;
    });
}
