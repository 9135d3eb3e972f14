//! Connections of the serving end to targets.

use std::io;
use std::net::SocketAddr;

use airlane_runtime::RuntimeHandle;
use tokio::net::{TcpStream, lookup_host};

use super::request::{Reply, Target};
use super::rules::{NotAllowed, TargetPolicy};
use crate::happy_eyeballs::{interleave, race};

/// Why there is no connection to a target.
#[derive(Debug)]
pub(super) enum Unreached {
    /// None of its addresses is allowed.
    NotAllowed(NotAllowed),
    /// It has no address, or none of those that are allowed answers.
    Failed(Reply),
}

/// A connection to the first address of a target that is allowed and answers. The addresses that were
/// checked are those that are connected to: a name may stand for others the next time.
///
/// # Errors
/// If there is none.
pub(super) async fn reach(
    runtime: &RuntimeHandle,
    policy: &TargetPolicy,
    target: &Target,
) -> Result<TcpStream, Unreached> {
    let no_host = Unreached::Failed(Reply::NoHost);
    let Ok(found) = lookup_host((target.host.as_str(), target.port)).await else {
        return Err(no_host);
    };
    let (mut allowed, mut why): (Vec<SocketAddr>, _) = (Vec::new(), no_host);
    for address in found {
        match policy.check(target, address.ip()) {
            Ok(()) => allowed.push(address),
            Err(not_allowed) => why = Unreached::NotAllowed(not_allowed),
        }
    }
    if allowed.is_empty() {
        return Err(why);
    }
    let connected = race(runtime, &interleave(allowed), TcpStream::connect).await;
    connected.map_err(|failed| Unreached::Failed(reply_to(&failed)))
}

/// How a client hears of failures: of that of a host that answered, if one did.
fn reply_to(failed: &[io::Error]) -> Reply {
    let replies = failed.iter().map(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => Reply::Refused,
        io::ErrorKind::NetworkUnreachable => Reply::NoNetwork,
        io::ErrorKind::HostUnreachable => Reply::NoHost,
        io::ErrorKind::TimedOut => Reply::TimedOut,
        _ => Reply::Failed,
    });
    let rank = |reply: &Reply| match reply {
        Reply::Refused => 3,
        Reply::TimedOut => 2,
        Reply::NoHost => 1,
        _ => 0,
    };
    replies.max_by_key(rank).unwrap_or(Reply::Failed)
}
