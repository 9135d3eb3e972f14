//! `airlane call`: a conference server until it is told to stop, and participants without a browser.

use airlane_base::{InputError, printable};
use airlane_call_daemon::client::ClientSummary;
use airlane_call_daemon::{CallServer, Ready, invitation};
use airlane_host::{HmacKey, date};

use super::stopping::Stopping;
use super::{print, threads};
use crate::args::{CallArgs, CallInviteArgs, CallJoinArgs, CallServeArgs, CallVerb, InvitedRoom};
use crate::error::CommandError;

/// Does what the verb below says; the exit code.
pub(super) fn call(args: &CallArgs) -> Result<u8, CommandError> {
    match &args.verb {
        CallVerb::Serve(args) => {
            crate::terminal::log(args.quiet);
            threads()?.block_on(serve(args))
        }
        CallVerb::Invite(args) => invite(args),
        CallVerb::Join(args) => {
            crate::terminal::log(args.quiet);
            threads()?.block_on(join(args))
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

/// Takes part until all participants have ended, or a signal comes; the exit code.
async fn join(args: &CallJoinArgs) -> Result<u8, CommandError> {
    let mut stopping = Stopping::new()?;
    let party = args.party()?;
    let mut code = None;
    let mut printing = Ok(());
    let mut summaries = Vec::new();
    let stop = async { code = Some(stopping.stopped().await) };
    let on_end = |summary: ClientSummary| {
        match &summary.failure {
            Some(failure) if args.quiet => {
                eprintln!("{}: {}", printable(&summary.name), printable(failure));
            }
            _ if args.quiet || printing.is_err() => {}
            _ => printing = print(&format!("{}\n", printable(&summary.line()))),
        }
        summaries.push(summary);
    };
    party.run(stop, on_end).await;
    printing?;
    summaries.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(path) = &args.report {
        let text = serde_json::to_vec_pretty(&summaries).unwrap_or_default();
        let written = std::fs::write(path, text);
        written.map_err(|e| InputError::io(path, "write the report", &e))?;
    }
    let has_failed = summaries.iter().any(|summary| summary.failure.is_some());
    Ok(code.unwrap_or(u8::from(has_failed)))
}

/// Prints a signed link of each room; the exit code.
fn invite(args: &CallInviteArgs) -> Result<u8, CommandError> {
    let key = HmacKey::read(&args.room_key)?;
    let until_s = date::now_s().saturating_add(args.good_for.as_secs());
    let line = |room: &InvitedRoom| {
        format!("{}?token={}\n", room.link, invitation(&key, &room.name, until_s))
    };
    print(&args.rooms.iter().map(line).collect::<String>())?;
    Ok(0)
}

/// Line that says where it serves.
fn ready_line(ready: &Ready) -> String {
    let https = ready.addresses.iter().map(|at| format!("https://{at}/"));
    let http = ready.http.iter().map(|at| format!("http://{at}/"));
    let pages: Vec<String> = https.chain(http).collect();
    let announced: Vec<String> = ready.announced.iter().map(ToString::to_string).collect();
    let status = ready.status.map(|at| format!(" status=http://{at}/")).unwrap_or_default();
    format!("ready: calls at {} media={}{status}", pages.join(" "), announced.join(","))
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
