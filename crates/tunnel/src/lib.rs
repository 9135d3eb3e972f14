//! A tunnel: TCP and SOCKS5 over several interfaces at once, with FBDT.
//!
//! The connecting end has the interfaces and takes the applications' connections; each becomes a stream
//! of a session ([`airlane_multipath`]). The serving end connects them to their targets.
//! Each client has a key of its own. `docs/guide/tunnel.md` says how to use it,
//! `docs/reference/wire/tunnel.md` what is on the wire.

mod admission;
mod auth_token;
mod client_key;
mod clients;
mod connect;
mod datagrams;
mod descriptors;
pub mod error;
mod interface_spec;
mod interfaces;
mod key;
mod listen;
mod path_spec;
mod pump;
mod quic;
mod replay_log;
mod request;
mod rules;
mod serve;
mod server_address;
mod server_path;
pub mod socks;
mod status;
mod stop;
mod target_connector;
mod tcp;
mod usage;

pub use admission::AdmissionConfig;
pub use airlane_multipath::{InterfaceStatus, Preference, SessionLimits};
pub use client_key::ClientKey;
pub use clients::{add_client, clients_file, list_clients, revoke_client};
pub use connect::{Forward, SubflowTransport, TunnelClient, TunnelClientConfig};
pub use datagrams::DatagramFrame;
pub use error::TunnelError;
pub use interface_spec::InterfaceSpec;
pub use key::Key;
pub use path_spec::PathSpec;
pub use quic::Congestion;
pub use request::{Reply, Target, TunnelRequest};
pub use rules::{DenyRule, Rule, Rules};
pub use serve::{TunnelServer, TunnelServerConfig};
pub use server_address::ServerAddress;
pub use status::{CapStatus, ClientStatus, SubflowStatus, TunnelStatus};
pub use usage::{Cap, Period};
