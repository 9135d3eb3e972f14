#![doc = include_str!("../README.md")]
//!
//! - [`TitleModel`]: a video, the QoE and the player it is watched with, as plain tables.
//! - [`Abr`]: an algorithm as a black box: [`Fixed`], [`RateBased`], [`BufferBased`], [`Bola`],
//!   [`Mpc`] (plain and robust).
//! - [`PlayerModel`]: the buffer as a state machine on the axis of time, for the player role and
//!   for simulation alike.
//! - [`fixed_rate`]: the same player at a constant rate.

pub mod algorithm;
pub mod bola;
pub mod buffer_based;
pub mod fixed_rate;
pub mod kind;
pub mod mpc;
pub mod player;
pub mod state;
pub mod title_model;

pub use algorithm::{Abr, Fixed, RateBased, next_rung};
pub use bola::Bola;
pub use buffer_based::BufferBased;
pub use kind::{AbrKind, CustomAbr};
pub use mpc::Mpc;
pub use player::{PlayedChunk, PlayerModel, PlayerPhase};
pub use state::{HISTORY, History, PlayerState, WINDOW};
pub use title_model::{MAX_RUNGS, PlayerConfig, TitleModel};
