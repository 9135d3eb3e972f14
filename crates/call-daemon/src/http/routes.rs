//! Requests by method and path.

use http::Method;

use crate::conference::Role;
use crate::error::Refusal;
use crate::names::RoomName;

/// Purpose of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Page on which a room is chosen.
    Entrance,
    /// Page of a room.
    Page,
    /// Part of a page, by its name.
    Asset(String),
    /// Settings that the page of a room needs.
    Settings(RoomName),
    /// Offer to take part.
    Join(RoomName, Role),
    /// End of a participation, by its secret name.
    Leave(String),
    /// Question which methods there are (CORS, or RFC 9110, section 9.3.7).
    Options(&'static str),
    /// A method that is not available here; those that are.
    NotAllowed(&'static str),
    /// Nothing.
    NotFound,
}

/// Methods of an endpoint that takes offers, and of a session (RFC 9725, section 4).
const OFFER_METHODS: &str = "POST, OPTIONS";
const SESSION_METHODS: &str = "DELETE, OPTIONS";
const PAGE_METHODS: &str = "GET, HEAD";

/// Folder of the parts of pages.
const ASSETS: &str = "/airlane/assets/";

impl Route {
    /// The route of a request.
    pub(crate) fn of(method: &Method, path: &str) -> Result<Self, Refusal> {
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        let page = |route| if is_read { route } else { Self::NotAllowed(PAGE_METHODS) };
        if path == "/" {
            return Ok(page(Self::Entrance));
        }
        if let Some(name) = path.strip_prefix(ASSETS) {
            return Ok(page(Self::Asset(name.to_owned())));
        }
        let mut parts = path.trim_start_matches('/').split('/');
        let room: RoomName = parts.next().unwrap_or_default().parse()?;
        let rest: Vec<&str> = parts.collect();
        let offer = |role| match *method {
            Method::POST => Self::Join(room.clone(), role),
            Method::OPTIONS => Self::Options(OFFER_METHODS),
            _ => Self::NotAllowed(OFFER_METHODS),
        };
        Ok(match rest[..] {
            [] | [""] => page(Self::Page),
            ["settings"] => page(Self::Settings(room)),
            ["join"] => offer(Role::Member),
            ["whip"] => offer(Role::Publisher),
            ["whep"] => offer(Role::Viewer),
            ["session", id] => match *method {
                Method::DELETE => Self::Leave(id.to_owned()),
                Method::OPTIONS => Self::Options(SESSION_METHODS),
                // RFC 9725, section 4.3.1: neither trickle ICE nor ICE restarts are available.
                _ => Self::NotAllowed(SESSION_METHODS),
            },
            _ => Self::NotFound,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_methods_lead_to_what_they_are_for() {
        let room: RoomName = "a".parse().unwrap();
        let of = |method: &str, path: &str| Route::of(&method.parse().unwrap(), path);
        for (method, path, route) in [
            ("GET", "/", Route::Entrance),
            ("HEAD", "/a", Route::Page),
            ("GET", "/a/", Route::Page),
            ("POST", "/a", Route::NotAllowed(PAGE_METHODS)),
            ("GET", "/airlane/assets/call.js", Route::Asset("call.js".to_owned())),
            ("GET", "/a/settings", Route::Settings(room.clone())),
            ("POST", "/a/join", Route::Join(room.clone(), Role::Member)),
            ("POST", "/a/whip", Route::Join(room.clone(), Role::Publisher)),
            ("POST", "/a/whep", Route::Join(room.clone(), Role::Viewer)),
            ("OPTIONS", "/a/whip", Route::Options(OFFER_METHODS)),
            ("GET", "/a/whip", Route::NotAllowed(OFFER_METHODS)),
            ("DELETE", "/a/session/x", Route::Leave("x".to_owned())),
            ("PATCH", "/a/session/x", Route::NotAllowed(SESSION_METHODS)),
            ("GET", "/a/b/c/d", Route::NotFound),
        ] {
            assert_eq!(of(method, path), Ok(route), "{method} {path}");
        }
        assert!(
            of("GET", "/a%20b").is_err() && of("GET", &format!("/{}", "x".repeat(99))).is_err()
        );
    }
}
