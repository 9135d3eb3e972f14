//! Calls in virtual time and over loopback.

mod behaviour;
mod codec;
mod loopback;
mod repeatable;
mod scene;
