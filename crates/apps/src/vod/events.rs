//! The events of an origin, for its observers: logs, pages, tests.

use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::Time;
use airlane_minerva::Update;
use airlane_quic::ControlHandle;
use http::StatusCode;

use super::provider::Treatment;
use crate::cmcd::Cmcd;
use crate::content::Part;

/// One client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visitor {
    /// Its number among all that came to the origin's [`Sessions`](super::sessions::Sessions), from 0.
    pub id: u64,
    /// The client's address when it connected.
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
    /// Its CMCD.
    pub cmcd: &'a Cmcd,
    /// Whether it begins its session.
    pub begins: bool,
    /// How the session is treated.
    pub treatment: Treatment,
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

/// Observes an origin. Methods are called from the origin's tasks and must
/// not wait.
pub trait OriginEvents: Send + Sync {
    /// A client connected; `control` reaches the connection's controller, none over TCP.
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
    /// A player posted a CMCD report.
    fn reported(&self, at: Time, report: &Cmcd) {
        let _ = (at, report);
    }
    /// Minerva set the weight of a session; that of its connection is the sum over its sessions.
    fn weighed(&self, visitor: &Visitor, session: &str, update: &Update) {
        let _ = (visitor, session, update);
    }
    /// The weights that were due on a connection were set, which may have been none: how long that
    /// took, by the runtime's clock. In virtual time it takes none.
    fn updated(&self, took: Duration) {
        let _ = took;
    }
    /// A request was answered.
    fn responded(&self, visitor: &Visitor, responded: &Responded<'_>) {
        let _ = (visitor, responded);
    }
}

/// Observes nothing.
impl OriginEvents for () {}
