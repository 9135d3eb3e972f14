//! Requests for files, as the daemon answers them (RFC 9110).

use std::path::Component;
use std::sync::Arc;

use airlane_origin::http::{AnswerOptions, answer};
use airlane_origin::store::{Object, Version};
use airlane_origin_daemon::files::name_of;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};

const FIELDS: [&str; 6] =
    ["range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since"];

/// Any path and header fields as a request: it gets an answer whose body lies within the object, and a
/// name that stays below the folder.
///
/// The input is lines: the object's length in bytes (0 if it is no number), the path, and the values of
/// `Range`, `If-Range`, `If-Match`, `If-None-Match`, `If-Modified-Since` and `If-Unmodified-Since`;
/// further lines are more of the same fields.
pub fn request(data: &[u8]) {
    let mut lines = data.split(|&b| b == b'\n');
    let length = lines.next().and_then(|line| str::from_utf8(line).ok()?.parse().ok()).unwrap_or(0);
    let path = String::from_utf8_lossy(lines.next().unwrap_or_default());
    if let Some(name) = name_of(&path) {
        assert!(name.components().all(|c| matches!(c, Component::Normal(_))), "{name:?}");
    }
    let mut request = Request::new(());
    for (name, value) in FIELDS.iter().cycle().zip(lines).take(64) {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            request.headers_mut().append(HeaderName::from_static(name), value);
        }
    }
    let object = Object {
        len: length,
        media_type: "video/mp4",
        version: Some(Version { etag: "\"v\"".to_owned(), modified_s: Some(784_111_777) }),
        caching: None,
        fields: Vec::new(),
        part: None,
        source: Arc::new(Bytes::new()),
    };
    if let Some(body) = answer(&request, Some(&object), &AnswerOptions::default()).body {
        assert!(body.start < body.end && body.end <= length, "{body:?} of {length}");
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    // The object's tag is "v", and it is of this date.
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    let all = format!("1000\n/a/b.mp4\nbytes=5-\n\"v\"\n\"v\"\n\"w\"\n{date}\n{date}");
    let dated = format!("1000\n/a.mp4\nbytes=0-499,-5\n{date}\n*\nW/\"v\", \"w\"");
    crate::texts(&[
        &all,
        &dated,
        "1000\n/a/b%20c.mp4\nbytes=0-499\nW/\"v\"",
        "18446744073709551615\n/\nbytes=-5",
        "18446744073709551615\n/a/\nbytes=18446744073709551614-18446744073709551615",
        "1\n/%C3%A9/x\nbytes=0-0,2-3,-1",
        "0\n/a\nbytes=0-",
        "9\n/a/../%2e%2E/.b\n",
    ])
}
