//! Acceptance of TCP connections that goes on whatever happens to one of them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_runtime::{RuntimeExt, RuntimeHandle};
use tokio::net::{TcpListener, TcpStream};

use crate::RateLimitedLog;

/// Pause after a connection that was not accepted: out of descriptors, or the peer is gone already.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The next connection of `listener`. One that fails is reported, and others are waited for.
pub async fn accept(
    runtime: &RuntimeHandle,
    listener: &TcpListener,
    warnings: Option<&Arc<RateLimitedLog>>,
) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(e) => {
                if let Some(warnings) = warnings {
                    warnings.warn("accept", format_args!("a TCP connection was not accepted: {e}"));
                }
                runtime.sleep(RETRY_INTERVAL).await;
            }
        }
    }
}
