//! Answers to requests: pages, offers (the page's own, WHIP of RFC 9725, and WHEP), and the end of sessions.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_host::{HmacKey, date};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::offer_limiter::OfferLimiter;
use super::routes::Route;
use super::{Answer, pages};
use crate::conference::Role;
use crate::error::Refusal;
use crate::handle::{ConferenceHandle, JoinAnswer};
use crate::invitation::is_invited;
use crate::media::offer::MAX_OFFER_BYTES;
use crate::names::RoomName;
use crate::turn::{IceServer, TurnCredentials};

const SDP: &str = "application/sdp";
const JSON: &str = "application/json";
/// Time in which the body of a request has come.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a body: an offer in JSON may take more than the offer.
const MAX_BODY_BYTES: usize = 2 * MAX_OFFER_BYTES;

/// Settings that the page of a room needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PageSettings {
    /// Participants of a room.
    pub(crate) max_participants: usize,
    /// Codecs of video, the preferred one first, by their names in SDP.
    pub(crate) codecs: Vec<String>,
    /// Bitrate of video that a participant sends at most, bit/s.
    pub(crate) max_bitrate_bps: u64,
}

/// Settings as one page gets them.
#[derive(Serialize)]
struct OwnSettings<'a> {
    #[serde(flatten)]
    of_all: &'a PageSettings,
    ice_servers: Vec<IceServer>,
}

/// Offer of the page.
#[derive(Debug, Deserialize)]
struct PageOffer {
    name: String,
    sdp: String,
}

/// Answer to the page.
#[derive(Debug, Serialize)]
struct PageAnswer<'a> {
    id: u32,
    sdp: &'a str,
    session: &'a str,
}

/// Answers to requests.
pub(crate) struct Signalling {
    pub(crate) runtime: RuntimeHandle,
    pub(crate) conference: ConferenceHandle,
    pub(crate) limiter: Mutex<OfferLimiter>,
    pub(crate) settings: PageSettings,
    /// Key that signs invitations; `None`: whoever knows a room's name may join.
    pub(crate) room_key: Option<HmacKey>,
    pub(crate) turn: Option<TurnCredentials>,
}

impl Signalling {
    /// Answers a request of the client at this address.
    pub(crate) async fn answer(
        self: Arc<Self>,
        peer: IpAddr,
        request: Request<Incoming>,
    ) -> Result<Answer, Infallible> {
        let is_head = *request.method() == Method::HEAD;
        let mut answer = match self.route(peer, request).await {
            Ok(answer) => answer,
            Err(refusal) => refused(&refusal),
        };
        if is_head {
            *answer.body_mut() = Full::default();
        }
        Ok(answer)
    }

    async fn route(&self, peer: IpAddr, request: Request<Incoming>) -> Result<Answer, Refusal> {
        match Route::of(request.method(), request.uri().path())? {
            Route::Entrance => Ok(pages::entrance()),
            Route::Page => Ok(pages::room()),
            Route::Asset(name) => Ok(pages::asset(&name).unwrap_or_else(not_found)),
            Route::Settings(room) => Ok(self.settings(&room, &request)),
            Route::Join(room, role) => self.join(peer, room, role, request).await,
            Route::Leave(resource) => self.leave(resource).await,
            Route::Options(methods) => Ok(options(methods)),
            Route::NotAllowed(methods) => {
                let mut answer =
                    plain(StatusCode::METHOD_NOT_ALLOWED, "this method is not available");
                answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
                Ok(open(answer))
            }
            Route::NotFound => Ok(not_found()),
        }
    }

    async fn join(
        &self,
        peer: IpAddr,
        room: RoomName,
        role: Role,
        request: Request<Incoming>,
    ) -> Result<Answer, Refusal> {
        if !self.limiter.lock().admits(self.runtime.now(), peer) {
            return Err(Refusal::TooManyOffers);
        }
        if !self.admits(&room, &request) {
            return Err(Refusal::NotInvited);
        }
        let media_type = if role == Role::Member { JSON } else { SDP };
        if !is_of_type(request.headers(), media_type) {
            return Err(Refusal::MediaType(media_type));
        }
        let name = query(request.uri().query(), "name").unwrap_or_default();
        let body = self.body(request).await?;
        let (name, sdp) = match role {
            Role::Member => {
                let offer: PageOffer =
                    serde_json::from_slice(&body).map_err(|e| Refusal::Json(e.to_string()))?;
                (offer.name, offer.sdp)
            }
            Role::Publisher | Role::Viewer => {
                let text = String::from_utf8(body.to_vec());
                (name, text.map_err(|_| Refusal::Offer("no UTF-8".to_owned()))?)
            }
        };
        let joined = self.conference.join(room.clone(), role, &name, &sdp).await?;
        let JoinAnswer { id, sdp, resource } = joined;
        let session = format!("/{room}/session/{resource}");
        let mut answer = match role {
            Role::Member => {
                let answer = PageAnswer { id: id.0, sdp: &sdp, session: &session };
                pages::answer(JSON, serde_json::to_vec(&answer).unwrap_or_default())
            }
            Role::Publisher | Role::Viewer => pages::answer(SDP, sdp),
        };
        *answer.status_mut() = StatusCode::CREATED;
        if let Ok(location) = HeaderValue::try_from(session) {
            answer.headers_mut().insert(header::LOCATION, location);
        }
        for server in self.turn.iter().filter(|_| role != Role::Member) {
            for link in server.ice_server(date::now_s()).links() {
                answer
                    .headers_mut()
                    .extend(HeaderValue::try_from(link).map(|link| (header::LINK, link)));
            }
        }
        Ok(open(answer))
    }

