//! Any path and header fields as a request: an answer whose body lies within the object, and a name
//! that stays below the folder. What libFuzzer's target of that ever found is replayed.

use std::path::{Component, PathBuf};
use std::sync::Arc;

use airlane_apps::content::{Object, Version};
use airlane_apps::http::{Manners, answer};
use airlane_daemon::files::name_of;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use proptest::prelude::*;

const FIELDS: [&str; 6] =
    ["range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since"];

fn check(path: &[u8], values: &[&[u8]], len: u64) {
    if let Some(name) = name_of(&String::from_utf8_lossy(path)) {
        assert!(name.components().all(|c| matches!(c, Component::Normal(_))), "{name:?}");
    }
    let mut request = Request::new(());
    for (name, value) in FIELDS.iter().zip(values) {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            request.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
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
}

#[test]
fn what_was_found_once_is_mended() {
    let kept = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions/request");
    let mut n = 0;
    for file in std::fs::read_dir(kept).unwrap().flatten() {
        let data = std::fs::read(file.path()).unwrap();
        let mut parts = data.split(|&b| b == b'\n');
        let path = parts.next().unwrap_or_default();
        let values: Vec<&[u8]> = parts.collect();
        check(path, &values, u64::from(data.first().copied().unwrap_or(0)) * 1000);
        n += 1;
    }
    assert!(n > 0);
}

proptest! {
    #[test]
    fn any_request_gets_a_sound_answer(
        path in "/(\\.|%2[eEfF]|[a-z]|/|\\PC){0,20}",
        range in "(bytes=)?[0-9]{0,20}-?[0-9]{0,20}(,-?[0-9]{0,3})?",
        condition in "(W/)?\"?[a-z*]{0,3}\"?|Sun, 06 Nov 1994 08:49:37 GMT",
        len in prop_oneof![Just(0), Just(1), 0..u64::MAX],
    ) {
        let (range, condition) = (range.as_bytes(), condition.as_bytes());
        check(path.as_bytes(), &[range, condition], len);
        check(path.as_bytes(), &[range, b"\"v\"", condition, condition, condition], len);
    }
}
