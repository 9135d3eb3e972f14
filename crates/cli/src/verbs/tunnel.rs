//! `airlane tunnel`: a key, and both ends until they are told to stop.

use airlane_daemon::tunnel::{Key, TunnelClient, TunnelServer};
use airlane_lab::LabError;

use super::serve::Stopping;
use super::{daemon_failed, print, threads};
use crate::args::{TunnelArgs, TunnelConnectArgs, TunnelKeyArgs, TunnelServeArgs, TunnelVerb};

/// Does what the verb below says; the exit code.
pub(super) fn tunnel(args: &TunnelArgs) -> Result<u8, LabError> {
    match &args.verb {
        TunnelVerb::Key(args) => key(args),
        TunnelVerb::Serve(args) => {
            crate::terminal::log(args.quiet);
            threads()?.block_on(serve(args))
        }
        TunnelVerb::Connect(args) => {
            crate::terminal::log(args.quiet);
            let runtime = threads()?;
            let code = runtime.block_on(connect(args));
            // Connections that were stopped have sockets open: nobody waits for them.
            runtime.shutdown_background();
            code
        }
    }
}

fn key(args: &TunnelKeyArgs) -> Result<u8, LabError> {
    Key::generate().and_then(|key| key.write(&args.file))?;
    print(&format!("{}: a new key; the other end needs the same file\n", args.file.display()))?;
    Ok(0)
}

async fn serve(args: &TunnelServeArgs) -> Result<u8, LabError> {
    let mut stopping = Stopping::new()?;
    let server = TunnelServer::start(args.request()?).await.map_err(daemon_failed)?;
    let at: Vec<String> = server.addresses().iter().map(ToString::to_string).collect();
    print(&format!("ready: tunnels at {}\n", at.join(" ")))?;
    let code = stopping.stopped().await;
    server.stop().await;
    Ok(code)
}

async fn connect(args: &TunnelConnectArgs) -> Result<u8, LabError> {
    let mut stopping = Stopping::new()?;
    let client = TunnelClient::start(args.request()?).await.map_err(daemon_failed)?;
    let mut ready = "ready:".to_owned();
    if let Some(at) = client.socks() {
        ready += &format!(" socks={at}");
    }
    for at in client.forwards() {
        ready += &format!(" forward={at}");
    }
    print(&format!("{ready}\n"))?;
    Ok(stopping.stopped().await)
}
