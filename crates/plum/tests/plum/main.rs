//! The optimiser through its public interface.

mod brute_force;
mod common;
mod conic;
mod input;
mod invariance;
mod kkt;
mod multistart;
mod slsqp;
mod theorems;
mod validity;
