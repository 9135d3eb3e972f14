//! Cupid on a receiving host, beside its flows: what the host's radio hears becomes reports, which each
//! of its connections carries to its sender. And the sender's side, which tells its controller.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_congestion::{Grant, Signal};
use airlane_cupid::{Agent, AgentOptions, Feedback, Inbox};
use airlane_quic::{ReportSink, ReportSource};
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
    hear: Box<dyn FnMut() -> Vec<Heard> + Send>,
    /// Connections that ask for reports.
    flows: u32,
    latest: Option<Feedback>,
    tell: Option<Tell>,
}

/// Gets each report when it is made.
type Tell = Box<dyn FnMut(Time, &Feedback) + Send>;

impl AirAgent {
    /// An agent that reports from `now` on; `hear` gives what was heard since it was called last.
    pub fn new(
        options: AgentOptions,
        now: Time,
        hear: impl FnMut() -> Vec<Heard> + Send + 'static,
    ) -> Self {
        let (agent, hear) = (Agent::new(options, now), Box::new(hear));
        let inner = Inner { agent, hear, flows: 0, latest: None, tell: None };
        Self { every: options.interval, inner: Arc::new(Mutex::new(inner)) }
    }

    /// Calls `tell` with each report when it is made, beside what connections carry.
    pub fn tell(&self, tell: impl FnMut(Time, &Feedback) + Send + 'static) {
        self.inner.lock().tell = Some(Box::new(tell));
    }

    /// What a client's connections report. The rate of the station is shared by those that are open.
    pub fn report_source(&self) -> ReportSource {
        let inner = self.inner.clone();
        ReportSource::new(self.every, move || {
            let flow = Flow::new(inner.clone());
            let mut sent = None;
            Box::new(move |now| {
                let latest = flow.inner.lock().report(now)?;
                let is_new = sent.replace(latest.sequence) != Some(latest.sequence);
                is_new.then(|| Bytes::copy_from_slice(&latest.encode()))
            })
        })
    }
}

impl Inner {
    /// The latest report, which is made when it is due, whichever connection asks first.
    fn report(&mut self, now: Time) -> Option<Feedback> {
        for heard in (self.hear)() {
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
        Self { inner }
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.inner.lock().flows -= 1;
    }
}

/// What a sender's connections take reports with.
pub fn report_sink() -> ReportSink {
    ReportSink::new(|| {
        let mut inbox = Inbox::new();
        Box::new(move |now, bytes| {
            // What is no report, or an old one, tells nothing.
            let feedback = inbox.take(now, bytes).ok().flatten()?;
            Some(Signal::Grant(Grant {
                rate: feedback.rate,
                interval: feedback.interval(),
                has_room: feedback.has_room,
            }))
        })
    })
}
