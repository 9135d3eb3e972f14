//! The head of an answer, and which bytes follow it.

use std::ops::Range;

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};

use super::conditions::{self, PreconditionResult};
use super::range::{ByteRange, byte_range};
use crate::store::Object;

/// Options and header fields that an origin adds to every answer.
#[derive(Clone, Debug, Default)]
pub struct AnswerOptions {
    /// Header fields of every answer.
    pub fields: HeaderMap,
    /// Lets pages of other origins read answers, and answers preflight requests (the CORS protocol of
    /// the Fetch standard).
    pub cors: bool,
    /// Tells players whose sessions have a measured rate the server's estimates (CMSD, CTA-5006).
    pub cmsd: bool,
    /// The clock of an origin that has one, seconds since 1970: such an origin dates its answers
    /// (RFC 9110, section 6.6.1).
    pub clock: Option<fn() -> u64>,
}

/// An answer without its body.
#[derive(Debug)]
pub struct Answer {
    /// The head.
    pub head: Response<()>,
    /// Range of the object's bytes that follow; `None`: no body.
    pub body: Option<Range<u64>>,
}

impl Answer {
    /// One with a status alone, and fields that explain it.
    pub fn bare(
        status: StatusCode,
        options: &AnswerOptions,
        fields: &[(HeaderName, HeaderValue)],
    ) -> Self {
        let mut head = Response::new(());
        *head.status_mut() = status;
        let own = head.headers_mut();
        if status != StatusCode::NO_CONTENT && status != StatusCode::NOT_MODIFIED {
            own.insert(header::CONTENT_LENGTH, 0.into());
        }
        own.extend(fields.iter().cloned());
        options.add_to(own);
        Self { head, body: None }
    }
}

impl AnswerOptions {
    fn add_to(&self, fields: &mut HeaderMap) {
        for (name, value) in &self.fields {
            fields.insert(name, value.clone());
        }
        if let Some(now_s) = self.clock {
            fields.insert(header::DATE, text(conditions::date_text(now_s())));
        }
        if self.cors {
            let any = HeaderValue::from_static("*");
            fields.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, any.clone());
            fields.insert(HeaderName::from_static("timing-allow-origin"), any);
            fields.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        }
    }
}

/// Methods that are served; none changes anything.
const METHODS: &str = "GET, HEAD, OPTIONS";
/// Fields of answers that pages of other origins may read.
const EXPOSED: &str = "Airlane-Session, CMSD-Dynamic, CMSD-Static, Content-Length, \
                       Content-Range, Date, ETag, Server-Timing";
/// Fields of requests that they may set.
const ALLOWED: &str = "Airlane-Session, CMCD-Object, CMCD-Request, CMCD-Session, CMCD-Status, \
                       Content-Type, If-Match, If-Modified-Since, If-None-Match, If-Range, Range";
/// Time for which they may cache the answer to a preflight request, in seconds: browsers cap it at
/// two hours or a day.
const REMEMBERED: &str = "86400";

/// Answer to `request`, given the object at its path.
pub fn answer(request: &Request<()>, object: Option<&Object>, options: &AnswerOptions) -> Answer {
    let bare = |status, fields: &[_]| Answer::bare(status, options, fields);
    let allow = || (header::ALLOW, HeaderValue::from_static(METHODS));
    match *request.method() {
        Method::GET | Method::HEAD => {}
        Method::OPTIONS => return preflight(request, options),
        _ => return bare(StatusCode::METHOD_NOT_ALLOWED, &[allow()]),
    }
    let Some(object) = object else { return bare(StatusCode::NOT_FOUND, &[]) };
    let asked = request.headers();
    let version = object.version.as_ref();
    match conditions::evaluate(asked, version) {
        PreconditionResult::Proceed => {}
        PreconditionResult::NotModified => {
            return bare(StatusCode::NOT_MODIFIED, &validators(object));
        }
        PreconditionResult::Failed => return bare(StatusCode::PRECONDITION_FAILED, &[]),
    }
    let range = asked
        .get(header::RANGE)
        .and_then(|r| r.to_str().ok())
        .filter(|_| conditions::range_counts(asked, version));
    let (status, bytes) = match range.map(|r| byte_range(r, object.len)) {
        None | Some(ByteRange::Ignored) => (StatusCode::OK, 0..object.len),
        Some(ByteRange::Part(part)) => (StatusCode::PARTIAL_CONTENT, part),
        Some(ByteRange::Unsatisfiable) => {
            let field = (header::CONTENT_RANGE, text(format!("bytes */{}", object.len)));
            return bare(StatusCode::RANGE_NOT_SATISFIABLE, &[field]);
        }
    };
    let mut head = Response::new(());
    *head.status_mut() = status;
    let fields = head.headers_mut();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(object.media_type));
    fields.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if status == StatusCode::PARTIAL_CONTENT {
        let field = format!("bytes {}-{}/{}", bytes.start, bytes.end - 1, object.len);
        fields.insert(header::CONTENT_RANGE, text(field));
    }
    fields.insert(header::CONTENT_LENGTH, (bytes.end - bytes.start).into());
    fields.extend(validators(object));
    options.add_to(fields);
    let wanted = request.method() == Method::GET && !bytes.is_empty();
    Answer { head, body: wanted.then_some(bytes) }
}

