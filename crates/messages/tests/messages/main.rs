//! Two sessions with a network between them, in virtual time.

mod ecn;
mod hostile;
mod link;
mod outage;
mod path;
mod vectors;
mod whole;
