//! How good it was: perceptual quality, chunk QoE, fairness indices and statistics.