/// Fields with the version of an object, the time it may be kept, and its further fields.
fn validators(object: &Object) -> Vec<(HeaderName, HeaderValue)> {
    let mut fields = Vec::new();
    if let Some(version) = &object.version {
        fields.push((header::ETAG, text(version.etag.clone())));
        let modified = version.modified_s.map(conditions::date_text);
        fields.extend(modified.map(|date| (header::LAST_MODIFIED, text(date))));
    }
    fields.extend(object.fields.iter().cloned());
    if let Some(caching) = object.caching {
        fields.push((header::CACHE_CONTROL, HeaderValue::from_static(caching)));
    }
    fields
}

/// The answer to OPTIONS: the methods, and for a browser's preflight request (CORS) what pages of
/// other origins may send.
fn preflight(request: &Request<()>, options: &AnswerOptions) -> Answer {
    let mut fields = vec![(header::ALLOW, HeaderValue::from_static(METHODS))];
    let asks = request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if options.cors && asks {
        let field = |name, value| (name, HeaderValue::from_static(value));
        fields.push(field(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS_ACROSS));
        fields.push(field(header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED));
        fields.push(field(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED));
    }
    Answer::bare(StatusCode::NO_CONTENT, options, &fields)
}

/// Methods of requests by pages of other origins: reports of players are posted.
const METHODS_ACROSS: &str = "GET, HEAD, POST, OPTIONS";

/// A field's value; what is put in consists of digits, quotes and ASCII words.
fn text(value: String) -> HeaderValue {
    HeaderValue::try_from(value).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;
    use crate::store::Version;

    fn object() -> Object {
        Object {
            len: 1000,
            media_type: "video/mp4",
            version: Some(Version { etag: "\"v\"".to_owned(), modified_s: Some(784_111_777) }),
            caching: Some("max-age=60"),
            fields: Vec::new(),
            part: None,
            source: Arc::new(Bytes::from(vec![0; 1000])),
        }
    }

    fn ask(method: Method, fields: &[(&str, &str)]) -> Answer {
        let mut request = Request::builder().method(method).uri("https://x/a");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let options = AnswerOptions { cors: true, ..AnswerOptions::default() };
        answer(&request.body(()).unwrap(), Some(&object()), &options)
    }

    fn field<'a>(answer: &'a Answer, name: &str) -> &'a str {
        answer.head.headers().get(name).map_or("", |v| v.to_str().unwrap())
    }

    #[test]
    fn parts_heads_and_versions() {
        let whole = ask(Method::GET, &[]);
        assert_eq!((whole.head.status(), whole.body.clone()), (StatusCode::OK, Some(0..1000)));
        assert_eq!(field(&whole, "etag"), "\"v\"");
        assert_eq!(field(&whole, "last-modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(field(&whole, "cache-control"), "max-age=60");
        assert_eq!(field(&whole, "access-control-allow-origin"), "*");
        let head = ask(Method::HEAD, &[]);
        assert_eq!((field(&head, "content-length"), head.body.clone()), ("1000", None));
        let part = ask(Method::GET, &[("range", "bytes=10-19"), ("if-range", "\"v\"")]);
        assert_eq!(
            (part.head.status(), part.body.clone()),
            (StatusCode::PARTIAL_CONTENT, Some(10..20))
        );
        assert_eq!(field(&part, "content-range"), "bytes 10-19/1000");
        let other = ask(Method::GET, &[("range", "bytes=10-19"), ("if-range", "\"w\"")]);
        assert_eq!((other.head.status(), other.body), (StatusCode::OK, Some(0..1000)));
        let beyond = ask(Method::GET, &[("range", "bytes=1000-")]);
        assert_eq!(beyond.head.status(), StatusCode::RANGE_NOT_SATISFIABLE);
        assert_eq!(field(&beyond, "content-range"), "bytes */1000");
        let known = ask(Method::GET, &[("if-none-match", "\"v\"")]);
        assert_eq!((known.head.status(), known.body.clone()), (StatusCode::NOT_MODIFIED, None));
        assert_eq!((field(&known, "etag"), field(&known, "content-length")), ("\"v\"", ""));
    }

    #[test]
    fn an_origin_with_a_clock_dates_its_answers() {
        let request = || Request::get("https://x/a").body(()).unwrap();
        let clock = Some((|| 784_111_777) as fn() -> u64);
        let options = AnswerOptions { clock, ..AnswerOptions::default() };
        for object in [Some(object()), None] {
            let answer = answer(&request(), object.as_ref(), &options);
            assert_eq!(field(&answer, "date"), "Sun, 06 Nov 1994 08:49:37 GMT");
        }
        assert_eq!(field(&answer(&request(), None, &AnswerOptions::default()), "date"), "");
    }

    #[test]
    fn preflight_requests_are_answered_and_other_methods_refused() {
        let preflight = ask(Method::OPTIONS, &[("access-control-request-method", "GET")]);
        assert_eq!(preflight.head.status(), StatusCode::NO_CONTENT);
        assert!(field(&preflight, "access-control-allow-headers").contains("CMCD-Session"));
        let plain = ask(Method::OPTIONS, &[]);
        assert_eq!(field(&plain, "allow"), "GET, HEAD, OPTIONS");
        assert_eq!(field(&plain, "access-control-allow-headers"), "");
        let refused = ask(Method::DELETE, &[]);
        assert_eq!(refused.head.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(field(&refused, "allow"), "GET, HEAD, OPTIONS");
    }
}
