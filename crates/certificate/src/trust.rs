//! Trust of clients in servers.

use airlane_quic::Trust;

/// Whom clients talk to: servers with a certificate of an authority that the system trusts, or anyone.
pub fn trust(insecure: bool) -> Trust {
    if insecure {
        return Trust::Anyone;
    }
    let found = rustls_native_certs::load_native_certs();
    for e in &found.errors {
        tracing::warn!("a certificate of the system's was not read: {e}");
    }
    Trust::Roots(found.certs.into_iter().map(|c| c.to_vec()).collect())
}
