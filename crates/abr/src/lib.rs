//! Adaptive bitrate algorithms and the player's buffer model, as pure functions.
