#![doc = include_str!("../README.md")]

pub mod api;
pub mod real_time;
pub mod virtual_time;
mod watch_cell;

pub use api::{
    BoxFuture, Datagram, Received, Runtime, RuntimeExt, RuntimeHandle, Sleep, Timer, UdpSocket,
};
pub use watch_cell::WatchCell;
