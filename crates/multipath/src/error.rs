//! Errors of streams and of the subflows under them.

use std::fmt;

use airlane_quic::QuicError;

/// Error with which a stream over several paths ended, or a path of it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MultipathError {
    /// A connection failed: a path ended.
    #[error("a path ended: {0}")]
    Path(#[from] QuicError),
    /// A connection failed that is none of QUIC: a path ended.
    #[error("a path ended: {0}")]
    Io(String),
    /// The peer gave the stream up, or knows it no more.
    #[error("the peer gave the stream up: {0}")]
    Reset(Reason),
    /// The peer sent what is no frame of FBDT.
    #[error("the peer's bytes: {0}")]
    Wire(#[from] airlane_fbdt::wire::WireError),
    /// The peer sent segments that do not fit.
    #[error("the peer's data: {0}")]
    Segment(#[from] airlane_fbdt::ReceiverError),
    /// The peer acknowledged what it cannot have.
    #[error("the peer's acknowledgement: {0}")]
    Ack(#[from] airlane_fbdt::AckError),
    /// The peer sent what an engine from outside refuses.
    #[error("the peer's data: {0}")]
    Engine(String),
    /// The peer does not keep to the protocol, or asks for what is not given.
    #[error("the peer broke the protocol: {0}")]
    Protocol(&'static str),
    /// The peer is gone: it ended a path before the stream was over.
    #[error("the peer ended a path before the stream was over")]
    Ended,
    /// No path was there for too long.
    #[error("no path was there for {0} s")]
    NoPath(u64),
    /// This end gave the stream up.
    #[error("the stream was given up")]
    GivenUp,
    /// A task of this end panicked in the middle of the stream: what it holds cannot be trusted.
    #[error("a fault of this end, please report it: a task of the stream panicked")]
    Panicked,
}

impl From<std::io::Error> for MultipathError {
    fn from(e: std::io::Error) -> Self {
        Self::Io(e.to_string())
    }
}

impl MultipathError {
    /// A data stream has something else than segments.
    pub const NO_DATA: Self = Self::Protocol("a data_stream with something else than data");
    /// A control stream has segments.
    pub const DATA: Self = Self::Protocol("data on the control stream");

    /// True if the peer broke the protocol, so that the whole stream must end.
    pub(crate) fn is_fatal(&self) -> bool {
        !matches!(self, Self::Path(_) | Self::Io(_) | Self::Ended)
    }
}

/// The reason for which an end gives a stream up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The application wants no more of it.
    GivenUp = 1,
    /// This end knows it no more: it was given up, or is over for long.
    Unknown = 2,
    /// There are as many streams as there may be, or no memory is left for another.
    Full = 3,
    /// The peer broke the protocol on it.
    Protocol = 4,
    /// No subflow was there for too long.
    NoPath = 5,
}

impl Reason {
    pub(crate) fn of(code: u8) -> Option<Self> {
        [Self::GivenUp, Self::Unknown, Self::Full, Self::Protocol, Self::NoPath]
            .into_iter()
            .find(|reason| *reason as u8 == code)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GivenUp => "its application wants no more of it",
            Self::Unknown => "it knows the stream no more",
            Self::Full => "it has as many streams as it may have",
            Self::Protocol => "this end broke the protocol",
            Self::NoPath => "no subflow was there for too long",
        })
    }
}
