//! Video on demand: an origin that may weigh its connections, and a player.

mod delivery;
mod events;
mod fetch;
mod origin;
pub mod player;
mod provider;
mod sending;
pub mod sessions;
mod viewer;
mod weigher;

pub use events::{Carrier, ClientConnection, OriginEvents, Requested, Responded};
pub use fetch::{Fetch, FetchPattern};
pub use origin::{Origin, Policy, REPORTS_PATH, SESSION_FIELD};
pub use player::{Player, Session};
pub use provider::{Cohort, Provider, SessionPolicy, WeightPolicy};
pub use sending::Limits;
pub use viewer::Viewer;
pub use weigher::PACKET_OVERHEAD_BYTES;
