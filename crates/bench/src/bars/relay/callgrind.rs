//! Instructions of a relay, as valgrind counts them.

use std::process::Command;
use std::time::Duration;

use super::traffic::Relay;
use crate::bar::Problem;
use crate::clock::Watch;
use crate::process::Scratch;

/// The process has this long to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Instructions in user mode of `airlane relay` with this queue, from its start to its end, in which so
/// many packets passed one by one.
pub(super) fn count(queue: &str, packets: usize) -> Result<u64, Problem> {
    let there =
        Command::new("valgrind").arg("--version").output().is_ok_and(|o| o.status.success());
    if !there {
        let what = "instructions are counted by valgrind: apt-get install valgrind";
        return Err(Problem::Skipped(what.to_owned()));
    }
    let folder = Scratch::new("callgrind")?;
    let file = folder.path("out");
    let out = format!("--callgrind-out-file={}", file.display());
    let under = ["valgrind", "--quiet", "--tool=callgrind", out.as_str()];
    let mut relay = Relay::start(queue, Some(&under))?;
    relay.pass(packets)?;
    relay.process.interrupt()?;
    let watch = Watch::start();
    while relay.process.ended()?.is_none() {
        if watch.elapsed() > PATIENCE {
            return Err(Problem::Broke("airlane relay does not end".to_owned()));
        }
        wait();
    }
    let text = std::fs::read_to_string(&file)
        .map_err(|e| Problem::Broke(format!("{}: {e}", file.display())))?;
    let totals = text.lines().find_map(|l| l.strip_prefix("totals: ")?.trim().parse().ok());
    totals.ok_or_else(|| Problem::Broke("callgrind says no total".to_owned()))
}

#[expect(clippy::disallowed_methods, reason = "a bench lives by the machine's clock")]
fn wait() {
    std::thread::sleep(Duration::from_millis(20));
}