    /// True if whoever asks may join the room.
    fn admits(&self, room: &RoomName, request: &Request<Incoming>) -> bool {
        let Some(key) = &self.room_key else { return true };
        let token = bearer(request.headers()).map(str::to_owned);
        let token = token.or_else(|| query(request.uri().query(), "token"));
        token.is_some_and(|token| is_invited(key, room, &token, date::now_s()))
    }

    /// Settings of the page; with credentials of the TURN server for whoever may join.
    fn settings(&self, room: &RoomName, request: &Request<Incoming>) -> Answer {
        let turn = self.turn.as_ref().filter(|_| self.admits(room, request));
        let ice_servers = turn.map(|turn| turn.ice_server(date::now_s())).into_iter().collect();
        let settings = OwnSettings { of_all: &self.settings, ice_servers };
        pages::answer(JSON, serde_json::to_vec(&settings).unwrap_or_default())
    }

    async fn leave(&self, resource: String) -> Result<Answer, Refusal> {
        match self.conference.leave(resource).await? {
            true => Ok(open(plain(StatusCode::OK, ""))),
            false => Ok(open(not_found())),
        }
    }

    async fn body(&self, request: Request<Incoming>) -> Result<Bytes, Refusal> {
        let reading = Limited::new(request.into_body(), MAX_BODY_BYTES).collect();
        tokio::select! {
            biased;
            body = reading => match body {
                Ok(body) => Ok(body.to_bytes()),
                Err(_) => Err(Refusal::BodySize(MAX_BODY_BYTES)),
            },
            () = self.runtime.sleep(BODY_TIMEOUT) => Err(Refusal::Offer("the body did not come".to_owned())),
        }
    }
}

/// True if the body of a request is of this media type, whatever its parameters are.
fn is_of_type(fields: &HeaderMap, media_type: &str) -> bool {
    let given = fields.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = given.and_then(|given| given.split(';').next()).map(str::trim);
    essence.is_some_and(|essence| essence.eq_ignore_ascii_case(media_type))
}

/// Bearer token of a request (RFC 6750, section 2.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Value of a key of a query.
fn query(query: Option<&str>, key: &str) -> Option<String> {
    let pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.into_iter().find(|(of, _)| *of == key)?;
    let value = value.replace('+', " ");
    Some(percent_encoding::percent_decode_str(&value).decode_utf8_lossy().into_owned())
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = pages::answer("text/plain; charset=utf-8", text);
    *answer.status_mut() = status;
    answer
}

fn not_found() -> Answer {
    plain(StatusCode::NOT_FOUND, "nothing is here\n")
}

fn refused(refusal: &Refusal) -> Answer {
    let mut answer = pages::answer("text/plain; charset=utf-8", format!("{refusal}\n"));
    *answer.status_mut() = refusal.status();
    let fields = answer.headers_mut();
    if *refusal == Refusal::TooManyOffers {
        fields.insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
    }
    if *refusal == Refusal::NotInvited {
        fields.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    open(answer)
}

fn options(methods: &'static str) -> Answer {
    let mut answer: Answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    let fields = answer.headers_mut();
    fields.insert(header::ALLOW, HeaderValue::from_static(methods));
    fields.insert("accept-post", HeaderValue::from_static(SDP));
    fields.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
    let allowed = HeaderValue::from_static("authorization, content-type");
    fields.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    open(answer)
}

/// The answer, for pages of every origin: nothing here depends on who a browser is logged in as.
fn open(mut answer: Answer) -> Answer {
    let fields = answer.headers_mut();
    fields.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    fields
        .insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("link, location"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_percent_encoded_values() {
        assert_eq!(query(Some("a=1&name=Ann+L%C3%A9"), "name"), Some("Ann Lé".to_owned()));
        assert_eq!(query(Some("names=x"), "name"), None);
        assert_eq!(query(None, "name"), None);
    }

    #[test]
    fn a_bearer_token_is_read_and_nothing_else() {
        let of = |text: &'static str| {
            HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(text))])
        };
        assert_eq!(bearer(&of("bearer 12.ab")), Some("12.ab"));
        assert_eq!(bearer(&of("Basic 12.ab")), None);
        assert_eq!(bearer(&of("Bearer")), None);
    }

    #[test]
    fn parameters_of_a_media_type_do_not_count() {
        let of = |text: &'static str| {
            HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(text))])
        };
        assert!(is_of_type(&of("Application/SDP; charset=utf-8"), SDP));
        assert!(!is_of_type(&of("text/plain"), SDP) && !is_of_type(&HeaderMap::new(), SDP));
    }
}
