//! `airlane link` and `airlane relay`: a link until it is told to stop.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use airlane_link::{Link, LinkConfig, LinkError};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::print;
use crate::error::CommandError;

/// Interval at which the thread that waits for signals checks for them.
const LOOK: Duration = Duration::from_millis(100);
/// Maximum time for which a port to listen on may be taken, and interval of the attempts.
const PORT_TIMEOUT: Duration = Duration::from_secs(1);
const PORT_INTERVAL: Duration = Duration::from_millis(20);

/// Runs until a signal comes; the exit code.
///
/// A line of figures is printed every `interval`; `None`: none are.
pub(super) fn link(request: LinkConfig, interval: Option<Duration>) -> Result<u8, CommandError> {
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [SIGINT, SIGTERM] {
        signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)
            .map_err(|e| CommandError::fault(format!("cannot listen for signals: {e}")))?;
    }
    let told = || signal.load(Ordering::Relaxed) != 0;
    let mut link = start(&request, told).map_err(failed)?;
    let start = link.totals().map_err(failed)?;
    let at: String = link.addresses().iter().map(|a| format!(" {a}")).collect();
    print(&format!("ready{}{at}\n", if at.is_empty() { "" } else { ":" }))?;
    let interval = interval.unwrap_or(Duration::MAX);
    let (mut last, mut left) = (start.clone(), interval);
    while !told() && !link.wait(left.min(LOOK)) {
        left = left.saturating_sub(LOOK);
        if left.is_zero() {
            let now = link.totals().map_err(failed)?;
            print(&format!("{}\n", now.since(&last)))?;
            (last, left) = (now, interval);
        }
    }
    let end = link.stop().map_err(failed)?;
    print(&format!("in {:.1} s: {}\n", (end.at - start.at).as_secs_f64(), end.since(&start)))?;
    // Service managers stop a link by SIGTERM, and expect a clean exit.
    Ok(if signal.load(Ordering::Relaxed) == SIGTERM as usize { 0 } else { 130 })
}

/// Starts a link. A port that is taken may be given up in a moment, by the link that this one takes the
/// place of.
fn start(request: &LinkConfig, told: impl Fn() -> bool) -> Result<Link, LinkError> {
    let mut left = PORT_TIMEOUT;
    loop {
        match Link::start(request) {
            Err(LinkError::Listen { source, .. })
                if source.kind() == ErrorKind::AddrInUse && !left.is_zero() && !told() =>
            {
                std::thread::park_timeout(PORT_INTERVAL);
                left = left.saturating_sub(PORT_INTERVAL);
            }
            started => return started,
        }
    }
}

/// A link's reason as the command line tells it.
pub(super) fn failed(error: LinkError) -> CommandError {
    match error {
        LinkError::Input(e) => e.into(),
        LinkError::Gone => CommandError::fault(error.to_string()),
        other => CommandError::machine(&other),
    }
}
