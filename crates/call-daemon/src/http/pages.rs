//! Pages of the server, and their parts.

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use http_body_util::Full;

use super::Answer;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

const ENTRANCE: &str = include_str!("../../../../web/call/index.html");
const ROOM: &str = include_str!("../../../../web/call/room.html");

/// Parts of the pages: name, media type, text.
const ASSETS: &[(&str, &str, &str)] = &[
    ("base.css", STYLE, include_str!("../../../../web/shared/base.css")),
    ("call.css", STYLE, include_str!("../../../../web/call/call.css")),
    ("ui.js", SCRIPT, include_str!("../../../../web/shared/ui.js")),
    ("entrance.js", SCRIPT, include_str!("../../../../web/call/entrance.js")),
    ("room.js", SCRIPT, include_str!("../../../../web/call/room.js")),
    ("connection.js", SCRIPT, include_str!("../../../../web/call/connection.js")),
    ("encodings.js", SCRIPT, include_str!("../../../../web/call/encodings.js")),
    ("tiles.js", SCRIPT, include_str!("../../../../web/call/tiles.js")),
    ("arrangement.js", SCRIPT, include_str!("../../../../web/call/arrangement.js")),
];

/// Content security policy of the pages: they load from their own origin, show what streams bring, and stand in no
/// frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      media-src 'self' blob: mediastream:; img-src data:; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";
/// Permissions of the pages' own origin alone.
const PERMISSIONS: &str = "camera=(self), microphone=(self), display-capture=(self)";

/// The page on which a room is chosen.
pub(crate) fn entrance() -> Answer {
    page(ENTRANCE)
}

/// The page of a room.
pub(crate) fn room() -> Answer {
    page(ROOM)
}

/// The part of a page of this name.
pub(crate) fn asset(name: &str) -> Option<Answer> {
    let (_, media_type, text) = ASSETS.iter().find(|(of, _, _)| *of == name)?;
    Some(answer(media_type, *text))
}

fn page(text: &'static str) -> Answer {
    let mut page = answer(HTML, text);
    let fields = page.headers_mut();
    fields.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    fields.insert("permissions-policy", HeaderValue::from_static(PERMISSIONS));
    fields.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    page
}

/// An answer of this media type, which is asked for anew each time.
pub(crate) fn answer(media_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(Full::new(body.into()));
    let fields = response.headers_mut();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    fields.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
