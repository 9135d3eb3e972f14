//! Video on demand: an HTTP/3 origin that may weigh its connections, and a player.

pub mod minerva;
pub mod player;
mod provider;
pub mod server;
mod sessions;

pub use minerva::PACKET_OVERHEAD_BYTES;
pub use player::{Player, Session};
pub use provider::Provider;
pub use server::{Origin, Policy};

use airlane_base::Time;
use airlane_minerva::Update;
use airlane_quic::ControlHandle;

/// What an origin tells whoever wants to know. Methods are called from the origin's tasks and must
/// not wait.
pub trait OriginEvents: Send + Sync {
    /// A connection came.
    fn connected(&self, peer: std::net::SocketAddr, control: &ControlHandle) {
        let _ = (peer, control);
    }
    /// Minerva set the weight of a session; that of its connection is the sum over its sessions.
    fn weighed(&self, peer: std::net::SocketAddr, session: &str, update: &Update) {
        let _ = (peer, session, update);
    }
    /// A response was sent: path, status, bytes of its body.
    fn responded(&self, at: Time, peer: std::net::SocketAddr, path: &str, status: u16, bytes: u64) {
        let _ = (at, peer, path, status, bytes);
    }
}

/// For whoever does not want to know.
impl OriginEvents for () {}
