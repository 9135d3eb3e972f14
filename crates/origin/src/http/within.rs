//! Actions that may take so long.

use std::future::Future;
use std::time::Duration;

use airlane_runtime::{RuntimeExt, RuntimeHandle};

/// The result of `action`, or `None` if it takes longer than `limit`.
pub(crate) async fn within<T>(
    runtime: &RuntimeHandle,
    limit: Option<Duration>,
    action: impl Future<Output = T>,
) -> Option<T> {
    let Some(limit) = limit else { return Some(action.await) };
    tokio::select! {
        biased;
        result = action => Some(result),
        () = runtime.sleep(limit) => None,
    }
}
