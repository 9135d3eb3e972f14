//! The pages that are part of the server: the player, the live view, and what they are made of.
//!
//! Scripts and styles stand in a folder that is called after their content, so that browsers keep
//! them for ever: a server with other ones names another folder. The pages name that folder, and are
//! asked for anew each time, by their entity tags.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::LazyLock;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use ring::digest::{SHA256, digest};

use super::site::MemoryAnswer;

/// The path of the player's page.
pub(super) const PLAYER_PATH: &str = "/airlane/player";

const HTML: &str = "text/html; charset=utf-8";
/// Path of scripts and styles, as the pages and scripts have it.
const ASSETS_PATH: &str = "/airlane/assets/";

/// Scripts and styles, by name: those that `web/assets.json` lists.
const ASSETS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Cache-Control of parts whose address depends on their content (`FOR_EVER`), and of all others.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
const NOT_UNASKED: &str = "no-cache";

/// Everything, as it is sent. It is made when it is asked for first.
static PARTS: LazyLock<Parts> = LazyLock::new(Parts::new);

struct Parts {
    /// Stands for the content of all scripts and styles.
    hash: String,
    assets: BTreeMap<&'static str, Page>,
    player: Page,
    live: Page,
}

/// A page or a part of one.
struct Page {
    media_type: &'static str,
    /// Stands for its content.
    hash: String,
    plain: Bytes,
    /// The same, compressed (RFC 1952); `None` if that is no shorter.
    gzip: Option<Bytes>,
    caching: &'static str,
}

impl Parts {
    fn new() -> Self {
        let all: String = ASSETS.iter().flat_map(|(name, text)| [*name, "\n", *text]).collect();
        let hash = hash_of(all.as_bytes());
        let named = |text: &str| text.replace(ASSETS_PATH, &format!("{ASSETS_PATH}{hash}/"));
        let assets = ASSETS.iter().map(|(name, text)| {
            let media_type = match name.rsplit('.').next() {
                Some("css") => "text/css; charset=utf-8",
                _ => "text/javascript; charset=utf-8",
            };
            (*name, Page::new(media_type, named(text), FOR_EVER))
        });
        let html = |text: &str| Page::new(HTML, named(text), NOT_UNASKED);
        Self {
            assets: assets.collect(),
            player: html(include_str!("../../../../web/player/index.html")),
            live: html(include_str!("../../../../web/live/index.html")),
            hash: hash.clone(),
        }
    }
}

impl Page {
    fn new(media_type: &'static str, text: String, caching: &'static str) -> Self {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        // Writing to memory cannot fail.
        let gzip = gzip.write_all(text.as_bytes()).and_then(|()| gzip.finish()).ok();
        let gzip = gzip.filter(|g| g.len() < text.len()).map(Bytes::from);
        Self { media_type, hash: hash_of(text.as_bytes()), plain: text.into(), gzip, caching }
    }

    /// As a client that sends these fields takes it.
    fn data(&self, asked: &HeaderMap) -> MemoryAnswer {
        let gzip = self.gzip.clone().filter(|_| takes_gzip(asked));
        let mut fields = vec![(header::VARY, HeaderValue::from_static("accept-encoding"))];
        let (bytes, etag) = match gzip {
            Some(gzip) => {
                fields.push((header::CONTENT_ENCODING, HeaderValue::from_static("gzip")));
                (gzip, format!("\"{}-gzip\"", self.hash))
            }
            None => (self.plain.clone(), format!("\"{}\"", self.hash)),
        };
        let (media_type, caching) = (self.media_type, self.caching);
        MemoryAnswer { media_type, bytes, etag: Some(etag), caching, fields }
    }
}

/// The pages of a server.
#[derive(Debug)]
pub(super) struct Pages {
    /// Content security policy of the player's page.
    policy: Option<HeaderValue>,
}

impl Pages {
    /// Those whose player may stand in frames of pages of the origins `frames` alone, and play what
    /// other servers have if `foreign`.
    pub(super) fn new(frames: &[String], foreign: bool) -> Self {
        let from = if foreign { " https: http:" } else { "" };
        let frames = if frames.is_empty() { "'none'".to_owned() } else { frames.join(" ") };
        let policy = policy(&format!(
            "connect-src 'self'{from}; media-src 'self' blob:{from}; frame-ancestors {frames}"
        ));
        Self { policy }
    }

    /// The player's page.
    pub(super) fn player(&self, asked: &HeaderMap) -> MemoryAnswer {
        with_policy(PARTS.player.data(asked), self.policy.clone())
    }

    /// The page at a path for everybody.
    pub(super) fn public(&self, path: &str, asked: &HeaderMap) -> Option<MemoryAnswer> {
        match path {
            PLAYER_PATH => Some(self.player(asked)),
            _ => asset(path, asked),
        }
    }
}

/// The page at a path for operators.
pub(super) fn for_operators(path: &str, asked: &HeaderMap) -> Option<MemoryAnswer> {
    match path {
        "/airlane/" | "/airlane" => {
            let policy = policy("connect-src 'self'; frame-ancestors 'none'");
            Some(with_policy(PARTS.live.data(asked), policy))
        }
        _ => asset(path, asked),
    }
}

/// The script or style at a path.
fn asset(path: &str, asked: &HeaderMap) -> Option<MemoryAnswer> {
    let (hash, name) = path.strip_prefix(ASSETS_PATH)?.split_once('/')?;
    PARTS.assets.get(name).filter(|_| hash == PARTS.hash).map(|page| page.data(asked))
}

/// Content security policy (level 3) of a page: it may load nothing but its own scripts, styles
/// and pictures, and `more`.
fn policy(more: &str) -> Option<HeaderValue> {
    let text = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
         base-uri 'none'; form-action 'none'; {more}"
    );
    HeaderValue::try_from(text).ok()
}

fn with_policy(mut data: MemoryAnswer, policy: Option<HeaderValue>) -> MemoryAnswer {
    data.fields.extend(policy.map(|policy| (header::CONTENT_SECURITY_POLICY, policy)));
    data
}

/// The beginning of what SHA-256 makes of this, in hexadecimal.
fn hash_of(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref()[..10].iter().map(|b| format!("{b:02x}")).collect()
}

/// True if a client accepts gzip (RFC 9110, section 12.5.3).
fn takes_gzip(asked: &HeaderMap) -> bool {
    let lines = asked.get_all(header::ACCEPT_ENCODING).iter();
    let codings = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
    let mut any = false;
    for coding in codings {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let quality = parts.find_map(|p| p.strip_prefix("q=").or_else(|| p.strip_prefix("Q=")));
        let is_taken = quality.is_none_or(|q| q.parse::<f32>().is_ok_and(|q| q > 0.0));
        match name.to_ascii_lowercase().as_str() {
            // What is said of it counts, whatever is said of all others.
            "gzip" | "x-gzip" => return is_taken,
            "*" => any = is_taken,
            _ => {}
        }
    }
    any
}

/// A field of an answer.
pub(super) type Field = (HeaderName, HeaderValue);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codings_are_taken_as_clients_say() {
        for (line, taken) in [
            ("gzip, deflate, br, zstd", true),
            ("br;q=1.0, gzip;q=0.8, *;q=0.1", true),
            ("GZIP", true),
            ("*", true),
            ("gzip;q=0, *", false),
            ("*;q=0", false),
            ("gzip; q=0.000", false),
            ("gzip;q=x", false),
            ("identity", false),
            ("", false),
        ] {
            let asked = HeaderMap::from_iter([(header::ACCEPT_ENCODING, line.parse().unwrap())]);
            assert_eq!(takes_gzip(&asked), taken, "{line}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
