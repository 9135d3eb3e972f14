//! `airlane call`: a conference server until it is told to stop.

use airlane_call_daemon::{CallServer, Ready};

use super::stopping::Stopping;
use super::{print, threads};
use crate::args::{CallArgs, CallServeArgs, CallVerb};
use crate::error::CommandError;

/// Does what the verb below says; the exit code.
pub(super) fn call(args: &CallArgs) -> Result<u8, CommandError> {
    match &args.verb {
        CallVerb::Serve(args) => {
            crate::terminal::log(args.quiet);
            threads()?.block_on(serve(args))
        }
    }
}

async fn serve(args: &CallServeArgs) -> Result<u8, CommandError> {
    let mut stopping = Stopping::new()?;
    let server = CallServer::start(args.request()?).await?;
    if !args.quiet {
        hints(server.ready());
    }
    print(&format!("{}\n", ready_line(server.ready())))?;
    let code = stopping.stopped().await;
    server.stop().await;
    Ok(code)
}

/// Line that says where it serves.
fn ready_line(ready: &Ready) -> String {
    let https = ready.addresses.iter().map(|at| format!("https://{at}/"));
    let http = ready.http.iter().map(|at| format!("http://{at}/"));
    let pages: Vec<String> = https.chain(http).collect();
    let announced: Vec<String> = ready.announced.iter().map(ToString::to_string).collect();
    format!("ready: calls at {} media={}", pages.join(" "), announced.join(","))
}

/// Prints what a newcomer needs to know.
fn hints(ready: &Ready) {
    if let Some(development) = &ready.development {
        eprintln!(
            "development certificate, of which browsers warn: {}",
            super::kept_at(development)
        );
        eprintln!("  public key SHA-256: {}", development.spki_sha256);
    }
    let first = ready.http.first().map(|at| format!("http://localhost:{}", at.port()));
    let first = first.or_else(|| ready.addresses.first().map(|at| format!("https://{at}")));
    if let Some(first) = first {
        eprintln!("  try it: open {first}/my-room in two tabs");
    }
}
