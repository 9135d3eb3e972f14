//! What a server does beside answering, until it stops.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use airlane_runtime::{RuntimeExt, RuntimeHandle};
use tokio::sync::watch as signal;

use super::off_thread;
use super::site::Site;
use airlane_certificate::{Refresh, ServedCertificates};
use airlane_host::date;

/// Does `work` until the server stops.
pub(super) async fn until_stopped(
    mut stop: signal::Receiver<bool>,
    work: impl Future<Output = ()>,
) {
    tokio::select! {
        biased;
        _ = stop.wait_for(|s| *s) => {}
        () = work => {}
    }
}

/// Looks at all sessions each second, for ever.
pub(super) async fn keep_history(site: Arc<Site>, clock: RuntimeHandle) {
    let second = Duration::from_secs(1);
    let mut next = clock.now() + second;
    loop {
        clock.sleep(next - clock.now()).await;
        site.registry.on_tick(&clock).await;
        // Where it took longer than a second, the next one follows after another.
        next = (next + second).max(clock.now());
    }
}

/// Shows new certificates when there are some, for ever.
pub(super) async fn watch_certificates(
    certificates: Arc<ServedCertificates>,
    clock: RuntimeHandle,
    every: Duration,
) {
    loop {
        clock.sleep(every).await;
        let looking = certificates.clone();
        match off_thread(move || looking.refresh(date::now_s())).await {
            Ok(Refresh::Unchanged) => {}
            Ok(Refresh::Changed) => {
                tracing::info!("other certificates are shown from now on");
                if let Some(made) = certificates.development() {
                    let hash = made.spki_sha256;
                    tracing::info!("the development certificate's public key SHA-256: {hash}");
                }
            }
            Ok(Refresh::Unfit(e)) => tell_unfit(&e),
            Err(e) => tell_unfit(&e),
        }
    }
}

fn tell_unfit(reason: &dyn std::error::Error) {
    tracing::error!("the certificates stay as they were: {reason}");
}
