//! A title as its manifest and its quality table tell it.

use std::sync::Arc;
use std::time::Duration;

use airlane_media::dash::{self, CHUNK_TABLE, Presentation, Representation};
use airlane_media::{Metric, Rung, Video, table};

use super::sources::Sources;
use crate::error::DaemonError;
use airlane_http_client::{Client, Url};

/// A title.
#[derive(Debug)]
pub(super) struct Title {
    /// URL of the manifest.
    pub(super) url: Url,
    /// The ladder, its sound, and the places that they are at.
    pub(super) sources: Sources,
    /// Sizes and qualities: from the table, or guessed from the rates that the manifest names.
    pub(super) video: Arc<Video>,
    /// The measure that decisions go by.
    pub(super) metric: Metric,
    /// Its name, if it was measured.
    pub(super) metric_name: Option<&'static str>,
}

impl Title {
    /// Loads manifest and table.
    pub(super) async fn load(
        client: &Client,
        url: &Url,
        metric: Option<Metric>,
    ) -> Result<Self, DaemonError> {
        let (bytes, url) = client.get_all(url, None, dash::MAX_BYTES).await?;
        let text = dash::decode(&bytes).map_err(|e| e.at_file(url.to_string()))?;
        let sources = Sources::load(client, &url, text.into_owned()).await?;
        let (_, presentation) = sources.current();
        for note in &presentation.notes {
            tracing::warn!("{url}: {note}");
        }
        let table = presentation.chunk_table.clone().unwrap_or_else(|| CHUNK_TABLE.to_owned());
        let measured = match url.join(&table) {
            Ok(at) => measured(client, &at, &presentation).await,
            Err(_) => None,
        };
        Ok(match measured {
            Some(video) => {
                let own = metric.filter(|m| video.has(*m)).or_else(|| video.metrics().next());
                let metric = own.unwrap_or(Metric::Vmaf);
                let metric_name = Some(metric.name());
                Self { url, sources, video: Arc::new(video), metric, metric_name }
            }
            None => {
                let video = Arc::new(guessed(&presentation));
                Self { url, sources, video, metric: Metric::Vmaf, metric_name: None }
            }
        })
    }
}

/// The title's table, if there is one that fits.
async fn measured(client: &Client, at: &Url, presentation: &Presentation) -> Option<Video> {
    let (bytes, _) = client.get_all(at, None, table::MAX_TABLE_BYTES as usize).await.ok()?;
    let video = match table::parse(&bytes) {
        Ok(table) => table.video,
        Err(e) => {
            tracing::warn!("{at}: {e}");
            return None;
        }
    };
    let chunks = presentation.video.iter().map(|r| r.chunks.len()).min().unwrap_or(0);
    let fits = video.rungs.len() == presentation.video.len() && video.chunks() <= chunks;
    if !fits {
        tracing::warn!("{at}: the table is of another ladder than the manifest");
    }
    fits.then_some(video)
}

/// A title of which nothing is known but the rates of its manifest: chunks are as long as these say,
/// and quality is the logarithm of the rate, as BOLA's authors take it, from 1 at the lowest rung to
/// 100 at a hundred times its rate.
fn guessed(presentation: &Presentation) -> Video {
    let chunks = presentation.video.iter().map(|r| r.chunks.len()).min().unwrap_or(0);
    let lowest = presentation.video.first().map_or(1.0, |r| r.bandwidth.as_f64()).max(1.0);
    let rung = |r: &Representation| {
        let rate = r.bandwidth.as_f64();
        let size = |chunk| {
            let seconds = r.duration(chunk).unwrap_or_default().as_secs_f64();
            ((rate * seconds / 8.0) as u64).max(1)
        };
        let quality = (1.0 + 99.0 * (rate / lowest).ln() / 100f64.ln()).clamp(1.0, 100.0);
        Rung {
            name: r.id.clone(),
            width: r.width.unwrap_or(1),
            height: r.height.unwrap_or(1),
            nominal: r.bandwidth,
            size_bytes: (0..chunks).map(size).collect(),
            quality: [(Metric::Vmaf, vec![quality; chunks])].into(),
        }
    };
    let chunk = presentation.video.first().and_then(|r| r.duration(0));
    Video {
        name: "title".to_owned(),
        title: "title".to_owned(),
        character: String::new(),
        source: String::new(),
        fps: None,
        chunk: chunk.unwrap_or(Duration::from_secs(4)),
        distinct_chunks: chunks,
        rungs: presentation.video.iter().map(rung).collect(),
    }
}
