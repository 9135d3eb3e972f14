//! What is told of titles, in JSON.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde::Serialize;

use super::pages::PLAYER_PATH;
use super::site::{Data, Site};
use super::titles::Title;

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
    /// Where the player plays it, for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    player: Option<String>,
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

#[derive(Serialize)]
struct TitlesView<'a> {
    titles: Vec<TitleView<'a>>,
}

impl Site {
    /// The title of this name.
    pub(super) fn title(&self, name: &str) -> Option<Data> {
        self.catalogue().titles.get(name).map(|title| json(&view(title)))
    }

    /// All titles.
    pub(super) fn titles(&self) -> Data {
        json(&TitlesView { titles: self.catalogue().titles.all().map(view).collect() })
    }

    /// All titles, each with a link to the player's page.
    pub(super) fn titles_with_players(&self) -> Data {
        let origin = self.public.lock().map(origin);
        let catalogue = self.catalogue();
        let titles = catalogue.titles.all().map(|title| TitleView {
            player: origin.as_ref().map(|origin| format!("{origin}{}", player(title))),
            ..view(title)
        });
        json(&TitlesView { titles: titles.collect() })
    }
}

/// The path and query of the player's page with a title.
pub(super) fn player(title: &Title) -> String {
    let arguments: String =
        form_urlencoded::Serializer::new(String::new()).append_pair("title", &title.name).finish();
    format!("{PLAYER_PATH}?{arguments}")
}

/// The origin by which an operator reaches a public address from this machine.
fn origin(public: SocketAddr) -> String {
    let host = match public.ip() {
        ip if ip.is_unspecified() => "localhost".to_owned(),
        IpAddr::V4(Ipv4Addr::LOCALHOST) => "localhost".to_owned(),
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    };
    format!("https://{host}:{}", public.port())
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
        player: None,
    }
}

fn json(value: &impl Serialize) -> Data {
    // Text and numbers are JSON; numbers that are not finite become null.
    Data::fresh("application/json", serde_json::to_vec(value).unwrap_or_default())
}
