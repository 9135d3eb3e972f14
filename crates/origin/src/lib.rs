//! Video on demand: an origin that may weight its connections, and a player.
//!
//! Both are written once, against the `Runtime`, and run as daemons on real sockets and in the laboratory
//! in virtual time.

pub mod cmcd;
mod delivery;
mod error;
mod events;
mod fetch;
pub mod http;
mod library;
mod origin;
pub mod player;
mod provider;
mod sending;
pub mod sessions;
pub mod store;
mod viewer;
mod weigher;

pub use error::RoleError;
pub use events::{Carrier, ClientConnection, OriginEvents, Requested, Responded};
pub use fetch::{Fetch, FetchPattern};
pub use library::Library;
pub use origin::{Origin, Policy, REPORTS_PATH, SESSION_FIELD};
pub use player::{Player, Session};
pub use provider::{Cohort, Provider, SessionPolicy, WeightPolicy};
pub use sending::Limits;
pub use viewer::Viewer;
pub use weigher::PACKET_OVERHEAD_BYTES;
