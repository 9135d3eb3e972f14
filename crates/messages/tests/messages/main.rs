//! Two sessions with a network between them, in virtual time.

mod ecn;
mod hostile;
mod link;
mod media_rate;
mod outage;
mod path;
mod vectors;
mod whole;
