//! What an origin tells whoever wants to know.

use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::Time;
use airlane_minerva::Update;
use airlane_quic::ControlHandle;
use http::StatusCode;

use crate::cmcd::Cmcd;
use crate::content::Part;

/// One client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visitor {
    /// Its number at this origin, from 0.
    pub id: u64,
    /// The client's address when it came.
    pub peer: SocketAddr,
    /// What carries it.
    pub carrier: Carrier,
}

/// What carries requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carrier {
    /// HTTP/1.1 over TCP.
    Http1,
    /// HTTP/2 over TCP.
    Http2,
    /// HTTP/3.
    Http3,
}

impl Carrier {
    /// Its name in logs and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http1 => "http/1.1",
            Self::Http2 => "h2",
            Self::Http3 => "h3",
        }
    }
}

/// A request for a part of a title.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// When it came.
    pub at: Time,
    /// The playback session; empty for players that name none.
    pub session: &'a str,
    /// What is asked for.
    pub part: &'a Part,
    /// What the player says of itself.
    pub cmcd: &'a Cmcd,
}

/// An answer that was handed over, whole or not.
#[derive(Clone, Copy, Debug)]
pub struct Responded<'a> {
    /// When its last byte was.
    pub at: Time,
    /// How long that took since the request.
    pub took: Duration,
    /// The playback session, if the request was for a part of a title.
    pub session: Option<&'a str>,
    /// The request's method.
    pub method: &'a str,
    /// Its path.
    pub path: &'a str,
    /// The answer's status.
    pub status: StatusCode,
    /// Bytes of its body.
    pub bytes: u64,
    /// Whether it is whole.
    pub whole: bool,
}

/// What an origin tells whoever wants to know. Methods are called from the origin's tasks and must
/// not wait.
pub trait OriginEvents: Send + Sync {
    /// A connection came. Its controller can be reached where it is ours.
    fn connected(&self, visitor: &Visitor, control: Option<&ControlHandle>) {
        let _ = (visitor, control);
    }
    /// A connection ended.
    fn disconnected(&self, visitor: &Visitor) {
        let _ = visitor;
    }
    /// A part of a title was asked for.
    fn asked(&self, visitor: &Visitor, asked: &Asked<'_>) {
        let _ = (visitor, asked);
    }
    /// A player posted what it has to say of itself.
    fn reported(&self, at: Time, report: &Cmcd) {
        let _ = (at, report);
    }
    /// Minerva set the weight of a session; that of its connection is the sum over its sessions.
    fn weighed(&self, visitor: &Visitor, session: &str, update: &Update) {
        let _ = (visitor, session, update);
    }
    /// It was looked whether weights are to be set on a connection, and they were where they are:
    /// how long that took, by the runtime's clock. In virtual time it takes none.
    fn updated(&self, took: Duration) {
        let _ = took;
    }
    /// A request was answered.
    fn responded(&self, visitor: &Visitor, responded: &Responded<'_>) {
        let _ = (visitor, responded);
    }
}

/// For whoever does not want to know.
impl OriginEvents for () {}
