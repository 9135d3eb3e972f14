//! Cupid on a host on the air, beside its flows: what the host's radio hears becomes reports, which each of
//! the connections that it receives on carries to its sender, and the rates of those that it sends on itself.
//! And the sender's side, which tells its controller.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_congestion::{Grant, Signal};
use airlane_cupid::{Agent, AgentOptions, Feedback, Inbox};
use airlane_quic::{ControlHandle, ReportSink, ReportSource};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use airlane_wifi::Heard;
use bytes::Bytes;
use parking_lot::Mutex;

/// An agent that listens to the air for all flows of its host. Clones are handles to the same one.
#[derive(Clone)]
pub struct AirAgent {
    every: Duration,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    agent: Agent,
    hear: Box<dyn FnMut() -> Option<Vec<Heard>> + Send>,
    /// Connections that ask for reports.
    flows: u32,
    latest: Option<Feedback>,
    tell: Option<Tell>,
}

/// Gets each report when it is made.
type Tell = Box<dyn FnMut(Time, &Feedback) + Send>;

impl AirAgent {
    /// An agent that reports from `now` on; `hear` gives what was heard since it was called last, and `None`
    /// once nobody listens any more: then there are no more reports.
    pub fn new(
        options: AgentOptions,
        now: Time,
        hear: impl FnMut() -> Option<Vec<Heard>> + Send + 'static,
    ) -> Self {
        let (agent, hear) = (Agent::new(options, now), Box::new(hear));
        let inner = Inner { agent, hear, flows: 0, latest: None, tell: None };
        Self { every: options.interval, inner: Arc::new(Mutex::new(inner)) }
    }

    /// Calls `tell` with each report when it is made, beside what connections carry.
    pub fn tell(&self, tell: impl FnMut(Time, &Feedback) + Send + 'static) {
        self.inner.lock().tell = Some(Box::new(tell));
    }

    /// Source of the reports that a client's connections send. The rate of the station is shared by
    /// those that are open.
    pub fn report_source(&self) -> ReportSource {
        let inner = self.inner.clone();
        ReportSource::new(self.every, move || {
            let mut flow = Flow::new(inner.clone());
            Box::new(move |now| Some(Bytes::copy_from_slice(&flow.next(now)?.encode())))
        })
    }

    /// A function that tells the latest report, if it has not told it before: for who goes by reports without a
    /// connection that carries them.
    pub fn reports(&self) -> impl FnMut(Time) -> Option<Feedback> + Send + 'static {
        let mut flow = Flow::new(self.inner.clone());
        move |now| flow.next(now)
    }

    /// Tells the controller of a connection that the host sends on what it is granted, until the connection
    /// has ended or if it takes no rates: there is nobody on the air at the other end to report. The agent is
    /// one for uploads.
    pub async fn grant(self, control: ControlHandle, runtime: RuntimeHandle) {
        let mut flow = Flow::new(self.inner.clone());
        loop {
            runtime.sleep(self.every).await;
            let has_ended = control.remote_addr().is_none();
            let report = flow.next(runtime.now());
            if has_ended || report.is_some_and(|report| !control.grant(grant_of(&report))) {
                return;
            }
        }
    }
}

impl Inner {
    /// The latest report, which is made when it is due, whichever connection asks first.
    fn report(&mut self, now: Time) -> Option<Feedback> {
        for heard in (self.hear)()? {
            self.agent.hear(&heard);
        }
        if let Some((feedback, _)) = self.agent.poll(now, self.flows) {
            if let Some(tell) = &mut self.tell {
                tell(now, &feedback);
            }
            self.latest = Some(feedback);
        }
        self.latest
    }
}

impl fmt::Debug for AirAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AirAgent").finish_non_exhaustive()
    }
}

/// A connection that asks for reports; it counts until it is dropped.
struct Flow {
    inner: Arc<Mutex<Inner>>,
    /// The last report that it had.
    last: Option<u16>,
}

impl Flow {
    fn new(inner: Arc<Mutex<Inner>>) -> Self {
        let mut of = inner.lock();
        of.flows += 1;
        if of.flows == 1 {
            of.agent.restart();
            of.latest = None;
        }
        drop(of);
        Self { inner, last: None }
    }

    /// The latest report, if it has not had it yet.
    fn next(&mut self, now: Time) -> Option<Feedback> {
        let latest = self.inner.lock().report(now)?;
        let is_new = self.last.replace(latest.sequence) != Some(latest.sequence);
        is_new.then_some(latest)
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.inner.lock().flows -= 1;
    }
}

/// Sink with which a sender's connections take reports.
pub fn report_sink() -> ReportSink {
    ReportSink::new(|| {
        let mut inbox = Inbox::new();
        Box::new(move |now, bytes| {
            // What is no report, or an old one, tells nothing.
            let feedback = inbox.take(now, bytes).ok().flatten()?;
            Some(Signal::Grant(grant_of(&feedback)))
        })
    })
}

fn grant_of(report: &Feedback) -> Grant {
    Grant {
        rate: report.rate,
        interval: report.interval(),
        has_room: report.has_room,
        is_full: report.is_full(),
        is_isolated: report.is_isolated,
    }
}
