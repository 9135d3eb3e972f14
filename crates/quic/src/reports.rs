//! Reports of receivers: small messages beside a connection's data that tell the sender's controller
//! what the receiver measures. They travel as QUIC datagrams (RFC 9221), so that they are sealed and
//! answered for by the connection, and one that is lost is not sent again.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_congestion::Signal;
use bytes::Bytes;

/// Makes the reports of one connection: the next one, if there is anything to report.
pub type Reporter = Box<dyn FnMut(Time) -> Option<Bytes> + Send>;
/// Reads the reports that come over one connection: what they tell the controller, if anything.
pub type ReportReader = Box<dyn FnMut(Time, &[u8]) -> Option<Signal> + Send>;

/// Source of the reports of a client's connections.
#[derive(Clone)]
pub struct ReportSource {
    pub(crate) every: Duration,
    pub(crate) open: Arc<dyn Fn() -> Reporter + Send + Sync>,
}

impl ReportSource {
    /// Asks what `open` makes for each connection for a report, again and again after `every`. It is
    /// dropped when the connection has ended.
    pub fn new(every: Duration, open: impl Fn() -> Reporter + Send + Sync + 'static) -> Self {
        Self { every, open: Arc::new(open) }
    }
}

impl fmt::Debug for ReportSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReportSource").field("every", &self.every).finish_non_exhaustive()
    }
}

/// Reports of receivers to controllers, at either end of a connection.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    /// A client's reports to the controllers of its servers.
    pub source: Option<ReportSource>,
    /// Sink to which a server passes the reports of its clients.
    pub sink: Option<ReportSink>,
}

/// Factory of the readers for the reports that come to a server.
#[derive(Clone)]
pub struct ReportSink(Arc<dyn Fn() -> ReportReader + Send + Sync>);

impl ReportSink {
    /// Reads the reports of each connection with what `open` makes for it.
    pub fn new(open: impl Fn() -> ReportReader + Send + Sync + 'static) -> Self {
        Self(Arc::new(open))
    }

    pub(crate) fn open(&self) -> ReportReader {
        (self.0)()
    }
}

impl fmt::Debug for ReportSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReportSink").finish_non_exhaustive()
    }
}
