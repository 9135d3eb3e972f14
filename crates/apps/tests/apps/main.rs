//! Tests of the crate as one program: each of several would link all that is below once more.

mod air_agent;
mod ended;
mod film;
mod hostile_peers;
mod keystrokes;
mod lines;
mod media_path;
mod media_path_moves;
mod multipath;
mod peers;
mod radio_terms;
mod sessions;
mod stolen_weight;
mod stopping;
mod tiles;
mod trunks;
mod unread;
