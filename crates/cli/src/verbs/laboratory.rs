//! The verbs that run the laboratory, and those that describe its content.

use airlane_judge::record::RecordRequest;
use airlane_judge::request::{
    DemoRequest, DiffRequest, Outcome, RecordCheckRequest, ReportRequest, ReproduceRequest,
    RunRequest, SweepRequest,
};
use airlane_judge::verdicts::{verdict_pages, write_pages};
use airlane_lab::workloads::vod::normalise::{NormaliseRequest, normalise};
use airlane_media::{Corpus, CorpusStatistics, TileContent};
use airlane_scenario::Cipher;
use airlane_sim::LabError;
use airlane_sim::pool::{self, StopFlag};
use airlane_sim::{COMMIT, RunInfo, VERSION};
use airlane_sim::{Captures, Common};

use super::{command, print};
use crate::args::{
    CorpusArgs, CorpusVerb, DemoArgs, DiffArgs, NormaliseArgs, ReportArgs, ReproduceArgs, RunArgs,
    SweepArgs, TilesArgs, VerdictsArgs, Worlds,
};
use crate::clock::Clock;
use crate::error::CommandError;
use crate::progress;

pub(super) fn demo(args: DemoArgs, clock: Clock) -> Result<u8, CommandError> {
    with_worlds(args.worlds, clock, |common| airlane_lab::demo(&DemoRequest { common }))
}

pub(super) fn run(args: RunArgs, clock: Clock) -> Result<u8, CommandError> {
    with_worlds(args.worlds, clock, |common| {
        airlane_lab::run(&RunRequest { common, scenario: args.scenario, set: args.set })
    })
}

pub(super) fn sweep(args: SweepArgs, clock: Clock) -> Result<u8, CommandError> {
    with_worlds(args.worlds, clock, |common| {
        let (scenario, set, grid, fresh) = (args.scenario, args.set, args.grid, args.fresh);
        airlane_lab::sweep(&SweepRequest { common, scenario, set, grid, fresh })
    })
}

pub(super) fn reproduce(args: ReproduceArgs, clock: Clock) -> Result<u8, CommandError> {
    with_worlds(args.worlds, clock, |common| {
        if let Some(file) = args.check_record {
            let (system, only) = (args.system, args.only);
            return airlane_lab::check_record(&RecordCheckRequest { common, system, only, file });
        }
        let record = args.record.map(|file| RecordRequest { file, reason: args.reason });
        let (fresh, adopt) = (args.fresh, args.adopt);
        let (system, only, quick) = (args.system, args.only, args.quick);
        airlane_lab::reproduce(&ReproduceRequest {
            common,
            system,
            quick,
            only,
            fresh,
            adopt,
            record,
        })
    })
}

pub(super) fn verdicts(args: &VerdictsArgs) -> Result<u8, CommandError> {
    let pages = verdict_pages(airlane_lab::registry(), &args.pages)?;
    if !args.check {
        write_pages(&pages)?;
    }
    for page in &pages {
        let told = match (page.is_stale, args.check) {
            (false, _) => "as its records say",
            (true, false) => "written anew",
            (true, true) => "not as its records say: run airlane verdicts without --check",
        };
        print(&format!("{}: {told}\n", page.file.display()))?;
    }
    let is_refused = args.check && pages.iter().any(|page| page.is_stale);
    Ok(u8::from(is_refused))
}

pub(super) fn report(args: ReportArgs) -> Result<u8, CommandError> {
    let request = ReportRequest { folders: args.folders, out: args.output.out };
    say(&airlane_lab::report(&request)?, args.output.quiet)
}

pub(super) fn diff(args: DiffArgs) -> Result<u8, CommandError> {
    let DiffArgs { a, b, all, threshold, check, out, quiet } = args;
    say(&airlane_judge::diff(&DiffRequest { a, b, all, threshold, check, out })?, quiet)
}

pub(super) fn corpus(args: CorpusArgs) -> Result<u8, CommandError> {
    match args.verb {
        Some(CorpusVerb::Tiles(args)) => tiles(&args),
        Some(CorpusVerb::Normalise(args)) => say(&normalise(&normalisation(args))?, false),
        None => describe(&args),
    }
}

/// Calls the laboratory with what all verbs that run worlds share, and prints the final line.
fn with_worlds(
    args: Worlds,
    clock: Clock,
    call: impl FnOnce(Common<'_>) -> Result<Outcome, LabError>,
) -> Result<u8, CommandError> {
    let stop = StopFlag::default();
    listen(&stop)?;
    let quiet = args.output.quiet;
    let progress = progress::progress(quiet, clock);
    let cpus = pool::available_cores();
    let jobs = args.jobs.map_or(cpus, usize::from);
    let elapsed = || clock.elapsed();
    let outcome = call(Common {
        out: args.output.out,
        jobs,
        seed: args.seed,
        content: args.content,
        heads: args.heads,
        traces: args.trace,
        cipher: args.tls.then_some(Cipher::Tls),
        captures: Captures { pcap: args.pcap, qlog: args.qlog, keylog: args.keylog },
        circumstances: RunInfo {
            airlane: VERSION.to_owned(),
            commit: COMMIT.to_owned(),
            host: host(),
            cpus,
            date: clock.date(),
            command: command(),
            jobs,
            ..RunInfo::default()
        },
        elapsed: &elapsed,
        progress: &*progress,
        stop,
    })?;
    say(&outcome, quiet)
}

/// Prints what a command came to; the exit code.
pub(super) fn say(outcome: &Outcome, quiet: bool) -> Result<u8, CommandError> {
    if !quiet && !outcome.table.is_empty() {
        print(&format!("{}\n\n", outcome.table.trim_end()))?;
    }
    print(&format!("{}\n", outcome.line))?;
    Ok(outcome.exit_code())
}

fn describe(args: &CorpusArgs) -> Result<u8, CommandError> {
    let corpus = match &args.folder {
        Some(folder) => Corpus::load_dir(folder)?,
        None => Corpus::embedded()?,
    };
    print(&CorpusStatistics::of(&corpus, args.metric)?.to_string())?;
    Ok(0)
}

fn tiles(args: &TilesArgs) -> Result<u8, CommandError> {
    let content = match &args.folder {
        Some(folder) => TileContent::load_dir(folder)?,
        None => TileContent::embedded()?,
    };
    print(&content.to_string())?;
    Ok(0)
}

/// The normalisation that the options ask for.
fn normalisation(args: NormaliseArgs) -> NormaliseRequest {
    let NormaliseArgs { folder, metric, abr, form, alpha, baseline, popularity, min_chunks, out } =
        args;
    let min_chunks = usize::try_from(min_chunks).unwrap_or(usize::MAX);
    NormaliseRequest { folder, metric, abr, form, alpha, baseline, popularity, min_chunks, out }
}

/// The first Ctrl-C asks for a stop that keeps what has finished, the second ends the process.
#[cfg(unix)]
pub(super) fn listen(stop: &StopFlag) -> Result<(), CommandError> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first one finds the flag down, and only then raises it.
        signal_hook::flag::register_conditional_shutdown(signal, 130, stop.flag())
            .and_then(|_| signal_hook::flag::register(signal, stop.flag()))
            .map_err(|e| CommandError::fault(format!("cannot listen for signals: {e}")))?;
    }
    Ok(())
}

/// Elsewhere Ctrl-C ends the process at once.
#[cfg(not(unix))]
pub(super) fn listen(_stop: &StopFlag) -> Result<(), CommandError> {
    Ok(())
}

/// The machine's name; empty if unknown.
pub(super) fn host() -> String {
    let told = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    told.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default().trim().to_owned()
}
