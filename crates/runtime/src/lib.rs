#![doc = include_str!("../README.md")]

pub mod api;
pub mod real_time;
pub mod virtual_time;
mod watched;

pub use api::{
    BoxFuture, Datagram, Received, Runtime, RuntimeExt, RuntimeHandle, Sleep, Timer, UdpSocket,
};
pub use watched::Watched;
