//! Every verb and option, defined once: the help, the man page, the completions and
//! `docs/command-line.md` come from here.

use std::path::PathBuf;

use airlane_media::Metric;
use clap::{Args, Parser, Subcommand};

/// Transports for video over wireless links, and the laboratory that measures them.
#[derive(Debug, Parser)]
#[command(
    name = "airlane",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 done; 1 a claim fails, or a peer failed; 2 bad input; 70 a fault \
                  of Airlane; 130 stopped."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Say what a folder of content holds: curves, spread, traps
    Corpus(CorpusArgs),
    /// Print the man page
    #[command(hide = true)]
    Man,
    /// Print the completions for a shell
    #[command(hide = true)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CorpusArgs {
    /// A folder of chunk tables [default: the embedded content]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// The measure of quality
    #[arg(long, value_name = "METRIC", default_value = "vmaf", value_parser = metric)]
    pub(crate) metric: Metric,
}

/// The metric of that name.
fn metric(name: &str) -> Result<Metric, String> {
    Metric::ALL.into_iter().find(|m| m.name() == name).ok_or_else(|| {
        let names: Vec<&str> = Metric::ALL.iter().map(|m| m.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}
