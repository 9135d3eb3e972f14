//! Calls in virtual time: the conference as `airlane call serve` runs it, with clients as `airlane call join` runs them.

mod calls;
mod carrier;
mod cell;
mod faults;
mod port;
mod tcp;
mod tcp_strangers;
mod uplink;
mod world;
