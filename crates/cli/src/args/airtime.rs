//! Options of `airlane airtime`.

use std::path::PathBuf;

use airlane_airtime::AirtimeFormat;
use clap::Args;

use super::positive_number;

#[derive(Debug, Args)]
pub(crate) struct AirtimeArgs {
    /// A capture in monitor mode (pcap or pcapng, gzipped or not; - for stdin), or a monitor interface
    #[arg(value_name = "FILE|IFACE")]
    pub(crate) source: PathBuf,
    /// Folder for a report and the metrics; without it nothing is written
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print all metrics as JSON
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,
    /// Print the stations as CSV
    #[arg(long)]
    pub(crate) csv: bool,
    /// Show all stations instead of those that used most
    #[arg(long)]
    pub(crate) all: bool,
    /// Stop after so many seconds of the capture, or of listening
    #[arg(long, value_name = "S", value_parser = positive_number)]
    pub(crate) duration: Option<f64>,
    /// Print nothing but the final line and errors; with --json or --csv, but those
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl AirtimeArgs {
    /// Format of the output.
    pub(crate) fn format(&self) -> AirtimeFormat {
        match (self.json, self.csv) {
            (true, _) => AirtimeFormat::Json,
            (_, true) => AirtimeFormat::Csv,
            _ => AirtimeFormat::Table,
        }
    }
}
