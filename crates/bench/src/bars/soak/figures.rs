//! What a soak comes to.

use super::series::Flatness;
use super::world::Account;
use super::{FLAT, Plan, Used, mib};
use crate::bar::{Figure, Rule};

/// Carriers, as the server's metrics name them.
const CARRIERS: [&str; 3] = ["h3", "h2", "http/1.1"];

pub(super) fn figures(plan: Plan, used: &Used, account: &Account) -> Vec<Figure> {
    let (from, until) = (plan.warm_up.as_secs_f64(), plan.whole.as_secs_f64());
    let memory = used.resident.flatness(from, until);
    let in_mib = |bytes| format!("{:.1}", mib(bytes));
    let anonymous = used.anonymous.flatness(from, until).windows;
    let anonymous = anonymous.into_iter().map(in_mib).collect::<Vec<_>>().join(", ");
    let descriptors = used.descriptors.flatness(from, until);
    let figure = |what: &str, ours: f64, unit: &'static str, rule: Rule, note: String| Figure {
        bar: format!("soak.{what}"),
        ours,
        peer: None,
        unit,
        rule,
        note,
    };
    // In windows of seconds, chance is more than that.
    let flat = if plan.is_quick { Rule::Reported } else { Rule::AtMost(FLAT) };
    let [over_quic, over_tcp] = account.seen;
    let unseen = account.certificates * 2 - over_quic - over_tcp;
    vec![
        figure(
            "memory",
            memory.worst() * 100.0,
            "%",
            flat,
            format!(
                "resident memory of the server over the {} minutes after the first {}: {}; \
                 {anonymous} MiB of it are anonymous; at the peak {:.1} MiB; {:.0} threads in the median; {:.0} sessions at a time; the \
                 server takes {:.2} of a core, the bench without its players {:.2}",
                (until - from) / 60.0,
                from / 60.0,
                told(&memory, in_mib, "MiB"),
                mib(used.peak_bytes as f64),
                used.threads.median(from, until),
                used.sessions.median(from, until),
                used.server,
                used.bench,
            ),
        ),
        figure(
            "descriptors",
            descriptors.worst() * 100.0,
            "%",
            flat,
            format!(
                "open descriptors of the server, in the same way: {}",
                told(&descriptors, |count| format!("{count:.0}"), "descriptors"),
            ),
        ),
        figure("failed", account.failed as f64, "failures", Rule::AtMost(0.0), failed(account)),
        figure(
            "certificates",
            unseen as f64,
            "not seen",
            Rule::AtMost(0.0),
            format!(
                "{} certificates replaced others, every other one with SIGHUP; {over_quic} were \
                 seen over QUIC and {over_tcp} over TCP, the slowest after {:.1} s",
                account.certificates,
                account.slowest.as_secs_f64(),
            ),
        ),
    ]
}

/// Flatness of a series in words.
fn told(flat: &Flatness, value: impl Fn(f64) -> String, unit: &str) -> String {
    let windows: Vec<String> = flat.windows.iter().map(|&w| value(w)).collect();
    format!(
        "medians of five equal parts {} {unit}, the largest less the smallest {:.2} % of the \
         first; the straight line through all values changes by {:+.2} % of their median; what \
         counts is the larger",
        windows.join(", "),
        flat.range * 100.0,
        flat.trend * 100.0,
    )
}

/// Counts of what could have failed, and of what did, in words.
fn failed(account: &Account) -> String {
    let by_carrier = |name: &str| {
        let of = |carrier| account.metric_of(name, "carrier", carrier);
        CARRIERS.map(|carrier| format!("{:.0} over {carrier}", of(carrier))).join(", ")
    };
    let told = match account.failures.as_slice() {
        [] => String::new(),
        some => format!("; the first failures: {}", some.join("; ")),
    };
    format!(
        "{:.0} sessions on {:.0} connections ({}), {:.1} GB; {} players (processes, with up to six \
         sessions each) played to their end, {} sessions with {} chunks and {} stalls, where a \
         request made again counts as failed; {} players were killed, {} stopped and killed 75 s \
         later; {} sessions asked {} times for their own figures; {} clients said nothing any more \
         and {} stopped reading, for 75 s each; the status page and the metrics were read {} times; \
         {} titles came and went; {} access logs were rotated, with {} lines in all, {:.0} lost{told}",
        account.metric("airlane_sessions_total"),
        account.metric("airlane_connections_total"),
        by_carrier("airlane_connections_total"),
        account.metric("airlane_bytes_total") / 1e9,
        account.ended,
        account.played,
        account.chunks,
        account.stalls,
        account.killed,
        account.frozen,
        account.viewers,
        account.views,
        account.silent,
        account.stalled,
        account.pages,
        account.titles,
        account.logs,
        account.lines,
        account.metric("airlane_access_log_lost_lines_total"),
    )
}
