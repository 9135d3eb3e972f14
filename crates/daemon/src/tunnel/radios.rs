//! The radios of the connecting end: what connects over each, and what each may be used for.

use std::sync::Arc;

use airlane_apps::multipath::trunk::{Connect, Quota, RadioTerms};
use airlane_base::InputError;
use airlane_runtime::RuntimeHandle;
use tokio_rustls::TlsConnector;

use super::connect::{Over, TunnelClientConfig};
use super::quic::QuicDialer;
use super::radio_spec::RadioSpec;
use super::server_address::{ServerAddress, ServerLookup};
use super::server_path::ServerPath;
use super::tcp::TcpDialer;
use super::usage::{self, Book, Keeper};
use crate::error::DaemonError;

/// The radios as a trunk has them, and the account of those with a cap, of which a part is granted.
pub(super) struct Radios {
    pub(super) radios: Vec<(Connect, RadioTerms)>,
    pub(super) keeper: Option<Arc<Keeper>>,
}

impl Radios {
    /// Those that are asked for.
    ///
    /// # Errors
    /// If a path leads to no address of the server, or what was used cannot be read or written.
    pub(super) fn of(
        runtime: &RuntimeHandle,
        request: &TunnelClientConfig,
    ) -> Result<Self, DaemonError> {
        let dialers = dialers(runtime, request)?;
        let mut metered = Vec::new();
        let mut terms = |radio: &RadioSpec| {
            let quota = radio.cap.map(|cap| {
                let quota = Arc::new(Quota::new());
                metered.push((radio.path.to_string(), cap, quota.clone()));
                quota
            });
            RadioTerms { preference: radio.preference, max_bps: radio.max_bps, quota }
        };
        let terms: Vec<RadioTerms> = request.radios.iter().map(&mut terms).collect();
        let radios = dialers.into_iter().zip(terms).collect();
        if metered.is_empty() {
            return Ok(Self { radios, keeper: None });
        }
        let file = request.usage.as_ref().ok_or_else(|| {
            let expected = "expected a file for what it has used: --usage FILE";
            InputError::new("a radio has a cap", expected)
        })?;
        let keeper = Keeper::new(Book::open(file)?, metered, usage::now());
        keeper.grant(usage::now()).map_err(|e| InputError::io(file, "write", &e))?;
        Ok(Self { radios, keeper: Some(Arc::new(keeper)) })
    }
}

/// What connects over each path.
fn dialers(
    runtime: &RuntimeHandle,
    request: &TunnelClientConfig,
) -> Result<Vec<Connect>, DaemonError> {
    let mut dialers = Vec::new();
    let tls = TlsConnector::from(Arc::new(request.key.tls()?.client_config(&[])?));
    let lookup = ServerLookup::new(runtime, request.server.clone());
    for RadioSpec { path, .. } in &request.radios {
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
            Over::Tcp => {
                let dialer = TcpDialer { to, knock: request.key.knock()?, tls: tls.clone() };
                Box::new(move || {
                    let dialer = dialer.clone();
                    Box::pin(async move { dialer.connect().await })
                })
            }
            Over::Quic => {
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
