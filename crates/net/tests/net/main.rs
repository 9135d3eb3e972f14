//! Tests of the crate as one program: each of several would link all that is below once more.

mod abc;
mod air;
mod air_heard;
mod air_properties;
mod air_scenes;
mod codel;
mod common;
mod conservation;
mod impairments;
mod links;
mod network;
mod octopus;
mod pie;
mod priority_drop;
mod queue_contract;
mod supplies;
mod topology;
mod trace_fading;
mod trace_radios;
mod trace_scaling;
mod trace_shapes;
mod trace_synthetic;
mod traces;
