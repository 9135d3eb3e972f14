//! Ending what runs in the background.

use std::future::Future;

use tokio::sync::watch;

/// Told, or dropped, it ends the work that was made [`until`] it.
pub(crate) type Stop = watch::Sender<bool>;

/// Does `work` until `stop` says so or is dropped.
pub(crate) fn until(
    stop: &Stop,
    work: impl Future<Output = ()> + Send + 'static,
) -> impl Future<Output = ()> + Send + 'static {
    let mut stop = stop.subscribe();
    async move {
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => {}
            () = work => {}
        }
    }
}
