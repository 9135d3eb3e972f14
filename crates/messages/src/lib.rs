#![doc = include_str!("../README.md")]
//!
//! ## Model
//!
//! - An application sends **messages** of **streams**, each with the marking that says when it may be
//!   dropped. A message is cut into fragments, one per packet. None is sent again. The receiver
//!   delivers a message as soon as it has all fragments of it, whatever became of the ones before.
//! - A packet has the Octopus header in clear, which queues in the network read, and behind it a
//!   sealed frame ([`wire`], `docs/reference/wire/messages.md`). The header is authenticated with
//!   the frame: who changes it on the way makes the receiver refuse the packet.
//! - Fragments wait in a buffer that drops messages as a queue in the network does, at the rate that
//!   the controller estimates.
//! - Window, pacing and samples are [`airlane_congestion::SendState`]'s. Packets that a queue dropped on
//!   purpose are told apart from lost ones, where gaps show it (`flight.rs`), and the controller does
//!   not hear of them.
//!
//! ## Data flow
//!
//! ```text
//! Session::send --> buffer (octopus::Queue) --window, pacer--> seal --> Session::poll_transmit
//! Session::handle --> open, refuse replays --> fragments --> whole message --> Session::poll_event
//!                                          \-> acknowledgements --> SendState
//! ```
//!
//! [`Session`] is one end of a path. It is pure: time and datagrams are arguments. Keys and the ids of
//! both ends come from whoever sets the session up, over a QUIC connection.
//!
//! ## Invariants
//!
//! - A message is delivered whole, once, and as it was sent, or not at all.
//! - What a session keeps is bounded, whatever comes.
//! - Nothing is sent in answer to what does not open: an attacker is not answered.
//! - An address that has not answered a challenge is sent at most three times what came from it, and
//!   no data (`route.rs`).
//! - A session ends when its peer acknowledges what was never sent (`packet_numbers.rs`).

mod drops;
mod flight;
mod fragment;
mod ids;
mod keep_alive;
mod keys;
mod packet_numbers;
mod path_mtu;
mod random;
mod reassembly;
mod received;
mod route;
mod rtt;
mod send_options;
mod sender;
mod session;
pub mod wire;

pub use ids::Ids;
pub use keys::{Protection, SECRET_BYTES, Secret};
pub use random::RANDOM_SECRET_BYTES;
pub use reassembly::{Delivered, ReceiveLimits};
pub use rtt::RttEstimate;
pub use send_options::{SendError, SendOptions};
pub use session::{Config, Counts, Event, Refused, Session};
