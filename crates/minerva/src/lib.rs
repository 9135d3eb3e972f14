//! Minerva's decisions: utility, value function, normalisation and the weight update.
