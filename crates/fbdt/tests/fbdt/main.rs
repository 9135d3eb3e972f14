//! FBDT through its public interface.

mod emulated;
mod model;
mod preference;
mod stream;
mod wire;
