//! The task that sends the reports of a client's connection.

use airlane_runtime::RuntimeExt;

use super::link::WeakLink;
use crate::reports::ReportSource;

/// Sends the reports of a connection until it ends, if its server takes any.
pub(crate) async fn send_reports(source: ReportSource, link: WeakLink) {
    let Some(runtime) = link.upgrade().filter(|l| l.takes_reports()).map(|l| l.runtime().clone())
    else {
        return;
    };
    let mut reporter = (source.open)();
    loop {
        runtime.sleep(source.every).await;
        let Some(link) = link.upgrade().filter(|link| !link.has_ended()) else { return };
        if let Some(report) = reporter(runtime.now()) {
            link.send_report(report);
        }
    }
}
