//! Live video over the media path on real sockets: `airlane send` and `airlane recv`.

mod encoded;
mod encoder;
mod error;
mod input;
mod numbering;
mod opened;
mod output;
mod pictures;
mod record;
mod recv;
mod send;
mod serving;
mod silence;
mod stream_stats;
mod vpx;

use std::time::Duration;

use airlane_congestion::{Algorithm, ControllerConfig};
use airlane_live::media_path::{MediaPaths, PathConfig};
use airlane_messages::{ReceiveLimits, SendOptions};
use airlane_quic::{
    ETHERNET_PAYLOAD_BYTES, Endpoint, FlowControl, PacketConfig, QuicError, Timers, Tls,
    TransportConfig,
};

pub use encoder::{EncoderFactory, EncoderPermit, LayerEncoder};
pub use error::DaemonError;
pub use input::{ReadFrom, VideoInput};
pub use output::WriteTo;
pub use recv::{ReceiverConfig, recv, recv_on};
pub use send::{SendStatus, Sender, SenderConfig, SentVideo};
pub use stream_stats::{Report, Second};
pub use vpx::{VpxEncoder, VpxEncoders};

/// The protocol that both ends of the QUIC connection name.
const ALPN: &[u8] = b"airlane-live";
/// Silence after which a peer is taken to be gone, and after which it is asked.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
const KEEP_ALIVE: Duration = Duration::from_secs(3);
/// UDP payload that passes every path (RFC 9000, section 14).
const PAYLOAD_BYTES: u16 = 1200;

/// Codes with which a sender closes connections: there is no more, or it was stopped;
const ENDED: u32 = 0;
/// the viewer is not served now, and may ask again;
const TURNED_AWAY: u32 = 1;
/// the viewer broke the protocol;
const VIOLATION: u32 = 2;
/// the sender cannot go on.
const FAILED: u32 = 3;

/// Configuration of the connections that set paths up.
fn transport(tls: Tls) -> TransportConfig {
    TransportConfig {
        alpn: vec![ALPN.to_vec()],
        packets: PacketConfig { payload_bytes: PAYLOAD_BYTES, ..PacketConfig::default() },
        timers: Timers {
            idle_timeout: Some(IDLE_TIMEOUT),
            keep_alive: Some(KEEP_ALIVE),
            ..Timers::default()
        },
        // Those who watch open one stream per path.
        flow: FlowControl { max_streams: 4, ..FlowControl::default() },
        ..TransportConfig::network(tls, ControllerConfig::new(Algorithm::Reno))
    }
}

/// Configuration of paths: BBR, which fills a path and lets the network drop what it does not
/// carry.
fn path(keep_alive_interval: Option<Duration>) -> PathConfig {
    PathConfig {
        payload_bytes: PAYLOAD_BYTES,
        max_payload_bytes: Some(ETHERNET_PAYLOAD_BYTES),
        keep_alive_interval,
        controller: ControllerConfig::new(Algorithm::Bbr),
        send: SendOptions::default(),
        receive: ReceiveLimits::default(),
    }
}

/// The media paths of an endpoint that was just made.
fn paths(endpoint: &Endpoint, most: usize) -> Result<MediaPaths, DaemonError> {
    let taken = || QuicError::Config("the socket has another protocol already".to_owned());
    Ok(MediaPaths::new(endpoint, most).ok_or_else(taken)?)
}
