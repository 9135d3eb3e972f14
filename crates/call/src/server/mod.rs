//! The role of the conference server: it forwards every participant's media to the others.
//!
//! ```text
//! participant --frames--> Session --Room--> FrameQueue of each other Session --frames--> participant
//!                            | estimates, bytes, queueing          ^ share of each source
//!                            '--> Coordinator --> optimiser --> state of each client
//! ```

mod coordination;
mod room;
mod session;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_plum::{CapacityConfig, CoordinatorConfig, State, Target};
use airlane_quic::{Endpoint, TransportConfig};
use airlane_runtime::RuntimeExt;

use crate::last_n::LastNConfig;
use crate::queue::QueueConfig;
use crate::rate::RateConfig;
use crate::sender::UNSENT_BYTES;
use crate::wire::ParticipantId;
use room::Room;

/// Time for which a client may take to say that it wants to take part.
const JOIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Frames that a participant may have under way at once.
const MAX_STREAMS: u32 = 64;
/// Bytes that a participant may have under way.
const RECEIVE_WINDOW_BYTES: u32 = 2 << 20;

/// Function from the capacities of all clients, in the order of their keys, to the targets of all; `None` where
/// there is no valid result.
pub type Optimise = dyn Fn(&[Rate]) -> Option<Vec<Target>> + Send + Sync;

/// Optimiser of a conference.
#[derive(Clone)]
pub struct Optimiser(pub Arc<Optimise>);

impl fmt::Debug for Optimiser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Optimiser")
    }
}

/// Coordination of uplinks and downlinks.
#[derive(Clone, Debug)]
pub struct CoordinationConfig {
    /// Rules for when bitrates are optimised.
    pub coordinator: CoordinatorConfig,
    /// The chooser of bitrates.
    pub optimiser: Optimiser,
    /// True if the bitrate from before the Constrained state is restored.
    pub restores: bool,
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
    /// Settings by which the capacity of each channel is found.
    pub capacity: CapacityConfig,
    /// Bytes of a frame of video that are forwarded however small its share is.
    pub min_frame_bytes: u32,
    /// Choice of the participants whose video is forwarded; `None`: everybody.
    pub last_n: Option<LastNConfig>,
    /// Coordination of uplinks and downlinks; `None`: each follows its own controller.
    pub coordination: Option<CoordinationConfig>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            max_participants: 1000,
            rates: RateConfig::default(),
            queue: QueueConfig::default(),
            capacity: CapacityConfig::default(),
            min_frame_bytes: 1000,
            last_n: None,
            coordination: None,
        }
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

/// Serves one conference: everybody who connects to `endpoint` takes part. It ends with the endpoint.
pub async fn serve(endpoint: Endpoint, config: ServerConfig, note: ServerNote) {
    let clock = endpoint.runtime().clone();
    let room = Room::new(config, clock.clone(), note);
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
