//! The options of `airlane tunnel`.

use std::net::SocketAddr;
use std::path::PathBuf;

use airlane_base::InputError;
use airlane_host::dirs;
use airlane_tunnel::{
    AdmissionConfig, ClientKey, Congestion, DenyRule, Forward, InterfaceSpec, Key, Rule, Rules,
    SessionLimits, SubflowTransport, Target, TunnelClientConfig, TunnelServerConfig, clients_file,
};
use clap::{Args, Subcommand, ValueEnum};

use super::addresses::{listen_addresses, local_address};

#[derive(Debug, Args)]
pub(crate) struct TunnelArgs {
    #[command(subcommand)]
    pub(crate) verb: TunnelVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TunnelVerb {
    /// Make a serving end's key, and keys of its clients; end a client's rights
    Key(TunnelKeyArgs),
    /// Serve tunnels: connect their streams to the targets
    Serve(TunnelServeArgs),
    /// Accept connections of applications and carry them over all interfaces at once
    Connect(TunnelConnectArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TunnelKeyArgs {
    /// The file of the serving end's key; without an option it is made, and must not be there yet
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Make a key for a client of this name, write it into CLIENT_FILE, and list the client in
    /// FILE.clients; a serving end that runs takes note within a second
    #[arg(long, value_name = "NAME", requires = "client_file", group = "action")]
    pub(crate) client: Option<String>,
    /// File for the client's key; it must not be there yet
    #[arg(value_name = "CLIENT_FILE", requires = "client")]
    pub(crate) client_file: Option<PathBuf>,
    /// Take the rights of the client of this name; a serving end that runs ends its connections
    /// within a second
    #[arg(long, value_name = "NAME", group = "action")]
    pub(crate) revoke: Option<String>,
    /// Print the names of the clients
    #[arg(long, group = "action")]
    pub(crate) list: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TunnelServeArgs {
    /// Address to listen on; a name stands for all its addresses, none for all of this machine's;
    /// may be repeated
    #[arg(long, value_name = "ADDR:PORT", default_value = ":4434")]
    listen: Vec<String>,
    /// The key that `airlane tunnel key FILE` wrote; FILE.clients beside it lists the clients
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Connect to these alone, such as 10.0.0.0/8, *.example.org:443 or 127.0.0.1:22; special
    /// addresses, as of this machine or of private networks, only if the rule is an address or a
    /// network of theirs; may be repeated [default: everything but this machine and its links]
    #[arg(long, value_name = "HOST[:PORT]")]
    allow: Vec<Rule>,
    /// Never connect to these addresses or networks; may be repeated
    #[arg(long, value_name = "ADDR[:PORT]")]
    deny: Vec<DenyRule>,
    /// The congestion control of connections over QUIC; those over TCP have the system's
    #[arg(long, value_enum, value_name = "CONTROLLER", default_value = "cubic")]
    congestion: Control,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

#[derive(Debug, Args)]
pub(crate) struct TunnelConnectArgs {
    /// The serving end; a name is looked up again whenever nothing answers
    #[arg(value_name = "HOST:PORT")]
    server: String,
    /// This client's key, which `airlane tunnel key --client NAME` wrote at the serving end; the key
    /// of the serving end works too, with a warning, as whoever has it can pose as the server
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// A network interface, by its name or an address of this machine; once for each. Options
    /// follow after commas: price=NUMBER, backup, max-rate=RATE, cap=BYTES/month, as in
    /// wwan0,price=5,max-rate=20Mbit,cap=2GB/month
    #[arg(long, value_name = "IFACE|ADDR[,TERM...]", required = true)]
    path: Vec<InterfaceSpec>,
    /// File that keeps what interfaces with a cap have used [default: airlane/usage.json in the
    /// user's folder for state]
    #[arg(long, value_name = "FILE")]
    usage: Option<PathBuf>,
    /// Transport protocol of each path to the server
    #[arg(
        long = "transport",
        alias = "over",
        value_enum,
        value_name = "TRANSPORT",
        default_value = "tcp"
    )]
    over: Transport,
    /// The congestion control of what this end sends over QUIC; the serving end has its own
    #[arg(long, value_enum, value_name = "CONTROLLER", default_value = "cubic")]
    congestion: Control,
    /// Accept SOCKS5 here
    #[arg(long, value_name = "ADDR:PORT", value_parser = local_address)]
    socks: Option<SocketAddr>,
    /// Accept connections at LOCAL, a port of this machine or ADDR:PORT, for a target that the
    /// serving end connects to; may be repeated
    #[arg(long, value_name = "LOCAL=HOST:PORT", value_parser = forward)]
    forward: Vec<Forward>,
    /// Allow --forward and --socks to listen on addresses that other machines reach, which can then use
    /// the tunnel
    #[arg(long)]
    allow_remote: bool,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

/// Options for the metrics and messages of both ends.
#[derive(Debug, Args)]
pub(crate) struct Showing {
    /// Serve metrics over HTTP here, to this machine and its private networks: a page, /status in
    /// JSON and /metrics for Prometheus
    #[arg(long, value_name = "ADDR:PORT", value_parser = local_address)]
    status: Option<SocketAddr>,
    /// Print all metrics once a second, as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the line `ready` and errors alone (and metrics with --json)
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Transport that carries subflows.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Transport {
    /// The system's TCP, with TLS
    Tcp,
    /// QUIC over UDP
    Quic,
}

/// Congestion control of subflows over QUIC.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Control {
    /// Cubic (RFC 9438) on each path, independently of the others
    Cubic,
    /// All interfaces together take no more of a shared bottleneck than one connection would (LIA,
    /// RFC 6356)
    Coupled,
}

impl From<Control> for Congestion {
    fn from(control: Control) -> Self {
        match control {
            Control::Cubic => Self::Cubic,
            Control::Coupled => Self::Coupled,
        }
    }
}

impl TunnelServeArgs {
    /// Configuration that the options ask for.
    ///
    /// # Errors
    /// If a name has no address, or the key cannot be read.
    pub(crate) fn request(&self) -> Result<TunnelServerConfig, InputError> {
        let mut listen = Vec::new();
        for text in &self.listen {
            for address in listen_addresses(text, "--listen")? {
                if !listen.contains(&address) {
                    listen.push(address);
                }
            }
        }
        Ok(TunnelServerConfig {
            listen,
            key: Key::read(&self.key)?,
            admission: AdmissionConfig {
                clients: Some(clients_file(&self.key)),
                state: dirs::state().map(|folder| folder.join("tunnel")),
            },
            rules: Rules { allow: self.allow.clone(), deny: self.deny.clone() },
            congestion: self.congestion.into(),
            status: self.showing.status,
            bounds: SessionLimits::default(),
        })
    }
}

impl TunnelConnectArgs {
    /// Configuration that the options ask for.
    ///
    /// # Errors
    /// If the server has no address, the key cannot be read, nothing is to be done, or others than
    /// this machine could use it though nobody said that they may.
    pub(crate) fn request(&self) -> Result<TunnelClientConfig, InputError> {
        let wrong = |found: &str, expected: &str, key: &str| {
            Err(InputError::new(found, expected).at_key(key))
        };
        if self.socks.is_none() && self.forward.is_empty() {
            let expected = "expected --socks ADDR:PORT or --forward LOCAL=HOST:PORT";
            return wrong("nothing to take connections for", expected, "tunnel connect");
        }
        if let (Control::Coupled, Transport::Tcp) = (self.congestion, self.over) {
            let expected = "expected --transport quic beside it: over TCP it is the system's";
            return wrong("--congestion coupled over TCP", expected, "--congestion");
        }
        for (number, radio) in self.path.iter().enumerate() {
            if self.path[..number].iter().any(|other| other.path == radio.path) {
                return wrong("the path is there twice", "expected each radio once", "--path");
            }
        }
        let forwards = self.forward.iter().map(|forward| ("--forward", forward.listen));
        let socks = self.socks.map(|at| ("--socks", at));
        for (key, at) in forwards.chain(socks) {
            if !at.ip().is_loopback() && !self.allow_remote {
                let found = format!("other machines could use the tunnel at {at}");
                let expected = "expected a loopback address, or --allow-remote to let them";
                return wrong(&found, expected, key);
            }
        }
        Ok(TunnelClientConfig {
            server: self.server.parse()?,
            key: ClientKey::read(&self.key)?,
            interfaces: self.path.clone(),
            usage: self.usage.clone().or_else(|| Some(dirs::state()?.join("usage.json"))),
            congestion: self.congestion.into(),
            over: match self.over {
                Transport::Tcp => SubflowTransport::Tcp,
                Transport::Quic => SubflowTransport::Quic,
            },
            socks: self.socks,
            forwards: self.forward.clone(),
            status: self.showing.status,
            bounds: SessionLimits::default(),
        })
    }
}

fn forward(text: &str) -> Result<Forward, String> {
    let expected = || "expected LOCAL=HOST:PORT, such as 8080=example.org:80".to_owned();
    let (listen, target) = text.split_once('=').ok_or_else(expected)?;
    let target = Target::parse(target).ok_or_else(expected)?;
    Ok(Forward { listen: local_address(listen)?, target })
}
