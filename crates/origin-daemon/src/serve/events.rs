//! Passes the origins' events on to the registry, the metrics, the access log and the operator's log.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_minerva::Update;
use airlane_origin::cmcd::Cmcd;
use airlane_origin::{ClientConnection, Cohort, OriginEvents, Requested, Responded};
use airlane_quic::ControlHandle;

use super::log::AccessLog;
use super::session_view::arm;
use super::site::Site;
use airlane_host::RateLimitedLog;

/// The server's observer of its origins.
pub(super) struct Events {
    site: Arc<Site>,
    log: Option<Arc<AccessLog>>,
    warnings: Arc<RateLimitedLog>,
}

impl Events {
    pub(super) fn new(
        site: Arc<Site>,
        log: Option<Arc<AccessLog>>,
        warnings: Arc<RateLimitedLog>,
    ) -> Self {
        Self { site, log, warnings }
    }
}

impl OriginEvents for Events {
    fn connected(&self, client: &ClientConnection, control: Option<&ControlHandle>) {
        self.site.metrics.on_connected(client);
        self.site.registry.on_connected(client, control);
    }

    fn disconnected(&self, client: &ClientConnection) {
        self.site.metrics.on_disconnected(client);
        self.site.registry.on_disconnected(client);
    }

    fn requested(&self, client: &ClientConnection, requested: &Requested<'_>) {
        if !requested.begins {
            return;
        }
        let Requested { session, part, .. } = requested;
        let (title, carrier) = (&part.title, client.carrier.name());
        self.warnings.info(
            "session",
            format_args!("a session began: {session:?} of {title} for {} ({carrier})", client.peer),
        );
        match requested.cohort {
            Cohort::NoCmcd => {
                let peer = client.peer.ip();
                let message = format_args!("{peer} sends no CMCD: its sessions get a plain share");
                self.warnings.info("no CMCD", message);
            }
            Cohort::NoTable => {
                let message =
                    format_args!("{title} has no quality table: its sessions get a plain share");
                self.warnings.info("no table", message);
            }
            Cohort::Minerva | Cohort::Control | Cohort::Plain => {}
        }
    }

    fn reported(&self, _: Time, _: &Cmcd) {
        self.site.metrics.on_reported();
    }

    fn weight_set(&self, _: &ClientConnection, _: &str, _: &Update) {
        self.site.metrics.on_weight_set();
    }

    fn weights_updated(&self, took: Duration) {
        self.site.metrics.on_weights_updated(took);
    }

    fn responded(&self, client: &ClientConnection, responded: &Responded<'_>) {
        self.site.metrics.on_responded(client, responded);
        if let Some(log) = &self.log {
            let session = responded.session.filter(|_| self.site.split.is_some());
            let arm = session.and_then(|id| {
                let mut sessions = self.site.sessions.lock();
                let key = sessions.key_of(client.id, id, None);
                arm(sessions.get(&key)?)
            });
            log.write(client, responded, arm);
        }
    }
}
