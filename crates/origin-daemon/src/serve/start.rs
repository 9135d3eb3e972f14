//! What a server reads before it serves.

use std::fmt::Display;
use std::net::SocketAddr;
use std::thread;

use airlane_base::InputError;
use airlane_certificate::ServedCertificates;
use airlane_host::{date, host_id};
use tokio::sync::oneshot;

use super::PAYLOAD_BYTES;
use super::config::ServerConfig;
use super::site::{self, Catalogue};
use crate::error::DaemonError;

/// Secret of the tokens of sessions: new at every start, as the sessions are.
pub(super) fn secret() -> Result<[u8; 32], DaemonError> {
    let failed = |_| InputError::new("the system gives no random numbers", "");
    let secret = ring::rand::generate(&ring::rand::SystemRandom::new()).map_err(failed)?;
    Ok(secret.expose())
}

/// Looks for titles, off the threads that serve.
pub(super) async fn read_titles(config: &ServerConfig) -> Result<Catalogue, DaemonError> {
    let config = config.clone();
    // It takes many times the memory that it leaves. The allocator keeps what a thread freed for that
    // thread, and those that wait for disks live while there is work: one of them would keep it.
    let (done, catalogue) = oneshot::channel();
    let read = move || {
        // Nobody waits any more where the server was dropped.
        let _ = done.send(site::catalogue(&config, PAYLOAD_BYTES.into()));
    };
    let failed = |e: &dyn Display| InputError::new(format!("titles were not read: {e}"), "");
    thread::Builder::new().name("titles".to_owned()).spawn(read).map_err(|e| failed(&e))?;
    Ok(catalogue.await.map_err(|e| failed(&e))??)
}

/// Does what waits for a disk, off the threads that serve.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, DaemonError> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(|e| InputError::new(format!("files were not read: {e}"), ""))?)
}

/// Certificates that the server shows, and its secret for stateless resets.
pub(super) fn certificates(
    config: &ServerConfig,
) -> Result<(ServedCertificates, [u8; 32]), DaemonError> {
    let addresses: Vec<_> = config.listen.iter().map(SocketAddr::ip).collect();
    // Machines that share a certificate must not share the tokens (RFC 9000, section 21.11).
    let purpose = format!("stateless reset on {}", host_id::name());
    let (files, folder) = (config.certificates.clone(), config.data_folder.clone());
    Ok(ServedCertificates::new(files, folder, &addresses, (&purpose, date::now_s()))?)
}
