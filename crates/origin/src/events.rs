//! The events of an origin, for its observers: logs, pages, tests.

use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::Time;
use airlane_minerva::Update;
use airlane_quic::ControlHandle;
use http::StatusCode;

use super::provider::Cohort;
use crate::cmcd::Cmcd;
use crate::store::Part;

/// A client's connection: what identifies it in events and sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientConnection {
    /// The connection's number among all in [`Sessions`](super::sessions::Sessions), from 0.
    pub id: u64,
    /// The client's address when it connected.
    pub peer: SocketAddr,
    /// The protocol that carries its requests.
    pub carrier: Carrier,
}

/// The protocol that carries requests.
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
pub struct Requested<'a> {
    /// Time at which it arrived.
    pub at: Time,
    /// The id of the playback session; empty if the player sends none.
    pub session: &'a str,
    /// The part.
    pub part: &'a Part,
    /// Its CMCD.
    pub cmcd: &'a Cmcd,
    /// True if it begins its session.
    pub begins: bool,
    /// Cohort of the session: who sets its weight.
    pub cohort: Cohort,
}

/// A response that was handed over to the connection, whole or not.
#[derive(Clone, Copy, Debug)]
pub struct Responded<'a> {
    /// Time at which its last byte was handed over.
    pub at: Time,
    /// The time since the request.
    pub took: Duration,
    /// The id of the playback session, if the request was for a part of a title.
    pub session: Option<&'a str>,
    /// The request's method.
    pub method: &'a str,
    /// Its path.
    pub path: &'a str,
    /// The response's status.
    pub status: StatusCode,
    /// Bytes of its body.
    pub bytes: u64,
    /// True if it is whole.
    pub whole: bool,
}

/// Observes an origin. Methods are called from the origin's tasks and must
/// not wait.
pub trait OriginEvents: Send + Sync {
    /// A client connected; `control` reaches the connection's controller, none over TCP.
    fn connected(&self, client: &ClientConnection, control: Option<&ControlHandle>) {
        let _ = (client, control);
    }
    /// A connection ended.
    fn disconnected(&self, client: &ClientConnection) {
        let _ = client;
    }
    /// A part of a title was requested.
    fn requested(&self, client: &ClientConnection, requested: &Requested<'_>) {
        let _ = (client, requested);
    }
    /// A player posted a CMCD report.
    fn reported(&self, at: Time, report: &Cmcd) {
        let _ = (at, report);
    }
    /// Minerva set the weight of a session; that of its connection is the sum over its sessions.
    fn weight_set(&self, client: &ClientConnection, session: &str, update: &Update) {
        let _ = (client, session, update);
    }
    /// The weights that were due on a connection, possibly none, were set: how long that took, by
    /// the runtime's clock. In virtual time it takes no time.
    fn weights_updated(&self, took: Duration) {
        let _ = took;
    }
    /// A request was answered.
    fn responded(&self, client: &ClientConnection, responded: &Responded<'_>) {
        let _ = (client, responded);
    }
}

/// Observes nothing.
impl OriginEvents for () {}
