//! Interfaces that are backups, must not exceed a rate, or are metered, over sockets.

use std::path::PathBuf;
use std::time::Duration;

use airlane_runtime::real_time::TokioRuntime;
use airlane_tunnel::{InterfaceSpec, SubflowTransport, TunnelClient, TunnelClientConfig};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::air::Interface;
use super::ends::{Tunnel, echo, interfaces};
use super::transfers::{exchange, receive, send};
use crate::run;

/// Gives each interface what it may be used for.
fn terms(request: &mut TunnelClientConfig, all: [&str; 2]) {
    let interfaces = interfaces().into_iter().zip(all);
    let spec = |(interface, terms)| format!("{interface}{terms}").parse::<InterfaceSpec>().unwrap();
    request.interfaces = interfaces.map(spec).collect();
}

/// Bytes that both channels of a subflow set aside at most while they take what they send.
const ASIDE: u64 = 320 << 10;

/// Bytes of an interface on the air.
fn on_air(client: &TunnelClient, interface: usize) -> u64 {
    client.interfaces()[interface].1.on_air_bytes
}

/// Passes a body in each direction.
async fn pass(tunnel: &Tunnel, body: u64) {
    let mut connection = tunnel.connect().await;
    let (from, to) = connection.split();
    tokio::join!(send(to, body), receive(from, body, async |_| {}));
}

/// Sends so many bytes to an echo, until they are back.
async fn there_and_back(connection: &mut TcpStream, bytes: usize) {
    let (sent, mut got) = (vec![7; bytes], vec![0; bytes]);
    let (mut from, mut to) = connection.split();
    let (written, read) = tokio::join!(to.write_all(&sent), from.read_exact(&mut got));
    assert!(written.is_ok() && read.is_ok() && got == sent, "{written:?} {read:?}");
}

#[test]
fn a_backup_carries_what_there_is_when_it_is_all_that_is_left() {
    for over in [SubflowTransport::Tcp, SubflowTransport::Quic] {
        run(async move {
            let backup = |request: &mut TunnelClientConfig| terms(request, ["", ",backup"]);
            let tunnel = Tunnel::with(over, echo().await, backup).await;
            tunnel.subflows(2).await;
            let mut connection = tunnel.connect().await;
            there_and_back(&mut connection, 16 << 20).await;
            // How little it carries until then is a matter of time: `airlane-multipath` tests it in virtual time.
            let subflows = tunnel.client.status().subflows;
            assert_eq!((subflows[0].is_backup, subflows[1].is_backup), (false, true));
            let used = on_air(&tunnel.client, 1);
            tunnel.air.set(interfaces()[0], Interface::Down);
            there_and_back(&mut connection, 8 << 20).await;
            let used = on_air(&tunnel.client, 1) - used;
            assert!(used > 2 * (8 << 20), "{used} bytes over {over:?}");
        });
    }
}

#[test]
fn a_radio_keeps_to_its_rate() {
    run(async {
        let body = 1 << 20;
        let most = |request: &mut TunnelClientConfig| {
            terms(request, [",max-rate=8Mbit", ",backup"]);
            request.interfaces.truncate(1);
        };
        let tunnel = Tunnel::with(SubflowTransport::Tcp, exchange(body).await, most).await;
        let runtime = TokioRuntime::new(airlane_base::Seed(1));
        let begun = runtime.now();
        pass(&tunnel, body).await;
        let took = runtime.now() - begun;
        // 13 parts of 12 at a megabyte a second, less what a tenth of a second saves.
        assert!(took > Duration::from_secs_f64(1.048 * 13.0 / 12.0 - 0.11), "{took:?}");
    });
}

/// What the file says that the first interface has used.
fn noted(file: &PathBuf) -> u64 {
    let text = std::fs::read_to_string(file).unwrap();
    let content: Value = serde_json::from_str(&text).unwrap();
    content["radios"][interfaces()[0].to_string()]["bytes"].as_u64().unwrap()
}

#[test]
fn a_cap_holds_across_a_restart_and_others_carry_the_rest() {
    for over in [SubflowTransport::Tcp, SubflowTransport::Quic] {
        run(async move {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("state/usage.json");
            let (cap, body) = (40_000_000, 12 << 20);
            let capped = |request: &mut TunnelClientConfig| {
                terms(request, [",cap=40MB/month", ",backup"]);
                request.usage = Some(file.clone());
            };
            let target = exchange(body).await;
            let alone = |request: &mut TunnelClientConfig| {
                capped(request);
                request.interfaces.truncate(1);
            };
            let tunnel = Tunnel::with(over, target, alone).await;
            pass(&tunnel, body).await;
            let used = on_air(&tunnel.client, 0);
            assert!((2 * body..cap).contains(&used), "{used}");
            let status = tunnel.client.status();
            let of = status.subflows[0].cap.as_ref().unwrap();
            // What a turn set aside is given back where it was not needed.
            assert!(of.bytes == cap && of.used_bytes >= used - ASIDE, "{of:?} of {used}");
            assert!(of.period.starts_with("month 20"), "{of:?}");
            // While it runs the file is ahead.
            assert!(noted(&file) >= used);
            let Tunnel { air: _air, server: _server, client } = tunnel;
            client.stop().await;
            let before = noted(&file);
            // What was shown has what a turn set aside to send; it may not have needed all of it.
            assert!((used - ASIDE..used + (1 << 20)).contains(&before), "{before} of {used}");

            let tunnel = Tunnel::with(over, target, capped).await;
            tunnel.subflows(2).await;
            // Granted a little at a time the interface may fall silent on a busy machine: the backup helps out,
            // and the cap lasts for longer.
            while tunnel.client.status().subflows[0].state != "spent" {
                pass(&tunnel, body).await;
            }
            let subflows = tunnel.client.status().subflows;
            assert_eq!((subflows[0].state, subflows[1].state), ("spent", "up"));
            let used = subflows[0].cap.as_ref().unwrap().used_bytes;
            assert!((cap - 1_000_000..=cap).contains(&used), "{used}");
            let Tunnel { air: _air, server: _server, client } = tunnel;
            client.stop().await;

            // Nothing is left: the other interface is all there is.
            let tunnel = Tunnel::with(over, target, capped).await;
            pass(&tunnel, body).await;
            let subflows = tunnel.client.status().subflows;
            assert_eq!((subflows[0].state, subflows[0].subflows), ("spent", Some(0)));
            assert!(noted(&file) <= cap);
        });
    }
}

#[test]
fn two_tunnels_do_not_share_an_account() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let capped = |request: &mut TunnelClientConfig| {
            terms(request, [",cap=1GB/day", ""]);
            request.usage = Some(folder.path().join("usage.json"));
        };
        let tunnel = Tunnel::with(SubflowTransport::Tcp, exchange(1).await, capped).await;
        let key = airlane_tunnel::Key::generate().unwrap();
        let at = tunnel.server.addresses()[0];
        let mut request = super::ends::request(SubflowTransport::Tcp, &key, at, &[]);
        capped(&mut request);
        let error = TunnelClient::start(request).await.unwrap_err().to_string();
        assert!(error.contains("usage.json") && error.contains("--usage"), "{error}");
        drop(tunnel);
    });
}
