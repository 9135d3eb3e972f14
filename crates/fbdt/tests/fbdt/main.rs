//! FBDT through its public interface.

mod emulated;
mod memory;
mod model;
mod preference;
mod stream;
mod wire;
