//! A tunnel: TCP and SOCKS5 over several radios at once, with FBDT.
//!
//! The connecting end has the radios and takes the applications' connections; each becomes a stream
//! of a trunk ([`airlane_apps::multipath::trunk`]). The serving end connects them to their targets.
//! Each client has a key of its own. `docs/tunnel.md` says how to use it, `docs/wire/tunnel.md` what is on the wire.

mod admission;
mod client_key;
mod clients;
mod connect;
mod datagrams;
mod descriptors;
mod key;
mod knock;
mod knock_log;
mod listen;
mod pump;
mod quic;
mod radio;
mod radio_spec;
mod radios;
mod reach;
mod request;
mod rules;
mod serve;
mod server_address;
mod server_path;
pub mod socks;
mod status;
mod stop;
mod tcp;
mod usage;

pub use admission::AdmissionConfig;
pub use airlane_apps::multipath::trunk::{Bounds, Preference, RadioView};
pub use client_key::ClientKey;
pub use clients::{add_client, clients_file, list_clients, revoke_client};
pub use connect::{Forward, Over, TunnelClient, TunnelClientConfig};
pub use datagrams::DatagramFrame;
pub use key::Key;
pub use quic::Congestion;
pub use radio::PathSpec;
pub use radio_spec::RadioSpec;
pub use request::{Reply, Target, TunnelRequest};
pub use rules::{DenyRule, Rule, Rules};
pub use serve::{TunnelServer, TunnelServerConfig};
pub use server_address::ServerAddress;
pub use status::{CapStatus, ClientStatus, LineStatus, TunnelStatus};
pub use usage::{Cap, Period};
