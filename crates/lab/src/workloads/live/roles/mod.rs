//! The roles: a server that sends and a client that shows, per stream, over what the scheme says.

mod awstream;
mod messages;
mod salsify;
mod single;
mod vivo;
mod webrtc;

use std::sync::Arc;

use airlane_base::Time;
use airlane_live::{BELOW_USUAL, ENCODING_STEP};
use airlane_media::layers::LayeredVideo;
use tokio::sync::oneshot;

use super::content_draws::ContentDraws;
use super::records::FrameRecord;
use super::{Entry, Ladder, Output, SchemeOptions, Single, StreamOutput, Streams, Transport};
use airlane_sim::LabError;
use airlane_sim::workload::{BoxFuture, Part, Running};
use airlane_sim::world::{FlowSample, Pair, RunContext};

/// Parts of a stream that is about to run.
struct StreamSetup<'a> {
    entry: &'a Entry,
    of_scheme: SchemeOptions,
    clip: Arc<LayeredVideo>,
    pair: Pair,
    /// Time at which it starts, and time at which the run ends.
    begin: Time,
    end: Time,
}

/// A stream that runs.
struct RunningStream {
    name: String,
    counted_from: Time,
    end: Time,
    ended: oneshot::Receiver<Option<String>>,
    noted: Box<dyn StreamRecords>,
}

/// Records of a stream at both of its ends.
trait StreamRecords: Send {
    /// Record of every frame.
    fn frames(&self) -> Vec<FrameRecord>;
    /// The sending side over time.
    fn samples(&self) -> Vec<FlowSample>;
}

/// End of a stream, with the reason if it failed, and its records.
type StreamEnd = (oneshot::Receiver<Option<String>>, Box<dyn StreamRecords>);

/// Streams that run.
struct Roles(Vec<RunningStream>);

pub(super) fn start(
    traffic: &Streams,
    context: &mut RunContext<'_>,
) -> Result<Box<dyn Running>, LabError> {
    let all = traffic.each().enumerate();
    let roles: Result<Vec<_>, _> =
        all.map(|(number, (entry, name))| start_one(entry, name, number, context)).collect();
    Ok(Box::new(Roles(roles?)))
}

fn start_one(
    entry: &Entry,
    name: String,
    number: usize,
    context: &mut RunContext<'_>,
) -> Result<RunningStream, LabError> {
    let of_scheme = context.scheme().parts.of::<SchemeOptions>().cloned().unwrap_or_default();
    let clip = ContentDraws::clip(context.plan, context.key.case, number);
    let setup = StreamSetup {
        entry,
        clip: match of_scheme.single {
            Single::Encoded if of_scheme.ladder != Ladder::Encoded => {
                Arc::new(clip.with_finer_ladder(ENCODING_STEP, BELOW_USUAL))
            }
            Single::Encoded => clip,
            Single::Keyed => Arc::new(clip.with_key_frames()),
            Single::Layered => Arc::new(clip.with_layered_sizes()),
        },
        of_scheme,
        pair: context.attach()?,
        begin: Time::ZERO + entry.start,
        end: context.end,
    };
    let (counted_from, end) = (setup.begin + entry.skip, setup.end);
    let (ended, noted) = match setup.of_scheme.transport {
        Transport::Messages => messages::start(setup, context)?,
        Transport::AwStream => awstream::start(setup, context)?,
        Transport::Salsify | Transport::SalsifySprout | Transport::SalsifySproutPaper => {
            salsify::start(setup, context)?
        }
        Transport::Vivo => vivo::start(setup, None, context)?,
        Transport::VivoSkip => vivo::start(setup, Some(vivo::MAX_ASKED), context)?,
        Transport::WebRtc => webrtc::start(setup, &name, context)?,
    };
    Ok(RunningStream { name, counted_from, end, ended, noted })
}

impl Running for Roles {
    fn end(self: Box<Self>) -> BoxFuture<Box<dyn Part>> {
        Box::pin(async {
            let mut outputs = Vec::new();
            for stream in self.0 {
                // Its task cannot be gone: a panic would have ended the world.
                let Ok(failure) = stream.ended.await else { continue };
                outputs.push(StreamOutput {
                    name: stream.name,
                    counted_from: stream.counted_from,
                    end: stream.end,
                    frames: stream.noted.frames(),
                    failure,
                    samples: stream.noted.samples(),
                });
            }
            Box::new(Output(outputs)) as Box<dyn Part>
        })
    }
}
