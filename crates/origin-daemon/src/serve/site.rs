//! What the server answers at each path: files, pages, and data about sessions.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use airlane_base::InputError;
use airlane_origin::sessions::SharedSessions;
use airlane_origin::store::{Object, Store, StoreFuture, Target, Version};
use airlane_quic::Endpoint;
use airlane_runtime::RuntimeHandle;
use bytes::Bytes;
use http::Request;
use hyper::body::Incoming;
use parking_lot::RwLock;

use super::groups::Groups;
use super::log::AccessLog;
use super::metrics::{GaugeReadings, Metrics};
use super::overview::{Overview, Query, SessionSelection};
use super::pages::{self, Field, Pages};
use super::registry::Registry;
use super::signed::{NotSigned, SignKey};
use super::titles::Titles;
use crate::files::{self, Files};
use airlane_host::{date, prometheus};

/// Titles of the server's folder, and their groups.
#[derive(Debug)]
pub(super) struct Catalogue {
    pub(super) titles: Titles,
    pub(super) groups: Groups,
}

/// Answers of the server at each path.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) files: Files,
    pub(super) catalogue: RwLock<Arc<Catalogue>>,
    /// The sessions of all origins.
    pub(super) sessions: SharedSessions,
    pub(super) registry: Registry,
    pub(super) metrics: Metrics,
    pub(super) overview: Overview,
    pub(super) log: Option<Arc<AccessLog>>,
    pub(super) runtime: RuntimeHandle,
    pub(super) split: Option<f64>,
    pub(super) pages: Pages,
    pub(super) list_titles: bool,
    /// Files are for those alone whose address it has signed.
    pub(super) sign_key: Option<SignKey>,
    /// First address on which the server listens, for links to its player.
    pub(super) public: parking_lot::Mutex<Option<SocketAddr>>,
    /// Endpoints on which the server listens over QUIC.
    pub(super) endpoints: parking_lot::Mutex<Vec<Weak<Endpoint>>>,
}

impl Store for Site {
    fn find<'a>(&'a self, target: Target<'a>) -> StoreFuture<'a, io::Result<Option<Object>>> {
        Box::pin(async move {
            // Before anything is decided by it: what the server has of its own, and what is signed.
            let path = files::merge_slashes(target.path);
            let target = Target { path: &path, ..target };
            if let Some(data) = self.own(&target).await? {
                return Ok(Some(data.into()));
            }
            let Some(key) = &self.sign_key else {
                return self.file(target.path, &target).await;
            };
            if target.path == "/" {
                return Ok(Some(self.pages.player(target.fields).into()));
            }
            // What begins like this is the server's own, and no file.
            if target.path.starts_with("/airlane/") || target.path == "/metrics" {
                return Ok(None);
            }
            let path = key.verify(target.path, date::now_s()).map_err(refused)?;
            let mut found = self.file(&path, &target).await?;
            if let Some(object) = &mut found {
                // Caches that others share must not answer who has no link.
                object.caching = object.caching.map(|_| "private, no-cache");
            }
            Ok(found)
        })
    }
}

/// Error for what is not to be had without a signature.
fn refused(e: NotSigned) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, e)
}

impl Site {
    /// The file at a path, or at the top the player's page.
    async fn file(&self, path: &str, target: &Target<'_>) -> io::Result<Option<Object>> {
        let Some(mut object) = self.files.find(path).await? else {
            return Ok((path == "/").then(|| self.pages.player(target.fields).into()));
        };
        object.part = self.catalogue().titles.part(path).cloned();
        Ok(Some(object))
    }

