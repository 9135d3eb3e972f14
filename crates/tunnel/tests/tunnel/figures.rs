//! What both ends show of themselves.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::air::Interface;
use super::ends::{Tunnel, echo, interfaces};
use crate::run;

/// What is answered at a path: the head and the body.
async fn get(at: SocketAddr, path: &str) -> (String, String) {
    get_of(at, &at.to_string(), path).await
}

/// The same where the request is for this host.
async fn get_of(at: SocketAddr, host: &str, path: &str) -> (String, String) {
    let mut connection = TcpStream::connect(at).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut all = String::new();
    connection.read_to_string(&mut all).await.unwrap();
    let (head, body) = all.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

#[test]
fn both_ends_show_what_passed_and_over_which_radios() {
    run(async {
        let tunnel = Tunnel::to(echo().await).await;
        tunnel.subflows(2).await;
        let mut connection = tunnel.connect().await;
        connection.write_all(&[7; 1000]).await.unwrap();
        connection.read_exact(&mut [0; 1000]).await.unwrap();
        tunnel.air.set(interfaces()[1], Interface::Down);
        tunnel.subflows(1).await;
        let near = tunnel.client.status_address().unwrap();
        let (head, body) = get(near, "/status").await;
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/json"), "{head}");
        let status: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(status["end"], "connect");
        assert_eq!((&status["into_bytes"], &status["out_bytes"]), (&1000.into(), &1000.into()));
        assert_eq!((&status["streams"], &status["connections_total"]), (&1.into(), &1.into()));
        let subflows = status["lines"].as_array().unwrap();
        assert_eq!(
            (&subflows[0]["name"], &subflows[0]["state"]),
            (&"127.0.0.2".into(), &"up".into())
        );
        assert_eq!(
            (&subflows[1]["name"], &subflows[1]["state"]),
            (&"127.0.0.3".into(), &"down".into())
        );
        assert!(!subflows[1]["problem"].as_str().unwrap().is_empty());
        let far = tunnel.server.status_address().unwrap();
        let status: Value = serde_json::from_str(&get(far, "/status").await.1).unwrap();
        assert_eq!((&status["end"], &status["streams"]), (&"serve".into(), &1.into()));
        for at in [near, far] {
            let (_, metrics) = get(at, "/metrics").await;
            assert!(metrics.contains("\nairlane_tunnel_streams 1\n"), "{metrics}");
            assert!(metrics.contains("airlane_tunnel_line_up{line=\""), "{metrics}");
            let (head, page) = get(at, "/").await;
            assert!(page.contains("tunnel.js"));
            assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
            for path in ["/", "/status", "/metrics", "/assets/tunnel.js", "/nowhere"] {
                let (head, _) = get_of(at, "localhost", path).await;
                assert!(head.contains("cross-origin-resource-policy: same-origin"), "{head}");
                assert!(head.contains("frame-ancestors 'none'"), "{head}");
                // A foreign name that means this machine by now (DNS rebinding).
                let (head, body) = get_of(at, "evil.example", path).await;
                assert!(head.starts_with("HTTP/1.1 421") && !body.contains("lines"), "{head}");
            }
            assert!(get(at, "/nowhere").await.0.starts_with("HTTP/1.1 404"));
        }
    });
}
