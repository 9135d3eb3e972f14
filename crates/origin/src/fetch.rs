//! How a player gets its chunks.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use airlane_media::Video;
use airlane_quic::{ControlHandle, Endpoint, H3Client};
use http::{Request, StatusCode};

use crate::cmcd::Cmcd;
use airlane_base::Pattern;

use crate::Library;
use crate::error::RoleError;

/// Gets the chunks of one title from wherever they are.
pub trait Fetch: Send {
    /// Gets a chunk of the picture, and whatever belongs to it, and says `cmcd` of the player. The
    /// bytes of the picture.
    ///
    /// # Errors
    /// If it cannot be had whole.
    fn chunk(
        &mut self,
        rung: usize,
        chunk: usize,
        cmcd: &Cmcd,
    ) -> impl Future<Output = Result<u64, RoleError>> + Send;

    /// Congestion control of the client's sending on its connection, if that is ours.
    fn control(&self) -> Option<ControlHandle> {
        None
    }
}

/// Chunks of a [`Library`] over HTTP/3: every byte is checked.
#[derive(Debug)]
pub struct FetchPattern {
    client: H3Client,
    server: SocketAddr,
    host: String,
    video: Arc<Video>,
}

impl FetchPattern {
    /// Connects to the origin called `host` at `server`, which has `video`.
    ///
    /// # Errors
    /// If the connection fails.
    pub async fn connect(
        endpoint: &Endpoint,
        server: SocketAddr,
        host: &str,
        video: Arc<Video>,
    ) -> Result<Self, RoleError> {
        let connection =
            endpoint.connect(server, host).await.map_err(RoleError::transport(server))?;
        let client = H3Client::connect(connection).await.map_err(RoleError::transport(server))?;
        Ok(Self { client, server, host: host.to_owned(), video })
    }

    /// Fetches the title's first `objects` further objects, one after the other, as players fetch
    /// its manifest and the header of a track before they ask for a chunk.
    ///
    /// # Errors
    /// If one cannot be had whole.
    pub async fn open(&mut self, objects: usize, cmcd: &Cmcd) -> Result<(), RoleError> {
        for i in 0..objects {
            self.whole(&Library::opening_path(&self.video, i), cmcd).await?;
        }
        Ok(())
    }

    /// Fetches an object. Its bytes.
    async fn whole(&mut self, path: &str, cmcd: &Cmcd) -> Result<u64, RoleError> {
        let failed = RoleError::transport(self.server);
        let wrong = |problem: String| RoleError::Answer { path: path.to_owned(), problem };
        let request = Request::get(format!("https://{}{path}?{}", self.host, cmcd.to_query()))
            .body(())
            .map_err(|e| wrong(format!("no request can be made of it: {e}")))?;
        let response = self.client.send_request(request).await.map_err(failed)?;
        if response.status() != StatusCode::OK {
            return Err(wrong(format!("the server answered {}", response.status())));
        }
        let length = response
            .headers()
            .get(http::header::CONTENT_LENGTH)
            .and_then(|v| v.to_str().ok()?.parse::<u64>().ok())
            .ok_or_else(|| wrong("the answer has no length".to_owned()))?;
        let expected = Pattern::new(path, length);
        let mut body = response.into_body();
        let mut got = 0;
        while let Some(piece) = body.data().await.map_err(RoleError::transport(self.server))? {
            if !expected.matches(got, &piece) {
                return Err(wrong(format!("wrong bytes after {got}")));
            }
            got += piece.len() as u64;
        }
        if got != length {
            return Err(wrong(format!("{got} of {length} bytes came")));
        }
        Ok(got)
    }
}

impl Fetch for FetchPattern {
    async fn chunk(&mut self, rung: usize, chunk: usize, cmcd: &Cmcd) -> Result<u64, RoleError> {
        self.whole(&Library::path(&self.video, rung, chunk), cmcd).await
    }

    fn control(&self) -> Option<ControlHandle> {
        Some(self.client.control().clone())
    }
}
