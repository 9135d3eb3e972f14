//! What each verb does: hands the options to the laboratory and prints what comes back.

mod airtime;
mod link;
mod live;
mod pack;
mod play;
mod serve;
mod tunnel;

use std::io::{ErrorKind, Write};
use std::time::Duration;

use airlane_base::InputError;
use airlane_lab::LabError;
use airlane_lab::pool::{self, Stop};
use airlane_lab::request::{
    Captures, Common, DemoRequest, DiffRequest, Outcome, ReportRequest, ReproduceRequest,
    RunRequest, SweepRequest,
};
use airlane_lab::scenario::Cipher;
use airlane_lab::summary::{COMMIT, RunInfo, VERSION};
use airlane_lab::workloads::vod::normalise::{NormaliseRequest, normalise};
use airlane_media::{Corpus, CorpusStatistics, TileContent};
use clap::CommandFactory;

use crate::args::{Cli, CorpusArgs, CorpusVerb, DiffArgs, NormaliseArgs, TilesArgs, Verb, Worlds};
use crate::clock::Clock;
use crate::error::CommandError;
use crate::terminal;

/// Does what the command line says; the exit code.
pub(crate) fn dispatch(cli: Cli, clock: Clock) -> Result<u8, CommandError> {
    match cli.verb {
        Verb::Demo(args) => {
            with_worlds(args.worlds, clock, |common| airlane_lab::demo(&DemoRequest { common }))
        }
        Verb::Run(args) => with_worlds(args.worlds, clock, |common| {
            airlane_lab::run(&RunRequest { common, scenario: args.scenario, set: args.set })
        }),
        Verb::Sweep(args) => with_worlds(args.worlds, clock, |common| {
            let (scenario, set, grid, fresh) = (args.scenario, args.set, args.grid, args.fresh);
            airlane_lab::sweep(&SweepRequest { common, scenario, set, grid, fresh })
        }),
        Verb::Reproduce(args) => with_worlds(args.worlds, clock, |common| {
            let (system, quick, only, fresh) = (args.system, args.quick, args.only, args.fresh);
            airlane_lab::reproduce(&ReproduceRequest { common, system, quick, only, fresh })
        }),
        Verb::Report(args) => {
            let request = ReportRequest { folders: args.folders, out: args.output.out };
            say(&airlane_lab::report(&request)?, args.output.quiet)
        }
        Verb::Diff(args) => {
            let DiffArgs { a, b, all, threshold, check, out, quiet } = args;
            say(&airlane_lab::diff(&DiffRequest { a, b, all, threshold, check, out })?, quiet)
        }
        Verb::Corpus(CorpusArgs { verb: Some(CorpusVerb::Tiles(args)), .. }) => tiles(&args),
        Verb::Corpus(CorpusArgs { verb: Some(CorpusVerb::Normalise(args)), .. }) => {
            say(&normalise(&normalisation(args))?, false)
        }
        Verb::Corpus(args) => corpus(&args),
        Verb::Pack(args) => pack::pack(args),
        Verb::Serve(args) => serve::serve(&args),
        Verb::Sign(args) => serve::sign(&args),
        Verb::Play(args) => play::play(&args),
        Verb::Tunnel(args) => tunnel::tunnel(&args),
        Verb::Airtime(args) => airtime::airtime(args, clock),
        Verb::Link(args) => link::link(args.request().map_err(link::failed)?, args.interval()),
        Verb::Send(args) => live::send(&args),
        Verb::Recv(args) => live::recv(&args),
        Verb::Relay(args) => link::link(args.request().map_err(link::failed)?, args.interval()),
        Verb::Man { verb } => man(&verb),
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "airlane", &mut script);
            print(&String::from_utf8_lossy(&script))?;
            Ok(0)
        }
    }
}

/// Prints the man page of the program, or of a verb.
fn man(verb: &[String]) -> Result<u8, CommandError> {
    let mut command = Cli::command();
    // Gives verbs their whole names.
    command.build();
    for word in verb {
        let below = command.find_subcommand(word).cloned();
        command = below.ok_or_else(|| {
            InputError::new(format!("no verb {:?}", verb.join(" ")), "`airlane help` lists them")
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|e| CommandError::fault(format!("cannot render the man page: {e}")))?;
    print(&String::from_utf8_lossy(&page))?;
    Ok(0)
}

/// Calls the laboratory with what all verbs that run worlds share, and prints the final line.
fn with_worlds(
    args: Worlds,
    clock: Clock,
    call: impl FnOnce(Common<'_>) -> Result<Outcome, LabError>,
) -> Result<u8, CommandError> {
    let stop = Stop::default();
    listen(&stop)?;
    let quiet = args.output.quiet;
    let progress = terminal::progress(quiet, clock);
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
fn say(outcome: &Outcome, quiet: bool) -> Result<u8, CommandError> {
    if !quiet && !outcome.table.is_empty() {
        print(&format!("{}\n\n", outcome.table.trim_end()))?;
    }
    print(&format!("{}\n", outcome.line))?;
    Ok(outcome.exit_code())
}

fn corpus(args: &CorpusArgs) -> Result<u8, CommandError> {
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
fn listen(stop: &Stop) -> Result<(), CommandError> {
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
fn listen(_stop: &Stop) -> Result<(), CommandError> {
    Ok(())
}

/// The command as it was given, by the program's name wherever it lies.
pub(crate) fn command() -> Vec<String> {
    let options = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned());
    std::iter::once("airlane".to_owned()).chain(options).collect()
}

/// The machine's name; empty if unknown.
fn host() -> String {
    let told = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    told.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default().trim().to_owned()
}

/// The threads that a daemon runs on.
fn threads() -> Result<tokio::runtime::Runtime, CommandError> {
    /// Threads for blocking calls (reads from a disk, look-ups of names) at most: each keeps some
    /// hundreds of KiB.
    const MAX_BLOCKING_THREADS: usize = 64;
    /// How long one of them stays without work. The runtime gives idle threads work in turn: with its
    /// own ten seconds none would be idle for so long, and as many as a peak took would stay for good.
    const KEEP_ALIVE: Duration = Duration::from_millis(100);
    refuse_huge_pages();
    tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .thread_keep_alive(KEEP_ALIVE)
        .enable_all()
        .build()
        .map_err(|e| CommandError::fault(format!("no threads to run on: {e}")))
}

/// Takes memory of the system in pages of 4 KiB alone, for all of the process.
///
/// The allocator asks for huge pages where the system gives them, which is good for the laboratory's
/// worlds. A daemon runs for months with few bytes in each of many places: in pages of 2 MiB it has
/// several times the memory that it uses, and more with time, since the system joins pages of
/// which one is used (`khugepaged`).
#[cfg(target_os = "linux")]
fn refuse_huge_pages() {
    // Where the system has none there is nothing to refuse.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// The same where there are none.
#[cfg(not(target_os = "linux"))]
fn refuse_huge_pages() {}

/// Prints to the standard output. A pipe that was closed (`| head`) is no error.
fn print(text: &str) -> Result<(), CommandError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(InputError::io("standard output", "write", &e).into())
        }
        _ => Ok(()),
    }
}
