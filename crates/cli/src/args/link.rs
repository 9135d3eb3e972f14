//! The options of `airlane link`.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use airlane_base::Seed;
use airlane_link::{LinkConfig, LinkError, LinkSpec, Mode, TunEnd, TunSpec, UdpSpec};
use clap::{Args, Subcommand};

use super::positive_number;

#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct LinkArgs {
    #[command(subcommand)]
    between: Between,
}

#[derive(Debug, Subcommand)]
enum Between {
    /// Forward UDP from an address of this machine to a target; needs no privileges
    Udp {
        /// Address that clients send to; a name stands for all its addresses, port 0 for any that
        /// is free
        #[arg(value_name = "LISTEN", value_parser = addresses)]
        listen: Addresses,
        /// Address that packets go on to; a name stands for the first of its addresses
        #[arg(value_name = "TARGET", value_parser = addresses)]
        target: Addresses,
        #[command(flatten)]
        emulation: Emulation,
    },
    /// Join two TUN devices, in namespaces of their own if wanted; needs CAP_NET_ADMIN
    Tun {
        /// The clients' end: a device, its namespace and addresses, such as air0@viewer=10.77.0.1/24
        #[arg(value_name = "NEAR")]
        near: TunEnd,
        /// The servers' end
        #[arg(value_name = "FAR")]
        far: TunEnd,
        #[command(flatten)]
        emulation: Emulation,
    },
}

/// Options for the emulation and its output.
#[derive(Debug, Args)]
struct Emulation {
    /// Set a parameter of both directions, such as rate_bps=10e6 or rtt_s=0.02 (docs/guide/link.md); may
    /// be repeated
    #[arg(long = "both-directions", alias = "both", value_name = "KEY=VALUE")]
    both: Vec<String>,
    /// Set a parameter of the direction up: from clients to the target (udp), from the near end to the
    /// far one (tun)
    #[arg(long, value_name = "KEY=VALUE")]
    up: Vec<String>,
    /// Set a parameter of the direction down: back
    #[arg(long, value_name = "KEY=VALUE")]
    down: Vec<String>,
    /// Let both directions take turns on one channel, as on a radio; --both-directions sets its
    /// capacity, --up and --down the rest
    #[arg(long)]
    half_duplex: bool,
    /// Seed of generated traces, losses and jitter
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Ask for real-time priority for the link's thread, so that other programs do not delay it
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=99))]
    realtime: Option<u8>,
    /// Seconds between lines of metrics
    #[arg(long = "interval", alias = "every", value_name = "S", default_value = "1", value_parser = positive_number)]
    every: f64,
    /// Print the line `ready`, the final line and errors alone
    #[arg(long, short)]
    quiet: bool,
}

impl LinkArgs {
    /// The link that is wanted.
    ///
    /// # Errors
    /// A key or a value that is none.
    pub(crate) fn request(&self) -> Result<LinkConfig, LinkError> {
        let mode = match &self.between {
            Between::Udp { listen, target, .. } => {
                Mode::Udp(UdpSpec::new(listen.0.iter().copied(), target.0[0]))
            }
            Between::Tun { near, far, .. } => Mode::Tun(TunSpec::new(near.clone(), far.clone())),
        };
        let Emulation { both, up, down, half_duplex, seed, realtime, .. } = self.emulation();
        let with_both = |own: &[String]| [both, own].concat();
        let link = match half_duplex {
            true => LinkSpec::half_duplex_from_settings(both, up, down, Seed(*seed))?,
            false => LinkSpec::from_settings(&with_both(up), &with_both(down), Seed(*seed))?,
        };
        Ok(LinkConfig { link, mode, realtime: *realtime })
    }

    /// Interval of the lines of figures; `None`: none are wanted.
    pub(crate) fn interval(&self) -> Option<Duration> {
        let Emulation { every, quiet, .. } = self.emulation();
        (!quiet).then(|| Duration::from_secs_f64(*every))
    }

    fn emulation(&self) -> &Emulation {
        let (Between::Udp { emulation, .. } | Between::Tun { emulation, .. }) = &self.between;
        emulation
    }
}

/// Addresses that a name stands for: one at least.
#[derive(Clone, Debug)]
pub(super) struct Addresses(pub(super) Vec<SocketAddr>);

/// An address, or those that a name stands for, each once.
pub(super) fn addresses(text: &str) -> Result<Addresses, String> {
    let expected = "expected ADDRESS:PORT or NAME:PORT";
    let mut found: Vec<SocketAddr> = Vec::new();
    for address in text.to_socket_addrs().map_err(|e| format!("{e}; {expected}"))? {
        if !found.contains(&address) {
            found.push(address);
        }
    }
    if found.is_empty() {
        return Err(format!("it has no address; {expected}"));
    }
    Ok(Addresses(found))
}
