//! The server and the client that ship.

use airlane_base::Seed;
use airlane_http_client::{Client, FetchError, Speak, Url};
use airlane_quic::Trust;
use airlane_runtime::real_time::TokioRuntime;
use tokio::task::JoinSet;

use super::{Load, Moved};
use crate::bar::Problem;
use crate::clock::Watch;
use crate::noq_bulk::threads;
use crate::process::{self, Running, Scratch, Usage};

/// A server with the object.
pub(super) struct Site {
    server: Running,
    address: String,
    folder: Scratch,
}

impl Site {
    pub(super) fn new(load: Load) -> Result<Self, Problem> {
        let folder = Scratch::new("serve")?;
        let object = vec![0x5a; usize::try_from(load.object_bytes).unwrap_or(usize::MAX)];
        std::fs::write(folder.path("www/object.bin"), object)
            .map_err(|e| Problem::Broke(format!("the object: {e}")))?;
        let (server, address, _) = process::serve(&folder)?;
        Ok(Self { server, address, folder })
    }

    /// Fetches the object as often as there are to be objects.
    pub(super) fn run(&self, load: Load) -> Result<Moved, Problem> {
        fetch(&self.server, &self.address, load)
    }

    /// The folder with it.
    pub(super) fn folder(&self) -> &Scratch {
        &self.folder
    }
}

/// Fetches the object from a server with our client, over HTTP/3 and on as many connections as the load
/// has, each from a socket of its own.
pub(super) fn fetch(server: &Running, address: &str, load: Load) -> Result<Moved, Problem> {
    let broke = |e: FetchError| Problem::Broke(e.to_string());
    let url = Url::parse(&format!("{address}/object.bin")).map_err(broke)?;
    threads()?.block_on(async {
        let mut clients = Vec::new();
        for n in 0..load.connections {
            let runtime = TokioRuntime::new(Seed(n as u64));
            let client = Client::new(runtime, Trust::Anyone, Speak::Http3)
                .map_err(|e| Problem::Broke(e.to_string()))?;
            // The connection.
            client.get_all(&url, Some((0, 0)), 1).await.map_err(broke)?;
            clients.push(client);
        }
        let (served, own) = (server.usage()?, Usage::own()?);
        let watch = Watch::start();
        let mut fetching = JoinSet::new();
        for client in clients {
            let url = url.clone();
            fetching.spawn(async move {
                let mut bytes = 0;
                for _ in 0..load.objects {
                    let (mut answer, url) = client.get(&url, None).await?;
                    while let Some(piece) = client.next(&mut answer, &url).await? {
                        bytes += piece.len() as u64;
                    }
                }
                Ok::<u64, FetchError>(bytes)
            });
        }
        let mut bytes = 0;
        while let Some(fetched) = fetching.join_next().await {
            bytes += fetched.map_err(|e| Problem::Broke(e.to_string()))?.map_err(broke)?;
        }
        Ok(Moved {
            bytes,
            wall: watch.elapsed(),
            server: server.usage()?.cpu - served.cpu,
            client: Usage::own()?.cpu - own.cpu,
        })
    })
}
