//! Passes on what the origin tells: to the registry, the access log, and the operator's log.

use std::sync::Arc;
use std::time::Duration;

use airlane_apps::cmcd::Cmcd;
use airlane_apps::vod::{Asked, OriginEvents, Responded, Visitor};
use airlane_base::Time;
use airlane_minerva::Update;
use airlane_quic::ControlHandle;

use super::groups::Arm;
use super::log::AccessLog;
use super::site::Site;
use crate::said::Said;

pub(super) struct Watch {
    site: Arc<Site>,
    log: Option<Arc<AccessLog>>,
    said: Said,
}

impl Watch {
    pub(super) fn new(site: Arc<Site>, log: Option<Arc<AccessLog>>) -> Self {
        Self { site, log, said: Said::default() }
    }

    /// Says something once.
    fn say(&self, what: &str) {
        if self.said.is_news(what) {
            tracing::info!("{what}");
        }
    }
}

impl OriginEvents for Watch {
    fn connected(&self, visitor: &Visitor, control: Option<&ControlHandle>) {
        self.site.registry().on_connected(visitor, control);
    }

    fn disconnected(&self, visitor: &Visitor) {
        self.site.registry().on_disconnected(visitor);
    }

    fn asked(&self, visitor: &Visitor, asked: &Asked<'_>) {
        let catalogue = self.site.catalogue();
        let fresh = self.site.registry().on_asked(visitor, asked, &catalogue.groups);
        if !fresh {
            return;
        }
        let Asked { session, part, cmcd, .. } = asked;
        let (title, carrier) = (&part.title, visitor.carrier.name());
        tracing::info!(peer = %visitor.peer, carrier, %title, session, "a session began");
        match catalogue.groups.arm(title, session, cmcd) {
            Arm::Silent => {
                let peer = visitor.peer.ip();
                self.say(&format!("{peer} sends no CMCD: its sessions get a plain share"));
            }
            Arm::Unmeasured => {
                self.say(&format!("{title} has no quality table: its sessions get a plain share"));
            }
            Arm::Minerva | Arm::Control | Arm::Plain => {}
        }
    }

    fn reported(&self, at: Time, report: &Cmcd) {
        self.site.registry().on_reported(at, report);
    }

    fn weighed(&self, visitor: &Visitor, session: &str, update: &Update) {
        self.site.registry().on_weighed(visitor, session, update);
    }

    fn updated(&self, took: Duration) {
        self.site.registry().on_updated(took);
    }

    fn responded(&self, visitor: &Visitor, responded: &Responded<'_>) {
        self.site.registry().on_responded(visitor, responded);
        if let Some(log) = &self.log {
            let arm = responded
                .session
                .filter(|_| self.site.split.is_some())
                .and_then(|session| self.site.registry().arm(visitor, session));
            log.write(visitor, responded, arm);
        }
    }
}
