//! Conditional requests (RFC 9110, section 13).

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderValue, header};

use crate::store::Version;

/// Result of the preconditions of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PreconditionResult {
    /// The request is to be answered as if it had none.
    Proceed,
    /// The client has this version: 304.
    NotModified,
    /// It is about another version: 412.
    Failed,
}

/// Evaluates the conditions of a GET or HEAD in the order of section 13.2.2, on an object of this
/// version.
pub(super) fn evaluate(fields: &HeaderMap, version: Option<&Version>) -> PreconditionResult {
    let text = |name| fields.get(name).and_then(|v: &HeaderValue| v.to_str().ok());
    if fields.contains_key(header::IF_MATCH) {
        let wanted = fields.get_all(header::IF_MATCH);
        if !version.is_some_and(|v| lists(wanted, &v.etag, Comparison::Strong)) {
            return PreconditionResult::Failed;
        }
    } else if let (Some(since), Some(v)) =
        (text(header::IF_UNMODIFIED_SINCE).and_then(date), version)
        && v.modified_s.is_some_and(|modified_s| modified_s > since)
    {
        return PreconditionResult::Failed;
    }
    let Some(version) = version else { return PreconditionResult::Proceed };
    let unchanged = match fields.contains_key(header::IF_NONE_MATCH) {
        true => lists(fields.get_all(header::IF_NONE_MATCH), &version.etag, Comparison::Weak),
        false => text(header::IF_MODIFIED_SINCE)
            .and_then(date)
            .is_some_and(|since| version.modified_s.is_some_and(|s| s <= since)),
    };
    if unchanged { PreconditionResult::NotModified } else { PreconditionResult::Proceed }
}

/// True if the `Range` field counts: it does unless `If-Range` names another version (section
/// 13.1.5).
pub(super) fn range_counts(fields: &HeaderMap, version: Option<&Version>) -> bool {
    let Some(wanted) = fields.get(header::IF_RANGE) else { return true };
    let (Ok(wanted), Some(version)) = (wanted.to_str(), version) else { return false };
    // A date is a strong validator only if it is equal: the clocks are unknown.
    wanted == version.etag || version.modified_s.is_some_and(|s| date(wanted) == Some(s))
}

/// The date of a `Last-Modified` field.
pub(super) fn date_text(seconds: u64) -> String {
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

fn date(text: &str) -> Option<u64> {
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs())
}

#[derive(Clone, Copy, PartialEq)]
enum Comparison {
    Strong,
    Weak,
}

/// True if a list of entity tags, or `*`, contains a strong one. A list may be spread over several
/// lines of its field (RFC 9110, section 5.3).
fn lists<'a>(
    lines: impl IntoIterator<Item = &'a HeaderValue>,
    etag: &str,
    comparison: Comparison,
) -> bool {
    // Compared as bytes: the tags of others need not be ASCII (section 8.8.3).
    let tags = lines.into_iter().flat_map(|line| line.as_bytes().split(|&b| b == b','));
    let etag = etag.as_bytes();
    tags.map(<[u8]>::trim_ascii).any(|tag| match tag.strip_prefix(b"W/") {
        Some(weak) => comparison == Comparison::Weak && weak == etag,
        None => tag == b"*" || tag == etag,
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    fn version() -> Version {
        // Sun, 06 Nov 1994 08:49:37 GMT, the example of section 5.6.7.
        Version { etag: "\"a1\"".to_owned(), modified_s: Some(784_111_777) }
    }

    fn fields(list: &[(HeaderName, &str)]) -> HeaderMap {
        list.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn conditions_are_judged_in_the_order_of_rfc_9110() {
        use PreconditionResult::{Failed, NotModified, Proceed};
        let at = "Sun, 06 Nov 1994 08:49:37 GMT";
        let before = "Sun, 06 Nov 1994 08:49:36 GMT";
        for (list, want) in [
            (vec![], Proceed),
            (vec![(header::IF_NONE_MATCH, "\"a1\"")], NotModified),
            (vec![(header::IF_NONE_MATCH, "\"b\", W/\"a1\"")], NotModified),
            (vec![(header::IF_NONE_MATCH, "*")], NotModified),
            (vec![(header::IF_NONE_MATCH, "\"b\"")], Proceed),
            (vec![(header::IF_MODIFIED_SINCE, at)], NotModified),
            (vec![(header::IF_MODIFIED_SINCE, before)], Proceed),
            (vec![(header::IF_MODIFIED_SINCE, "yesterday")], Proceed),
            // The tag outranks the date.
            (vec![(header::IF_NONE_MATCH, "\"b\""), (header::IF_MODIFIED_SINCE, at)], Proceed),
            (vec![(header::IF_MATCH, "\"a1\"")], Proceed),
            (vec![(header::IF_MATCH, "*")], Proceed),
            (vec![(header::IF_MATCH, "W/\"a1\"")], Failed),
            (vec![(header::IF_MATCH, "\"b\"")], Failed),
            (vec![(header::IF_UNMODIFIED_SINCE, before)], Failed),
            (vec![(header::IF_UNMODIFIED_SINCE, at)], Proceed),
        ] {
            assert_eq!(evaluate(&fields(&list), Some(&version())), want, "{list:?}");
        }
        assert_eq!(evaluate(&fields(&[(header::IF_MATCH, "\"a1\"")]), None), Failed);
        assert_eq!(evaluate(&fields(&[(header::IF_NONE_MATCH, "\"a1\"")]), None), Proceed);
    }

    #[test]
    fn all_lines_of_a_list_count() {
        let asked = |name: HeaderName, values: &[&[u8]]| {
            let mut fields = HeaderMap::new();
            for value in values {
                fields.append(name.clone(), HeaderValue::from_bytes(value).unwrap());
            }
            evaluate(&fields, Some(&version()))
        };
        let known: &[&[u8]] = &[b"\"b\"", b"\"c\", \"a1\""];
        assert_eq!(asked(header::IF_NONE_MATCH, known), PreconditionResult::NotModified);
        assert_eq!(asked(header::IF_MATCH, known), PreconditionResult::Proceed);
        // A tag may have bytes that are no ASCII (RFC 9110, section 8.8.3): it is another's.
        let foreign: &[&[u8]] = &[b"\"\xe4\"", b"\"a1\""];
        assert_eq!(asked(header::IF_NONE_MATCH, foreign), PreconditionResult::NotModified);
        assert_eq!(asked(header::IF_MATCH, &foreign[..1]), PreconditionResult::Failed);
        let dated = |values| {
            let mut fields =
                fields(&[(header::IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:37 GMT")]);
            for value in values {
                fields.append(header::IF_NONE_MATCH, HeaderValue::from_static(value));
            }
            evaluate(&fields, Some(&version()))
        };
        assert_eq!(
            dated(["\"b\"", "\"c\""]),
            PreconditionResult::Proceed,
            "the date does not count then"
        );
    }

    #[test]
    fn a_range_counts_for_the_version_that_it_is_about() {
        let counts =
            |value: &str| range_counts(&fields(&[(header::IF_RANGE, value)]), Some(&version()));
        assert!(range_counts(&HeaderMap::new(), None));
        assert!(counts("\"a1\"") && counts(&date_text(784_111_777)));
        assert!(
            !counts("\"b\"") && !counts("W/\"a1\"") && !counts("Sun, 06 Nov 1994 08:49:36 GMT")
        );
    }
}
