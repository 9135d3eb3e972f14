//! The way over an interface to the serving end, at whichever of its addresses answers.

use std::net::SocketAddr;
use std::sync::Arc;

use airlane_multipath::Channels;
use airlane_multipath::MultipathError;
use airlane_runtime::RuntimeHandle;

use super::path_spec::PathSpec;
use super::server_address::ServerLookup;
use airlane_host::happy_eyeballs::{interleave, race};

/// Path of subflows over an interface: the origin they leave from, and the address they lead to.
#[derive(Clone)]
pub(crate) struct ServerPath {
    pub(crate) runtime: RuntimeHandle,
    pub(crate) path: PathSpec,
    pub(crate) lookup: Arc<ServerLookup>,
}

impl ServerPath {
    /// The first subflow that opens among those to the addresses of the serving end that can be reached
    /// from here.
    ///
    /// # Errors
    /// If there is no such address, or none answers.
    pub(crate) async fn race<F>(
        &self,
        open: impl Fn(SocketAddr) -> F,
    ) -> Result<Channels, MultipathError>
    where
        F: Future<Output = Result<Channels, MultipathError>>,
    {
        let addresses = interleave(self.path.fitting(&self.lookup.addresses().await?));
        let opened = race(&self.runtime, &addresses, |at| {
            let opening = open(at);
            async move { opening.await.map_err(|e| (at, e)) }
        });
        opened.await.map_err(|mut failed| match failed.pop() {
            None => {
                let why = "the server has no address of the family of this path's";
                MultipathError::Io(why.to_owned())
            }
            Some((_, only)) if failed.is_empty() => only,
            Some(last) => {
                failed.push(last);
                let all: Vec<_> = failed.iter().map(|(at, e)| format!("{at}: {e}")).collect();
                MultipathError::Io(all.join("; "))
            }
        })
    }
}
