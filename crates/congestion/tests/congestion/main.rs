//! Tests of the crate as one program: each of several would link all that is below once more.

mod abc;
mod bbr;
mod bbr3;
mod bbr3_links;
mod contention;
mod coupled;
mod cupid;
mod equilibria;
mod fast;
mod harness;
mod ledbat;
mod liars;
mod prague;
mod properties;
mod response;
mod scream;
mod send_state;
