//! A link on the command line, without the rest of Airlane.
//!
//!     cargo run --release -p airlane-link --example link -- \
//!         udp 127.0.0.1:5000 127.0.0.1:6000 --down rate_bps=10e6 --down delay_s=0.02
//!     cargo run --release -p airlane-link --example link -- \
//!         tun near0@left=10.77.0.1/24 far0@right=10.77.0.2/24 --both rate_bps=50e6

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use airlane_base::Seed;
use airlane_link::{Link, LinkError, LinkSpec, Mode, Request, TunEnd, TunSpec, UdpSpec};
use clap::{Args, Parser, Subcommand};

#[derive(Parser)]
struct Command {
    #[command(subcommand)]
    mode: What,
}

#[derive(Subcommand)]
enum What {
    /// Forward UDP from an address to a target.
    Udp {
        listen: SocketAddr,
        target: SocketAddr,
        #[command(flatten)]
        common: Common,
    },
    /// Join two devices, each NAME[@NAMESPACE][=ADDRESS/PREFIX,...].
    Tun {
        near: TunEnd,
        far: TunEnd,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Args)]
struct Common {
    /// A setting for both directions.
    #[arg(long, value_name = "KEY=VALUE")]
    both: Vec<String>,
    /// A setting for the way up.
    #[arg(long, value_name = "KEY=VALUE")]
    up: Vec<String>,
    /// A setting for the way down.
    #[arg(long, value_name = "KEY=VALUE")]
    down: Vec<String>,
    /// What everything random is drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Real-time priority for the link's thread.
    #[arg(long, value_name = "PRIORITY")]
    realtime: Option<u8>,
}

impl Common {
    fn request(&self, mode: Mode) -> Result<Request, LinkError> {
        let with_both = |own: &[String]| [&self.both, own].concat();
        let (up, down) = (with_both(&self.up), with_both(&self.down));
        let link = LinkSpec::from_settings(&up, &down, Seed(self.seed))?;
        Ok(Request { link, mode, realtime: self.realtime })
    }
}

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("link: {error}");
            ExitCode::from(if error.is_input() { 2 } else { 70 })
        }
    }
}

fn run(command: Command) -> Result<ExitCode, LinkError> {
    let request = match command.mode {
        What::Udp { listen, target, common } => {
            common.request(Mode::Udp(UdpSpec::new(listen, target)))?
        }
        What::Tun { near, far, common } => common.request(Mode::Tun(TunSpec::new(near, far)))?,
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).expect("signals can be caught");
    }
    let mut link = Link::start(&request)?;
    match link.address() {
        Some(address) => println!("ready: {address}"),
        None => println!("ready"),
    }
    let start = link.totals()?;
    let mut last = start.clone();
    'running: loop {
        for _ in 0..10 {
            if link.wait(Duration::from_millis(100)) || stop.load(Ordering::Relaxed) {
                break 'running;
            }
        }
        let now = link.totals()?;
        println!("{}", now.since(&last));
        last = now;
    }
    let end = link.stop()?;
    println!("in {:.1} s: {}", (end.at - start.at).as_secs_f64(), end.since(&start));
    Ok(ExitCode::from(130))
}
