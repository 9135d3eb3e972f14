//! Calls in virtual time: the conference as `airlane call serve` runs it, with clients as `airlane call join` runs them.

mod calls;
mod cell;
mod faults;
mod uplink;
mod world;
