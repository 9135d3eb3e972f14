//! `airlane tunnel`: a key, and both ends until they are told to stop.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::time::Duration;

use airlane_tunnel::{
    Key, TunnelClient, TunnelServer, TunnelStatus, add_client, list_clients, revoke_client,
};

use super::stopping::Stopping;
use super::{print, threads};
use crate::args::{
    Showing, TunnelArgs, TunnelConnectArgs, TunnelKeyArgs, TunnelServeArgs, TunnelVerb,
};
use crate::error::CommandError;

/// Does what the verb below says; the exit code.
pub(super) fn tunnel(args: &TunnelArgs) -> Result<u8, CommandError> {
    match &args.verb {
        TunnelVerb::Key(args) => key(args),
        TunnelVerb::Serve(args) => {
            crate::terminal::log(args.showing.quiet);
            threads()?.block_on(serve(args))
        }
        TunnelVerb::Connect(args) => {
            crate::terminal::log(args.showing.quiet);
            let runtime = threads()?;
            let code = runtime.block_on(connect(args));
            // Connections that were stopped have sockets open: nobody waits for them.
            runtime.shutdown_background();
            code
        }
    }
}

fn key(args: &TunnelKeyArgs) -> Result<u8, CommandError> {
    let TunnelKeyArgs { file, client, client_file, revoke, list } = args;
    let at = file.display();
    let said = match (client, client_file, revoke) {
        (Some(name), Some(client_file), _) => {
            add_client(name, file, client_file)?;
            format!("{}: a key for the client {name}; take it there\n", client_file.display())
        }
        (_, _, Some(name)) => {
            revoke_client(name, file)?;
            format!("{at}: {name} is no client any more\n")
        }
        _ if *list => list_clients(file)?.iter().map(|name| format!("{name}\n")).collect(),
        _ => {
            Key::generate().and_then(|key| key.write(file))?;
            format!(
                "{at}: a new key for the serving end; `airlane tunnel key --client NAME {at} \
                 CLIENT_FILE` makes one for each client\n"
            )
        }
    };
    print(&said)?;
    Ok(0)
}

async fn serve(args: &TunnelServeArgs) -> Result<u8, CommandError> {
    let mut stopping = Stopping::new()?;
    let server = TunnelServer::start(args.request()?).await?;
    let at: Vec<String> = server.addresses().iter().map(ToString::to_string).collect();
    let mut ready = format!("ready: tunnels at {}", at.join(" "));
    if let Some(at) = server.status_address() {
        let _ = write!(ready, " status=http://{at}/");
    }
    print(&format!("{ready}\n"))?;
    let code = show(&mut stopping, &args.showing, || server.status()).await?;
    server.stop().await;
    Ok(code)
}

async fn connect(args: &TunnelConnectArgs) -> Result<u8, CommandError> {
    let mut stopping = Stopping::new()?;
    let client = TunnelClient::start(args.request()?).await?;
    let mut ready = "ready:".to_owned();
    // Writing to a String cannot fail.
    if let Some(at) = client.socks() {
        let _ = write!(ready, " socks={at}");
    }
    for at in client.forwards() {
        let _ = write!(ready, " forward={at}");
    }
    if let Some(at) = client.status_address() {
        let _ = write!(ready, " status=http://{at}/");
    }
    print(&format!("{ready}\n"))?;
    let code = show(&mut stopping, &args.showing, || client.status()).await?;
    client.stop().await;
    Ok(code)
}

/// Shows the figures as they are asked for until a signal comes; the exit code.
async fn show(
    stopping: &mut Stopping,
    showing: &Showing,
    status: impl Fn() -> TunnelStatus,
) -> Result<u8, CommandError> {
    let is_terminal = std::io::stderr().is_terminal() && !showing.quiet && !showing.json;
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    let mut before: Option<TunnelStatus> = None;
    loop {
        tokio::select! {
            biased;
            code = stopping.stopped() => {
                if is_terminal {
                    eprintln!();
                }
                return Ok(code);
            }
            _ = ticks.tick() => {}
        }
        if showing.json {
            let text = serde_json::to_string(&status())
                .map_err(|e| CommandError::fault(format!("figures that are no JSON: {e}")))?;
            print(&format!("{text}\n"))?;
        } else if is_terminal {
            let now = status();
            if let Some(before) = &before {
                // One line that is written over; a closed standard error is ignored.
                let _ = write!(std::io::stderr(), "\r\x1b[K{}", line(before, &now));
            }
            before = Some(now);
        }
    }
}

/// Rates of the tunnel since `before`, in a line.
fn line(before: &TunnelStatus, now: &TunnelStatus) -> String {
    let seconds = (now.uptime_s - before.uptime_s).max(1e-3);
    let mbps = |now: u64, before: u64| now.saturating_sub(before) as f64 * 8.0 / seconds / 1e6;
    let mut out = String::new();
    for subflow in &now.subflows {
        let mut before = before.subflows.iter();
        let Some(last) = before.find(|last| last.name == subflow.name) else { continue };
        let (sent, received) = (
            mbps(subflow.sent_bytes, last.sent_bytes),
            mbps(subflow.received_bytes, last.received_bytes),
        );
        // Writing to a String cannot fail.
        let _ = match subflow.state {
            "up" => write!(out, "{} {sent:.1} out {received:.1} in Mbit/s   ", subflow.name),
            other => write!(out, "{} {other}   ", subflow.name),
        };
    }
    let _ = write!(out, "{} connections", now.streams);
    out
}

#[cfg(test)]
mod tests {
    use airlane_tunnel::SubflowStatus;

    use super::*;

    #[test]
    fn rates_are_those_since_the_last_line() {
        let of = |uptime_s, sent_bytes, state| TunnelStatus {
            uptime_s,
            streams: 3,
            subflows: vec![SubflowStatus {
                name: "wlan0".to_owned(),
                state,
                sent_bytes,
                ..SubflowStatus::default()
            }],
            ..TunnelStatus::default()
        };
        let (before, now) = (of(1.0, 1000, "up"), of(3.0, 2_501_000, "up"));
        assert_eq!(line(&before, &now), "wlan0 10.0 out 0.0 in Mbit/s   3 connections");
        assert_eq!(line(&before, &of(3.0, 1000, "down")), "wlan0 down   3 connections");
    }
}
