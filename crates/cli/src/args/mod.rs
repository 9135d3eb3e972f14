//! Every verb and option, defined once: the help, the man page, the completions and
//! `docs/reference/command-line.md` come from here.

mod addresses;
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
#[cfg(feature = "tunnel")]
mod tunnel;

#[cfg(feature = "video")]
use airlane_media::Metric;
use clap::{Parser, Subcommand};

#[cfg(feature = "video")]
pub(crate) use self::airtime::AirtimeArgs;
#[cfg(feature = "call")]
pub(crate) use self::call::{
    CallArgs, CallInviteArgs, CallJoinArgs, CallServeArgs, CallVerb, InvitedRoom,
};
#[cfg(feature = "video")]
pub(crate) use self::laboratory::*;
#[cfg(feature = "video")]
pub(crate) use self::link::LinkArgs;
#[cfg(feature = "video")]
pub(crate) use self::live::{RecvArgs, RelayArgs, SendArgs};
#[cfg(feature = "video")]
pub(crate) use self::pack::{PackArgs, Work};
#[cfg(feature = "video")]
pub(crate) use self::play::PlayArgs;
#[cfg(feature = "video")]
pub(crate) use self::serve::{ServeArgs, SignArgs};
#[cfg(feature = "tunnel")]
pub(crate) use self::tunnel::{
    Showing, TunnelArgs, TunnelConnectArgs, TunnelKeyArgs, TunnelServeArgs, TunnelVerb,
};

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
    #[cfg(feature = "video")]
    /// Run the demonstration scenarios and write a report
    Demo(DemoArgs),
    #[cfg(feature = "video")]
    /// Run one scenario: every case under every scheme with every seed
    Run(RunArgs),
    #[cfg(feature = "video")]
    /// Run a scenario with every combination of some values; resumes a sweep that was stopped
    Sweep(SweepArgs),
    #[cfg(feature = "video")]
    /// Measure the claims of a paper, with confidence intervals and verdicts
    Reproduce(ReproduceArgs),
    #[cfg(feature = "video")]
    /// Put tables of recorded verdicts into pages of documentation
    Verdicts(VerdictsArgs),
    #[cfg(feature = "video")]
    /// Write one self-contained HTML page of results
    Report(ReportArgs),
    #[cfg(feature = "video")]
    /// Compare two results
    Diff(DiffArgs),
    #[cfg(feature = "video")]
    /// Describe the content of a folder: quality curves, spread, traps
    Corpus(CorpusArgs),
    #[cfg(feature = "video")]
    /// Encode a video as a title for airlane serve, or in layers for airlane send
    Pack(PackArgs),
    #[cfg(feature = "video")]
    /// Serve DASH and HLS titles; viewers who share a link get an equal experience
    Serve(ServeArgs),
    #[cfg(feature = "video")]
    /// Sign the addresses of titles for airlane serve --sign-key: one path per line
    Sign(SignArgs),
    #[cfg(feature = "video")]
    /// Play DASH titles from any server without showing them; prints a line per session
    Play(PlayArgs),
    #[cfg(feature = "video")]
    /// Send live video, its layers marked, to all viewers that connect
    Send(SendArgs),
    #[cfg(feature = "video")]
    /// Receive live video: report which frames could be shown, write them for a player
    Recv(RecvArgs),
    #[cfg(feature = "video")]
    /// Forward a live stream through an emulated bottleneck that runs Octopus's queue
    Relay(RelayArgs),
    #[cfg(feature = "call")]
    /// Hold video calls: a conference server for browsers, and participants without one
    Call(CallArgs),
    #[cfg(feature = "tunnel")]
    /// Carry TCP and SOCKS5 connections over several network interfaces at once
    Tunnel(TunnelArgs),
    #[cfg(feature = "video")]
    /// Report airtime per station from an 802.11 capture or a monitor interface
    Airtime(AirtimeArgs),
    #[cfg(feature = "video")]
    /// Emulate a link in real time, between UDP sockets or TUN devices
    Link(LinkArgs),
    /// Print the man page
    #[command(hide = true)]
    Man {
        /// The verb that it is about, such as `corpus normalise` [default: all of the program]
        verb: Vec<String>,
    },
    /// Print the completions for a shell
    #[command(hide = true)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// The metric of that name.
#[cfg(feature = "video")]
fn metric(name: &str) -> Result<Metric, String> {
    Metric::ALL.into_iter().find(|m| m.name() == name).ok_or_else(|| {
        let names: Vec<&str> = Metric::ALL.iter().map(|m| m.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Value of that name.
#[cfg(feature = "video")]
fn one_of<T>(
    name: &str,
    known: impl Iterator<Item = (&'static str, T)> + Clone,
) -> Result<T, String> {
    known.clone().find(|(n, _)| *n == name).map(|(_, value)| value).ok_or_else(|| {
        let names: Vec<&str> = known.map(|(n, _)| n).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// A number above zero.
#[cfg(any(feature = "call", feature = "video"))]
fn positive_number(text: &str) -> Result<f64, String> {
    number(text, 0.001, 1e6)
}

/// A share from 0 to 1.
#[cfg(feature = "video")]
fn share_of_one(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1.0)
}

/// A number within bounds: those of `scheme.minerva.alpha` and `scheme.weight`.
#[cfg(any(feature = "call", feature = "video"))]
fn number(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let value: f64 = text.parse().unwrap_or(f64::NAN);
    let sound = (least..=most).contains(&value);
    sound.then_some(value).ok_or_else(|| format!("expected a number from {least} to {most}"))
}
