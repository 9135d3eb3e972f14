//! `airlane send` and `airlane recv`.

use airlane_live_daemon::DaemonError;
use airlane_live_daemon::{Report, Second, Sender, SentVideo, recv as watch};

use super::kept_at;
use super::stopping::Stopping;
use super::{print, threads};
use crate::args::{RecvArgs, SendArgs};
use crate::error::CommandError;

/// Sends until a signal comes, or a live source ends; the exit code.
pub(super) fn send(args: &SendArgs) -> Result<u8, CommandError> {
    crate::terminal::log(args.quiet);
    threads()?.block_on(async {
        let mut stopping = Stopping::new()?;
        let request = tokio::select! {
            biased;
            code = stopping.stopped() => return Ok(code),
            request = args.request() => request?,
        };
        let is_live = matches!(request.video, SentVideo::Live { .. });
        let sender = Sender::start(request)?;
        print(&format!("ready: live video at {}\n", sender.address()))?;
        if let Some(development) = sender.development().filter(|_| !args.quiet) {
            eprintln!("development certificate: {}", kept_at(development));
            eprintln!("  watch it: airlane recv {} --insecure", sender.address());
        }
        let ended = tokio::select! {
            biased;
            code = stopping.stopped() => Ok(code),
            ended = sender.ended() => ended.map(|()| 0).map_err(CommandError::from),
        };
        if !args.quiet {
            let status = sender.status();
            let (frames, dropped, skipped) = (status.frames, status.dropped, status.skipped);
            let skipped = match is_live {
                true => format!(", {skipped} pictures skipped by busy encoders"),
                false => String::new(),
            };
            print(&format!(
                "{frames} frames handed over, {dropped} layers dropped here{skipped}\n"
            ))?;
        }
        sender.stop().await;
        ended
    })
}

/// Watches until the time is over, a signal comes, or the sender ends; the exit code.
pub(super) fn recv(args: &RecvArgs) -> Result<u8, CommandError> {
    crate::terminal::log(args.quiet);
    let runtime = threads()?;
    let (mut code, mut printing) = (0, Ok(()));
    let say = |text: &str| match args.writes_to_stdout() {
        true => {
            eprint!("{text}");
            Ok(())
        }
        false => print(text),
    };
    let report = runtime.block_on(async {
        let mut stopping = Stopping::new()?;
        let stop = async { code = stopping.stopped().await };
        let second = |second: &Second| {
            if printing.is_ok() && !args.quiet {
                printing = say(&if args.json { json(second) } else { line(second) });
            }
        };
        Ok::<_, CommandError>(watch(&args.request(), stop, second).await)
    });
    runtime.shutdown_background();
    let report = match report? {
        Ok(report) => report,
        Err(e @ DaemonError::Input(_)) => return Err(e.into()),
        Err(e) => return Err(CommandError::Peer(e.to_string())),
    };
    printing?;
    say(&if args.json { json(&report) } else { summary(&report) })?;
    if let Some(lost) = &report.lost {
        eprintln!("airlane: the sender is lost: {lost}");
    }
    let is_failed = report.shown == 0 || report.lost.is_some();
    Ok(if is_failed && code == 0 { 1 } else { code })
}

fn json(value: &impl serde::Serialize) -> String {
    // Numbers and lists of them have no way to fail.
    format!("{}\n", serde_json::to_string(value).unwrap_or_default())
}

fn line(second: &Second) -> String {
    format!(
        "{:.0} s: {} frames, {:.0} % with all layers, {:.2} Mbit/s, slowest {:.0} ms behind the fastest\n",
        second.at_s,
        second.frames,
        100.0 * second.top_share,
        second.bps / 1e6,
        second.slowest_ms,
    )
}

fn summary(report: &Report) -> String {
    let share = |n: u64, of: u64| if of == 0 { 0.0 } else { 100.0 * n as f64 / of as f64 };
    let layers: Vec<String> = report
        .by_layer
        .iter()
        .zip(1..)
        .filter(|(frames, _)| **frames > 0)
        .map(|(frames, count)| format!("{:.0} % in {count} layers", share(*frames, report.shown)))
        .collect();
    format!(
        "in {:.1} s: {} of {} frames shown ({:.1} %), {}; {:.2} Mbit/s; {:.0} ms (median) and {:.0} ms \
         (99 %) behind the fastest\n",
        report.seconds,
        report.shown,
        report.sent,
        share(report.shown, report.sent),
        if layers.is_empty() { "none".to_owned() } else { layers.join(", ") },
        report.bps / 1e6,
        report.latency_p50_ms,
        report.latency_p99_ms,
    )
}
