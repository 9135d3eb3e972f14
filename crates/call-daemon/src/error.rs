//! Failures of the daemon, and refusals of what clients ask for.

use airlane_base::InputError;
use airlane_certificate::CertificateError;
use http::StatusCode;

use crate::names::InvalidRoomName;

/// Reason for which a server or a participant did not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Input or settings that cannot be used.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Certificates that cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A refusal or failure of the other end.
    #[error("{0}")]
    Peer(String),
}

/// Reason for which a client does not take part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A name that is no room's.
    #[error(transparent)]
    Room(#[from] InvalidRoomName),
    /// A body of another media type.
    #[error("expected a body of type {0}")]
    MediaType(&'static str),
    /// A body above the limit, in bytes.
    #[error("expected a body of at most {0} bytes")]
    BodySize(usize),
    /// A body that is no JSON of the right form.
    #[error("expected JSON with \"name\" and \"sdp\": {0}")]
    Json(String),
    /// An SDP offer that cannot be read or answered.
    #[error("the offer cannot be answered: {0}")]
    Offer(String),
    /// No room for another participant in the room of that name.
    #[error("the room is full")]
    RoomFull,
    /// No room for another participant, or another room, on the server.
    #[error("the server is full")]
    ServerFull,
    /// Too many offers of one address.
    #[error("too many offers from this address; try again in a minute")]
    TooManyOffers,
    /// No token, or one that is not good for the room, or no longer.
    #[error("this room takes an invitation; yours is missing, too old or for another room")]
    NotInvited,
    /// A server that stops.
    #[error("the server stops")]
    Stopping,
}

impl Refusal {
    /// Status code of the answer (RFC 9110, section 15).
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Room(_) => StatusCode::NOT_FOUND,
            Self::MediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BodySize(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotInvited => StatusCode::UNAUTHORIZED,
            Self::Json(_) => StatusCode::BAD_REQUEST,
            // RFC 9725, section 4.2: an offer that is understood and cannot be taken, or is malformed.
            Self::Offer(_) => StatusCode::BAD_REQUEST,
            Self::RoomFull | Self::ServerFull | Self::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooManyOffers => StatusCode::TOO_MANY_REQUESTS,
        }
    }
}
