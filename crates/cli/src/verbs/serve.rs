//! `airlane serve`: a server until it is told to stop.

use airlane_base::InputError;
use airlane_origin_daemon::serve::{Ready, Server, SignKey};
use tokio::signal::unix::SignalKind;

use super::stopping::{Stopping, listen};
use super::{kept_at, print, threads};
use crate::args::{ServeArgs, SignArgs};
use crate::error::CommandError;

/// Serves until a signal comes; the exit code.
pub(super) fn serve(args: &ServeArgs) -> Result<u8, CommandError> {
    crate::terminal::log(args.quiet);
    threads()?.block_on(run(args))
}

async fn run(args: &ServeArgs) -> Result<u8, CommandError> {
    let mut stopping = Stopping::new()?;
    let mut hangup = listen(SignalKind::hangup())?;
    let server = tokio::select! {
        biased;
        code = stopping.stopped() => return Ok(code),
        server = Server::start(args.request()?) => server?,
    };
    for note in &server.ready().notes {
        tracing::warn!("{note}");
    }
    for complaint in server.complaints() {
        tracing::warn!("{complaint}");
    }
    if !args.quiet {
        hints(server.ready());
    }
    print(&format!("{}\n", ready_line(server.ready())))?;
    let code = loop {
        tokio::select! {
            biased;
            code = stopping.stopped() => break code,
            Some(()) = hangup.recv() => match server.reload().await {
                Ok(()) => tracing::info!("certificates and titles were read again"),
                Err(e) => tracing::error!("nothing was changed: {e}"),
            },
        }
    };
    tracing::info!("stopping: waiting for answers on their way; once more to end at once");
    tokio::select! {
        biased;
        code = stopping.stopped() => return Ok(code),
        () = server.stop() => {}
    }
    Ok(code)
}

/// Prints the signed paths; the exit code.
pub(super) fn sign(args: &SignArgs) -> Result<u8, CommandError> {
    let key = SignKey::read(&args.sign_key)?;
    let until_s = airlane_host::date::now_s().saturating_add(args.good_for.as_secs());
    let lines: Result<String, _> =
        args.paths.iter().map(|path| Ok(key.sign(path, until_s)? + "\n")).collect();
    print(&lines.map_err(|e: InputError| e)?)?;
    Ok(0)
}

/// One line that says that it serves, and where.
fn ready_line(ready: &Ready) -> String {
    let Ready { addresses, titles, weighed, admin, .. } = ready;
    let at: Vec<String> = addresses.iter().map(|a| format!("https://{a}/")).collect();
    let admin = admin.first().map_or("none".to_owned(), |a| format!("http://{a}/"));
    format!("ready: {} titles={titles} weighed={weighed} admin={admin}", at.join(" "))
}

/// Prints what a developer needs to know.
fn hints(ready: &Ready) {
    let Some(development) = &ready.development else { return };
    let port = ready.addresses.first().map_or(0, std::net::SocketAddr::port);
    eprintln!("development certificate: {}", kept_at(development));
    eprintln!("  certificate SHA-256:   {}", development.sha256);
    eprintln!("  public key SHA-256:    {}", development.spki_sha256);
    eprintln!("  try it: chromium --origin-to-force-quic-on=localhost:{port} \\");
    eprintln!("    --ignore-certificate-errors-spki-list={} \\", development.spki_sha256);
    eprintln!("    https://localhost:{port}{}", ready.player);
}
