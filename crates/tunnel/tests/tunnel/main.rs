//! Tunnels over loopback, through a proxy that can take interfaces away.

use std::time::Duration;

mod air;
mod ends;
mod figures;
mod interface_configs;
mod keys;
mod limits;
mod load;
mod socks;
mod transfers;
mod unauthenticated;

/// Runs a test on threads of its own, for five minutes at most.
fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(300), test).await })
        .expect("it comes to an end");
}
