//! The server and the client that ship.

use airlane_base::Seed;
use airlane_daemon::client::{Client, FetchError, Speak, Url};
use airlane_quic::Trust;
use airlane_runtime::real_time::TokioRuntime;

use super::{Load, Moved};
use crate::bar::Problem;
use crate::clock::Watch;
use crate::noq_bulk::threads;
use crate::process::{self, Running, Scratch, Usage};

/// A server with the object.
pub(super) struct Site {
    server: Running,
    address: String,
    _folder: Scratch,
}

impl Site {
    pub(super) fn new(load: Load) -> Result<Self, Problem> {
        let folder = Scratch::new("serve")?;
        let object = vec![0x5a; usize::try_from(load.object_bytes).unwrap_or(usize::MAX)];
        std::fs::write(folder.path("www/object.bin"), object)
            .map_err(|e| Problem::Broke(format!("the object: {e}")))?;
        let (server, address) = process::serve(&folder)?;
        Ok(Self { server, address, _folder: folder })
    }

    /// Fetches the object as often as there are to be objects.
    pub(super) fn run(&self, load: Load) -> Result<Moved, Problem> {
        let broke = |e: FetchError| Problem::Broke(e.to_string());
        let url = Url::parse(&format!("{}/object.bin", self.address)).map_err(broke)?;
        threads()?.block_on(async {
            let client = Client::new(TokioRuntime::new(Seed(1)), Trust::Anyone, Speak::Http3)
                .map_err(|e| Problem::Broke(e.to_string()))?;
            // The connection.
            client.get_all(&url, Some((0, 0)), 1).await.map_err(broke)?;
            let (server, own) = (self.server.usage()?, Usage::own()?);
            let watch = Watch::start();
            let mut bytes = 0;
            for _ in 0..load.objects {
                let (mut answer, url) = client.get(&url, None).await.map_err(broke)?;
                while let Some(piece) = client.next(&mut answer, &url).await.map_err(broke)? {
                    bytes += piece.len() as u64;
                }
            }
            Ok(Moved {
                bytes,
                wall: watch.elapsed(),
                server: self.server.usage()?.cpu - server.cpu,
                client: Usage::own()?.cpu - own.cpu,
            })
        })
    }
}
