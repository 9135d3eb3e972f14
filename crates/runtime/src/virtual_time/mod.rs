//! Virtual time: a deterministic executor that drives an emulated network.
