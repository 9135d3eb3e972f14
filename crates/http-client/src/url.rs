//! Addresses of HTTP.

use std::borrow::Cow;
use std::fmt;

use airlane_media::url::resolve;
use http::Uri;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::FetchError;

/// An absolute address of HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    text: String,
    is_tls: bool,
    host: String,
    port: u16,
}

impl Url {
    /// Reads one. What may not stand in an address as it is, such as a space, is percent-encoded, as
    /// browsers do.
    ///
    /// # Errors
    /// If it is no absolute address of HTTP.
    pub fn parse(text: &str) -> Result<Self, FetchError> {
        let wrong = || FetchError::Address(text.to_owned());
        let text = &*encoded(text.trim());
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong()),
        };
        let host = uri.host().filter(|h| !h.is_empty()).ok_or_else(wrong)?.to_owned();
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        Ok(Self { text: text.to_owned(), is_tls, host, port })
    }

    /// URL that `reference` means relative to this address.
    ///
    /// # Errors
    /// If it leads to no address of HTTP.
    pub fn join(&self, reference: &str) -> Result<Self, FetchError> {
        Self::parse(&resolve(&self.text, reference))
    }

    /// The same with another argument in its query; the argument is percent-encoded already.
    #[must_use]
    pub fn with_argument(&self, argument: &str) -> Self {
        let sign = if self.text.contains('?') { '&' } else { '?' };
        Self { text: format!("{}{sign}{argument}", self.text), ..self.clone() }
    }

    /// Scheme, host and port: what a connection is for.
    pub fn origin(&self) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{}:{}", self.host, self.port)
    }

    /// True if it asks for TLS.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// The host, an address of IPv6 without its brackets.
    pub fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Characters that are percent-encoded, as no URL has them as they are (RFC 3986, section 2; WHATWG
/// URL, path percent-encode set). `%` stays: it begins what is encoded already.
const FOREIGN: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// An address with what is foreign in its path and query encoded; nothing is in a host.
fn encoded(text: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = text.split_once("://") else { return Cow::Borrowed(text) };
    let path = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(path);
    match Cow::from(utf8_percent_encode(path, FOREIGN)) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(path) => Cow::Owned(format!("{scheme}://{authority}{path}")),
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_joined() {
        let url = Url::parse("https://[::1]:4433/a/b.mpd?x=1").unwrap();
        assert_eq!((url.host(), url.port(), url.is_tls()), ("::1", 4433, true));
        assert_eq!(url.join("../c/1.m4s").unwrap().to_string(), "https://[::1]:4433/c/1.m4s");
        assert_eq!(url.with_argument("y=2").to_string(), "https://[::1]:4433/a/b.mpd?x=1&y=2");
        assert_eq!(Url::parse("http://a/").unwrap().origin(), "http://a:80");
        assert_eq!(url.join("//b/..//c//d").unwrap().to_string(), "https://b//c//d");
        for (reference, expected) in [
            ("my film/1 a.m4s?x=a b", "my%20film/1%20a.m4s?x=a%20b"),
            ("Кот/é.m4s", "%D0%9A%D0%BE%D1%82/%C3%A9.m4s"),
            ("a%20b/100%.m4s", "a%20b/100%.m4s"),
            ("a\\b|{c}^`<d>\"\t", "a%5Cb%7C%7Bc%7D%5E%60%3Cd%3E%22"),
        ] {
            let joined = url.join(reference).unwrap().to_string();
            assert_eq!(joined, format!("https://[::1]:4433/a/{expected}"));
        }
        for wrong in ["", "a/b", "ftp://a/b", "https://", "https://a b/"] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }
}
