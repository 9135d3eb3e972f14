//! The chunks of a title from wherever its manifest says that they are.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use airlane_media::dash::{Kind, Object, Representation};
use airlane_origin::Fetch;
use airlane_origin::RoleError;
use airlane_origin::cmcd::{Cmcd, ObjectType};

use super::sources::{TitlePart, first_and_last};
use super::title::Title;
use airlane_http_client::{Client, FetchError, Url};

/// Delays before the attempts of a player to get a segment again, in their order.
const RETRY_DELAYS: [Duration; 6] = [
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];

/// The chunks of a title.
#[derive(Debug)]
pub(super) struct FetchUrl {
    client: Arc<Client>,
    title: Arc<Title>,
    silent: bool,
    counts: Arc<Counts>,
    /// Rungs whose headers were fetched.
    begun: BTreeSet<usize>,
    /// Chunks of sound that were fetched.
    heard: usize,
}

/// Bytes fetched besides video segments, and numbers of retries.
#[derive(Debug, Default)]
pub(super) struct Counts {
    other_bytes: AtomicU64,
    retries: AtomicU32,
}

impl Counts {
    pub(super) fn other_bytes(&self) -> u64 {
        self.other_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn retries(&self) -> u32 {
        self.retries.load(Ordering::Relaxed)
    }
}

impl FetchUrl {
    pub(super) fn new(
        client: Arc<Client>,
        title: Arc<Title>,
        silent: bool,
        counts: Arc<Counts>,
    ) -> Self {
        Self { client, title, silent, counts, begun: BTreeSet::new(), heard: 0 }
    }

    /// Fetches a part, from wherever it is to be had, again if that may help. Its bytes.
    async fn part(&self, wanted: TitlePart, cmcd: &Cmcd) -> Result<u64, FetchError> {
        let mut delays = RETRY_DELAYS.into_iter();
        loop {
            let e = match self.anywhere(wanted, cmcd).await {
                Ok(bytes) => return Ok(bytes),
                Err(e) => e,
            };
            let Some(pause) = delays.next().filter(|_| e.may_pass()) else { return Err(e) };
            self.counts.retries.fetch_add(1, Ordering::Relaxed);
            tracing::debug!("{e}: again in {pause:?}");
            self.client.pause(pause).await;
        }
    }

    /// Tries every place that the title is at once, that which worked last first. The error is that
    /// of the first, unless only another one may pass.
    async fn anywhere(&self, wanted: TitlePart, cmcd: &Cmcd) -> Result<u64, FetchError> {
        let sources = &self.title.sources;
        let (begin, _) = sources.current();
        let mut failure: Option<FetchError> = None;
        for step in 0..sources.alternatives() {
            let number = (begin + step) % sources.alternatives();
            let Some(presentation) = sources.at(&self.client, number).await else { continue };
            let Some(object) = wanted.of(&presentation) else { continue };
            match self.try_object(object, cmcd).await {
                Ok(bytes) => {
                    if step > 0 && sources.current().0 != number {
                        tracing::warn!("going on with another BaseURL: {}", object.url);
                        sources.settle(number, presentation);
                    }
                    return Ok(bytes);
                }
                Err(e) => {
                    tracing::debug!("BaseURL {number}: {e}");
                    let first = failure.get_or_insert_with(|| e.clone());
                    if e.may_pass() && !first.may_pass() {
                        failure = Some(e);
                    }
                }
            }
        }
        Err(failure.unwrap_or_else(|| FetchError::Address(format!("{wanted:?}"))))
    }

    async fn try_object(&self, object: &Object, cmcd: &Cmcd) -> Result<u64, FetchError> {
        let mut url: Url = self.title.url.join(&object.url)?;
        if !self.silent {
            url = url.with_argument(&cmcd.to_query());
        }
        let (mut answer, url) = self.client.get(&url, object.range.map(first_and_last)).await?;
        let length = answer.length();
        let mut got = 0;
        while let Some(piece) = self.client.next(&mut answer, &url).await? {
            got += piece.len() as u64;
        }
        if length.is_some_and(|length| length != got) {
            let why = format!("{got} of {} bytes came", length.unwrap_or(0));
            return Err(FetchError::Connection { url: url.to_string(), why });
        }
        Ok(got)
    }

    /// Fetches the audio that belongs to the time of a chunk, as far as it is not there yet.
    /// Returns the number of the next audio segment.
    async fn sound(&self, from: usize, until: Duration, cmcd: &Cmcd) -> Result<usize, FetchError> {
        let (_, presentation) = self.title.sources.current();
        let Some(sound) = presentation.audio.first() else { return Ok(from) };
        let cmcd = Cmcd { object: Some(ObjectType::Sound), ..cmcd.clone() };
        let mut next = from;
        if next == 0 && sound.init.is_some() {
            self.other(TitlePart::Init(Kind::Audio, 0), &cmcd).await?;
        }
        while sound.start(next).is_some_and(|start| start < until) {
            self.other(TitlePart::Chunk(Kind::Audio, 0, next), &cmcd).await?;
            next += 1;
        }
        Ok(next)
    }

    async fn other(&self, wanted: TitlePart, cmcd: &Cmcd) -> Result<(), FetchError> {
        let bytes = self.part(wanted, cmcd).await?;
        self.counts.other_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    async fn picture(
        &self,
        of: &Representation,
        rung: usize,
        chunk: usize,
        cmcd: &Cmcd,
    ) -> Result<u64, FetchError> {
        if of.init.is_some() && !self.begun.contains(&rung) {
            let cmcd = Cmcd { object: Some(ObjectType::Other), ..cmcd.clone() };
            self.other(TitlePart::Init(Kind::Video, rung), &cmcd).await?;
        }
        self.part(TitlePart::Chunk(Kind::Video, rung, chunk), cmcd).await
    }
}

impl Fetch for FetchUrl {
    async fn chunk(&mut self, rung: usize, chunk: usize, cmcd: &Cmcd) -> Result<u64, RoleError> {
        let (_, presentation) = self.title.sources.current();
        let of = &presentation.video[rung];
        let until = of.start(chunk + 1).unwrap_or(Duration::MAX);
        let cmcd = Cmcd { object: Some(ObjectType::Picture), ..cmcd.clone() };
        let (picture, heard) = tokio::join!(
            self.picture(of, rung, chunk, &cmcd),
            self.sound(self.heard, until, &cmcd),
        );
        let failed = |e: FetchError| RoleError::Fetch(e.to_string());
        let bytes = picture.map_err(failed)?;
        self.heard = heard.map_err(failed)?;
        self.begun.insert(rung);
        Ok(bytes)
    }
}
