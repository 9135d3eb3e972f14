//! Whether anything is being answered on a connection.

use std::sync::Arc;
use std::time::Duration;

use airlane_runtime::{RuntimeExt, RuntimeHandle};
use tokio::sync::watch;

/// The answers that are on their way on one connection. Clones count the same ones.
#[derive(Clone, Debug)]
pub struct Busy(Arc<watch::Sender<usize>>);

impl Default for Busy {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct BusyWith(Busy);

impl Drop for BusyWith {
    fn drop(&mut self) {
        self.0.0.send_modify(|n| *n -= 1);
    }
}

impl Busy {
    /// One more.
    #[must_use]
    pub fn begin(&self) -> BusyWith {
        self.0.send_modify(|n| *n += 1);
        BusyWith(self.clone())
    }

    /// Ready when nothing is being answered.
    pub async fn none(&self) {
        // The sender is here: it does not go meanwhile.
        let _ = self.0.subscribe().wait_for(|n| *n == 0).await;
    }

    /// Ready when nothing was being answered for so long; `None`: never.
    pub async fn idle(&self, runtime: &RuntimeHandle, limit: Option<Duration>) {
        let Some(limit) = limit else { return std::future::pending().await };
        let mut answers = self.0.subscribe();
        loop {
            let none = answers.wait_for(|n| *n == 0).await.is_ok();
            tokio::select! {
                biased;
                // One that began and ended meanwhile counts too.
                _ = answers.changed(), if none => {}
                () = runtime.sleep(limit) => return,
            }
        }
    }
}
