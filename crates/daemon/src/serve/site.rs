//! What the server answers at each path: files, pages, and data about sessions.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Weak};

use airlane_apps::content::{Object, Store, StoreFuture, Target};
use airlane_apps::vod::sessions::SharedSessions;
use airlane_base::InputError;
use airlane_quic::Endpoint;
use airlane_runtime::RuntimeHandle;
use bytes::Bytes;
use parking_lot::RwLock;
use serde::Serialize;

use super::groups::Groups;
use super::metrics::{Metrics, Now};
use super::overview::{Overview, Query};
use super::pages::{self, Page};
use super::registry::Registry;
use super::request::StatusAccess;
use super::titles::{Title, Titles};
use crate::files::Files;
use crate::near::is_near;
use crate::prometheus;

/// What the server knows of its folder.
#[derive(Debug)]
pub(super) struct Catalogue {
    pub(super) titles: Titles,
    pub(super) groups: Groups,
}

/// What the server answers at each path.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) files: Files,
    pub(super) catalogue: RwLock<Arc<Catalogue>>,
    /// The sessions of all origins.
    pub(super) sessions: SharedSessions,
    pub(super) registry: Registry,
    pub(super) metrics: Metrics,
    pub(super) overview: Overview,
    pub(super) runtime: RuntimeHandle,
    pub(super) split: Option<f64>,
    pub(super) status_access: StatusAccess,
    /// Where it listens over QUIC.
    pub(super) endpoints: parking_lot::Mutex<Vec<Weak<Endpoint>>>,
}

#[derive(Serialize)]
struct TitleView<'a> {
    name: &'a str,
    title: &'a str,
    manifest: &'a str,
    hls: Option<&'a str>,
    poster: Option<&'a str>,
    table: Option<&'a str>,
    duration_s: f64,
    chunk_s: f64,
    metric: Option<&'static str>,
    managed: bool,
    rungs: Vec<RungView<'a>>,
}

#[derive(Serialize)]
struct RungView<'a> {
    name: &'a str,
    width: Option<u32>,
    height: Option<u32>,
    nominal_bps: f64,
    mean_bps: Option<f64>,
    quality: Option<f64>,
}

impl Store for Site {
    fn find<'a>(&'a self, target: Target<'a>) -> StoreFuture<'a, io::Result<Option<Object>>> {
        Box::pin(async move {
            if let Some(object) = self.own(&target).await {
                return Ok(Some(object));
            }
            let Some(mut object) = self.files.find(target.path).await? else {
                return Ok((target.path == "/").then(|| still(pages::PLAYER)));
            };
            object.part = self.catalogue().titles.part(target.path).cloned();
            Ok(Some(object))
        })
    }
}

impl Site {
    pub(super) fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.read().clone()
    }

    /// Answers that are not files: pages, session data, metrics.
    async fn own(&self, target: &Target<'_>) -> Option<Object> {
        match target.path {
            "/airlane/titles" => Some(json(&self.titles())),
            "/airlane/sessions" => {
                let argument = |name| argument(target.query, name);
                let id = argument("sid");
                // A client that knows a session's id may read that session.
                if id.is_none() && !self.may_see(target.peer.ip()) {
                    return None;
                }
                let since_s = argument("since").and_then(|s| s.parse().ok()).unwrap_or(-1.0);
                let sessions = self.sessions.lock().count();
                let query = Query { id: id.as_deref(), since_s };
                let text = self.overview.answer(&self.runtime, &self.registry, sessions, query);
                Some(fresh("application/json", text.await.into()))
            }
            "/metrics" if self.may_see(target.peer.ip()) => {
                let titles = self.catalogue().titles.all().count();
                let begun = self.sessions.lock().begun();
                let now = Now { titles, handshakes: self.handshakes(), begun };
                let text = self.metrics.text(&self.runtime, &self.registry, now).await;
                Some(fresh(prometheus::MEDIA_TYPE, text.into()))
            }
            path => pages::page(path).map(still),
        }
    }

    /// Handshakes under way over QUIC.
    fn handshakes(&self) -> usize {
        let endpoints = self.endpoints.lock();
        endpoints.iter().filter_map(Weak::upgrade).map(|e| e.handshakes()).sum()
    }

    /// Whether a client at this address may read the sessions of others.
    fn may_see(&self, peer: IpAddr) -> bool {
        is_near(peer) || self.status_access == StatusAccess::Anybody
    }

    fn titles(&self) -> serde_json::Value {
        let catalogue = self.catalogue();
        let titles: Vec<TitleView<'_>> = catalogue.titles.all().map(view).collect();
        serde_json::json!({ "titles": titles })
    }
}

fn view(title: &Title) -> TitleView<'_> {
    let of = &title.presentation;
    let metric = title.video.as_ref().and_then(|v| v.metrics().next());
    let rungs = of.video.iter().enumerate().map(|(rung, r)| {
        let known = title.video.as_ref().and_then(|v| Some((v, v.rungs.get(rung)?)));
        RungView {
            name: known.map_or(&*r.id, |(_, rung)| &*rung.name),
            width: r.width,
            height: r.height,
            nominal_bps: r.bandwidth.as_f64(),
            mean_bps: known.map(|(v, _)| v.mean_rate_bps(rung)),
            quality: known.and_then(|(v, _)| v.mean_quality(metric?, rung)),
        }
    });
    let longest = of.video.iter().map(airlane_media::dash::Representation::total).max();
    TitleView {
        name: &title.name,
        title: &title.label,
        manifest: &title.manifest,
        hls: title.hls.as_deref(),
        poster: title.poster.as_deref(),
        table: title.table.as_deref(),
        duration_s: of.duration.or(longest).unwrap_or_default().as_secs_f64(),
        chunk_s: of.video.first().and_then(|r| r.duration(0)).unwrap_or_default().as_secs_f64(),
        metric: metric.map(airlane_media::Metric::name),
        managed: title.video.is_some(),
        rungs: rungs.collect(),
    }
}

/// A page that never changes while the server runs.
fn still(page: Page) -> Object {
    let Page { media_type, text } = page;
    fresh(media_type, Bytes::from_static(text.as_bytes()))
}

fn json(value: &impl Serialize) -> Object {
    // Text and numbers are JSON; numbers that are not finite become null.
    let text = serde_json::to_vec(value).unwrap_or_default();
    fresh("application/json", text.into())
}

fn fresh(media_type: &'static str, text: Bytes) -> Object {
    Object {
        len: text.len() as u64,
        media_type,
        version: None,
        caching: Some("no-cache"),
        part: None,
        source: Arc::new(text),
    }
}

/// An argument of a query; session ids consist of what stands for itself there.
fn argument(query: Option<&str>, name: &str) -> Option<String> {
    query?.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        (key == name).then(|| value.to_owned())
    })
}

/// What is known of the titles below a folder.
pub(super) fn catalogue(
    request: &super::ServeRequest,
    payload_bytes: u64,
) -> Result<Catalogue, InputError> {
    let titles = Titles::scan(&request.folder)?;
    let groups = Groups::new(&titles, request, payload_bytes)?;
    Ok(Catalogue { titles, groups })
}
