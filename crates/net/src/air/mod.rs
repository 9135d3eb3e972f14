//! The medium of 802.11: stations and access points that share one channel.
//!
//! # Model
//!
//! The whole air is one [`Node`]. A station has two [ports](Port): packets to it, and packets from it;
//! both cross the air once, between it and its access point. Radios contend for the channel as EDCA
//! says, send aggregates, answer with block acknowledgements, and try again what did not come. What a
//! radio receives follows from the powers of all that is in the air at that moment.
//!
//! ```text
//! push --queue per station and category--> contender --aggregate--> PPDU --SINR--> reorder --> poll
//! ```
//!
//! Equations, constants and what is left out: `docs/design/air.md`.

#![expect(clippy::vec_box, reason = "packets change hands boxed, here as elsewhere")]

mod account;
mod aggregate;
mod channel;
mod config;
mod contender;
mod descriptors;
mod exchange;
mod hearing;
mod ids;
mod interferer;
mod leave;
mod link;
mod links;
mod medium;
mod minstrel;
mod power;
mod rates;
mod reception;
mod reception_log;
mod reorder;
mod scene;
mod scheduler;
mod window;

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Packet, Rate, Seed, Time};
use airlane_wifi::{Address, Heard};
use parking_lot::{Mutex, MutexGuard};

pub use account::{AirAttempt, Airtime, AttemptOutcome};
pub use config::{
    ApConfig, ChannelConfig, Descriptors, FadingConfig, Motion, Protection, RateControl,
    SchedulerKind, Signal, StationConfig,
};
pub use ids::{ApId, StationId};
pub use interferer::{Burst, InterfererConfig, Source};
pub use reception_log::ReceptionLog;

use crate::direction::Direction;
use crate::meter::LinkStats;
use crate::node::{Counters, Dropped, Node, Port};
use ids::StationPort;
use medium::Medium;
use reception_log::Monitor;

/// The air of one channel: a handle to it. One handle is the node of a network, others add stations
/// and read what the air did.
#[derive(Clone, Debug)]
pub struct Air(Arc<Mutex<Medium>>);

impl Air {
    /// A channel on which nobody is yet. Everything random draws from `seed`.
    pub fn new(config: ChannelConfig, seed: Seed) -> Self {
        Self(Arc::new(Mutex::new(Medium::new(config, seed))))
    }

    /// Adds an access point.
    pub fn add_ap(&self, config: ApConfig) -> ApId {
        self.medium().add_ap(config)
    }

    /// Adds a station of an access point.
    pub fn add_station(&self, ap: ApId, config: StationConfig) -> StationId {
        self.medium().add_station(ap, config)
    }

    /// The radio of a station falls silent, in the middle of what it sends or hears: it sends and hears
    /// nothing any more. What waits at it is dropped.
    pub fn leave(&self, station: StationId, drops: &mut Vec<Dropped>) {
        self.medium().leave(station, drops);
    }

    /// Adds a transmitter that is no 802.11.
    pub fn add_interferer(&self, config: InterfererConfig) {
        self.medium().add_interferer(config);
    }

    /// The rate at which a frame would go to a station as this at its access point.
    pub fn rate_of(&self, ap: ApId, station: &StationConfig) -> Rate {
        self.medium().rate_of(ap, station)
    }

    /// The port of a station's packets in one direction.
    pub fn port(station: StationId, direction: Direction) -> Port {
        StationPort { station, direction }.into()
    }

    /// The address of a station, and that of its access point.
    pub fn addresses(&self, station: StationId) -> (Address, Address) {
        self.medium().addresses(station)
    }

    /// Record of all that the radio of a station hears from now on. Each call makes a new one.
    pub fn listen(&self, station: StationId) -> ReceptionLog {
        self.medium().listen(station)
    }

    /// Calls `hear` with each transmission when it ends, from now on, in the place of whoever was called
    /// before: a monitor that misses nothing, which no receiver is. It changes nothing.
    pub fn monitor(&self, hear: impl FnMut(&Heard) + Send + 'static) {
        self.medium().monitor = Some(Monitor::new(hear));
    }

    /// Beacons that an access point has sent, and what they are charged with.
    pub fn beacons(&self, ap: ApId) -> (u64, Duration) {
        self.medium().beacons(ap)
    }

    /// Airtime that was used until now, by port.
    pub fn airtime(&self) -> Vec<Airtime> {
        self.medium().airtime()
    }

    /// Airtime that the packets of a port have used until now; zero if no station has it.
    pub fn airtime_of(&self, port: Port) -> Airtime {
        self.medium().airtime_of(port)
    }

    /// Keeps who held the air when, from now on.
    pub fn keep_attempts(&self) {
        self.medium().keep_attempts();
    }

    /// Attempts since this was called last: the port that held the air, from when to when.
    pub fn take_attempts(&self) -> Vec<AirAttempt> {
        self.medium().take_attempts()
    }

    fn medium(&self) -> MutexGuard<'_, Medium> {
        self.0.lock()
    }
}

impl Node for Air {
    fn ports(&self) -> u16 {
        self.medium().ports()
    }

    fn push(&mut self, now: Time, port: Port, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        self.medium().push(now, port, packet, drops);
    }

    fn poll(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<Box<Packet>> {
        self.medium().poll(now, drops)
    }

    fn next_event(&self) -> Option<Time> {
        self.medium().next_event()
    }

    fn counters(&self, port: Port) -> Counters {
        self.medium().counters(port)
    }

    fn link_stats(&self, port: Port, now: Time) -> Option<LinkStats> {
        Some(self.medium().link_stats(port, now))
    }
}