    pub(super) fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.read().clone()
    }

    /// Answers for everybody beside files: pages, one's own session, a title whose name one knows.
    async fn own(&self, target: &Target<'_>) -> io::Result<Option<MemoryAnswer>> {
        let argument = |name| argument(target.query, name);
        match target.path {
            "/airlane/session" => {
                let Some(token) = argument("token") else { return Ok(None) };
                let key = self.sessions.lock().by_token(&token).cloned();
                Ok(Some(
                    self.sessions_view(SessionSelection::Key(key.as_ref()), target.query).await,
                ))
            }
            "/airlane/title" => {
                let name = argument("name").unwrap_or_default();
                self.title(&name, argument("token").as_deref(), date::now_s()).map_err(refused)
            }
            "/airlane/titles" if self.list_titles => Ok(Some(self.titles())),
            path => Ok(self.pages.public(path, target.fields)),
        }
    }

    /// Answers for operators: all sessions and titles, and the metrics.
    pub(super) async fn for_operators(&self, asked: &Request<Incoming>) -> Option<MemoryAnswer> {
        let query = asked.uri().query();
        match asked.uri().path() {
            "/airlane/titles" => Some(self.titles_with_players(date::now_s())),
            "/airlane/sessions" => {
                let id = argument(query, "sid");
                Some(
                    self.sessions_view(
                        id.as_deref().map_or(SessionSelection::All, SessionSelection::Id),
                        query,
                    )
                    .await,
                )
            }
            "/metrics" => {
                let titles = self.catalogue().titles.all().count();
                let begun = self.sessions.lock().begun();
                let lost_lines = self.log.as_ref().map_or(0, |log| log.lost());
                let now =
                    GaugeReadings { titles, handshakes: self.handshakes(), begun, lost_lines };
                let text = self.metrics.text(&self.runtime, &self.registry, now).await;
                Some(MemoryAnswer::fresh(prometheus::MEDIA_TYPE, text))
            }
            path => pages::for_operators(path, asked.headers()),
        }
    }

    /// Sessions, with the points of their histories that a query asks for.
    async fn sessions_view(&self, of: SessionSelection<'_>, query: Option<&str>) -> MemoryAnswer {
        let since_s = argument(query, "since").and_then(|s| s.parse().ok()).unwrap_or(-1.0);
        let sessions = self.sessions.lock().count();
        let query = Query { of, since_s };
        let text = self.overview.answer(&self.runtime, &self.registry, sessions, query).await;
        MemoryAnswer::fresh("application/json", text)
    }

    /// Handshakes under way over QUIC.
    fn handshakes(&self) -> usize {
        let endpoints: Vec<_> = self.endpoints.lock().iter().filter_map(Weak::upgrade).collect();
        // Any endpoint tells those of its address.
        let by_address: BTreeMap<_, _> =
            endpoints.iter().map(|e| (e.local_addr(), e.handshakes())).collect();
        by_address.values().sum()
    }
}

/// Answer from memory.
pub(super) struct MemoryAnswer {
    pub(super) media_type: &'static str,
    pub(super) bytes: Bytes,
    /// The entity tag with its quotes, of what is not new each time.
    pub(super) etag: Option<String>,
    /// Cache-Control of the answer.
    pub(super) caching: &'static str,
    pub(super) fields: Vec<Field>,
}

impl MemoryAnswer {
    /// Answer that may differ the next time.
    pub(super) fn fresh(media_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        let (bytes, caching) = (bytes.into(), "no-cache");
        Self { media_type, bytes, etag: None, caching, fields: Vec::new() }
    }
}

impl From<MemoryAnswer> for Object {
    fn from(data: MemoryAnswer) -> Self {
        let MemoryAnswer { media_type, bytes, etag, caching, fields } = data;
        Self {
            len: bytes.len() as u64,
            media_type,
            version: etag.map(|etag| Version { etag, modified_s: None }),
            caching: Some(caching),
            fields,
            part: None,
            source: Arc::new(bytes),
        }
    }
}

/// An argument of a query.
fn argument(query: Option<&str>, name: &str) -> Option<String> {
    let mut all = form_urlencoded::parse(query?.as_bytes());
    all.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// Catalogue of the titles below a folder.
pub(super) fn catalogue(
    request: &super::ServerConfig,
    payload_bytes: u64,
) -> Result<Catalogue, InputError> {
    let titles = Titles::scan(&request.folder)?;
    let groups = Groups::new(&titles, request, payload_bytes)?;
    Ok(Catalogue { titles, groups })
}
