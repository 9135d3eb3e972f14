//! Tests of the crate as one program: each of several would link all that is below once more.

mod airlane_tables;
mod comyco_tables;
mod corpora;
mod embedded;
mod manifests;
mod segments;
