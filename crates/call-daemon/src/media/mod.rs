//! Media of one client: its session, what it publishes, and the lines on which it receives.

pub(crate) mod answerer;
pub(crate) mod continuity;
pub(crate) mod demand;
pub(crate) mod extension;
pub(crate) mod line;
pub(crate) mod offer;
pub(crate) mod remote;
pub(crate) mod session;
pub(crate) mod speaker;
pub(crate) mod stun;
pub(crate) mod track;
