//! Streams of ViVo: point clouds in whole cells over a reliable stream, each frame as dense as its viewer
//! asks for (`docs/design/vivo.md`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_live::media_path::OpenError;
use airlane_live::{LayerSet, LiveError, ReceivedLayer};
use airlane_media::clouds::CloudTable;
use airlane_runtime::RuntimeExt;
use airlane_vivo::{AskedFrame, Density, Offer, densities};
use tokio::sync::oneshot;

use super::super::records::{FrameRecord, LayerOutcome, LayerRecord, ShownFrame};
use super::{StreamEnd, StreamRecords, StreamSetup};
use airlane_sim::LabError;
use airlane_sim::world::{FlowSample, RunContext, Tap};
use parking_lot::Mutex;

/// Frames that are on their way at most where frames are left out: half a second of them
/// (`docs/design/vivo.md`).
pub(super) const MAX_ASKED: usize = 10;
/// Bytes that the transport takes beyond its window: the rest waits where the frame is.
const UNSENT_BYTES: u64 = 128 << 10;

/// Records of both ends so far.
#[derive(Default)]
struct EndRecords {
    /// Frames that the viewer asked for. A frame counts as handed over when it is captured, though
    /// it waits for those asked for before.
    asked: BTreeMap<u32, AskedFrame>,
    came: BTreeMap<u32, Time>,
}

/// Stream whose records are read at the end of the run.
struct RecordedStream {
    both: Arc<Mutex<EndRecords>>,
    table: Arc<CloudTable>,
    levels: Vec<Density>,
    begin: Arc<Mutex<Option<Time>>>,
    frame_time: Duration,
    end: Time,
    tap: Arc<Tap>,
}

impl StreamRecords for RecordedStream {
    fn frames(&self) -> Vec<FrameRecord> {
        let both = self.both.lock();
        let Some(begin) = *self.begin.lock() else { return Vec::new() };
        let all = (0..).map(|n| (n, begin + self.frame_time * n));
        let frames = all.take_while(|(_, at)| *at < self.end).map(|(number, handed)| {
            let came = both.came.get(&number).copied();
            let asked = both.asked.get(&number);
            let layers = asked.map(|asked| LayerRecord {
                bytes: bytes_of(&self.table, number, self.levels[usize::from(asked.level)]),
                fate: came.map_or(LayerOutcome::DroppedThere(None), LayerOutcome::Came),
            });
            let shown = asked.zip(came).map(|(asked, at)| ShownFrame {
                first: at,
                last: at,
                layers: LayerSet::lowest(1),
                ssim_db: self.ssim_db(asked.level),
            });
            FrameRecord {
                number,
                handed,
                estimate_bps: asked.and_then(|asked| Some(asked.estimate?.as_f64())),
                layers: layers.into_iter().collect(),
                shown,
            }
        });
        frames.collect()
    }

    fn samples(&self) -> Vec<FlowSample> {
        self.tap.take()
    }
}

impl RecordedStream {
    fn ssim_db(&self, level: u8) -> f64 {
        let density = self.levels[usize::from(level)];
        let fronts = self.table.fronts();
        let mut layers = vec![usize::from(density.front); fronts];
        layers.resize(2 * fronts, usize::from(density.behind));
        self.table.ssim_db(&layers)
    }
}

/// The bytes of a frame at a level.
fn bytes_of(table: &CloudTable, frame: u32, density: Density) -> u32 {
    table.whole_bytes(frame, usize::from(density.front), usize::from(density.behind))
}

pub(super) fn start(
    setup: StreamSetup<'_>,
    most: Option<usize>,
    context: &mut RunContext<'_>,
) -> Result<StreamEnd, LabError> {
    let StreamSetup { entry, clip, pair, begin, end, .. } = setup;
    let table = clip
        .clouds
        .clone()
        .map(Arc::new)
        .ok_or_else(|| LabError::fault(format!("{} has no point clouds", clip.name)))?;
    let frame_time = Duration::from_secs_f64(1.0 / clip.fps);
    let levels = densities(table.layers as u8);
    let mean = |density: &Density| {
        let all = (0..table.frames.len() as u32).map(|n| u64::from(bytes_of(&table, n, *density)));
        Rate::of(all.sum(), frame_time * table.frames.len() as u32)
    };
    let offer = Arc::new(Offer { frame_time, levels: levels.iter().map(mean).collect() });
    let tap = context.tap(&pair);
    let control = entry.control.as_ref().unwrap_or(&context.scheme().control);
    let mut transport = context.transport(control);
    transport.flow.unsent_bytes = Some(UNSENT_BYTES);
    let listen = context.server(&pair, transport)?;
    let both = Arc::new(Mutex::new(EndRecords::default()));
    let began = Arc::new(Mutex::new(None));
    let known = RecordedStream {
        both: both.clone(),
        table: table.clone(),
        levels: levels.clone(),
        begin: began.clone(),
        frame_time,
        end,
        tap: tap.clone(),
    };
    let (offered, seen) = (offer.clone(), context.sender_seen(&pair, &tap));
    pair.server.spawn("vivo server", async move {
        let Some(connection) = listen.accept().await else { return };
        seen(connection.control());
        let note = |at| *began.lock() = Some(at);
        let bytes = |frame, level: u8| bytes_of(&table, frame, levels[usize::from(level)]);
        // An error says that the client is gone, which tells why itself.
        drop(airlane_vivo::serve_one(&connection, &offered, bytes, note).await);
    });
    let caller = context.client(&pair, context.client_transport())?;
    let (done, ended) = oneshot::channel();
    let (clock, to) = (pair.client.clone(), pair.address);
    pair.client.spawn("vivo client", async move {
        clock.sleep_until(begin).await;
        let watched = async {
            let connection = caller.connect(to, "live.airlane").await.map_err(OpenError::from)?;
            let came = |layer: ReceivedLayer| {
                both.lock().came.insert(layer.header.frame, layer.at);
            };
            let asked = |asked: AskedFrame| {
                both.lock().asked.insert(asked.frame, asked);
            };
            airlane_vivo::watch(&connection, &offer, most, came, asked).await?;
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
    Ok((ended, Box::new(known)))
}
