//! Captures of 802.11 in monitor mode: what a receiver heard, from a file or live, and who used the air.
//!
//! - [`Records`] reads files, pcap and pcapng, record by record in bounded memory; [`Monitor`] listens
//!   on an interface. [`Decoder`] makes of their records what was heard: [`Transmission`]s, with
//!   [`airlane_wifi::Heard`] in them, frames of one PPDU joined. [`Writer`] writes such records as a
//!   capture that reads back the same.
//! - [`Radiotap`] and [`Header`] are the two headers of a packet.
//! - [`Account`] says who used the air, and how long, by the one definition of airtime
//!   ([`airlane_wifi::Exchange`]), and how much of that was inferred.
//!
//! Nothing here reads a clock: times are those of the capture. What it says and leaves out:
//! `docs/airtime.md`.

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
pub use decode::{Counts, Decoder};
pub use error::CaptureError;
pub use file::{FileCounts, LinkType, Record, Records};
pub use header::{BadHeader, Header};
pub use live::Monitor;
pub use own::{Level, Own};
pub use packet::{BadPacket, Packet};
pub use radiotap::{Ampdu, BadRadiotap, Position, Radiotap};
pub use transmission::{Precision, Transmission};
pub use writer::Writer;
