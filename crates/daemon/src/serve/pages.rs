//! The pages that are part of the server: the player, the live view, and what they are made of.

/// A page or a part of one.
pub(super) struct Page {
    /// Its media type.
    pub(super) media_type: &'static str,
    /// Its text.
    pub(super) text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";

/// The player's page.
pub(super) const PLAYER: Page =
    Page { media_type: HTML, text: include_str!("../../../../web/player/index.html") };

/// The live view of all sessions.
const LIVE: Page = Page { media_type: HTML, text: include_str!("../../../../web/live/index.html") };

/// Scripts and styles, by name and in its order: those that `web/assets.json` lists.
const ASSETS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The path of the player's page.
pub(super) const PLAYER_PATH: &str = "/airlane/player";

/// The page at a path for everybody.
pub(super) fn public(path: &str) -> Option<Page> {
    match path {
        PLAYER_PATH => Some(PLAYER),
        _ => asset(path),
    }
}

/// The page at a path for operators.
pub(super) fn for_operators(path: &str) -> Option<Page> {
    match path {
        "/airlane/" | "/airlane" => Some(LIVE),
        _ => asset(path),
    }
}

/// The script or style at a path.
fn asset(path: &str) -> Option<Page> {
    let name = path.strip_prefix("/airlane/assets/")?;
    let at = ASSETS.binary_search_by(|(n, _)| (*n).cmp(name)).ok()?;
    let media_type = match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        _ => "text/javascript; charset=utf-8",
    };
    Some(Page { media_type, text: ASSETS[at].1 })
}
