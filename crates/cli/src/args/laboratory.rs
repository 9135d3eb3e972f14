//! The options of the verbs that run the laboratory.

use std::path::PathBuf;

use airlane_lab::workloads::vod::normalise::{FORMS, Form};
use airlane_lab::workloads::vod::{Abr, MIN_CHUNKS};
use airlane_media::Metric;
use airlane_sim::plan::GivenTrace;
use clap::{Args, Subcommand};

use super::{metric, number, one_of};

/// Options for the folder of the results and for messages.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Folder for the results, created if it is missing; results of an earlier command in it are
    /// overwritten, other files are kept
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub(crate) out: PathBuf,
    /// Print no progress: the results' summary and errors alone
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Options of every verb that runs worlds.
#[derive(Debug, Args)]
pub(crate) struct Worlds {
    #[command(flatten)]
    pub(crate) output: Output,
    /// Worlds at once [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// Random seed, in the place of the scenario's
    #[arg(long, value_name = "SEED", value_parser = clap::value_parser!(u64).range(..=u32::MAX as u64))]
    pub(crate) seed: Option<u64>,
    /// Take videos from the segment tables or packed titles in this folder instead of the embedded
    /// ones
    #[arg(long, value_name = "DIR")]
    pub(crate) content: Option<PathBuf>,
    /// Take the heads that look at 360-degree videos from the recordings in this folder instead of
    /// generated ones
    #[arg(long, value_name = "DIR")]
    pub(crate) heads: Option<PathBuf>,
    /// Replay recorded capacities: those of FILE, or of each file in DIR. ACCESS may be left out if the
    /// scenario has a single one; COLUMN chooses one of several in a file. May be repeated, once per
    /// access
    #[arg(long, value_name = "[ACCESS=]FILE|DIR[#COLUMN]")]
    pub(crate) trace: Vec<GivenTrace>,
    /// Protect packets with TLS 1.3 (RFC 9001) instead of a null cipher with the same sizes
    #[arg(long)]
    pub(crate) tls: bool,
    /// Write pcap files into this folder: packets at the bottleneck, and 802.11 frames on each channel
    #[arg(long, value_name = "DIR")]
    pub(crate) pcap: Option<PathBuf>,
    /// Write connection events into this folder, a qlog file per connection in a folder per run
    #[arg(long, value_name = "DIR")]
    pub(crate) qlog: Option<PathBuf>,
    /// Write TLS secrets into this folder: keys.log, for Wireshark
    #[arg(long, value_name = "DIR")]
    pub(crate) keylog: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    pub(crate) worlds: Worlds,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// A scenario (see docs/reference/scenarios.md), or the name of a built-in one
    #[arg(value_name = "FILE.toml")]
    pub(crate) scenario: PathBuf,
    /// Change a key of the scenario, such as link.rate_bps=4e6; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) worlds: Worlds,
}

#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// A scenario with a grid (see docs/guide/sweeps.md), or the name of a built-in scenario
    #[arg(value_name = "FILE.toml")]
    pub(crate) scenario: PathBuf,
    /// Give a key of the scenario several values, such as link.rate_bps=4e6,10e6; may be repeated
    #[arg(long, value_name = "KEY=V1,V2")]
    pub(crate) grid: Vec<String>,
    /// Change a key in all cells of the grid, such as duration_s=60; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Run everything anew instead of taking over what the folder's journal has
    #[arg(long)]
    pub(crate) fresh: bool,
    #[command(flatten)]
    pub(crate) worlds: Worlds,
}

