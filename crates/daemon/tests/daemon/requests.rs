//! Any path and header fields as a request. What libFuzzer's target of that ever found is replayed.

use std::path::PathBuf;

use proptest::prelude::*;

use crate::request::{check, check_lines};

#[test]
fn what_was_found_once_is_mended() {
    let kept = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions/request");
    let mut n = 0;
    for file in std::fs::read_dir(kept).unwrap().flatten() {
        check_lines(&std::fs::read(file.path()).unwrap());
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
