//! The interfaces of the connecting end: what connects over each, and what each may be used for.

use std::sync::Arc;

use airlane_base::InputError;
use airlane_multipath::{Connect, DataCap, InterfaceConfig};
use airlane_runtime::RuntimeHandle;
use tokio_rustls::TlsConnector;

use super::connect::{SubflowTransport, TunnelClientConfig};
use super::interface_spec::InterfaceSpec;
use super::quic::QuicDialer;
use super::server_address::{ServerAddress, ServerLookup};
use super::server_path::ServerPath;
use super::tcp::TcpDialer;
use super::usage::{self, UsageFile, UsageRecorder};
use crate::error::TunnelError;

/// The interfaces as a session has them, and the account of those with a cap, of which a part is granted.
pub(crate) struct Interfaces {
    pub(crate) interfaces: Vec<(Connect, InterfaceConfig)>,
    pub(crate) recorder: Option<Arc<UsageRecorder>>,
}

impl Interfaces {
    /// Those that are asked for.
    ///
    /// # Errors
    /// If a path leads to no address of the server, or what was used cannot be read or written.
    pub(crate) fn of(
        runtime: &RuntimeHandle,
        request: &TunnelClientConfig,
    ) -> Result<Self, TunnelError> {
        let dialers = dialers(runtime, request)?;
        let mut metered = Vec::new();
        let mut terms = |interface: &InterfaceSpec| {
            let data_cap = interface.cap.map(|cap| {
                let data_cap = Arc::new(DataCap::new());
                metered.push((interface.path.to_string(), cap, data_cap.clone()));
                data_cap
            });
            InterfaceConfig {
                preference: interface.preference,
                max_bps: interface.max_bps,
                data_cap,
            }
        };
        let terms: Vec<InterfaceConfig> = request.interfaces.iter().map(&mut terms).collect();
        let interfaces = dialers.into_iter().zip(terms).collect();
        if metered.is_empty() {
            return Ok(Self { interfaces, recorder: None });
        }
        let file = request.usage.as_ref().ok_or_else(|| {
            let expected = "expected a file for what it has used: --usage FILE";
            InputError::new("an interface has a cap", expected)
        })?;
        let recorder = UsageRecorder::new(UsageFile::open(file)?, metered, usage::now());
        recorder.grant(usage::now()).map_err(|e| InputError::io(file, "write", &e))?;
        Ok(Self { interfaces, recorder: Some(Arc::new(recorder)) })
    }
}

/// Connector of each path.
fn dialers(
    runtime: &RuntimeHandle,
    request: &TunnelClientConfig,
) -> Result<Vec<Connect>, TunnelError> {
    let mut dialers = Vec::new();
    let tls = TlsConnector::from(Arc::new(request.key.tls()?.client_config(&[])?));
    let lookup = ServerLookup::new(runtime, request.server.clone());
    for InterfaceSpec { path, .. } in &request.interfaces {
        if let ServerAddress::Addresses(all) = &request.server
            && !all.iter().any(|at| path.fits(*at))
        {
            let found = "the server has no address of the family of this path's";
            let expected = "give an address of the server, or of this machine, of the same family";
            return Err(InputError::new(found, expected).at_key(format!("--path {path}")).into());
        }
        let (runtime, path, lookup) = (runtime.clone(), path.clone(), lookup.clone());
        let to = ServerPath { runtime, path, lookup };
        let connect: Connect = match request.over {
            SubflowTransport::Tcp => {
                let dialer =
                    TcpDialer { to, auth_token: request.key.auth_token()?, tls: tls.clone() };
                Box::new(move || {
                    let dialer = dialer.clone();
                    Box::pin(async move { dialer.connect().await })
                })
            }
            SubflowTransport::Quic => {
                let dialer = QuicDialer::new(to, request.congestion, request.key.clone());
                Box::new(move || {
                    let dialer = dialer.clone();
                    Box::pin(async move { dialer.connect().await })
                })
            }
        };
        dialers.push(connect);
    }
    Ok(dialers)
}