#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// The system, or all
    #[arg(value_name = "SYSTEM")]
    pub(crate) system: String,
    /// To look around: fewer draws, too few for most verdicts, and not those of verdicts
    #[arg(long)]
    pub(crate) quick: bool,
    /// Measure the claim ID and those below it alone: plum.fig11.game also takes
    /// plum.fig11.game.growth; may be repeated
    #[arg(long, value_name = "ID")]
    pub(crate) only: Vec<String>,
    /// Run everything anew instead of taking over what the folder's journal has
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Take over what another build left in this journal, after one run of each scheme was repeated
    /// with the same result
    #[arg(long, value_name = "FILE")]
    pub(crate) adopt: Option<PathBuf>,
    /// Add the verdicts to this record too; those that it has stay there as earlier ones
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Reason for which claims of the record are measured again
    #[arg(long, value_name = "TEXT", requires = "record")]
    pub(crate) reason: Option<String>,
    /// Measure nothing, and tell which verdicts of this record no longer are about what runs today
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "fresh", "adopt", "record"])]
    pub(crate) check_record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) worlds: Worlds,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Folders with results
    #[arg(value_name = "DIR", required = true)]
    pub(crate) folders: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct VerdictsArgs {
    /// Markdown pages that name their records in a line <!-- verdicts: FILE ... -->, paths from
    /// the working directory
    #[arg(value_name = "PAGE", required = true)]
    pub(crate) pages: Vec<PathBuf>,
    /// Write nothing, and exit with 1 if a page is not as its records say
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// A folder with results
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// Another
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
    /// Show all metrics that changed instead of the largest changes
    #[arg(long)]
    pub(crate) all: bool,
    /// Show changes of more than this, in percent of the figure
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = share)]
    pub(crate) threshold: f64,
    /// Exit with 1 if anything differs
    #[arg(long)]
    pub(crate) check: bool,
    /// Folder for a report; without it nothing is written
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print no progress: the results' summary and errors alone
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct CorpusArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<CorpusVerb>,
    /// A folder of segment tables or packed titles [default: the embedded content]; those called
    /// normalise and tiles are ./normalise and ./tiles
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Quality metric: vmaf, vmaf_phone, vmaf_4k, psnr_db or ssim
    #[arg(long, value_name = "METRIC", default_value = "vmaf", value_parser = metric)]
    pub(crate) metric: Metric,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CorpusVerb {
    /// Compute Minerva's normalisation of the content: a table, or a file for a server to load
    Normalise(NormaliseArgs),
    /// Say what a folder of 360-degree content holds: rates, quality, what may be left out
    Tiles(TilesArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TilesArgs {
    /// A folder of tables of tiles [default: the embedded content]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct NormaliseArgs {
    /// A folder of segment tables or packed titles [default: the embedded content]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Quality metric: vmaf, vmaf_phone, vmaf_4k, psnr_db or ssim
    #[arg(long, value_name = "METRIC", default_value = "vmaf", value_parser = metric)]
    pub(crate) metric: Metric,
    /// Algorithm that chooses the rungs: robust-mpc, mpc, bola, buffer or rate
    #[arg(long, value_name = "NAME", default_value = "robust-mpc", value_parser = abr)]
    pub(crate) abr: Abr,
    /// Curves that it averages: fixed-rate, equation2 or fixed-rate-fitted
    #[arg(long, value_name = "FORM", default_value = "fixed-rate", value_parser = form)]
    pub(crate) form: Form,
    /// Factor on every weight [default: the content's own per connection, times --baseline]
    #[arg(long, value_name = "ALPHA", value_parser = alpha)]
    pub(crate) alpha: Option<f64>,
    /// Mean weight of a viewer against other traffic, in flows of Cubic (RFC 9438): 2 makes it as
    /// strong as two downloads
    #[arg(long, value_name = "N", default_value = "2", value_parser = baseline)]
    pub(crate) baseline: f64,
    /// Popularity of each title: a CSV file of title,popularity [default: all the same]
    #[arg(long, value_name = "FILE")]
    pub(crate) popularity: Option<PathBuf>,
    /// Leave out titles with fewer segments
    #[arg(long = "min-segments", alias = "min-chunks", value_name = "N", default_value_t = MIN_CHUNKS, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) min_chunks: u64,
    /// Write the normalisation into this file instead of printing a table
    #[arg(long, value_name = "FILE.json")]
    pub(crate) out: Option<PathBuf>,
}

/// A share, given in percent.
fn share(percent: &str) -> Result<f64, String> {
    let value: f64 = percent.parse().unwrap_or(f64::NAN);
    let sound = (0.0..=200.0).contains(&value);
    sound.then_some(value / 100.0).ok_or_else(|| "expected a number from 0 to 200".to_owned())
}

/// The algorithm of that name.
fn abr(name: &str) -> Result<Abr, String> {
    one_of(name, Abr::adaptive())
}

/// The form of a normalisation of that name.
fn form(name: &str) -> Result<Form, String> {
    one_of(name, FORMS.into_iter())
}

fn alpha(text: &str) -> Result<f64, String> {
    number(text, 0.001, 1000.0)
}

fn baseline(text: &str) -> Result<f64, String> {
    number(text, 0.01, 1000.0)
}
