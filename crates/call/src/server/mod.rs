//! The role of the conference server: it forwards every participant's media to the others.
//!
//! ```text
//! participant --frames--> Session --Room--> FrameQueue of each other Session --frames--> participant
//!                            | estimates, bytes, queueing          ^ share or layers of each video
//!                            '--> Coordinator --> optimiser --> state of each client
//! ```

mod channel_capacity;
mod downlink;
mod probe;
mod room;
mod session;

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_plum::{CapacityMethod, State};
use airlane_quic::{Endpoint, TransportConfig};
use airlane_runtime::RuntimeExt;

use crate::allocate::AllocatorKind;
use crate::coordination::CoordinationConfig;
use crate::last_n::LastNConfig;
use crate::media_transport::MediaOf;
use crate::queue_config::QueueConfig;
use crate::rate::RateConfig;
use crate::sender::UNSENT_BYTES;
use crate::wire::ParticipantId;
pub use channel_capacity::{CapacityOf, CapacitySource};
use room::Room;

/// Time for which a client may take to say that it wants to take part.
const JOIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Frames that a participant may have under way at once.
const MAX_STREAMS: u32 = 64;
/// Bytes that a participant may have under way.
const RECEIVE_WINDOW_BYTES: u32 = 2 << 20;

/// Way in which a server makes videos fit a downlink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thinning {
    /// Each frame is cut to its video's share, as a transcoder of that ratio would make it.
    #[default]
    Transcode,
    /// Layers of each video are forwarded that fit.
    Layers(AllocatorKind),
}

/// Settings of a conference server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Participants at once.
    pub max_participants: usize,
    /// Rules by which bitrates follow controllers.
    pub rates: RateConfig,
    /// Bounds of the frames that wait for a participant.
    pub queue: QueueConfig,
    /// Method by which the capacity of each channel is found.
    pub capacity: CapacityMethod,
    /// Source of these capacities.
    pub capacity_source: CapacitySource,
    /// Way in which videos are made to fit a downlink.
    pub thinning: Thinning,
    /// True if the video of the participant who speaks gets what it needs before those of others.
    pub speakers_first: bool,
    /// Bytes of a frame of video that a transcoder forwards however small its share is.
    pub min_frame_bytes: u32,
    /// Choice of the participants whose video is forwarded; `None`: everybody.
    pub last_n: Option<LastNConfig>,
    /// Coordination of uplinks and downlinks; `None`: each follows its own controller.
    pub coordination: Option<CoordinationConfig>,
    /// Transports of participants' video; `None`: their connections.
    pub media: Option<MediaOf>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            max_participants: 1000,
            rates: RateConfig::default(),
            queue: QueueConfig::default(),
            capacity: CapacityMethod::default(),
            capacity_source: CapacitySource::Found,
            thinning: Thinning::Transcode,
            speakers_first: false,
            min_frame_bytes: 1000,
            last_n: None,
            coordination: None,
            media: None,
        }
    }
}

impl ServerConfig {
    fn has_layers(&self) -> bool {
        self.thinning != Thinning::Transcode
    }
}

/// Channel of a participant at one time, as the server knows it. Rates are of IP bytes but for the two of media.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChannelRecord {
    /// Time of the record.
    pub at: Time,
    /// Participant whose channel it is.
    pub participant: ParticipantId,
    /// Capacity, as far as it is known.
    pub capacity: Option<Rate>,
    /// Bandwidth that the uplink's controller estimates.
    pub up_estimate: Option<Rate>,
    /// Bandwidth that the downlink's controller estimates.
    pub down_estimate: Option<Rate>,
    /// Media that came from the participant in the last second.
    pub up_media: Rate,
    /// Media that may go to the participant.
    pub down_media: Rate,
    /// State of its two ends.
    pub state: State,
    /// Rate that the end that is held is held to.
    pub target: Option<Rate>,
    /// Frames that were not sent to it because they waited too long.
    pub dropped: u64,
}

/// The receiver of a server's records.
pub type ServerNote = Arc<dyn Fn(ChannelRecord) + Send + Sync>;

/// `config` with the windows and streams that a conference server needs.
pub fn server_transport(mut config: TransportConfig) -> TransportConfig {
    config.flow.max_streams = MAX_STREAMS;
    config.flow.receive_window_bytes = RECEIVE_WINDOW_BYTES;
    config.flow.unsent_bytes = Some(UNSENT_BYTES);
    config
}

/// Room that is closed when this is dropped.
struct OpenRoom(Arc<Room>);

impl Drop for OpenRoom {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Serves one conference: everybody who connects to `endpoint` takes part. It ends with the endpoint, and the
/// conference with it or when it is dropped.
pub async fn serve(endpoint: Endpoint, config: ServerConfig, note: ServerNote) {
    let clock = endpoint.runtime().clone();
    let room = Room::new(config, clock.clone(), note);
    // Sessions end with this future.
    let _open = OpenRoom(room.clone());
    let ticking = {
        let (room, clock) = (room.clone(), clock.clone());
        async move {
            loop {
                clock.sleep(room::TICK_INTERVAL).await;
                room.tick();
            }
        }
    };
    let accepting = async {
        while let Some(connection) = endpoint.accept().await {
            let room = room.clone();
            clock.spawn("call session", async move {
                if let Err(e) = session::run(&room, &connection).await {
                    tracing::debug!("a participant: {e}");
                    connection.close(1, &e.to_string());
                }
            });
        }
    };
    tokio::select! {
        biased;
        () = accepting => {}
        () = ticking => {}
    }
}
