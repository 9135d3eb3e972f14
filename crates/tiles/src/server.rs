//! The server of a session.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::BytesMut;
use parking_lot::Mutex;

use super::error::TilesError;
use super::planner::{Item, Planner, PlannerConfig};
use super::title::Title;
use super::viewer::body;
use super::wire::{Begin, FromServer, MAX_PART_BYTES, Part, Report, Request};
use airlane_multipath::MultipathStream;

/// A client has said by then what it wants.
const REQUEST: Duration = Duration::from_secs(10);
/// A session in which the client takes nothing of a GoP for so long after its time is over: what is
/// written waits in memory.
const STALL: Duration = Duration::from_secs(60);
/// GoPs that a client may leave without a report: the server keeps what it sent of each.
const UNREPORTED: usize = 64;

/// A title that a server has, and how it is looked at.
#[derive(Clone, Debug)]
pub struct Show {
    /// The title.
    pub title: Arc<Title>,
    /// P(t) by GoP: how much of a viewport each tile fills, in the mean over users who have looked
    /// at the title before.
    pub attention: Arc<Vec<Vec<f64>>>,
}

/// A GoP as the server sent it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentGop {
    /// The plan; empty if its time had passed before it could begin.
    pub plan: Vec<Item>,
    /// Number of its tiles that were sent, from the first.
    pub sent: usize,
}

/// Serves the session that a client asks for on `stream`, from its first message to its end. `note`
/// gets each GoP when nothing more of it will be sent.
///
/// Of a client it holds what the stream does, the messages that have come, and what was sent of
/// 64 GoPs.
///
/// # Errors
/// If the stream fails, or the client does not keep to the protocol, asks for another title, or takes
/// too long.
pub async fn serve(
    stream: &MultipathStream,
    clock: &RuntimeHandle,
    shows: &BTreeMap<String, Show>,
    config: PlannerConfig,
    note: impl Fn(SentGop),
) -> Result<(), TilesError> {
    let mut buffer = BytesMut::new();
    let request = tokio::select! {
        biased;
        request = request(stream, &mut buffer) => request?,
        () = clock.sleep(REQUEST) => return Err(TilesError::Protocol("no request in time")),
    };
    let mut answer = BytesMut::new();
    let Some(show) = shows.get(&request.title) else {
        Begin::encode(None, &mut answer);
        stream.write(answer.freeze()).await?;
        stream.finish();
        return Err(TilesError::NoTitle(request.title));
    };
    let title = &show.title;
    let tiling = title.tiling();
    let begin = Begin {
        // A tiling has at most 64 of both.
        columns: tiling.columns() as u8,
        rows: tiling.rows() as u8,
        gop: title.gop(),
        gops: request.gops,
    };
    Begin::encode(Some(&begin), &mut answer);
    let since = clock.now();
    stream.write(answer.freeze()).await?;
    let planner = Mutex::new(Planner::new(title.clone(), show.attention.clone(), config));
    let progress = Mutex::new(since);
    let session = async {
        tokio::try_join!(
            send(stream, (clock, &progress), (title, &begin, since), &planner, note),
            read_reports(stream, begin.gops, buffer, &planner),
        )?;
        *progress.lock() = clock.now();
        Ok(stream.over().await?)
    };
    tokio::select! {
        biased;
        ended = session => ended,
        () = stalls(clock, &progress, STALL + begin.gop) => Err(TilesError::Protocol("nothing is taken for a minute")),
    }
}

/// Ends when there has been no progress for so long.
async fn stalls(clock: &RuntimeHandle, progress: &Mutex<Time>, most: Duration) {
    loop {
        let until = *progress.lock() + most;
        if clock.now() >= until {
            return;
        }
        clock.sleep_until(until).await;
    }
}

async fn request(stream: &MultipathStream, buffer: &mut BytesMut) -> Result<Request, TilesError> {
    loop {
        if let Some(request) = Request::decode(buffer)? {
            return Ok(request);
        }
        read(stream, buffer).await?;
    }
}

async fn send(
    stream: &MultipathStream,
    (clock, progress): (&RuntimeHandle, &Mutex<Time>),
    (title, begin, since): (&Title, &Begin, Time),
    planner: &Mutex<Planner>,
    note: impl Fn(SentGop),
) -> Result<(), TilesError> {
    for gop in 0..begin.gops {
        let start = since + begin.gop * gop;
        let due = start + begin.gop;
        clock.sleep_until(start).await;
        *progress.lock() = clock.now();
        if planner.lock().unreported() >= UNREPORTED {
            return Err(TilesError::Protocol("too many GoPs without a report"));
        }
        let mut done = SentGop::default();
        if clock.now() < due {
            done.plan = planner.lock().plan(gop);
            for item in &done.plan {
                if !send_tile(stream, clock, title.name(), (gop, *item), due).await? {
                    break;
                }
                planner.lock().on_sent(gop, *item);
                done.sent += 1;
            }
        } else {
            planner.lock().leave_out(gop);
        }
        stream.write(encoded(&FromServer::GopEnd(gop))).await?;
        note(done);
    }
    stream.finish();
    Ok(())
}

/// Sends a tile until its deadline has passed. Whether all of it was sent.
async fn send_tile(
    stream: &MultipathStream,
    clock: &RuntimeHandle,
    title: &str,
    (gop, Item { tile, level, bytes }): (u32, Item),
    due: Time,
) -> Result<bool, TilesError> {
    let mut offset = 0;
    let pieces = body(title, (gop, tile, level), bytes).pieces(0..bytes, MAX_PART_BYTES.into());
    for payload in pieces {
        if clock.now() >= due {
            return Ok(false);
        }
        let part_bytes = payload.len() as u32;
        // A title has no tiles of more than 16 MiB.
        let part = Part { gop, tile, level, tile_bytes: bytes as u32, offset, payload };
        stream.write(encoded(&FromServer::Part(part))).await?;
        offset += part_bytes;
    }
    Ok(true)
}

async fn read_reports(
    stream: &MultipathStream,
    gops: u32,
    mut buffer: BytesMut,
    planner: &Mutex<Planner>,
) -> Result<(), TilesError> {
    for _ in 0..gops {
        let report = loop {
            if let Some(report) = Report::decode(&mut buffer)? {
                break report;
            }
            read(stream, &mut buffer).await?;
        };
        planner.lock().on_report(&report)?;
    }
    // The client's end, so that nothing is left to be read.
    match stream.read().await?.is_empty() && buffer.is_empty() {
        true => Ok(()),
        false => Err(TilesError::Protocol("more than the reports of all GoPs")),
    }
}

/// Appends what comes next.
pub(super) async fn read(
    stream: &MultipathStream,
    buffer: &mut BytesMut,
) -> Result<(), TilesError> {
    let pieces = stream.read().await?;
    if pieces.is_empty() {
        return Err(TilesError::Ended);
    }
    pieces.iter().for_each(|piece| buffer.extend_from_slice(piece));
    Ok(())
}

fn encoded(message: &FromServer) -> bytes::Bytes {
    let mut out = BytesMut::new();
    message.encode(&mut out);
    out.freeze()
}
