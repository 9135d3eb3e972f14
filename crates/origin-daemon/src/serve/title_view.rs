//! What is told of titles, in JSON.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use airlane_media::Metric;
use serde::Serialize;

use super::pages::PLAYER_PATH;
use super::signed::{NotSigned, SignKey};
use super::site::{Catalogue, MemoryAnswer, Site};
use super::titles::Title;

/// Lifetime of the links that operators see, in seconds.
const LINK_S: u64 = 6 * 3600;

#[derive(Serialize)]
struct TitleView<'a> {
    name: &'a str,
    title: &'a str,
    manifest: Cow<'a, str>,
    hls: Option<Cow<'a, str>>,
    poster: Option<Cow<'a, str>>,
    table: Option<Cow<'a, str>>,
    duration_s: f64,
    chunk_s: f64,
    metric: Option<&'static str>,
    managed: bool,
    rungs: Vec<RungView<'a>>,
    /// True if everybody may read the list of titles.
    listed: bool,
    /// Link to the player with this title, for operators.
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
    /// The title of this name, with a signature that allows its files where one is needed; `None`:
    /// there is no such title.
    ///
    /// # Errors
    /// If the signature is needed, and is not right.
    pub(super) fn title(
        &self,
        name: &str,
        token: Option<&str>,
        now_s: u64,
    ) -> Result<Option<MemoryAnswer>, NotSigned> {
        let catalogue = self.catalogue();
        let title = catalogue.titles.get(name);
        let listed = self.list_titles;
        let Some(key) = &self.sign_key else {
            return Ok(title.map(|title| json(&catalogue.view(title).listed(listed))));
        };
        // Who may not have it does not learn whether it is there.
        let (title, token) = title.zip(token).ok_or(NotSigned)?;
        let mut folders = title.manifest.match_indices('/').map(|(at, _)| &title.manifest[..=at]);
        let folder = folders.find(|folder| key.allows(token, folder, now_s)).ok_or(NotSigned)?;
        Ok(Some(json(&catalogue.view(title).listed(listed).signed(folder, token))))
    }

    /// All titles.
    pub(super) fn titles(&self) -> MemoryAnswer {
        let catalogue = self.catalogue();
        let titles = catalogue.titles.all().map(|title| catalogue.view(title).listed(true));
        json(&TitlesView { titles: titles.collect() })
    }

    /// All titles, each with a link to the player's page.
    pub(super) fn titles_with_players(&self, now_s: u64) -> MemoryAnswer {
        let origin = self.public.lock().map(origin);
        let catalogue = self.catalogue();
        let titles = catalogue.titles.all().map(|title| TitleView {
            player: origin
                .as_ref()
                .map(|origin| format!("{origin}{}", player(title, self.sign_key.as_ref(), now_s))),
            listed: self.list_titles,
            ..catalogue.view(title)
        });
        json(&TitlesView { titles: titles.collect() })
    }
}

/// The path and query of the player's page with a title, signed for a while where that is needed.
pub(super) fn player(title: &Title, key: Option<&SignKey>, now_s: u64) -> String {
    let folder = title.manifest.rfind('/').map_or("", |slash| &title.manifest[..=slash]);
    let token = key.and_then(|key| key.token(folder, now_s.saturating_add(LINK_S)));
    let mut arguments = form_urlencoded::Serializer::new(String::new());
    arguments.append_pair("title", &title.name);
    if let Some(token) = token {
        arguments.append_pair("token", &token);
    }
    format!("{PLAYER_PATH}?{}", arguments.finish())
}

impl TitleView<'_> {
    /// The same, for readers who may read the list of titles or not.
    fn listed(self, listed: bool) -> Self {
        Self { listed, ..self }
    }

    /// The same with a signature in the addresses below a folder.
    fn signed(self, folder: &str, token: &str) -> Self {
        let signed = |address: Cow<'_, str>| match address.strip_prefix(folder) {
            Some(rest) => format!("{folder}{token}/{rest}"),
            None => address.into_owned(),
        };
        Self {
            manifest: signed(self.manifest).into(),
            hls: self.hls.map(|a| signed(a).into()),
            poster: self.poster.map(|a| signed(a).into()),
            table: self.table.map(|a| signed(a).into()),
            ..self
        }
    }
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

impl Catalogue {
    fn view<'a>(&self, title: &'a Title) -> TitleView<'a> {
        view(title, self.groups.metric(&title.name))
    }
}

/// A title that is weighed by a measure; `None`: the first of its table.
fn view(title: &Title, weighed_by: Option<Metric>) -> TitleView<'_> {
    let of = &title.presentation;
    let measured = title.video.as_ref();
    let metric = measured.and_then(|v| weighed_by.filter(|m| v.has(*m)).or(v.metrics().next()));
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
        manifest: title.manifest.as_str().into(),
        hls: title.hls.as_deref().map(Cow::from),
        poster: title.poster.as_deref().map(Cow::from),
        table: title.table.as_deref().map(Cow::from),
        duration_s: of.duration.or(longest).unwrap_or_default().as_secs_f64(),
        chunk_s: of.video.first().and_then(|r| r.duration(0)).unwrap_or_default().as_secs_f64(),
        metric: metric.map(Metric::name),
        managed: title.video.is_some(),
        rungs: rungs.collect(),
        listed: false,
        player: None,
    }
}

fn json(value: &impl Serialize) -> MemoryAnswer {
    // Text and numbers are JSON; numbers that are not finite become null.
    MemoryAnswer::fresh("application/json", serde_json::to_vec(value).unwrap_or_default())
}
