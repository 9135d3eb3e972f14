//! References and what they mean beside a base (RFC 3986, section 5), for bases that may be
//! relative themselves: a manifest need not know where it lies.

/// The parts of a reference (RFC 3986, appendix B).
#[derive(Clone, Copy, Debug)]
struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
}

fn parts(text: &str) -> Parts<'_> {
    let text = text.split_once('#').map_or(text, |(before, _)| before);
    let (scheme, rest) = match text.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, text),
    };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            (Some(authority), path)
        }
        None => (None, rest),
    };
    Parts { scheme, authority, path, query }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// True if a reference names its scheme or its host: it does not depend on where a manifest is.
pub fn is_absolute(reference: &str) -> bool {
    let parts = parts(reference);
    parts.scheme.is_some() || parts.authority.is_some()
}

/// Resolves `reference` against `base`. A relative base gives a relative result; what leads out of
/// it keeps its leading `..`. Fragments are dropped.
///
/// ```
/// # use airlane_media::url::resolve;
/// assert_eq!(resolve("a/b/", "../c/1.m4s?x=1"), "a/c/1.m4s?x=1");
/// assert_eq!(resolve("", "../1.m4s"), "../1.m4s");
/// assert_eq!(resolve("https://a.example/b/c.mpd", "/d"), "https://a.example/d");
/// ```
pub fn resolve(base: &str, reference: &str) -> String {
    let (b, r) = (parts(base), parts(reference));
    let (scheme, authority, path, query);
    if r.scheme.is_some() || r.authority.is_some() {
        (scheme, authority) = (r.scheme.or(b.scheme), r.authority);
        (path, query) = (without_dots(r.path), r.query);
    } else {
        (scheme, authority) = (b.scheme, b.authority);
        if r.path.is_empty() {
            (path, query) = (without_dots(b.path), r.query.or(b.query));
        } else if r.path.starts_with('/') {
            (path, query) = (without_dots(r.path), r.query);
        } else {
            let folder = b.path.rfind('/').map_or("", |slash| &b.path[..=slash]);
            let root = if b.authority.is_some() && b.path.is_empty() { "/" } else { folder };
            (path, query) = (without_dots(&format!("{root}{}", r.path)), r.query);
        }
    }
    let mut out = String::new();
    if let Some(scheme) = scheme {
        out.push_str(scheme);
        out.push(':');
    }
    if let Some(authority) = authority {
        out.push_str("//");
        out.push_str(authority);
    } else if path.starts_with("//") || (scheme.is_none() && parts(&path).scheme.is_some()) {
        // Else the path would be read as a host or a scheme (section 5.3 and 4.2).
        out.push_str("./");
    }
    out.push_str(&path);
    if let Some(query) = query {
        out.push('?');
        out.push_str(query);
    }
    out
}

/// A reference that means `target` beside `base`, if there is one: nothing relative leads from one
/// host to what lies beside the manifest, nor back out of a `..`.
///
/// ```
/// # use airlane_media::url::relative;
/// assert_eq!(relative("a/b.mp4", "c/1.m4s").as_deref(), Some("../c/1.m4s"));
/// assert_eq!(relative("https://a.example/b.mp4", "c"), None);
/// ```
pub fn relative(base: &str, target: &str) -> Option<String> {
    if base == target {
        return Some(String::new());
    }
    let up = "../".repeat(parts(base).path.matches('/').count());
    let candidates = [target.to_owned(), format!("{up}{target}"), format!("./{target}")];
    candidates.into_iter().find(|reference| resolve(base, reference) == target)
}

/// Removes `.` and `..` (section 5.2.4). In a relative path a `..` that has nothing to remove
/// stays, as the path of the base may come in front of it.
fn without_dots(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
    for (i, segment) in segments.iter().enumerate() {
        let last = i + 1 == segments.len();
        match *segment {
            "." | ".." => {
                if *segment == ".." {
                    match kept.last() {
                        Some(&"..") | None if !rooted => kept.push(".."),
                        _ => {
                            kept.pop();
                        }
                    }
                }
                if last && !kept.is_empty() {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    let joined = kept.join("/");
    if rooted { format!("/{joined}") } else { joined }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn agrees_with_the_examples_of_the_rfc() {
        // RFC 3986, section 5.4, without the fragments.
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g..", "http://a/b/c/g.."),
            ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g/./h", "http://a/b/c/g/h"),
            ("g/../h", "http://a/b/c/h"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
        ] {
            assert_eq!(resolve("http://a/b/c/d;p?q", reference), expected, "{reference}");
        }
    }

    #[test]
    fn a_relative_base_gives_a_relative_result() {
        for (base, reference, expected) in [
            ("", "video/1.m4s", "video/1.m4s"),
            ("video/", "1.m4s", "video/1.m4s"),
            ("video/360p.mpd", "1.m4s", "video/1.m4s"),
            ("video/", "../audio/1.m4s", "audio/1.m4s"),
            ("", "../../a", "../../a"),
            ("../x/", "../../a", "../../a"),
            ("video/", "https://b.example/1", "https://b.example/1"),
            ("video/", "./a:b", "video/a:b"),
            ("", "./a:b", "./a:b"),
            ("http://a", "b", "http://a/b"),
        ] {
            assert_eq!(resolve(base, reference), expected, "{base} {reference}");
        }
        assert!(is_absolute("//b.example/1") && is_absolute("http:x") && !is_absolute("a/b:c"));
    }

    proptest! {
        /// A resolved reference stays as it is.
        #[test]
        fn what_is_resolved_stays_as_it_is(
            a in "[a-c./]{0,8}", b in "[a-c./]{0,8}", c in "[a-c./?#:]{0,8}",
        ) {
            let once = resolve(&resolve(&a, &b), &c);
            prop_assert_eq!(resolve("", &once), once);
        }

        /// A relative reference means its target.
        #[test]
        fn a_relative_reference_means_its_target(a in "[a-c./:]{0,8}", b in "[a-c./:]{0,8}") {
            let (base, target) = (resolve("", &a), resolve("", &b));
            if let Some(reference) = relative(&base, &target) {
                prop_assert_eq!(resolve(&base, &reference), target);
            }
        }

        #[test]
        fn any_text_is_survived(base in ".*", reference in ".*") {
            resolve(&base, &reference);
            relative(&base, &reference);
        }
    }
}
