//! Addresses of HTTP.

use std::fmt;

use airlane_media::url::resolve;
use http::Uri;

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
    /// Reads one.
    ///
    /// # Errors
    /// If it is no absolute address of HTTP.
    pub fn parse(text: &str) -> Result<Self, FetchError> {
        let wrong = || FetchError::Address(text.to_owned());
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

    /// What `reference` means beside this address.
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

    /// Whether it asks for TLS.
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
        for wrong in ["", "a/b", "ftp://a/b", "https://", "https://a b/"] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }
}
