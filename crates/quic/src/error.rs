//! What can go wrong with connections and streams.

use std::io;
use std::path::{Path, PathBuf};

use noq_proto::{ConnectError, ConnectionError, TransportErrorCode};

/// An endpoint or a connection failed, or was ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuicError {
    /// A socket or a file.
    #[error("{}{message}", .path.as_ref().map(|p| format!("{}: ", p.display())).unwrap_or_default())]
    Io {
        /// The file, if it was one.
        path: Option<PathBuf>,
        /// Message of the system's error.
        message: String,
    },
    /// A setting that QUIC does not allow.
    #[error("{0}")]
    Config(String),
    /// Certificates, keys, or what TLS says of them.
    #[error("TLS: {0}")]
    Tls(String),
    /// No authority that this side trusts signed the peer's certificate.
    #[error("no trusted authority signed the certificate: {0}")]
    Untrusted(String),
    /// Nothing was heard for the idle timeout.
    #[error("the peer has been silent for too long")]
    TimedOut,
    /// This side closed the connection.
    #[error("closed by this side")]
    ClosedHere,
    /// The peer's application closed the connection.
    #[error("closed by the peer with code {code}: {reason}")]
    ClosedByPeer {
        /// Its code.
        code: u64,
        /// Its words.
        reason: String,
    },
    /// The transport failed: a violation of the protocol, a reset, an unknown version.
    #[error("{0}")]
    Transport(String),
    /// This side failed inside, in its congestion controller say: a fault of the program.
    #[error("this side failed inside: {0}")]
    Fault(String),
    /// The stream was reset by the peer, or the peer does not want what is written.
    #[error("the stream was ended by the peer with code {code}")]
    StreamEnded {
        /// Its code.
        code: u64,
    },
    /// The stream was finished, reset or stopped here before.
    #[error("the stream is closed")]
    StreamClosed,
    /// HTTP/3 as the peer or this side must not speak it.
    #[error("HTTP/3: {0}")]
    Http(String),
}

impl QuicError {
    pub(crate) fn io(path: &Path, e: io::Error) -> Self {
        Self::Io { path: Some(path.to_owned()), message: e.to_string() }
    }
}

impl From<io::Error> for QuicError {
    fn from(e: io::Error) -> Self {
        Self::Io { path: None, message: e.to_string() }
    }
}

impl From<ConnectError> for QuicError {
    fn from(e: ConnectError) -> Self {
        match e {
            ConnectError::EndpointStopping => Self::ClosedHere,
            other => Self::Config(other.to_string()),
        }
    }
}

impl From<ConnectionError> for QuicError {
    fn from(e: ConnectionError) -> Self {
        /// TLS's alert `unknown_ca` (RFC 8446, section 6.2).
        const UNKNOWN_CA: u8 = 48;
        match e {
            // Raised here, not told by the peer.
            ConnectionError::TransportError(e)
                if e.code == TransportErrorCode::crypto(UNKNOWN_CA) =>
            {
                Self::Untrusted(e.reason)
            }
            ConnectionError::TimedOut => Self::TimedOut,
            ConnectionError::LocallyClosed => Self::ClosedHere,
            ConnectionError::ApplicationClosed(close) => Self::ClosedByPeer {
                code: close.error_code.into_inner(),
                reason: String::from_utf8_lossy(&close.reason).into_owned(),
            },
            other => Self::Transport(other.to_string()),
        }
    }
}
