//! What all tests share.

use std::time::Duration;

/// Time after which what is waited for is taken not to come. Nothing that is right depends on it: a busy
/// machine may take many times as long as an idle one.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Runs a test on threads of its own, for five minutes at most.
pub fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(300), test).await })
        .expect("it comes to an end");
}
