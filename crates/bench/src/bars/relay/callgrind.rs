//! Instructions of a relay, as valgrind counts them.

use std::process::Command;

use super::traffic::Relay;
use crate::bar::Problem;
use crate::process::Scratch;

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
    relay.process.stop()?;
    let text = std::fs::read_to_string(&file)
        .map_err(|e| Problem::Broke(format!("{}: {e}", file.display())))?;
    let totals = text.lines().find_map(|l| l.strip_prefix("totals: ")?.trim().parse().ok());
    totals.ok_or_else(|| Problem::Broke("callgrind says no total".to_owned()))
}
