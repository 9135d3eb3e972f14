//! The client of a session.

use airlane_base::Time;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::BytesMut;
use tokio::sync::mpsc;

use super::error::TilesError;
use super::server::read;
use super::viewer::{ShownGop, Viewer};
use super::wire::{Begin, FromServer, Report, Request};
use airlane_multipath::MultipathStream;

/// Asks for `gops` GoPs of a title on `stream`, and shows them: `note` gets each at its deadline.
///
/// # Errors
/// If the stream fails, or the server does not keep to the protocol or does not have the title.
pub async fn watch(
    stream: &MultipathStream,
    clock: &RuntimeHandle,
    title: &str,
    gops: u32,
    note: impl Fn(ShownGop),
) -> Result<(), TilesError> {
    let mut out = BytesMut::new();
    Request { title: title.to_owned(), gops }.encode(&mut out);
    stream.write(out.freeze()).await?;
    let mut buffer = BytesMut::new();
    let begin = loop {
        if let Some(answer) = Begin::decode(&mut buffer)? {
            break answer.ok_or_else(|| TilesError::NoTitle(title.to_owned()))?;
        }
        read(stream, &mut buffer).await?;
    };
    if begin.gops != gops {
        return Err(TilesError::Protocol("another number of GoPs than was asked for"));
    }
    let viewer = Viewer::new(title, begin, clock.now());
    // At most one report per GoP. They have a task of their own: while no path takes them, what
    // comes is read on.
    let (reports, waiting) = mpsc::unbounded_channel();
    tokio::try_join!(
        show(stream, clock, viewer, buffer, |shown, report| {
            note(shown);
            // The other side of the channel is gone only if the session has failed.
            drop(reports.send(report));
        }),
        send_reports(stream, waiting, gops),
    )?;
    Ok(stream.over().await?)
}

/// Reads what comes and shows each GoP when it is due.
async fn show(
    stream: &MultipathStream,
    clock: &RuntimeHandle,
    mut viewer: Viewer,
    mut buffer: BytesMut,
    shown: impl Fn(ShownGop, Report),
) -> Result<(), TilesError> {
    let mut has_ended = false;
    loop {
        let now = clock.now();
        while let Some((gop, report)) = viewer.on_time(now) {
            shown(gop, report);
        }
        while let Some(message) = FromServer::decode(&mut buffer)? {
            viewer.on_message(now, message)?;
        }
        let due = viewer.next_deadline();
        if has_ended && due.is_none() {
            return if buffer.is_empty() { Ok(()) } else { Err(TilesError::Ended) };
        }
        tokio::select! {
            biased;
            () = clock.sleep_until(due.unwrap_or(Time::FAR_FUTURE)) => {}
            read = read(stream, &mut buffer), if !has_ended => match read {
                Err(TilesError::Ended) => has_ended = true,
                other => other?,
            },
        }
    }
}

async fn send_reports(
    stream: &MultipathStream,
    mut waiting: mpsc::UnboundedReceiver<Report>,
    gops: u32,
) -> Result<(), TilesError> {
    for _ in 0..gops {
        let Some(report) = waiting.recv().await else { break };
        let mut out = BytesMut::new();
        report.encode(&mut out);
        stream.write(out.freeze()).await?;
    }
    stream.finish();
    Ok(())
}
