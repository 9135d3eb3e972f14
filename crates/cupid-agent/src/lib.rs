//! Cupid on a host: what its interface on the air hears becomes the rates that the host's connections report
//! to their senders; on the sender's side, reports become signals of the controller.

mod agent;
mod clock;
mod error;
mod interface;

pub use agent::{AirAgent, report_sink};
pub use error::AgentError;
pub use interface::{AirInterface, agent};
