//! Streams of AWStream: one layer at one quality over a reliable stream, whose frame rate follows what
//! waits to be sent (`docs/design/awstream.md`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_live::media_path::OpenError;
use airlane_live::{LayerSet, LiveError};
use airlane_media::layers::SingleEncoding;
use airlane_runtime::RuntimeExt;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::super::records::{FrameRecord, LayerOutcome, LayerRecord, ShownFrame};
use super::{StreamEnd, StreamRecords, StreamSetup};
use airlane_sim::LabError;
use airlane_sim::world::{FlowSample, RunContext, Tap};

/// Bytes that the transport takes beyond its window: what else waits is the application's, and seen.
const UNSENT_BYTES: u64 = 16 << 10;

/// Records of both ends so far.
#[derive(Default)]
struct EndRecords {
    sent: Vec<airlane_awstream::SentFrame>,
    came: BTreeMap<u32, Time>,
}

/// Stream whose records are read at the end of the run.
struct RecordedStream {
    both: Arc<Mutex<EndRecords>>,
    clip: SingleEncoding,
    tap: Arc<Tap>,
}

impl StreamRecords for RecordedStream {
    fn frames(&self) -> Vec<FrameRecord> {
        let both = self.both.lock();
        let frames = both.sent.iter().map(|sent| {
            let came = both.came.get(&sent.frame).copied();
            let fate = came.map_or(LayerOutcome::DroppedThere(None), LayerOutcome::Came);
            let ssim_db = self.clip.frame(sent.frame).ssim_db;
            FrameRecord {
                number: sent.frame,
                handed: sent.at,
                estimate_bps: Some(sent.delivered.as_f64()),
                layers: sent.bytes.map(|bytes| LayerRecord { bytes, fate }).into_iter().collect(),
                shown: came.map(|at| {
                    let layers = LayerSet::lowest(1);
                    ShownFrame { first: at, last: at, layers, ssim_db }
                }),
            }
        });
        frames.collect()
    }

    fn samples(&self) -> Vec<FlowSample> {
        self.tap.take()
    }
}

pub(super) fn start(
    setup: StreamSetup<'_>,
    context: &mut RunContext<'_>,
) -> Result<StreamEnd, LabError> {
    let StreamSetup { entry, clip, pair, begin, end, .. } = setup;
    let encoding = clip.single_quantiser.clone().ok_or_else(|| {
        LabError::fault(format!("{} has no encoding of one layer at one quality", clip.name))
    })?;
    let tap = context.tap(&pair);
    let control = entry.control.as_ref().unwrap_or(&context.scheme().control);
    let mut transport = context.transport(control);
    transport.flow.unsent_bytes = Some(UNSENT_BYTES);
    let listen = context.server(&pair, transport)?;
    let both = Arc::new(Mutex::new(EndRecords::default()));
    let frame_time = Duration::from_secs_f64(1.0 / clip.fps);
    let whole = Rate::from_bps_f64(encoding.bps);
    let sizes = encoding.clone();
    let (noted, seen) = (both.clone(), context.sender_seen(&pair, &tap));
    pair.server.spawn("awstream server", async move {
        let Some(connection) = listen.accept().await else { return };
        seen(connection.control());
        let bytes = |frame, before| sizes.bytes(frame, before);
        let note = |frame| noted.lock().sent.push(frame);
        // An error says that the client is gone, which tells why itself.
        drop(airlane_awstream::serve_one(&connection, whole, bytes, frame_time, end, note).await);
    });
    let caller = context.client(&pair, context.client_transport())?;
    let (done, ended) = oneshot::channel();
    let (clock, to, noted) = (pair.client.clone(), pair.address, both.clone());
    pair.client.spawn("awstream client", async move {
        clock.sleep_until(begin).await;
        let watched = async {
            let connection = caller.connect(to, "live.airlane").await.map_err(OpenError::from)?;
            airlane_awstream::receive(&connection, |layer| {
                noted.lock().came.insert(layer.header.frame, layer.at);
            })
            .await?;
            Err::<(), _>(LiveError::Ended)
        };
        let result = tokio::select! {
            biased;
            () = clock.sleep_until(end) => Ok(()),
            result = watched => result,
        };
        // The receiver is gone if the world was stopped.
        drop(done.send(result.err().map(|e| e.to_string())));
    });
    Ok((ended, Box::new(RecordedStream { both, clip: encoding, tap })))
}
