//! What each verb does: hands the options to the laboratory and prints what comes back.

#[cfg(feature = "video")]
mod airtime;
#[cfg(feature = "call")]
mod call;
#[cfg(feature = "video")]
mod laboratory;
#[cfg(feature = "video")]
mod link;
#[cfg(feature = "video")]
mod live;
#[cfg(feature = "video")]
mod pack;
#[cfg(feature = "video")]
mod play;
#[cfg(feature = "video")]
mod serve;
mod stopping;
#[cfg(feature = "tunnel")]
mod tunnel;

use std::io::{ErrorKind, Write};
use std::time::Duration;

use airlane_base::InputError;
use clap::CommandFactory;

use crate::args::{Cli, Verb};
use crate::clock::Clock;
use crate::error::CommandError;

/// Does what the command line says; the exit code.
#[cfg_attr(not(feature = "video"), expect(unused_variables, reason = "tunnels need no date"))]
pub(crate) fn dispatch(cli: Cli, clock: Clock) -> Result<u8, CommandError> {
    match cli.verb {
        #[cfg(feature = "video")]
        Verb::Demo(args) => laboratory::demo(args, clock),
        #[cfg(feature = "video")]
        Verb::Run(args) => laboratory::run(args, clock),
        #[cfg(feature = "video")]
        Verb::Sweep(args) => laboratory::sweep(args, clock),
        #[cfg(feature = "video")]
        Verb::Reproduce(args) => laboratory::reproduce(args, clock),
        #[cfg(feature = "video")]
        Verb::Verdicts(args) => laboratory::verdicts(&args),
        #[cfg(feature = "video")]
        Verb::Report(args) => laboratory::report(args),
        #[cfg(feature = "video")]
        Verb::Diff(args) => laboratory::diff(args),
        #[cfg(feature = "video")]
        Verb::Corpus(args) => laboratory::corpus(args),
        #[cfg(feature = "video")]
        Verb::Pack(args) => pack::pack(args),
        #[cfg(feature = "video")]
        Verb::Serve(args) => serve::serve(&args),
        #[cfg(feature = "video")]
        Verb::Sign(args) => serve::sign(&args),
        #[cfg(feature = "video")]
        Verb::Play(args) => play::play(&args),
        #[cfg(feature = "call")]
        Verb::Call(args) => call::call(&args),
        #[cfg(feature = "tunnel")]
        Verb::Tunnel(args) => tunnel::tunnel(&args),
        #[cfg(feature = "video")]
        Verb::Airtime(args) => airtime::airtime(args, clock),
        #[cfg(feature = "video")]
        Verb::Link(args) => link::link(args.request().map_err(link::failed)?, args.interval()),
        #[cfg(feature = "video")]
        Verb::Send(args) => live::send(&args),
        #[cfg(feature = "video")]
        Verb::Recv(args) => live::recv(&args),
        #[cfg(feature = "video")]
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

/// The command as it was given, by the program's name wherever it lies.
pub(crate) fn command() -> Vec<String> {
    let options = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned());
    std::iter::once("airlane".to_owned()).chain(options).collect()
}

/// The threads that a daemon runs on.
fn threads() -> Result<tokio::runtime::Runtime, CommandError> {
    /// Threads for blocking calls (reads from a disk, look-ups of names) at most: each keeps some
    /// hundreds of KiB.
    const MAX_BLOCKING_THREADS: usize = 64;
    /// Time for which an idle thread waits for work before it ends. The runtime gives idle threads
    /// work in turn: with its own ten seconds none would be idle for so long, and as many as a peak
    /// took would stay for good.
    const KEEP_ALIVE: Duration = Duration::from_millis(100);
    refuse_huge_pages();
    tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .thread_keep_alive(KEEP_ALIVE)
        .enable_all()
        .build()
        .map_err(|e| CommandError::fault(format!("no threads to run on: {e}")))
}

/// Place of a development certificate: its file, or that it is kept nowhere.
#[cfg(any(feature = "video", feature = "call"))]
fn kept_at(development: &airlane_certificate::Development) -> String {
    let nowhere = "kept nowhere, for want of a home folder; XDG_DATA_HOME=DIR names one";
    let file = development.file.as_ref();
    file.map_or_else(|| nowhere.to_owned(), |file| file.display().to_string())
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
