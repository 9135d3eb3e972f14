//! Any path and header fields as a request: it gets an answer whose body lies within the object, and
//! a name that stays below the folder.
#![no_main]

use std::path::Component;
use std::sync::Arc;

use airlane_apps::content::{Object, Version};
use airlane_apps::http::{Manners, answer};
use airlane_daemon::files::name_of;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};

const FIELDS: [&str; 6] =
    ["range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since"];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut parts = data.split(|&b| b == b'\n');
    let path = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    if let Some(name) = name_of(&path) {
        assert!(name.components().all(|c| matches!(c, Component::Normal(_))), "{name:?}");
    }
    let mut request = Request::new(());
    for (name, value) in FIELDS.iter().zip(parts) {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            request.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    let len = u64::from(*data.first().unwrap_or(&0)) * 1000;
    let object = Object {
        len,
        media_type: "video/mp4",
        version: Some(Version { etag: "\"v\"".to_owned(), modified_s: 784_111_777 }),
        caching: None,
        part: None,
        source: Arc::new(Bytes::new()),
    };
    if let Some(body) = answer(&request, Some(&object), &Manners::default()).body {
        assert!(body.start < body.end && body.end <= len, "{body:?} of {len}");
    }
});
