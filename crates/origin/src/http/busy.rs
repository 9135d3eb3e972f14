//! Whether anything is being answered on a connection.

use std::sync::Arc;
use std::time::Duration;

use airlane_runtime::{RuntimeExt, RuntimeHandle, WatchCell};

/// The answers that are on their way on one connection. Clones count the same ones.
#[derive(Clone, Debug, Default)]
pub struct Busy(Arc<WatchCell<Answers>>);

/// Numbers of answers.
#[derive(Clone, Copy, Debug, Default)]
struct Answers {
    under_way: usize,
    /// Since the beginning.
    begun: u64,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct BusyWith(Busy);

impl Drop for BusyWith {
    fn drop(&mut self) {
        self.0.0.update(|answers| answers.under_way -= 1);
    }
}

impl Busy {
    /// One more.
    #[must_use]
    pub fn begin(&self) -> BusyWith {
        self.0.update(|answers| {
            answers.under_way += 1;
            answers.begun += 1;
        });
        BusyWith(self.clone())
    }

    /// Ready when nothing is being answered.
    pub async fn none(&self) {
        self.0.wait_for(|answers| (answers.under_way == 0).then_some(())).await;
    }

    /// Ready when nothing was being answered for so long; `None`: never.
    pub async fn idle(&self, runtime: &RuntimeHandle, limit: Option<Duration>) {
        let Some(limit) = limit else { return std::future::pending().await };
        loop {
            let is_idle = |answers: &Answers| (answers.under_way == 0).then_some(answers.begun);
            let begun = self.0.wait_for(is_idle).await;
            tokio::select! {
                biased;
                // One that began and ended meanwhile counts too.
                () = self.0.wait_for(|answers| (answers.begun != begun).then_some(())) => {}
                () = runtime.sleep(limit) => return,
            }
        }
    }
}
