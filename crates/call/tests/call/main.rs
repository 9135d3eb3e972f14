//! Calls in virtual time, and the parts of their roles.

mod conference;
mod media;
mod messages;
mod world;
