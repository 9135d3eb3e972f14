//! The peer: noq's own endpoint on tokio, without HTTP/3.

use std::net::UdpSocket;
use std::process::Command;
use std::sync::Arc;

use clap::ValueEnum;
use noq::{Endpoint, EndpointConfig, ServerConfig, TransportConfig, VarInt};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};

use super::{Load, Moved};
use crate::bar::Problem;
use crate::clock::Watch;
use crate::noq_bulk::{self, NAME, Ready, broke, fetch, threads};
use crate::process::{Running, Usage};

/// Size of the buffer that a tuned endpoint asks the system for, as ours do.
const SOCKET_BYTES: usize = 4 << 20;

/// Sizes of an endpoint's windows and socket buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Windows {
    /// As it comes.
    Own,
    /// With larger windows and socket buffers.
    Large,
}

impl Windows {
    pub(super) const ALL: [Self; 2] = [Self::Own, Self::Large];

    fn transport(self) -> TransportConfig {
        let mut transport = TransportConfig::default();
        if self == Self::Large {
            // More than 2048 full packets in one stream end the connection.
            transport.stream_receive_window(VarInt::from_u32(2 << 20)).send_window(16 << 20);
        }
        transport
    }

    fn endpoint(self, server: Option<ServerConfig>) -> Result<Endpoint, Problem> {
        let socket = UdpSocket::bind("127.0.0.1:0").map_err(broke)?;
        if self == Self::Large {
            set_socket_recv_buffer_size(&socket, SOCKET_BYTES).map_err(broke)?;
            set_socket_send_buffer_size(&socket, SOCKET_BYTES).map_err(broke)?;
        }
        let config = EndpointConfig::default();
        Endpoint::new(config, server, socket, Arc::new(noq::TokioRuntime)).map_err(broke)
    }
}

/// Serves in this process for as long as it lives.
pub(crate) fn child(windows: Windows) -> Result<(), Problem> {
    let (config, certificate) = noq_bulk::server(windows.transport())?;
    let threads = threads()?;
    let _guard = threads.enter();
    let endpoint = windows.endpoint(Some(config))?;
    threads.block_on(noq_bulk::serve(&endpoint, certificate))
}

/// Fetches from a server in a process of its own.
pub(super) fn run(windows: Windows, load: Load) -> Result<Moved, Problem> {
    let own = std::env::current_exe().map_err(broke)?;
    let name = windows.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default();
    let mut command = Command::new(own);
    let (server, line) = Running::announced("noq", command.arg(format!("--child-noq={name}")))?;
    let ready: Ready = serde_json::from_str(&line).map_err(broke)?;
    let threads = threads()?;
    let _guard = threads.enter();
    let endpoint = windows.endpoint(None)?;
    let config = noq_bulk::client(&ready, windows.transport())?;
    threads.block_on(async {
        let connecting = endpoint.connect_with(config, ready.address, NAME).map_err(broke)?;
        let connection = connecting.await.map_err(broke)?;
        // As ours: the connection has carried something before it is measured.
        fetch(&connection, 1, |_| true).await?;
        let (served, own) = (server.usage()?, Usage::own()?);
        let watch = Watch::start();
        let mut bytes = 0;
        for _ in 0..load.objects {
            let count = |n| {
                bytes += n;
                true
            };
            fetch(&connection, load.object_bytes, count).await?;
        }
        let wall = watch.elapsed();
        Ok(Moved {
            bytes,
            wall,
            server: server.usage()?.cpu - served.cpu,
            client: Usage::own()?.cpu - own.cpu,
        })
    })
}
