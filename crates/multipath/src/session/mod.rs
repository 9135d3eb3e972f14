//! Sessions: the end that connects, the end that accepts, and the streams that both have.

mod client;
mod data_cap;
mod ended;
mod hello;
mod limits;
mod memory;
mod server;
mod streams;
mod used_numbers;

pub use client::{InterfaceStatus, Session};
pub use data_cap::{DataCap, InterfaceConfig};
pub use hello::{SessionHello, SessionId};
pub use limits::SessionLimits;
pub use server::{AcceptedStream, SessionServer, SessionStatus};
