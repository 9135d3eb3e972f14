//! Calls in virtual time and over loopback.

mod behaviour;
mod loopback;
mod repeatable;
mod scene;
