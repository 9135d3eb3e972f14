//! Streams over WebRTC (`docs/design/webrtc.md`): one layer, at the rate that its congestion
//! control allows.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_live::wire::LayerHeader;
use airlane_media::layers::{LayeredVideo, SingleLadder};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use airlane_webrtc::{Ask, CallConfig, Delivered, Frame, FrameSource, Protection};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::single::{CapturedFrame, EndRecords, RecordedStream};
use super::{StreamEnd, StreamSetup};
use airlane_scenario::Cipher;
use airlane_sim::LabError;
use airlane_sim::world::RunContext;

/// The port of both ends.
const PORT: u16 = 5004;

pub(super) fn start(
    setup: StreamSetup<'_>,
    name: &str,
    context: &mut RunContext<'_>,
) -> Result<StreamEnd, LabError> {
    let StreamSetup { clip, pair, begin, end, .. } = setup;
    let fault = |e: &dyn std::fmt::Display| LabError::fault(format!("a call cannot be made: {e}"));
    let ladder = clip.single.clone().expect("a clip with layers of quality has a single one");
    let config = CallConfig {
        protection: match context.scenario().transport.cipher {
            Cipher::Null => Protection::Null,
            Cipher::Tls => Protection::Sealed,
        },
        ..CallConfig::new(Rate::from_bps_f64(ladder.max_bps()))
    };
    let sender_at = SocketAddr::new(pair.address.ip(), PORT);
    let receiver_at = SocketAddr::new(pair.from[0], PORT);
    let seed = context.seed.split("webrtc").split(name);
    let (sender, receiver) = airlane_webrtc::pair(&config, seed, begin, sender_at, receiver_at)
        .map_err(|e| fault(&e))?;
    let bind = |host: &RuntimeHandle, at| host.bind_udp(at).map_err(|e| fault(&e));
    let (from, to) = (bind(&pair.server, sender_at)?, bind(&pair.client, receiver_at)?);
    let both = Arc::new(Mutex::new(EndRecords::default()));
    let stats = sender.stats();
    let rtt = Box::new(move || stats.read().rtt);
    let known = RecordedStream { both: both.clone(), rtt, end };
    let source = Source::new(&clip, ladder, (begin, end), both.clone());
    let clock = pair.server.clone();
    pair.server.spawn("webrtc sender", async move {
        clock.sleep_until(begin).await;
        // An error is of the socket, which the receiver hears nothing of: it shows in the figures.
        drop(airlane_webrtc::send(sender, &clock, from, source).await);
    });
    let (done, ended) = oneshot::channel();
    let clock = pair.client.clone();
    pair.client.spawn("webrtc receiver", async move {
        clock.sleep_until(begin).await;
        let noted = both.clone();
        let sink = move |frame: Delivered| noted.lock().show(&frame.data, frame.at);
        let failure = tokio::select! {
            biased;
            () = clock.sleep_until(end) => both.lock().problem.take(),
            result = airlane_webrtc::receive(receiver, &clock, to, sink) => {
                result.err().map(|e| e.to_string())
            }
        };
        // The receiver is gone if the world was stopped.
        drop(done.send(failure));
    });
    Ok((ended, Box::new(known)))
}

/// The clip as frames of one layer.
struct Source {
    ladder: SingleLadder,
    frame_time: Duration,
    begin: Time,
    end: Time,
    next: u32,
    both: Arc<Mutex<EndRecords>>,
}

impl Source {
    fn new(
        clip: &LayeredVideo,
        ladder: SingleLadder,
        (begin, end): (Time, Time),
        both: Arc<Mutex<EndRecords>>,
    ) -> Self {
        let frame_time = Duration::from_secs_f64(1.0 / clip.fps);
        Self { ladder, frame_time, begin, end, next: 0, both }
    }
}

impl FrameSource for Source {
    fn next_at(&self) -> Option<Time> {
        let at = self.begin + self.frame_time * self.next;
        (at < self.end).then_some(at)
    }

    fn frame(&mut self, ask: &Ask) -> Option<Frame> {
        let number = self.next;
        self.next += 1;
        let captured = ask.now;
        let encoded = (ask.target > Rate::ZERO).then(|| {
            let frame = self.ladder.frame(number as usize, ask.target.as_f64());
            let bytes = if ask.key { frame.key_bytes } else { frame.bytes };
            (bytes, frame.ssim_db)
        });
        let target_bps = ask.target.as_f64();
        self.both.lock().captured.push(CapturedFrame { at: captured, target_bps, encoded });
        let (bytes, _) = encoded?;
        let header = LayerHeader { frame: number, layer: 0, encoding: 0, handed: captured };
        Some(Frame { data: header.message(bytes as usize), key: ask.key, captured })
    }
}
