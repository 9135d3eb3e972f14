//! Tests of calls, from messages to whole conferences in virtual time.

mod conference;
mod faults;
mod layers;
mod media;
mod messages;
mod optimiser;
mod tracks;
mod transport;
mod uplink;
mod world;
