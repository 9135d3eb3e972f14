#![doc = include_str!("../README.md")]
//!
//! - [`Records`] reads files, pcap and pcapng, record by record in bounded memory; [`Monitor`] listens
//!   on an interface. [`Decoder`] makes of their records what was heard: [`Transmission`]s, with
//!   [`airlane_wifi::Heard`] in them, frames of one PPDU joined. [`Writer`] writes such records as a
//!   capture that reads back the same.
//! - [`Radiotap`] and [`Header`] are the two headers of a packet.
//! - [`Account`] says who used the air, and how long, by the one definition of airtime
//!   ([`airlane_wifi::PlannedExchange`]), and how much of that was inferred.
//!
//! Nothing here reads a clock: times are those of the capture. What it says and leaves out:
//! `docs/guide/airtime.md`.

mod account;
mod bytes;
mod clock;
mod decode;
mod error;
mod file;
mod header;
mod join;
mod live;
mod own;
mod packet;
mod radiotap;
mod transmission;
mod writer;

pub use account::*;
pub use airlane_wifi::Precision;
pub use decode::{Counts, Decoder};
pub use error::CaptureError;
pub use file::{FileCounts, LinkType, Record, Records};
pub use header::{BadHeader, Header};
pub use live::Monitor;
pub use own::{Level, Own};
pub use packet::{BadPacket, Packet};
pub use radiotap::{Ampdu, BadRadiotap, Position, Radiotap};
pub use transmission::Transmission;
pub use writer::Writer;
