//! Many clients of one call, from one program.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use airlane_base::Seed;
use airlane_host::date;
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{CallTarget, ClientConfig, ClientSummary, join};

/// Clients that join one call.
#[derive(Clone, Debug)]
pub struct Party {
    /// Room to join.
    pub target: CallTarget,
    /// Clients, each with a connection of its own.
    pub clients: Vec<ClientConfig>,
    /// Time from one client's beginning to the next one's.
    pub stagger: Duration,
    /// Time that each takes part; `None`: until it is stopped.
    pub length: Option<Duration>,
}

impl Party {
    /// Takes part on the tokio runtime of this thread until all have ended, or until `stop`, and hands on the summary of
    /// each when it ends. One that cannot join says so in its summary.
    pub async fn run(self, stop: impl Future<Output = ()>, mut on_end: impl FnMut(ClientSummary)) {
        let runtime = TokioRuntime::new(Seed(date::now_ms()));
        let (stopping, stops) = watch::channel(false);
        let mut tasks = JoinSet::new();
        for (n, config) in self.clients.into_iter().enumerate() {
            let (runtime, target) = (runtime.clone(), self.target.clone());
            let start = self.stagger * n as u32;
            tasks.spawn(client(runtime, target, config, start, self.length, stops.clone()));
        }
        let mut stop = pin!(stop);
        let mut is_stopping = false;
        loop {
            tokio::select! {
                biased;
                () = &mut stop, if !is_stopping => {
                    is_stopping = true;
                    stopping.send_replace(true);
                }
                ended = tasks.join_next() => match ended {
                    Some(Ok(summary)) => on_end(summary),
                    Some(Err(e)) => tracing::error!("a participant ended by a fault: {e}"),
                    None => return,
                },
            }
        }
    }
}

async fn client(
    runtime: RuntimeHandle,
    target: CallTarget,
    config: ClientConfig,
    start: Duration,
    length: Option<Duration>,
    mut stops: watch::Receiver<bool>,
) -> ClientSummary {
    let name = config.name.clone();
    let stop = {
        let mut stops = stops.clone();
        async move {
            // Whoever started this may be gone: then it is over too.
            let _ = stops.wait_for(|stops| *stops).await;
        }
    };
    tokio::select! {
        () = runtime.sleep(start) => {}
        _ = stops.wait_for(|stops| *stops) => return ClientSummary { name, ..ClientSummary::default() },
    }
    match join(&runtime, &target, config, length, stop).await {
        Ok(summary) => summary,
        Err(e) => ClientSummary { name, failure: Some(e.to_string()), ..ClientSummary::default() },
    }
}
