//! Certificates that are replaced by others while the server shows them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use airlane_http_client::Speak;
use airlane_quic::Trust;

use super::world::{World, broke, client, replace, sleep, until};
use crate::bar::Problem;
use crate::process::Scratch;

/// Maximum time until a new certificate is shown: the server looks every five seconds, or is told
/// to look by a signal.
const UNTOLD: Duration = Duration::from_secs(12);
const TOLD: Duration = Duration::from_secs(3);
/// Path that is fetched to see a certificate.
const PATH: &str = "/film-0/manifest.mpd";

/// Files in which a server finds its certificate and key.
pub(super) fn files(folder: &Scratch) -> [PathBuf; 2] {
    [folder.path("cert.pem"), folder.path("key.pem")]
}

/// Writes a new certificate and its key over the last ones. The certificate (DER).
pub(super) fn renew(folder: &Scratch) -> Result<Vec<u8>, Problem> {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let own = rcgen::generate_simple_self_signed(names).map_err(broke)?;
    let [chain, key] = files(folder);
    replace(&chain, own.cert.pem().as_bytes()).map_err(broke)?;
    replace(&key, own.signing_key.serialize_pem().as_bytes()).map_err(broke)?;
    Ok(own.cert.der().to_vec())
}

/// Renews it again and again. Every other time the server is told.
pub(super) async fn keep_changing(world: Arc<World>) {
    for round in 0_u64.. {
        sleep(world.plan.certificate_every).await;
        let is_told = round % 2 == 1;
        let what =
            format!("certificate {} {}", round + 1, if is_told { "with SIGHUP" } else { "" });
        let Some(certificate) = world.expect(&what, renew(&world.folder)) else { continue };
        if is_told {
            world.expect(&what, world.reload());
        }
        world.note(|a| a.certificates += 1);
        let limit = if is_told { TOLD } else { UNTOLD };
        for (n, speak) in [Speak::Http3, Speak::Tcp].into_iter().enumerate() {
            let Some(took) = world.expect(&what, see(&world, &certificate, speak, limit).await)
            else {
                continue;
            };
            world.note(|a| {
                a.seen[n] += 1;
                a.slowest = a.slowest.max(took);
            });
        }
    }
}

/// Connects until the server shows this certificate.
async fn see(
    world: &World,
    certificate: &[u8],
    speak: Speak,
    limit: Duration,
) -> Result<Duration, Problem> {
    let url = world.url(PATH)?;
    let took = until(limit, || async {
        let client = client(Trust::Exactly(certificate.to_vec()), speak)?;
        client.get_all(&url, None, 1 << 20).await.map(|_| ()).map_err(broke)
    });
    took.await
}
