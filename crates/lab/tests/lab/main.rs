//! The laboratory by its public interface. One binary: a binary per subject would link the whole
//! stack as often as there are subjects.

mod air;
mod air_capture;
mod air_ns3;
mod browsers;
mod calls;
mod claim_sets;
mod claims;
mod diff;
mod ecn;
mod equilibria;
mod execute;
mod grid;
mod half_duplex;
mod isolation;
mod l4s;
mod live;
mod loops;
mod motivation;
mod networks;
mod normalise;
mod plan;
mod pool;
mod reporting;
mod reproduce;
mod runs;
mod scenario;
mod streams;
mod summary;
mod sweep;
mod tiles;
mod traffic;
mod tunnel;
mod volumetric;
mod wifi;
