//! What must hold of any request: an answer whose body lies within the object, and a name that stays
//! below the folder. The test `requests` and libFuzzer's target of that name share it.

use std::path::Component;
use std::sync::Arc;

use airlane_apps::content::{Object, Version};
use airlane_apps::http::{AnswerOptions, answer};
use airlane_daemon::files::name_of;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};

const FIELDS: [&str; 6] =
    ["range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since"];

/// Asks as `data` says: the path and the values of the fields, a line each; further lines are more
/// of the same fields.
pub fn check_lines(data: &[u8]) {
    let mut parts = data.split(|&b| b == b'\n');
    let path = parts.next().unwrap_or_default();
    let values: Vec<&[u8]> = parts.collect();
    check(path, &values, u64::from(data.first().copied().unwrap_or(0)) * 1000);
}

/// Asks for `path` with these values of the fields, of an object of `len` bytes.
pub fn check(path: &[u8], values: &[&[u8]], len: u64) {
    if let Some(name) = name_of(&String::from_utf8_lossy(path)) {
        assert!(name.components().all(|c| matches!(c, Component::Normal(_))), "{name:?}");
    }
    let mut request = Request::new(());
    for (name, value) in FIELDS.iter().cycle().zip(values).take(64) {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            request.headers_mut().append(HeaderName::from_static(name), value);
        }
    }
    let object = Object {
        len,
        media_type: "video/mp4",
        version: Some(Version { etag: "\"v\"".to_owned(), modified_s: Some(784_111_777) }),
        caching: None,
        fields: Vec::new(),
        part: None,
        source: Arc::new(Bytes::new()),
    };
    if let Some(body) = answer(&request, Some(&object), &AnswerOptions::default()).body {
        assert!(body.start < body.end && body.end <= len, "{body:?} of {len}");
    }
}
